#!/bin/sh
# Makes discreet-local.js from discreet-local.source.js. Needs npm; the result is kept, so that nobody else does.
cd "$(dirname "$0")" || exit 1
small=$(npx --yes terser@5.51.2 discreet-local.source.js --module -c passes=3,ecma=2020 -m) || exit 1
hash=$(sha256sum discreet-local.source.js | cut -c1-64)
printf '// Read discreet-local.source.js: sha256 %s\n%s\n' "$hash" "$small" >discreet-local.js

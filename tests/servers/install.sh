#!/bin/sh
# What the tests need, PostgreSQL, Java, Node with npm and a browser: installed on Debian by root, left alone elsewhere.
# Silent when everything is there. Never a reason for a build to fail: tests say themselves what they lack.
has_postgres() { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }
has_java() { command -v java; }
has_node() { command -v node; }
has_npm() { command -v npm; }
has_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

{ has_postgres && has_java && has_node && has_npm && has_browser; } >/dev/null 2>&1 && exit 0
[ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null || exit 0

echo "Installing PostgreSQL, Java, Node and Chromium for the tests"
# Debian would make a cluster and start it; the tests start their own.
mkdir -p /etc/postgresql-common/createcluster.d
echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/none-for-tests.conf
export DEBIAN_FRONTEND=noninteractive
npm=$(has_npm >/dev/null || echo npm) # packages of Node from elsewhere have it inside, and conflict with Debian's
apt-get update -qq &&
    apt-get install -y -qq --no-install-recommends \
        postgresql openjdk-17-jre-headless nodejs $npm chromium fonts-liberation >/dev/null ||
    echo "They could not be installed; tests that need them say so"
exit 0

"""Requests to an ASGI application without a network."""

import asyncio
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def request(app, method, path, body=b"", *, headers=(), chunks=None, pause=0.0, disconnect=False):
    """The answer; a body may come in chunks, with a pause before each, or end with the connection."""

    async def run():
        waiting = iter(chunks if chunks is not None else [body])
        sent = []

        async def receive():
            await asyncio.sleep(pause)
            chunk = next(waiting, None)
            if chunk is None and disconnect:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode()) for name, value in headers],
        }
        await app(scope, receive, send)
        return sent

    start, *rest = asyncio.run(run())
    return Answer(
        status=start["status"],
        headers={name.decode(): value.decode() for name, value in start["headers"]},
        body=b"".join(message.get("body", b"") for message in rest),
    )

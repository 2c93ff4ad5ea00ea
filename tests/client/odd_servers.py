"""Servers that are not as they should be, on loopback: each says one thing to every request."""

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OddServer:
    """Remembers what it was sent."""

    def __init__(self, reply):
        self.requests = []
        odd = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                odd.requests.append((self.command, self.path, dict(self.headers), body))
                reply(self, len(odd.requests))

            do_GET = do_POST = answer  # noqa: N815  the names are those of http.server

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def odd_server(reply):
    """`reply` is called with the handler of a request, and with how many there were."""
    odd = OddServer(reply)
    thread = threading.Thread(target=odd.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield odd
    finally:
        odd.server.shutdown()
        odd.server.server_close()
        thread.join()


def says(status, body=b"", content_type="application/json", **headers):
    def reply(handler, _):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def hangs_up(handler, _):
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def cuts_off(handler, _):
    """Announces more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"name": "ana", ')


def hangs_up_at_first(times, then):
    def reply(handler, count):
        (hangs_up if count <= times else then)(handler, count)

    return reply

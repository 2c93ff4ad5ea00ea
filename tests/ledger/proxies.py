"""A network that fails: what is between a client and a server, and cuts the connection at a word."""

import socket
import threading
from contextlib import contextmanager, suppress


class Proxy:
    """Passes everything on; when a client says the word, cuts the connection before or after the server."""

    def __init__(self, port):
        self.server = ("127.0.0.1", port)
        self.word, self.server_hears = None, False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]

    def cut_at(self, word, *, server_hears):
        self.word, self.server_hears = word, server_hears

    def serve(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            upstream = socket.create_connection(self.server)
            threading.Thread(target=self._to_server, args=(client, upstream), daemon=True).start()
            threading.Thread(target=self._to_client, args=(client, upstream), daemon=True).start()

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _to_server(self, client, upstream):
        while said := _received(client):
            if self.word is not None and self.word in said:
                self.word = None
                client.shutdown(socket.SHUT_WR)  # from now on, the client hears nothing
                if self.server_hears:
                    upstream.sendall(said)
                    upstream.settimeout(0.5)
                    _received(upstream)
                break
            upstream.sendall(said)
        _end(upstream)
        _end(client)

    def _to_client(self, client, upstream):
        while said := _received(upstream):
            try:
                client.sendall(said)
            except OSError:
                return
        _end(client)


def _end(connection):
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _received(connection):
    try:
        return connection.recv(65536)
    except OSError:
        return b""


@contextmanager
def network_to(port):
    proxy = Proxy(port)
    thread = threading.Thread(target=proxy.serve)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()

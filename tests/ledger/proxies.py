"""A network that fails: what is between a client and a server, and cuts the connection at a word."""

import socket
import threading
from contextlib import contextmanager, suppress


class Proxy:
    """Passes everything on; when a client says the word, cuts the connection before or after the server."""

    def __init__(self, port):
        self.server = ("127.0.0.1", port)
        self.word, self.server_hears = None, False
        self._silence = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]

    def cut_at(self, word, *, server_hears):
        self.word, self.server_hears = word, server_hears

    def fall_silent_at(self, word):
        """From that word on nothing is passed on to the server, and no connection is cut."""
        self.word, self.server_hears = word, None

    def speak_again(self):
        """For new connections."""
        self._silence.set()

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
                if self.server_hears is None:
                    self._silence.wait()
                    break
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
        proxy.speak_again()
        proxy.close()
        thread.join()

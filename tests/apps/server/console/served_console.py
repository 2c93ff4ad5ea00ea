"""A console at a port of this machine, and somebody who uses it without a browser."""

import http.client
import json
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

import uvicorn

from discreet.apps.server.application import application
from discreet.apps.server.settings import ServerSettings

COUNT = "SELECT count(*) AS n FROM visits"
BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


@contextmanager
def served(service, sock=None, **settings):
    """The port of a console: a free one, or that of a socket."""
    app = application(service, ServerSettings(access_log=False, **settings))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    sockets = None if sock is None else [sock]
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield (sock or server.servers[0].sockets[0]).getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    status: int
    headers: dict
    text: str

    @property
    def csrf(self):
        return re.search(r'name="csrf-token" content="(\w+)"', self.text)[1]

    @property
    def json(self):
        return json.loads(self.text)


class Visitor:
    """Keeps a cookie, and sends what a browser sends."""

    def __init__(self, port):
        self.port = port
        self.cookie = ""
        self.csrf = ""

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def get(self, path, **headers):
        return self._send("GET", path, None, headers)

    def post(self, path, fields, *, csrf=None, origin=None, **headers):
        """A form. The session's own token and the own origin, unless others are given; "" leaves it out."""
        given = self.csrf if csrf is None else csrf
        body = urlencode({**fields, **({"csrf": given} if given else {})})
        headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        return self._send("POST", path, body, headers, origin)

    def post_json(self, path, facts, **headers):
        headers = {"Content-Type": "application/json", "X-CSRF-Token": self.csrf, **headers}
        return self._send("POST", path, json.dumps(facts), headers)

    def sign_in(self, token, **fields):
        page = self.post("/sign-in", {"token": token, **fields})
        if page.status == 303:
            self.csrf = self._home().csrf
        return page

    def ask(self, sql=COUNT, value=1, by="epsilon", **fields):
        return self.post(
            "/console/ask", {"dataset": "clinic", "sql": sql, "by": by, "value": value, **fields}
        )

    def explain(self, sql=COUNT, value=1, by="epsilon"):
        return self.post_json("/console/explain", {"dataset": "clinic", "sql": sql, "by": by, "value": value})

    def _home(self):
        return self.get(self.get("/console").headers["location"])

    def _send(self, method, path, body, headers, origin=None):
        sent = {"Origin": self.origin if origin is None else origin} if method == "POST" else {}
        sent |= {"Cookie": self.cookie} if self.cookie else {}
        sent |= headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value})
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            if "set-cookie" in received:
                self.cookie = received["set-cookie"].split(";")[0]
            return Page(
                status=response.status, headers=received, text=response.read().decode(errors="replace")
            )
        finally:
            connection.close()

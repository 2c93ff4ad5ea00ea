"""An OpenID provider that does what no good one does: signs what it is told to, or fails as it is told to."""

import base64
import json
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from discreet.apps.server.oidc.settings import OidcSettings
from discreet.service.storage.event_log import Action
from tests.apps.server.console.served_console import served
from tests.apps.server.console.wanderer import Wanderer

SESSION = "discreet-session"
ALGORITHMS = ["RS256", "PS512", "ES256", "EdDSA", "Ed25519", "HS256"]


class WrongProvider:
    """Everybody who comes is “ana”, at once. Codes are never used up."""

    def __init__(self, port):
        self.issuer = f"http://localhost:{port}"
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.known = [self.key]
        """What its key set has."""
        self.metadata = {}
        self.userinfo = {"sub": "ana"}
        self.replies = {}
        """By path: what to do instead."""
        self.requests = []
        self.nonce = ""
        self.id_token = lambda claims: self.signed(claims)

    def claims(self, **changed):
        now = int(time.time())
        usual = {"iss": self.issuer, "sub": "ana", "aud": "discreet", "exp": now + 300, "iat": now}
        found = {**usual, "nonce": self.nonce, **changed}
        return {name: value for name, value in found.items() if value is not None}

    def signed(self, claims, key=None, **header):
        key = key or self.key
        return jwt.encode({"alg": "RS256", "kid": key.kid, **header}, claims, key, algorithms=ALGORITHMS)

    def unsigned(self, claims, algorithm="none"):
        parts = ({"alg": algorithm, "kid": self.key.kid}, claims)
        texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
        return ".".join([*texts, ""])

    def description(self):
        paths = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "jwks"}
        usual = {"issuer": self.issuer, **{name: f"{self.issuer}/{path}" for name, path in paths.items()}}
        return {**usual, **self.metadata}

    def answered(self, path, query, body, headers):
        """A status, headers, and what is written."""
        self.requests.append((path, body, headers))
        if path in self.replies:
            return self.replies[path]
        match path:
            case "/.well-known/openid-configuration":
                return 200, {}, self.description()
            case "/jwks":
                return 200, {}, KeySet(list(self.known)).as_dict(private=False)
            case "/auth":
                self.nonce = query["nonce"][0]
                back = urlencode({"code": "the-code", "state": query["state"][0]})
                return 303, {"Location": f"{query['redirect_uri'][0]}?{back}"}, {}
            case "/token":
                token = self.id_token(self.claims())
                return 200, {}, {"access_token": "secret", "token_type": "Bearer", "id_token": token}
            case "/userinfo":
                return 200, {}, self.userinfo
        return 404, {}, {}


@contextmanager
def wrong_provider():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(None)

        def do_POST(self):
            self._answer(dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode())))

        def _answer(self, body):
            parts = urlsplit(self.path)
            status, headers, content = provider.answered(
                parts.path, parse_qs(parts.query), body, dict(self.headers)
            )
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        provider = WrongProvider(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def console_of(service, issuer, **changed):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        settings = {"issuer": issuer, "client_id": "discreet", "client_secret": "s e:c/r&t", "name": "Clinic"}
        with served(service, sock, oidc=OidcSettings(**{**settings, "url": url, **changed})):
            yield url


def reasons(service):
    return [
        event.details["reason"] for event in service.log.events() if event.action is Action.SIGN_IN_REFUSED
    ]


def refused(service, console, reason, status=401):
    ana = Wanderer()
    page = ana.open(f"{console}/sign-in/provider")
    assert page.status == status
    assert SESSION not in ana.cookies["127.0.0.1"]
    assert reasons(service) == [reason]
    assert reason not in page.text

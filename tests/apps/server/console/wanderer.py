"""Somebody who walks from site to site without a browser: follows redirects, keeps cookies, sends forms."""

import http.client
import re
from collections import defaultdict
from dataclasses import dataclass
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

MOST_REDIRECTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A page, and where it is."""

    url: str
    status: int
    headers: dict
    cookies: list
    text: str


class Wanderer:
    def __init__(self):
        self.cookies = defaultdict(dict)
        """By host: a browser does not tell ports apart."""
        self.visited = []

    def open(self, url, *, fields=None, follow=True, headers=None):
        """The page at the end of all redirects."""
        for _ in range(MOST_REDIRECTS):
            seen = self._send(url, fields, headers or {})
            if seen.status not in (302, 303) or not follow:
                return seen
            url, fields = urljoin(url, seen.headers["location"]), None
        raise AssertionError("it goes round in circles")

    def until(self, url, place):
        """The address that redirects would lead to, if it has this place in it. It is not opened."""
        for _ in range(MOST_REDIRECTS):
            seen = self._send(url, None, {})
            url = urljoin(url, seen.headers["location"])
            if place in url:
                return url
        raise AssertionError("it never got there")

    def submit(self, seen, **fields):
        """Send the first form of a page."""
        action = unescape(re.search(r'<form[^>]* action="([^"]+)"', seen.text)[1])
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', seen.text)
        return self.open(urljoin(seen.url, action), fields={**dict(hidden), **fields})

    def submit_until(self, seen, place, **fields):
        """The address that a form leads to."""
        action = unescape(re.search(r'<form[^>]* action="([^"]+)"', seen.text)[1])
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', seen.text)
        url = urljoin(seen.url, action)
        answer = self._send(url, {**dict(hidden), **fields}, {})
        url = urljoin(url, answer.headers["location"])
        return url if place in url else self.until(url, place)

    def _send(self, url, fields, headers):
        parts = urlsplit(url)
        kept = self.cookies[parts.hostname]
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.items())} if kept else {}
        body = None
        if fields is not None:
            body = urlencode(fields)
            sent |= {"Content-Type": "application/x-www-form-urlencoded"}
            sent |= {"Origin": f"{parts.scheme}://{parts.netloc}"}
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        try:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("GET" if body is None else "POST", path, body, {**sent, **headers})
            response = connection.getresponse()
            given = response.headers.get_all("Set-Cookie") or []
            for line in given:
                self._keep(kept, line)
            self.visited.append(url)
            return Seen(
                url=url,
                status=response.status,
                headers={name.lower(): value for name, value in response.getheaders()},
                cookies=given,
                text=response.read().decode(),
            )
        finally:
            connection.close()

    def _keep(self, kept, line):
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0" or "1970" in morsel["expires"] or not morsel.value:
                kept.pop(name, None)
            else:
                kept[name] = morsel.value

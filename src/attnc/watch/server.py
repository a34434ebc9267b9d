"""The page, served to browsers of this machine alone."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

from .following import Following

HOST = "127.0.0.1"
WAIT = 20.0  # seconds that a question for news stays open
POLICY = "default-src 'self' 'unsafe-inline' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"


def _web(name: str) -> str:
    return files(__package__).joinpath("web", name).read_text("utf-8")


class WatchServer(ThreadingHTTPServer):
    """Listens on the loopback address. port: 0 for any that is free. Raises OSError for one that is taken."""

    daemon_threads = True

    def __init__(self, following: Following, port: int) -> None:
        super().__init__((HOST, port), WatchHandler)
        self.following = following

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class WatchHandler(BaseHTTPRequestHandler):
    """Answers GET alone, and only where the browser names this machine: a page of another host, whose name was made to
    lead here, would name that.
    """

    server: WatchServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}:
            self._answer(
                403, "text/plain", "this page is for browsers of this machine, by the address that it has here"
            )
            return
        url = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(url.query).items()}
        following = self.server.following
        match url.path:
            case "/":
                self._answer(200, "text/html", _web("watch.html"))
            case "/news":
                than = given.get("than", "")
                shown = following.newer(int(than) if than.isdecimal() and len(than) < 10 else -1, WAIT)
                self._answer(200, "application/json", json.dumps(shown.data()))
            case "/figure":
                page = following.shown.parts.get("figure", "<!doctype html>")
                head, end, _ = page.rpartition("</body>")  # none where a figure is told to be impossible
                self._answer(200, "text/html", f"{head}<script>{_web('keep.js')}</script>{end}" if end else page)
            case "/choose":
                following.choose(given.get("name", ""))
                self._answer(200, "application/json", "{}")
            case _:
                self._answer(404, "text/plain", "there is no such page")

    def _answer(self, status: int, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # the browser has gone on
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is for what is wrong."""

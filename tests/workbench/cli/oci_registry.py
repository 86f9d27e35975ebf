"""A registry in this process that speaks the part of the OCI distribution API by which versions are looked for.

https://github.com/opencontainers/distribution-spec/blob/main/spec.md#content-discovery
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = 2
"""Tags of one answer: a client has to follow the links to the others."""


class OciRegistry:
    """`tags` by repository; `failing` answers everything with that status. `seen` are the paths that were asked for."""

    def __init__(self) -> None:
        self.tags: dict[str, list[str]] = {}
        self.failing = 0
        self.seen: list[str] = []
        self.host = ""

    def digest(self, repository: str, tag: str) -> str:
        return f"sha256:{hashlib.sha256(f'{repository}:{tag}'.encode()).hexdigest()}"

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.seen.append(path)
        parts = urlsplit(path)
        if self.failing:
            return self.failing, {}, b"{}"
        name, slash, rest = parts.path.removeprefix("/v2/").rpartition("/tags/list")
        if slash and not rest:
            return self._list(name, parse_qs(parts.query))
        name, slash, tag = parts.path.removeprefix("/v2/").rpartition("/manifests/")
        if slash and tag in self.tags.get(name, ()):
            return 200, {"Docker-Content-Digest": self.digest(name, tag)}, b""
        return 404, {}, json.dumps({"errors": [{"code": "NAME_UNKNOWN"}]}).encode()

    def _list(self, name: str, query: dict[str, list[str]]) -> tuple[int, dict[str, str], bytes]:
        if name not in self.tags:
            return 404, {}, json.dumps({"errors": [{"code": "NAME_UNKNOWN"}]}).encode()
        every = sorted(self.tags[name])
        last = query.get("last", [""])[0]
        left = [each for each in every if each > last]
        page, more = left[:PAGE], left[PAGE:]
        links = {"Link": f'</v2/{name}/tags/list?n={PAGE}&last={page[-1]}>; rel="next"'} if more else {}
        return 200, links, json.dumps({"name": name, "tags": page}).encode()


@contextmanager
def served() -> Iterator[OciRegistry]:
    registry = OciRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = registry.answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

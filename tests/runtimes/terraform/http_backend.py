"""A server that keeps one state, as terraform's `http` backend asks for it, and a workspace with its state there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.practice import Place


@dataclass(slots=True)
class Store:
    """What the server keeps. `lock` is the info of who holds it, empty where nobody does.

    `says` is what is answered to who reads, in place of the state: code and body. `takes` is what becomes of what it is
    sent, answered once `keeps_waiting` is set: "all" is kept, "nothing" refused; "in vain" is accepted and dropped.
    """

    state: bytes = b""
    lock: bytes = b""
    refuses: bool = False
    says: tuple[int, bytes] | None = None
    keeps_waiting: threading.Event | None = None
    takes: str = "all"
    address: str = ""
    asked: list[str] = field(default_factory=list)


def handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self, code: int, body: bytes = b"") -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def do_GET(self) -> None:
            store.asked.append("GET")
            if store.says is not None:
                return self._answer(*store.says)
            return self._answer(500 if store.refuses else 200 if store.state else 404, store.state)

        def do_POST(self) -> None:
            store.asked.append("POST")
            body = self._body()
            if store.takes == "all":
                store.state = body
            if store.keeps_waiting is not None:
                store.keeps_waiting.wait(30)
                return  # who asked may be gone
            self._answer(403 if store.takes == "nothing" else 200)

        def do_LOCK(self) -> None:
            body = self._body()
            is_free = not store.lock
            store.lock = store.lock or body
            self._answer(200 if is_free else 423, store.lock)

        def do_UNLOCK(self) -> None:
            self._body()
            store.lock = b""
            self._answer(200)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


@contextmanager
def serving() -> Iterator[Store]:
    found = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(found))
    found.address = f"http://127.0.0.1:{server.server_port}/shop"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def runtime(place: Place, store: Store, **settings: Any) -> TerraformRuntime:
    config: dict[str, Any] = {"address": store.address, "lock_address": store.address, "unlock_address": store.address}
    config |= {"retry_max": 0}
    environment = {**place.settings["environment"], "NO_PROXY": "127.0.0.1"}
    return place.another(backend={"type": "http", "config": config}, environment=environment, **settings)

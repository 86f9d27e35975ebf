"""A state that is not a file in the folder: over HTTP, on this machine, as terraform's `http` backend has it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    Contact,
    Observation,
    Overloaded,
    PlannedAction,
    ReadRequest,
    RuntimeFailure,
    Status,
    WatchRequest,
    WorkspacePlanRequest,
)
from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.practice import Place, actions, anything, bucket

pytestmark = pytest.mark.slow


@dataclass(slots=True)
class Store:
    """What the server keeps. `lock` is the info of who holds it, empty where nobody does."""

    state: bytes = b""
    lock: bytes = b""
    refuses: bool = False
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
            self._answer(500 if store.refuses else 200 if store.state else 404, store.state)

        def do_POST(self) -> None:
            store.asked.append("POST")
            store.state = self._body()
            self._answer(200)

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


@pytest.fixture
def store() -> Iterator[Store]:
    found = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(found))
    found.address = f"http://127.0.0.1:{server.server_port}/shop"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def runtime(place: Place, store: Store, **settings: Any) -> TerraformRuntime:
    config: dict[str, Any] = {"address": store.address, "lock_address": store.address, "unlock_address": store.address}
    config |= {"retry_max": 0}
    environment = {**place.settings["environment"], "NO_PROXY": "127.0.0.1"}
    return place.another(backend={"type": "http", "config": config}, environment=environment, **settings)


async def test_a_state_elsewhere_is_planned_applied_and_read(place: Place, store: Store) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"), bucket("receipts")))
    assert set(actions(await remote.survey(request)).values()) == {PlannedAction.CREATE}
    async with remote.apply_all(request, anything) as run:
        assert len([report async for report in run]) == 4
        assert set(await run.outcome()) == {each.id for each in request.resources}
    assert not place.folder.state.exists() and not store.lock
    assert len(json.loads(store.state)["resources"]) == 2
    assert set(actions(await remote.survey(request)).values()) == {PlannedAction.NONE}
    assert await remote.read(ReadRequest(bucket("invoices").id)) is not None
    async with remote.watch(WatchRequest((bucket("invoices").id,))) as reports:
        contact, seen = await anext(reports), await anext(reports)
        assert isinstance(contact, Contact) and contact.lost is None and contact.answered_at is not None
        assert isinstance(seen, Observation) and seen.health.status is Status.CURRENT


async def test_a_lock_that_another_machine_holds_is_waited_for_and_told(place: Place, store: Store) -> None:
    """Of this backend, terraform tells itself instead of the holder; of others it tells who it is."""
    remote, request = runtime(place, store, lock_timeout_seconds=0.1), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.lock = json.dumps({"ID": "8f3c", "Who": "ana@laptop", "Created": "2026-11-21T10:00:00Z"}).encode()
    with pytest.raises(Overloaded, match=r"the state is locked"):
        await remote.survey(request)
    assert json.loads(store.lock)["ID"] == "8f3c"


async def test_a_backend_that_fails_is_told(place: Place, store: Store) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.refuses = True
    with pytest.raises(RuntimeFailure, match="asked to read its state and ended with code 1: Failed to refresh state"):
        await remote.survey(request)


async def test_a_state_does_not_move_to_another_backend_by_itself(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    with pytest.raises(RuntimeFailure) as raised:
        await runtime(place, store).survey(WorkspacePlanRequest((bucket("invoices"),)))
    assert "state" in f"{raised.value} {raised.value.hint}".lower()
    assert store.state == b"" and place.recorded() == {"sandbox_bucket.invoices"}


async def test_a_state_file_of_another_name_stays_in_the_folder(place: Place, tmp_path: Path) -> None:
    named = place.another(backend={"type": "local", "config": {"path": "shop.tfstate"}})
    request = WorkspacePlanRequest((bucket("invoices"),))
    async with named.apply_all(request, anything) as run:
        assert len(await run.outcome()) == 1
    assert (place.folder.path / "shop.tfstate").exists() and not place.folder.state.exists()
    assert set(actions(await named.survey(request)).values()) == {PlannedAction.NONE}

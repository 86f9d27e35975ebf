"""A configuration management database to practise with: which pod a host is, over HTTP, kept in SQLite.

It learns the way such services do: it looks at the clusters now and then and writes down what it sees. What it has not
seen for a while is still there, and old. What somebody entered by hand never grows old, which is how two records come
to claim one host.

    POST /v1/hosts/lookup  {"hostnames": [...]}   → {"hosts": [record], "unknown": [hostname]}
    GET  /v1/hosts?cluster=&namespace=&limit=     → {"hosts": [record]}
    PUT  /v1/hosts         {"hosts": [record]}    → {"written": n}; records entered by hand, or `seen` at a time
    GET  /healthz                                 → {"records": n, "looked": time}

A record: hostname, cluster, namespace, pod, uid, node (empty where there is none), seen (RFC 3339), fresh.
`python -m runtimes.sandbox.cmdb` serves until SIGINT or SIGTERM and prints one READY line.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import signal
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from runtimes.sandbox import visitor

MOST_HOSTNAMES = 1000
MOST_LISTED = 5000
FRESH_SECONDS = 60.0
LOOK_SECONDS = 2.0
PARENT_SECONDS = 1.0
TOKEN_VARIABLE = "CMDB_TOKEN"
_FIELDS = ("hostname", "cluster", "namespace", "pod", "uid", "node")
_TABLE = """
create table if not exists host (
    hostname text not null, cluster text not null, namespace text not null, pod text not null, uid text not null,
    node text not null, seen real not null, by_hand integer not null,
    primary key (hostname, cluster, namespace, pod, uid)
)
"""
_PUT = """
insert into host values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict do update set node = excluded.node, seen = excluded.seen, by_hand = excluded.by_hand
"""
Look = Callable[[], Mapping[str, Sequence[Mapping[str, Any]]]]
"""Lists the pods, as the API has them, of every cluster that answers."""


class Inventory:
    """The records. Times are Unix seconds; `database` is a file, or `:memory:`."""

    def __init__(self, database: str, *, fresh_seconds: float = FRESH_SECONDS) -> None:
        # one connection, only ever used by the event loop's thread
        self._connection = sqlite3.connect(database, isolation_level=None)
        self._connection.execute(_TABLE)
        self._fresh_seconds = fresh_seconds

    def close(self) -> None:
        self._connection.close()

    def put(self, records: Sequence[Mapping[str, Any]], *, seen: float, by_hand: bool) -> None:
        """Adds or confirms records."""
        rows = [(*(str(each.get(key) or "") for key in _FIELDS), seen, int(by_hand)) for each in records]
        with self._transaction():
            self._connection.executemany(_PUT, rows)

    def saw(self, cluster: str, pods: Sequence[Mapping[str, Any]], when: float) -> None:
        """Writes down the pods of a cluster that run or are about to."""
        self.put([_record(cluster, each) for each in pods if _is_there(each)], seen=when, by_hand=False)

    def lookup(self, hostnames: Sequence[str], now: float) -> list[dict[str, Any]]:
        """Returns every record of these hosts, by host and the last seen first."""
        marks = ",".join("?" * len(hostnames))
        return self._select(f"where hostname in ({marks}) order by hostname, seen desc", hostnames, now)

    def listed(self, cluster: str, namespace: str, limit: int, now: float) -> list[dict[str, Any]]:
        """Returns records of a cluster and namespace (empty for any), by host."""
        where = "where (? = '' or cluster = ?) and (? = '' or namespace = ?) order by hostname, seen desc limit ?"
        return self._select(where, (cluster, cluster, namespace, namespace, limit), now)

    def count(self) -> int:
        (found,) = self._connection.execute("select count(*) from host").fetchone()
        return int(found)

    def _select(self, rest: str, values: Sequence[object], now: float) -> list[dict[str, Any]]:
        found = self._connection.execute(f"select {','.join(_FIELDS)}, seen, by_hand from host {rest}", values)
        return [
            {
                **dict(zip(_FIELDS, row, strict=False)),
                "seen": datetime.fromtimestamp(row[-2], UTC).isoformat(timespec="seconds"),
                "fresh": bool(row[-1]) or now - row[-2] <= self._fresh_seconds,
            }
            for row in found
        ]

    @contextlib.contextmanager
    def _transaction(self) -> Any:
        self._connection.execute("begin")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")


class Cmdb:
    """The service; an async context manager. Every request needs the bearer token. `url` is known once entered.

    `look` is called every `look_seconds`, on a thread; without it the records are what clients put.
    """

    def __init__(
        self,
        *,
        token: str,
        database: str = ":memory:",
        look: Look | None = None,
        look_seconds: float = LOOK_SECONDS,
        fresh_seconds: float = FRESH_SECONDS,
        port: int = 0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.inventory = Inventory(database, fresh_seconds=fresh_seconds)
        self.url = ""
        self._token, self._look, self._look_seconds = token, look, look_seconds
        self._port, self._now = port, now
        self._looked: float | None = None
        self._runner: web.AppRunner | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Cmdb:
        app = web.Application(middlewares=[self._guard], client_max_size=4 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/v1/hosts/lookup", self._lookup),
                web.get("/v1/hosts", self._list),
                web.put("/v1/hosts", self._put),
                web.get("/healthz", self._health),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        try:
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", self._port)
            await site.start()
            host, port = self._runner.addresses[0][:2]
            self.url = f"http://{host}:{port}"
            if self._look is not None:
                await self.look()
                self._looking = asyncio.create_task(self._keep_looking())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        self.inventory.close()

    async def look(self) -> None:
        """Looks at the clusters once; those that do not answer are left as they were."""
        assert self._look is not None
        began = self._now()
        for cluster, pods in (await asyncio.to_thread(self._look)).items():
            self.inventory.saw(cluster, pods, began)
        self._looked = began

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            await self.look()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return web.json_response({"error": "a bearer token is needed"}, status=401)
        try:
            return await handler(request)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return web.json_response({"error": f"the request cannot be read: {type(error).__name__}"}, status=400)

    async def _lookup(self, request: web.Request) -> web.Response:
        hostnames = (await request.json())["hostnames"]
        if not isinstance(hostnames, list) or not all(isinstance(each, str) for each in hostnames):
            return web.json_response({"error": "hostnames needs to be a list of texts"}, status=400)
        if len(hostnames) > MOST_HOSTNAMES:
            return web.json_response({"error": f"at most {MOST_HOSTNAMES} host names at once"}, status=413)
        found = self.inventory.lookup(hostnames, self._now())
        known = {each["hostname"] for each in found}
        unknown = [each for each in dict.fromkeys(hostnames) if each not in known]
        return web.json_response({"hosts": found, "unknown": unknown})

    async def _list(self, request: web.Request) -> web.Response:
        query = request.query
        limit = min(max(int(query.get("limit", MOST_LISTED)), 1), MOST_LISTED)
        found = self.inventory.listed(query.get("cluster", ""), query.get("namespace", ""), limit, self._now())
        return web.json_response({"hosts": found})

    async def _put(self, request: web.Request) -> web.Response:
        records = (await request.json())["hosts"]
        for each in records:
            if not isinstance(each["hostname"], str) or not each["hostname"]:
                return web.json_response({"error": "a record needs a hostname"}, status=400)
        for each in records:
            seen = datetime.fromisoformat(each["seen"]).timestamp() if each.get("seen") else self._now()
            self.inventory.put([each], seen=seen, by_hand=not each.get("seen"))
        return web.json_response({"written": len(records)})

    async def _health(self, request: web.Request) -> web.Response:
        looked = None if self._looked is None else datetime.fromtimestamp(self._looked, UTC).isoformat()
        return web.json_response({"records": self.inventory.count(), "looked": looked})


def _record(cluster: str, pod: Mapping[str, Any]) -> dict[str, str]:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    return {
        "hostname": spec.get("hostname") or metadata["name"],
        "cluster": cluster,
        "namespace": metadata["namespace"],
        "pod": metadata["name"],
        "uid": metadata["uid"],
        "node": spec.get("nodeName") or "",
    }


def _is_there(pod: Mapping[str, Any]) -> bool:
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not ended and not pod["metadata"].get("deletionTimestamp")


def looking(kubeconfig: Path, clusters: Mapping[str, str]) -> Look:
    """Looks at `clusters` (names people use → contexts of the kubeconfig)."""

    def look() -> dict[str, Sequence[Mapping[str, Any]]]:
        found: dict[str, Sequence[Mapping[str, Any]]] = {}
        for name, context in clusters.items():
            with contextlib.suppress(OSError, ValueError):  # a cluster that is gone: its records grow old
                found[name] = visitor.pods(kubeconfig, context)
        return found

    return look


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m runtimes.sandbox.cmdb", description="Serve an inventory of hosts.")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of practice clusters")
    parser.add_argument("--cluster", action="append", default=[], metavar="NAME=CONTEXT", help="look at it")
    parser.add_argument("--database", default=":memory:", help="SQLite file")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--fresh-seconds", type=float, default=FRESH_SECONDS, help="what was not seen for longer is old"
    )
    parser.add_argument("--parent", type=int, default=0, help="end with this process, which has to be the parent")
    options = parser.parse_args(argv)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        parser.error(f"{TOKEN_VARIABLE} needs to hold the token that clients have to send")
    clusters = dict(each.split("=", 1) for each in options.cluster)
    cmdb = Cmdb(
        token=token,
        database=options.database,
        look=looking(options.kubeconfig, clusters),
        fresh_seconds=options.fresh_seconds,
        port=options.port,
    )
    asyncio.run(_serve(cmdb, options.parent))
    return 0


async def _serve(cmdb: Cmdb, parent: int) -> None:
    """Serves until a signal, or until the process that started this one is gone (0: whatever happens to it)."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with cmdb:
        sys.stdout.write(f"READY {cmdb.url}\n")
        sys.stdout.flush()
        while not stop.is_set() and parent in (0, os.getppid()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), PARENT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())

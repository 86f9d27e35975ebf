"""Replies that go on: watches and followed logs."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from runtimes.sandbox import listing, logs, written
from runtimes.sandbox.api import replies, tables
from runtimes.sandbox.api.ages import parse_time
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.api.handlers import Request, selection_of
from runtimes.sandbox.api.requests import Query
from runtimes.sandbox.errors import ApiError, JsonObject
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.logs import LogLine
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.store import Object
from runtimes.sandbox.watching import Watch

Work = Coroutine[Any, Any, web.StreamResponse]
BOOKMARK_SECONDS = 60.0
_COUNTED = (
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("", "replicationcontrollers"),
)
_SHORTEST_WATCH_SECONDS = 1800.0


async def watch(incoming: web.BaseRequest, request: Request, disturbance: Disturbance | None) -> web.StreamResponse:
    """Raises ApiError before the stream begins; after that errors are events of it."""
    query = request.query
    version = query.text("resourceVersion")
    initial = query.flag("sendInitialEvents") if "sendInitialEvents" in query.values else None
    selection = selection_of(request)
    listing.check_options(version, query.text("resourceVersionMatch"), initial, True, query.text("continue"))
    asked = 0
    if version not in ("", "0"):
        try:
            asked = listing.parse_version(version)
        except ValueError as error:
            raise ApiError(500, "", str(error)) from error
    limit = query.number("timeoutSeconds")
    seconds = float(limit) if limit else _SHORTEST_WATCH_SECONDS * (1 + random.random())
    if disturbance is not None and disturbance.effect == "drop":
        seconds = min(seconds, disturbance.seconds)
    since = "" if initial else version
    stream = _Stream(incoming, request)
    try:
        if initial and asked > request.cluster.revision:
            raise listing.too_large(asked, request.cluster.revision, request.resource)
        events = Watch(request.cluster, request.resource, request.address.namespace, selection, since)
    except ApiError as error:
        await stream.begin()
        await stream.send({"type": "ERROR", "object": error.status()})
        return await stream.end()
    if initial is False and version in ("", "0"):
        events.skip_initial()
    try:
        await stream.begin()
        await stream.run(events, seconds, query.flag("allowWatchBookmarks"), bool(initial))
    except ConnectionResetError:
        # the client has gone, as watchers do
        return stream.response
    finally:
        events.close()
    if disturbance is not None and disturbance.effect == "drop" and incoming.transport is not None:
        incoming.transport.abort()
    return await stream.end()


class _Stream:
    def __init__(self, incoming: web.BaseRequest, request: Request) -> None:
        self.incoming, self.request = incoming, request
        self.response = web.StreamResponse()
        self.response.headers["Content-Type"] = request.wanted.format
        for name, value in replies.warning_headers(request.warnings):
            self.response.headers.add(name, value)
        self.response.enable_chunked_encoding()
        self.has_columns = False

    async def begin(self) -> None:
        await self.response.prepare(self.incoming)
        # headers go out at once, so that the client knows that it watches
        await self.response.write(b"")

    async def send(self, event: JsonObject) -> None:
        await self.response.write(replies.encoded(event) + b"\n")

    async def end(self) -> web.StreamResponse:
        with contextlib.suppress(ConnectionResetError):
            await self.response.write_eof()
        return self.response

    async def run(self, events: Watch, seconds: float, bookmarks: bool, marks_initial: bool) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        for _ in range(events.initial):
            await self.send(self.shown(await anext(events)))
        if marks_initial and bookmarks:
            await self.send(self.bookmark(events.version, ends_initial=True))
        next_mark = loop.time() + BOOKMARK_SECONDS
        while True:
            left = min(end, next_mark) - loop.time() if bookmarks else end - loop.time()
            try:
                async with asyncio.timeout(max(left, 0)):
                    event = await anext(events)
            except TimeoutError:
                if loop.time() >= end:
                    return
                await self.send(self.bookmark(events.version))
                next_mark = loop.time() + BOOKMARK_SECONDS
                continue
            except StopAsyncIteration:
                return
            await self.send(self.shown(event))

    def bookmark(self, version: int, ends_initial: bool = False) -> JsonObject:
        metadata: JsonObject = {"resourceVersion": str(version)}
        if ends_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self.request.resource
        empty = (
            {}
            if resource.is_custom
            else written.empty_object(Registry.load().kind(resource.group, resource.version, resource.kind))
        )
        if resource.storage in _COUNTED:  # the server's own form has a number where the served one has none
            empty["spec"] = {"replicas": 0, **empty["spec"]}
        obj: JsonObject = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            **{name: value for name, value in empty.items() if name not in ("kind", "apiVersion")},
            "metadata": metadata,
        }
        match self.request.wanted.shape:
            case "Table":
                obj = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
                obj |= {"columnDefinitions": None, "rows": []}
            case "PartialObjectMetadata":
                obj = replies.partial_metadata(obj)
        return {"type": "BOOKMARK", "object": obj}

    def shown(self, event: Object) -> JsonObject:
        obj = event["object"]
        match self.request.wanted.shape:
            case "Table":
                include = self.request.query.text("includeObject")
                now = self.request.cluster.clock.now()
                shown = tables.of_one(self.request.resource, obj, include, now, with_columns=not self.has_columns)
                self.has_columns = True
            case "PartialObjectMetadata":
                shown = replies.partial_metadata(obj)
            case _:
                shown = obj
        return {"type": event["type"], "object": shown}


# --- Logs ---

FOLLOW_SECONDS = 0.25


async def log(
    incoming: web.BaseRequest, request: Request, pod: Object, container: str, faults: Faults | None
) -> web.StreamResponse:
    """The container's lines so far and, when followed, those to come until it ends. Raises 400 before it begins."""
    if not pod["spec"].get("nodeName"):
        return web.Response(status=204)
    query = request.query
    previous = query.flag("previous")

    def printed(of: Object) -> list[LogLine]:
        return logs.lines(of, container, previous=previous, now=request.cluster.clock.now(), faults=faults)

    lines = printed(pod)
    shown = _chosen(lines, query, request.cluster.clock.now())
    stream = web.StreamResponse()
    stream.headers["Content-Type"] = "text/plain"
    stream.enable_chunked_encoding()
    await stream.prepare(incoming)
    stamped = query.flag("timestamps")
    content = b"".join(_line(each, stamped) for each in shown)
    limit = query.number("limitBytes")
    await stream.write(content if limit is None else content[:limit])
    if query.flag("follow") and not previous and limit is None:
        last = lines[-1].at if lines else None
        with contextlib.suppress(ConnectionResetError):
            await _follow(stream, request, pod, container, printed, last, stamped)
    with contextlib.suppress(ConnectionResetError):
        await stream.write_eof()
    return stream


async def _follow(
    stream: web.StreamResponse,
    request: Request,
    pod: Object,
    container: str,
    printed: Callable[[Object], list[LogLine]],
    last: datetime | None,
    stamped: bool,
) -> None:
    """Ends when the Pod is gone or the container has ended."""
    uid = pod["metadata"]["uid"]
    while True:
        now = request.cluster.find("pods", request.namespace, pod["metadata"]["name"])
        if now is None or now["metadata"]["uid"] != uid:
            return
        try:
            lines = printed(now)
        except ApiError:
            return
        fresh = [each for each in lines if last is None or each.at > last]
        if fresh:
            await stream.write(b"".join(_line(each, stamped) for each in fresh))
            last = fresh[-1].at
        if _has_ended(now, container):
            return
        await asyncio.sleep(FOLLOW_SECONDS)


def _has_ended(pod: Object, container: str) -> bool:
    status = pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return True
    every = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    state = next((each.get("state") or {} for each in every if each["name"] == container), {})
    return "running" not in state


def _chosen(lines: list[LogLine], query: Query, now: datetime) -> list[LogLine]:
    since = query.number("sinceSeconds")
    if since is not None:
        lines = [each for each in lines if each.at >= now - timedelta(seconds=since)]
    start = parse_time(query.text("sinceTime"))
    if start is not None:
        lines = [each for each in lines if each.at >= start]
    tail = query.number("tailLines")
    if tail is not None:
        lines = lines[max(len(lines) - tail, 0) :]
    return lines


def _line(line: LogLine, stamped: bool) -> bytes:
    if not stamped:
        return f"{line.text}\n".encode()
    # the real form has nanoseconds
    return f"{line.at.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%S.%f')}000Z {line.text}\n".encode()

"""What the containers of a pod, or of all pods of a workload, write, as it comes.

A stream that breaks goes on from the last line that was read: the server is asked for that one again, and where it is
not there any more (the log was rotated, the pod was moved) a note says that lines may be missing. Lines are read as
far as anybody reads them; the rest of a longer one is counted, not held.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from kcl.records import dataclass
from runtimes.base import Forbidden, NotThere, Rejected, RuntimeFailure
from runtimes.base.logs import LogLine, LogNote, LogQuery, LogReport, LogSource
from runtimes.kubernetes.client import Client, Object
from runtimes.kubernetes.feed import Feed
from runtimes.kubernetes.health.pod import containers
from runtimes.kubernetes.liveness import Liveness
from runtimes.kubernetes.objects import count, mapping, mappings, name_of, namespace_of, spec, uid_of

FIND_SECONDS = 2.0
MOST_STREAMS = 50
MOST_PENDING = 5000
MOST_LINE_BYTES = 64 * 1024
_GATHER_SECONDS = 0.2
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")

_Key = tuple[str, str]
_Time = tuple[float, int]


@dataclass(slots=True)
class _Stream:
    """`last` is the time of the last line, of which `repeats` lines were read; `run` tells one run from the next."""

    source: LogSource
    namespace: str
    run: int = -1
    last: _Time | None = None
    last_at: datetime | None = None
    repeats: int = 0
    is_over: bool = False
    said: str = ""
    task: asyncio.Task[None] | None = None


@asynccontextmanager
async def following(client: Client, query: LogQuery) -> AsyncIterator[AsyncIterator[LogReport]]:
    feed = _Feed(client, query)
    async with feed.running() as given:
        yield given


class _Feed(Feed[LogReport]):
    def __init__(self, client: Client, query: LogQuery) -> None:
        super().__init__()
        self._client, self._query = client, query
        self._streams: dict[_Key, _Stream] = {}
        self._pending: deque[LogLine | LogNote] = deque()
        self._dropped = 0
        self._failure: RuntimeFailure | None = None
        self._soon = asyncio.Event()
        self._liveness = Liveness(client, changed=self.changed, turned=self._turn)
        self._last: LogReport | None = None

    def _turn(self) -> None:
        """What seems to stand may be as dead as the rest: every stream is opened again from its last line."""
        if (failure := self._liveness.failure) is not None:
            self._note(None, f"nothing is heard: {failure.message}")
            for each in self._streams.values():
                if each.task is not None:
                    each.task.cancel()
        self._soon.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._liveness.run())
            while True:
                try:
                    await self._find(group)
                    self._failure = None
                except RuntimeFailure as failure:
                    self._failure = failure
                self.changed()
                self._soon.clear()
                try:
                    async with asyncio.timeout(FIND_SECONDS):
                        await self._soon.wait()
                except TimeoutError:
                    continue

    # --- which containers there are

    async def _find(self, group: asyncio.TaskGroup) -> None:
        wanted = [found for pod in await self._pods() for found in self._containers(pod)]
        for key, stream, run, is_over in wanted:
            known = self._streams.get(key)
            if known is None:
                if len(self._streams) >= MOST_STREAMS:
                    self._note_once(next(iter(self._streams.values())), f"only {MOST_STREAMS} containers are followed")
                    break
                known = self._streams[key] = stream
            if known.task is not None and not known.task.done():
                continue
            if known.run == run and known.is_over:
                continue  # it has ended, and was read to its end
            known.run = run
            known.task = group.create_task(self._read(known, is_over))

    async def _pods(self) -> tuple[Object, ...]:
        id_ = self._query.id
        live = await self._client.get(id_)
        if live is None:
            raise NotThere("it is not there", target=self._client.place, subject=str(id_))
        if id_.kind == "Pod":
            return (live,)
        labels = _selected(live)
        if not labels:
            raise Rejected("it selects no pods", target=self._client.place, subject=str(id_))
        resource = await self._client.resource("v1", "Pod")
        return (await self._client.list(resource, namespace_of(live), labels=labels)).items

    def _containers(self, pod: Object) -> Iterator[tuple[_Key, _Stream, int, bool]]:
        """Yields the containers that have something to read: which, its stream, which run, whether that is over."""
        states = {str(each.get("name")): each for each in containers(pod)}
        for part in ("initContainers", "containers", "ephemeralContainers"):
            for each in mappings(spec(pod).get(part)):
                name = str(each.get("name"))
                if self._query.container not in ("", name):
                    continue
                state = states.get(name, {})
                is_running = "running" in mapping(state.get("state"))
                is_over = "terminated" in mapping(state.get("state")) or self._query.is_previous
                if is_running or is_over:
                    source = LogSource(name_of(pod), name)
                    stream = _Stream(source, namespace_of(pod))
                    yield (uid_of(pod), name), stream, count(state, "restartCount"), is_over

    # --- reading

    async def _read(self, stream: _Stream, is_over: bool) -> None:
        """Reads until the server ends it. Whether there is more to come, the next look at the pod says."""
        reopened_from = stream.last
        is_seen = reopened_from is None
        skipped = 0
        try:
            async with self._client.log_stream(
                stream.namespace, stream.source.pod, self._parameters(stream, follows=not is_over)
            ) as chunks:
                stream.said = ""
                async for text, cut_bytes in lines(chunks):
                    self._liveness.heard()
                    line, when = _line(stream.source, text, cut_bytes)
                    if reopened_from is not None and when is not None and when <= reopened_from:
                        is_seen |= when == reopened_from
                        skipped += when == reopened_from
                        if when < reopened_from or skipped <= stream.repeats:
                            continue  # it was read before
                    elif not is_seen:
                        is_seen = True
                        at = f" after {stream.last_at:%H:%M:%S}" if stream.last_at is not None else ""
                        self._note(stream.source, f"lines may be missing here{at}: what was read last is gone")
                    self._take(stream, line, when)
            stream.is_over = is_over
        except (Forbidden, NotThere, Rejected) as refused:
            self._note_once(stream, _why_not(refused))
            stream.is_over = is_over
        except RuntimeFailure as failure:
            self._note(stream.source, f"the stream was lost: {failure.message}")

    def _parameters(self, stream: _Stream, *, follows: bool) -> Mapping[str, str]:
        query = self._query
        found = {"container": stream.source.container, "timestamps": "true"}
        if query.is_previous:
            found["previous"] = "true"
        elif follows:
            found["follow"] = "true"
        if stream.last_at is not None:
            # of the second of the last line, which is to be among them
            found["sinceTime"] = stream.last_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            return found
        if query.tail_lines is not None:
            found["tailLines"] = str(query.tail_lines)
        if query.since_seconds is not None:
            found["sinceSeconds"] = str(query.since_seconds)
        return found

    def _take(self, stream: _Stream, line: LogLine, when: _Time | None) -> None:
        if when is not None:
            stream.repeats = stream.repeats + 1 if when == stream.last else 1
            stream.last, stream.last_at = when, line.at
        self._put(line)

    def _note(self, source: LogSource | None, text: str) -> None:
        self._put(LogNote(source, datetime.now(UTC), text))

    def _note_once(self, stream: _Stream, text: str) -> None:
        if stream.said != text:
            stream.said = text
            self._note(stream.source, text)

    def _put(self, entry: LogLine | LogNote) -> None:
        self._pending.append(entry)
        if len(self._pending) > MOST_PENDING:
            self._pending.popleft()
            self._dropped += 1
        self.changed()

    # --- reports

    def __aiter__(self) -> _Feed:
        return self

    async def __anext__(self) -> LogReport:
        while True:
            await self.wait()
            await asyncio.sleep(_GATHER_SECONDS)  # lines of several containers are put into their order
            self._dirty.clear()
            report = self._report()
            if report.entries or report != self._last:
                self._last = report
                return report

    def _report(self) -> LogReport:
        entries = _in_order(self._pending)
        self._pending.clear()
        if self._dropped:
            text = f"{self._dropped} lines are not shown: they came faster than they could be taken"
            entries.insert(0, LogNote(None, datetime.now(UTC), text))
            self._dropped = 0
        contact = self._liveness.contact
        sources = tuple(each.source for each in self._streams.values())
        heard_at = contact.answered_at if contact is not None else None
        return LogReport(tuple(entries), sources, heard_at, self._liveness.failure or self._failure)


def _in_order(pending: Iterable[LogLine | LogNote]) -> list[LogLine | LogNote]:
    """Returns lines of several containers by their time; a note stays between what came before and after it."""
    found: list[LogLine | LogNote] = []
    for _, some in groupby(pending, key=lambda each: isinstance(each, LogNote)):
        entries = list(some)
        found += entries if isinstance(entries[0], LogNote) else sorted(entries, key=_when)
    return found


def _when(entry: LogLine | LogNote) -> float:
    return entry.at.timestamp() if entry.at is not None else time.time()


async def lines(chunks: AsyncIterator[bytes], most: int = MOST_LINE_BYTES) -> AsyncIterator[tuple[bytes, int]]:
    """Yields each line as far as it is not longer than `most`, and how many bytes of it are left out."""
    rest, cut = bytearray(), 0
    async for chunk in chunks:
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            rest, cut = _joined(rest, cut, chunk[begin:end], most)
            yield bytes(rest), cut
            rest, cut, begin = bytearray(), 0, end + 1
        rest, cut = _joined(rest, cut, chunk[begin:], most)
    if rest:
        yield bytes(rest), cut


def _joined(rest: bytearray, cut: int, more: bytes, most: int) -> tuple[bytearray, int]:
    room = max(0, most - len(rest))
    rest += more[:room]
    return rest, cut + max(0, len(more) - room)


def _line(source: LogSource, content: bytes, cut_bytes: int) -> tuple[LogLine, _Time | None]:
    stamp = _STAMP.match(content)
    text = (content[stamp.end() :] if stamp else content).decode("utf-8", "replace").rstrip("\r")
    if stamp is None:
        return LogLine(source, None, text, cut_bytes), None
    base, fraction, offset = (each.decode() if each else "" for each in stamp.groups())
    nanoseconds = int(f"{fraction:0<9}") if fraction else 0
    try:
        second = datetime.fromisoformat(base + offset)
    except ValueError:
        return LogLine(source, None, text, cut_bytes), None
    at = second.replace(microsecond=nanoseconds // 1000)
    return LogLine(source, at, text, cut_bytes), (second.timestamp(), nanoseconds)


def _why_not(refused: RuntimeFailure) -> str:
    if "previous terminated container" in refused.message:
        return "it has had no run before this one"
    if isinstance(refused, Forbidden):
        return f"it may not be read: {refused.message}"
    return f"it can't be read: {refused.message}"


def _selected(live: Object) -> str:
    """Returns the selector of what an object selects, empty where it selects none."""
    selector: Any = spec(live).get("selector")
    if not isinstance(selector, Mapping):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{name}={text}" for name, text in sorted(selector.items()))  # of a Service, say
    parts = [f"{name}={text}" for name, text in sorted(mapping(selector.get("matchLabels")).items())]
    for each in mappings(selector.get("matchExpressions")):
        name, values = each.get("key"), ",".join(map(str, each.get("values") or ()))
        forms = {"In": f"{name} in ({values})", "NotIn": f"{name} notin ({values})", "Exists": str(name)}
        parts.append({**forms, "DoesNotExist": f"!{name}"}.get(str(each.get("operator")), str(name)))
    return ",".join(parts)

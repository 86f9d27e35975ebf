"""The results of whole runs, cached on disk and in memory: reused while everything they rest on is unchanged.

An entry is found by the request (`RunRequest.name`). It holds while every path that the run looked at has the stamp it
had then: files and folders, kcl.mod and settings, and what was looked for and not found. A result is cached only if it
is a function of these: not if the run asked for the time, a random number, the environment or the content of a file,
called a plugin, or had its files changed by overrides. Warnings and what the program printed are part of the entry.

The errors of a program are cached where its files alone cause them (`Failure`): those of parser, loader and checker. A
message may quote any line, so such an entry is always sealed, and not written where options were given that may be
secret.

A result that may hold a secret (`SecretRules.may_be_in`), or that used an option from a file whose name suggests a
secret, is sealed by the contents of the files (`kcl.cache.sealing`). If there were also options that no file holds, it
is not cached at all: they may be part of the secret, and may be easy to guess. A caller whose options anybody may know
says so (`Settings.is_public`).
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Callable, Mapping
from typing import Final

from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.cache.sealing import digest_of, key_from, opened, seal
from kcl.cache.store import Store
from kcl.diagnostics import Diagnostic
from kcl.evaluator.cached_provenance import CachedProvenance
from kcl.evaluator.dialect import Dialect
from kcl.evaluator.provenance import Provenance
from kcl.loader import Manifest
from kcl.memo.inputs import Clock, Leads, Moment, Stamp, Ways, hold, now, settled
from kcl.records import dataclass, field
from kcl.results.places import packed
from kcl.results.request import RunRequest
from kcl.results.result import RunResult
from kcl.results.texts import CachedTexts, SourceChanged
from kcl.secrecy.rules import BUILT_IN, SecretRules

_MODULES: Final = ("kcl.diagnostics.", "kcl.evaluator.dialect", "kcl.loader.")
_MOST_IN_MEMORY: Final = 16 * 1024 * 1024
"""Bytes of entries in memory, the most recently used; as objects they take several times as much."""
_MOST_FACTS: Final = 256
_MOST_DIGESTS: Final = 1 << 16
_Facts = tuple[Manifest, Dialect, tuple[Diagnostic, ...]]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A cached result. `values`, documents and texts, are unpacked anew for each caller, which may change them."""

    stamps: Mapping[str, Stamp] = field(repr=False)
    ways: Ways = field(repr=False)
    sources: tuple[str, ...] = field(repr=False)
    values: bytes = field(repr=False)
    provenance: CachedProvenance = field(repr=False)
    facts: _Facts = field(repr=False)
    size: int

    def result(self) -> RunResult:
        documents, emitted, printed, sort_keys = marshal.loads(self.values)
        manifest, dialect, diagnostics = self.facts
        return RunResult(
            documents=documents,
            provenance=self.provenance,
            diagnostics=diagnostics,
            sources=CachedTexts(self.sources, self.stamps),
            dependency_names=frozenset(self.stamps),
            printed=printed,
            dialect=dialect,
            manifest=manifest,
            emitted=None if emitted is None else lambda: emitted,
            sort_keys=sort_keys,
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """The diagnostics of a program that failed, the texts they point into, and the paths they rest on."""

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    dependency_names: frozenset[str]


class ResultCache:
    """The results in a store. Safe to share between threads."""

    def __init__(self, store: Store, secrets: SecretRules = BUILT_IN, clock: Clock = now) -> None:
        self._store, self._secrets, self._clock = store, secrets, clock
        self._memory = _Memory()
        self._digests = _Digests()
        self._facts: dict[bytes, _Facts] = {}

    def look_up(self, name: str) -> RunResult | None:
        """The result cached under a request's name; None if there is none, or something it rests on has changed."""
        entry = self._memory.get(name)
        if entry is not None:
            if hold(entry.stamps, entry.ways):
                return entry.result()
            self._memory.forget(name)
        data = self._store.read(name)
        if data is None:
            return None
        try:
            entry = self._read(name, data)
            result = None if entry is None else entry.result()
        except BROKEN:
            return None
        if entry is not None:
            self._memory.put(name, entry)
        return result

    def store(
        self,
        name: str,
        request: RunRequest,
        result: RunResult,
        started: Moment,
        taken: Mapping[str, Stamp | None] | None = None,
    ) -> bool:
        """Caches the result of a run that began at `started`; returns whether it did.

        It does not where something the result rests on was written shortly before or meanwhile. `taken` are the stamps
        that the run took of what it was about to read.
        """
        provenance = result.provenance
        looked_at = sorted(result.dependency_names, key=lambda path: path not in provenance.user_files)
        stamps = settled(looked_at, started, taken, self._clock)  # what is edited most comes first
        if stamps is None or not isinstance(provenance, Provenance):
            return False
        own = {path: path for path, stamp in stamps.items() if stamp}  # these very texts, which are written once
        sources = tuple(own[path] for path in result.sources if path in own)
        if len(sources) < len(result.sources):  # one is gone again
            return False
        facts = (result.manifest, result.dialect, result.diagnostics)
        try:
            emitted = None if result.emitted is None else result.emitted()
            values = marshal.dumps((result.documents, emitted, result.printed, result.sort_keys))
            places, packed_facts = packed(provenance), to_bytes(facts)
            body = marshal.dumps((values, places, provenance.user_files, packed_facts))
        except ValueError:  # nested too deeply
            return False
        files = None
        text = f"{result.documents!r} {result.printed} {[each.message for each in result.diagnostics]!r}"
        if any(map(self._secrets.suggests, provenance.givers)) or self._secrets.may_be_in(text):
            files = tuple(path for path in own if path in result.sources or os.path.isfile(path))
            key = key_from(name, files, self._digests.taken(stamps))
            if key is None or request.private_options():
                return False
            body = seal(body, key)
        ways = Leads().ways(stamps)
        data = marshal.dumps((stamps, ways, sources, files, body))
        cached = CachedProvenance(places, provenance.user_files)
        self._memory.put(name, _Entry(stamps, ways, sources, values, cached, facts, len(data)))
        return self._store.write(name, data)

    def look_up_failure(self, name: str) -> Failure | None:
        """The failure cached under a request's name; None as in `look_up`."""
        data = self._store.read(_failed(name))
        if data is None:
            return None
        try:
            stamps, ways, files, body = marshal.loads(data)
            key = key_from(name, files, self._digests.taken(stamps)) if hold(stamps, ways) else None
            body = None if key is None else opened(body, key)
            if body is None:
                return None
            sources, diagnostics = marshal.loads(body)
            return Failure(from_bytes(diagnostics, _MODULES), dict(CachedTexts(sources, stamps)), frozenset(stamps))
        except (*BROKEN, SourceChanged):
            return None

    def store_failure(
        self,
        name: str,
        request: RunRequest,
        failure: Failure,
        started: Moment,
        taken: Mapping[str, Stamp | None] | None = None,
    ) -> bool:
        """Caches the diagnostics of a program that its files alone cause; see `store`."""
        if request.private_options():
            return False
        stamps = settled(sorted(failure.dependency_names), started, taken, self._clock)
        if stamps is None or not failure.sources.keys() <= stamps.keys():
            return False
        files = tuple(path for path, stamp in stamps.items() if stamp and os.path.isfile(path))
        key = key_from(name, files, self._digests.taken(stamps))
        if key is None:
            return False
        body = marshal.dumps((tuple(failure.sources), to_bytes(failure.diagnostics)))
        return self._store.write(_failed(name), marshal.dumps((stamps, Leads().ways(stamps), files, seal(body, key))))

    def _read(self, name: str, data: bytes) -> _Entry | None:
        """The entry that these bytes are, if it holds. Raises one of `BROKEN`."""
        stamps, ways, sources, files, body = marshal.loads(data)
        if not hold(stamps, ways):
            return None
        if files is not None:
            key = key_from(name, files, self._digests.taken(stamps))
            body = None if key is None else opened(body, key)
            if body is None:
                return None
        values, places, user_files, facts = marshal.loads(body)
        provenance = CachedProvenance(places, user_files)
        return _Entry(stamps, ways, sources, values, provenance, self._unpacked(facts), len(data))

    def _unpacked(self, facts: bytes) -> _Facts:
        """The facts that these bytes are. Most results of a repository have the same, so they are unpacked once."""
        found = self._facts.get(facts)
        if found is None:
            if len(self._facts) >= _MOST_FACTS:
                self._facts.clear()
            found = self._facts[facts] = from_bytes(facts, _MODULES)
        return found


def _failed(name: str) -> str:
    return f"failed-{name}"


class _Memory:
    """Entries in memory, bounded by their bytes: the least recently used is evicted first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._bytes = 0

    def get(self, name: str) -> _Entry | None:
        with self._lock:
            entry = self._entries.pop(name, None)
            if entry is not None:
                self._entries[name] = entry
            return entry

    def put(self, name: str, entry: _Entry) -> None:
        with self._lock:
            self._drop(name)
            self._entries[name] = entry
            self._bytes += entry.size
            while self._bytes > _MOST_IN_MEMORY:
                self._drop(next(iter(self._entries)))

    def forget(self, name: str) -> None:
        with self._lock:
            self._drop(name)

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._bytes -= entry.size


class _Digests:
    """Digests of the contents of files, each read once for all entries it is part of."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, bytes]] = {}

    def taken(self, stamps: Mapping[str, Stamp]) -> Callable[[str], bytes | None]:
        """A function from a file with one of these stamps to its digest, None for what cannot be read.

        A file that is written between its stamp and its reading has a digest which opens nothing; the next stamp is
        another.
        """

        def of(path: str) -> bytes | None:
            known = self._known.get(path)
            if known is not None and known[0] == stamps[path]:
                return known[1]
            digest = digest_of(path)
            if digest is not None:
                if len(self._known) >= _MOST_DIGESTS:
                    self._known.clear()
                self._known[path] = (stamps[path], digest)
            return digest

        return of

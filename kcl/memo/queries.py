"""Answers cached together with what they depend on, and computed again only when that has changed.

A `Query` is a pure function of a key: the tree of a file, the interface of a package. Whatever else it needs it gets
through the request: the answers of other queries, and inputs, which are facts from outside (a text, a stamp). While a
query runs, the memo records each dependency and its value, in order. That list is the trace of the answer.

An answer is valid for as long as everything in its trace still has the same value. So when it is asked for a second
time, the trace is verified: inputs are read again, queries are asked again, which verify their own traces first. At the
first value that differs the function runs again. Three things follow.

Dependencies are dynamic. Nobody declares what a query reads; a query that reads a list of files and then each of them
depends on other files once the list has changed. The order of the trace makes this safe: whatever decided that
something is read comes before it in the trace, so verifying never reads anything that the function would not read now.

A change stops where it makes no difference ("early cut-off"). When the function has run again and its answer is the
same as before, the old object stays in the cache; whoever depends on it finds its trace unchanged and does not run. A
comment typed into a file of models makes another text and another tree, but the same interface, and ends there.

Nothing is invalidated, so no invalidation can be forgotten. Each request (`Request`) reads the inputs itself, each of
them once, and in its own way. Two requests may see different states of the world, as when one of them tries an edit
that is not on disk.

This is how the compiler of Rust works (salsa, https://salsa-rs.github.io/salsa/reference/algorithm.html), and the type
checker ty, with one difference: they number the revisions of one world, and compare numbers. Here several worlds exist
at a time, so a trace holds values. These are the "verifying traces" of Mokhov, Mitchell and Peyton Jones, Build Systems
à la Carte (https://doi.org/10.1145/3236774).

An answer without inputs has an empty trace, now and for ever, and is left out of the traces of others. So facts about
an object that never changes cost one look-up, however many queries they were made of.

Failures:
- A query that depends on itself, by whatever detour, gets a `QueryCycle`, which names the way round.
- What a query raises is not cached, unless it is one of its `cached_errors`: those are raised again, like an answer.
  Within one request any error is raised to each caller. A query that catches an error that is not cached, or a cycle,
  has no complete trace, so its answer is not cached either.
- Two threads may compute the same answer at once. Entries are replaced as a whole, and the thread that comes last takes
  the entry of the first if it is valid.

Verifying a long trace takes time, a step of Python for each stamp of hundreds. So for inputs that may be read without
need (`Input.at_once`) an entry also holds all inputs below it, however deep, and these are compared together first.
While they are the same, the trace could not come to another result.

With a `Codec` and a store, answers outlive the process. An entry on disk has the answer and the inputs of its trace,
including those below the queries it read, since their answers are not there in the process that reads it. Where an
input means nothing in another process, an override of the query may look for an answer in its own way before it
computes one. Which queries are written is decided by whoever makes the memo: queries know nothing of a disk.
"""

from __future__ import annotations

import marshal
import operator
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from kcl.records import dataclass, field

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
A = TypeVar("A", bound=Hashable)
B = TypeVar("B")


class Entries(Protocol):
    """The part of a store that a memo uses."""

    def read(self, name: str, /) -> bytes | None: ...

    def note(self, name: str, content: Callable[[], bytes | None]) -> None:
        """Schedules an entry to be written when the request is over."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[K, V]):
    """How an answer is written to disk and read back."""

    name: Callable[[K], str]
    """The name of the entry. It identifies everything the answer depends on except inputs, the compiler included."""
    to_bytes: Callable[[V], bytes]
    """Raises ValueError for what cannot be written."""
    from_bytes: Callable[[bytes], V]
    """Raises ValueError, TypeError or EOFError for data that `to_bytes` did not write."""
    also_seeds: Callable[[Memo, K, V, bytes], None] | None = None
    """Seeds other answers that follow from one that was read, or are in its data. They may be valid where that one no
    longer is."""


def _always(value: object) -> bool:
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Input(Generic[K, V]):
    """A fact from outside. How it is read is for each request to say (`Request.provide_input`).

    `is_same` may be false even of a value and itself, where it proves nothing: the stamp of a file written just now.
    """

    name: str
    is_same: Callable[[V, V], bool] = operator.eq
    at_once: bool = False
    """Whether it may be read without need; `is_same` is then equality, except as above."""
    is_lasting: Callable[[V], bool] = _always
    """Whether a value means the same in another process."""


@dataclass(frozen=True, slots=True, eq=False)
class Query(Generic[K, V]):
    """A pure function of its key and of its dependencies; `compute` is None where each request provides it."""

    name: str
    compute: Callable[[Request, K], V] | None = None
    is_same: Callable[[V, V], bool] = operator.eq
    """Whether two answers are interchangeable; `operator.is_` where comparing takes longer than computing."""
    most: int | None = None
    """How many answers are cached at most, the latest ones; None for all."""
    lives_with_key: bool = False
    """Whether an answer is dropped when its key is garbage; it must not refer to the key itself."""
    cached_errors: tuple[type[Exception], ...] = ()
    """Exceptions that are cached like an answer."""


class QueryCycle(Exception):
    """A query depends on itself. `path` has the names and keys on the way round, the first one again at the end."""

    def __init__(self, path: tuple[tuple[str, Hashable], ...]) -> None:
        super().__init__(" asks for ".join(f"{name}({key!r})" for name, key in path))
        self.path = path


_Any: TypeAlias = "Query[Any, Any] | Input[Any, Any]"
Override: TypeAlias = "Callable[[Request, Any, Callable[[Request, Any], Any]], Any]"
"""Computes a query in place of its function, which it is given with the key."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a query raised, in place of an answer."""

    error: Exception


_Step: TypeAlias = tuple[_Any, Hashable, object]
"""A dependency, its key and its value."""
_InputValues: TypeAlias = dict[Input[Any, Any], dict[Hashable, object]]
"""The values of inputs, by key."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The answer of a query, or its failure where that is cached, and its trace."""

    answer: object
    trace: tuple[_Step, ...]
    below: _InputValues | None = None
    """All inputs it depends on, however deep; None where one proves nothing (`Input.is_same`), or they are unknown."""


class Memo:
    """The cache of answers. Hand one to all requests; safe to share between threads.

    Answers of queries with a codec in `on_disk` are also written to `store`, for other processes. `overrides` compute
    queries in place of their functions.
    """

    def __init__(
        self,
        store: Entries | None = None,
        on_disk: Mapping[Query[Any, Any], Codec[Any, Any]] | None = None,
        overrides: Mapping[Query[Any, Any], Override] | None = None,
    ) -> None:
        self._tables: dict[Query[Any, Any], MutableMapping[Any, _Entry]] = {}
        self._lock = threading.Lock()
        self._store = store
        self._codecs = {} if store is None or on_disk is None else on_disk
        self._overrides = overrides or {}

    def request(self) -> Request:
        """A new request, which has read nothing yet."""
        return Request(self)

    def get(self, query: Query[K, V], key: K) -> V:
        """The answer of a query without inputs, at any depth."""
        cached = self._cached(query, key)
        if cached is not None and not cached.trace and not isinstance(cached.answer, _Failure):
            return cast(V, cached.answer)
        return Request(self).get(query, key)

    def seed(self, query: Query[K, V], key: K, answer: V, read: tuple[Input[A, B], A, B] | None = None) -> None:
        """Caches an answer computed elsewhere, unless there is an entry. It depends on this one input, or on none."""
        if self._cached(query, key) is None:
            self._put(query, key, _Entry(answer, () if read is None else (read,), {} if read is None else None))

    def count(self, query: Query[Any, Any]) -> int:
        """How many answers of a query are cached."""
        return len(self._tables.get(query, ()))

    def _cached(self, query: Query[Any, Any], key: Hashable) -> _Entry | None:
        table = self._tables.get(query)
        return None if table is None else table.get(key)

    def _put(self, query: Query[Any, Any], key: Hashable, entry: _Entry) -> None:
        with self._lock:
            table = self._tables.get(query)
            if table is None:
                table = self._tables[query] = _weak_table() if query.lives_with_key else {}
            if query.most is not None:
                table.pop(key, None)
                while len(table) >= max(query.most, 1):
                    del table[next(iter(table))]
            table[key] = entry


def _weak_table() -> MutableMapping[Any, _Entry]:
    from weakref import WeakKeyDictionary  # imported only where it is used: a start should be quick

    return WeakKeyDictionary()


_UNKNOWN: Final = object()


@dataclass(slots=True, eq=False)
class Request:
    """One request: a consistent view, in which each input and each answer has one value. For one thread at a time."""

    _memo: Memo
    _readers: dict[Input[Any, Any], Callable[[Any], Any]] = field(default_factory=dict)
    _bulk_readers: dict[Input[Any, Any], Callable[[Iterable[Any]], Mapping[Any, Any]]] = field(default_factory=dict)
    _work: dict[Query[Any, Any], Callable[[Request, Any], Any]] = field(default_factory=dict)
    _at_once: _InputValues = field(default_factory=dict)
    """The values read so far of inputs with `at_once`."""
    _answers: dict[tuple[_Any, Hashable], object] = field(default_factory=dict)
    """The value, or the failure, of each dependency so far."""
    _entries: dict[tuple[_Any, Hashable], _Entry] = field(default_factory=dict)
    """The entries of those answers that are cached."""
    _constant: set[tuple[_Any, Hashable]] = field(default_factory=set)
    """Those of them without inputs."""
    _running: dict[tuple[_Any, Hashable], dict[tuple[_Any, Hashable], object] | None] = field(default_factory=dict)
    """The stack of running queries, outermost first, each with its trace so far; None if it will not be cached."""

    def provide_input(
        self,
        source: Input[K, V],
        read: Callable[[K], V],
        read_all: Callable[[Iterable[K]], Mapping[K, V]] | None = None,
    ) -> None:
        """Says how an input is read; once for each input, before any query runs."""
        self._readers[source] = read
        if source.at_once:
            self._at_once[source] = {}
            self._bulk_readers[source] = read_all or (lambda keys: {each: read(each) for each in keys})

    def provide(self, query: Query[K, V], compute: Callable[[Request, K], V]) -> None:
        """Says how a query is computed in this request."""
        self._work[query] = compute

    def discard(self) -> None:
        """Keeps the answer of the running query, if any, out of the cache: it is valid in this request alone."""
        if self._running:
            self._running[next(reversed(self._running))] = None

    def read(self, source: Input[K, V], key: K) -> V:
        """The value of an input, as it was first read in this request."""
        return cast(V, self._answer(source, key, self._input_value))

    def get(self, query: Query[K, V], key: K) -> V:
        """The current answer of a query."""
        return cast(V, self._answer(query, key, self._query_answer))

    def _answer(self, dependency: _Any, key: Hashable, find: Callable[[Any, Hashable], object]) -> object:
        what = (dependency, key)
        value = self._answers.get(what, _UNKNOWN)
        if value is _UNKNOWN:
            try:
                value = find(dependency, key)
            except Exception as error:
                value = _Failure(error)
            self._answers[what] = value
        trace = next(
            reversed(self._running.values()), None
        )  # of the query that runs; without its key, which may be long
        if trace is not None:
            if isinstance(value, _Failure) and not _is_cached_error(dependency, value.error):
                self.discard()
            elif what not in self._constant:
                trace.setdefault(what, value)
        if isinstance(value, _Failure):
            raise (value.error.with_traceback(None) if _is_cached_error(dependency, value.error) else value.error)
        return value

    def _input_value(self, source: Input[Any, Any], key: Hashable) -> object:
        if not source.at_once:
            return self._readers[source](key)
        values = self._at_once[source]
        if key not in values:
            values[key] = self._readers[source](key)
        return values[key]

    def _query_answer(self, query: Query[Any, Any], key: Hashable) -> object:
        what = (query, key)
        cached = self._memo._cached(query, key)
        if cached is not None and self._hold_together(cached.below):
            self._entries[what] = cached
        else:
            cached = self._current(what, cached)
            if not cached.trace and what in self._entries:
                self._constant.add(what)
        if isinstance(cached.answer, _Failure):
            raise cached.answer.error
        return cached.answer

    def _current(self, what: tuple[Query[Any, Any], Hashable], cached: _Entry | None) -> _Entry:
        """The cached entry if it is valid, or that of another process, else the answer computed."""
        if what in self._running:
            way = [*self._running]
            raise QueryCycle(tuple((each.name, of) for each, of in (*way[way.index(what) :], what)))
        self._running[what] = {}
        try:
            held = self._read(*what) if cached is None else self._revalidated(*what, cached)
            if held is not None:
                self._entries[what] = held
                return held
            self._running[what] = {}  # verifying the old trace adds nothing to the new one
            return self._computed(*what, cached)
        finally:
            del self._running[what]

    def _revalidated(self, query: Query[Any, Any], key: Hashable, cached: _Entry) -> _Entry | None:
        """The cached entry if its trace is valid, its inputs brought up to date."""
        if not self._holds(cached.trace):
            return None
        if cached.below and all(source.at_once for source in cached.below):
            cached = _Entry(cached.answer, cached.trace, self._below(cached.trace))
            self._memo._put(query, key, cached)
        return cached

    def _computed(self, query: Query[Any, Any], key: Hashable, before: _Entry | None) -> _Entry:
        answer: object
        compute, override = query.compute or self._work[query], self._memo._overrides.get(query)
        try:
            answer = compute(self, key) if override is None else override(self, key, compute)
        except Exception as error:
            if not _is_cached_error(query, error):
                raise
            answer = _Failure(error.with_traceback(None))  # it would keep everything alive that was running
        trace = self._running[query, key]
        if before is not None and _is_same(query, before.answer, answer):
            answer = before.answer
        if trace is None:
            return _Entry(answer, ())
        steps = tuple((*what, value) for what, value in trace.items())
        entry = _Entry(answer, steps, self._below(steps))
        meanwhile = self._memo._cached(query, key)
        if meanwhile is not None and meanwhile is not before and self._holds(meanwhile.trace):
            self._entries[query, key] = meanwhile
            return meanwhile
        self._memo._put(query, key, entry)
        self._entries[query, key] = entry
        if query in self._memo._codecs and not isinstance(answer, _Failure):
            self._note(self._memo._codecs[query], key, entry)
        return entry

    def _below(self, trace: Iterable[_Step]) -> _InputValues | None:
        """All inputs below a trace; None if the answer is valid in this request alone."""
        found: defaultdict[Input[Any, Any], dict[Hashable, object]] = defaultdict(dict)
        for dependency, key, value in trace:
            if isinstance(dependency, Input):
                if not _is_same(dependency, value, value):
                    return None
                found[dependency][key] = value
                continue
            entry = self._entries.get((dependency, key))
            if entry is None or entry.below is None:
                return None
            for source, by_key in entry.below.items():
                found[source].update(by_key)
        return found

    def _hold_together(self, before: _InputValues | None) -> bool:
        """Whether all inputs are unchanged; False as well where they have to be read one by one."""
        if not before:
            return False
        for source, values in before.items():
            now = self._at_once.get(source)
            if now is None:
                return False
            if not values.keys() <= now.keys():
                now.update(self._bulk_readers[source]([key for key in values if key not in now]))
            if not values.items() <= now.items():
                return False
        return True

    def _holds(self, trace: Iterable[_Step]) -> bool:
        """Whether everything in a trace still has the same value."""
        for dependency, key, before in trace:
            now = self._outcome(dependency, key)
            if now is before and isinstance(dependency, Query):
                continue
            if not _is_same(dependency, before, now):  # an input may not even equal itself
                return False
        return True

    def _outcome(self, dependency: _Any, key: Hashable) -> object:
        try:
            return self.get(dependency, key) if isinstance(dependency, Query) else self.read(dependency, key)
        except Exception as error:
            return _Failure(error)

    # ------------------------------------------------------------ on disk

    def _note(self, codec: Codec[Any, Any], key: Hashable, entry: _Entry) -> None:
        """Schedules an answer to be written, unless an input below it means nothing in another process."""
        store, below = self._memo._store, entry.below
        if store is None or below is None:
            return
        if all(source.is_lasting(each) for source, values in below.items() for each in values.values()):
            store.note(codec.name(key), lambda: _written(codec, below, entry.answer))

    def _read(self, query: Query[Any, Any], key: Hashable) -> _Entry | None:
        codec = self._memo._codecs.get(query)
        data = None if codec is None or self._memo._store is None else self._memo._store.read(codec.name(key))
        if codec is None or data is None:
            return None
        sources = {each.name: each for each in self._readers}
        try:
            inputs, body = cast("tuple[list[tuple[str, dict[Hashable, object]]], bytes]", marshal.loads(data))
            below = {sources[name]: values for name, values in inputs}
            trace = tuple((source, of, value) for source, values in below.items() for of, value in values.items())
            holds = self._hold_together(below) or self._holds(trace)
            if not holds and codec.also_seeds is None:  # unpacking the answer takes longer
                return None
            entry = _Entry(codec.from_bytes(body), trace, below)
        except (ValueError, TypeError, EOFError, KeyError, AttributeError):
            return None
        if codec.also_seeds is not None:
            codec.also_seeds(self._memo, key, entry.answer, body)
        if not holds:
            return None
        self._memo._put(query, key, entry)
        return entry


def _written(codec: Codec[Any, Any], below: Mapping[Input[Any, Any], Any], answer: object) -> bytes | None:
    try:
        return marshal.dumps(([(source.name, values) for source, values in below.items()], codec.to_bytes(answer)))
    except ValueError:
        return None


def _is_cached_error(dependency: _Any, error: Exception) -> bool:
    return isinstance(dependency, Query) and isinstance(error, dependency.cached_errors)


def _is_same(dependency: _Any, before: object, now: object) -> bool:
    if isinstance(before, _Failure) and isinstance(now, _Failure):
        mine, other = before.error, now.error
        return _is_cached_error(dependency, other) and type(mine) is type(other) and mine.args == other.args
    if isinstance(before, _Failure) or isinstance(now, _Failure):
        return False
    return dependency.is_same(before, now)

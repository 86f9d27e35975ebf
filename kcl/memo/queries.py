"""Answers that are kept with what they rest on, and worked out again only when that has changed.

A `Query` is a pure function of a key: the tree of a file, the interface of a package. Whatever else it needs to know it
asks for: other queries, and inputs, which are what the outside says (a text, a stamp). While it runs, the memo writes
down what it asked for and what it was told, in order. That list is the trace of the answer.

An answer is good for as long as everybody in its trace would say the same again. So to ask for it a second time is to
go through the trace: an input is looked at, a query is asked, which goes through its own trace first. At the first that
says something else the function runs again. Three things follow.

Dependencies are dynamic. Nobody declares what a query reads; a query that reads a list of files and then each of them
rests on other files once the list is another. Going through the trace in order keeps this right: what decided whether
something was read comes before it, so nothing is asked for that the function would not ask for today.

A change stops where it makes no difference ("early cut-off"). When the function has run again and its answer is the
same as before, the old answer stays, the very object; so whoever read it finds its trace unchanged and does not run. A
comment typed into a file of models makes another text and another tree, but the same interface, and ends there.

Nothing has to be told of a change, and so nobody can forget to. There is no list of what became invalid: each request
(`Asking`) looks at the inputs itself, each once, and through the eyes it is given. Two requests may see different
worlds, as when one of them tries an edit that is not on disk.

It is how the compiler of Rust works (salsa, https://salsa-rs.github.io/salsa/reference/algorithm.html), and the type
checker ty, with one difference: they number the revisions of one world, and compare numbers. Here are many worlds at a
time, so a trace holds what was said. Such are the "verifying traces" of Mokhov, Mitchell and Peyton Jones, Build
Systems à la Carte (https://doi.org/10.1145/3236774).

What rests on no input has nothing in its trace, now and for ever, and has no place in that of others. So facts of an
object that never changes cost one look-up, however many queries they were made of.

What goes wrong:
- A query that asks, by whatever detour, for itself gets a `QueryCycle`, which names the way round.
- What a query raises is not kept, unless it is of the classes it says it `keeps`: those are raised again, like an
  answer. Within one request either is raised to each that asks. Who catches what is not kept, or a cycle, has no trace
  to show for its answer: that is not kept either.
- Two threads may work out the same answer at once. Entries are replaced whole, and who is last takes what the first
  one kept where it holds.

Going through a long trace takes its time, a step of Python for each stamp of hundreds. So of inputs that do no harm to
look at (`Input.at_once`) an entry also holds all that lie below it, however deep, and these are looked at together
first. While they say the same, the trace would come to nothing else.

With a `Codec` and a store answers outlive the process. What is written is the answer and the inputs of its trace, those
below the queries it read included, since their answers are not there in the process that reads it. Where an input means
nothing elsewhere, somebody may stand `instead` of the function, who looks for an answer before asking it. Which queries
are written is for who makes the memo to say: those who declare them know nothing of a disk.
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
    """Of a store what it takes to keep answers there."""

    def read(self, name: str, /) -> bytes | None: ...

    def note(self, name: str, content: Callable[[], bytes | None]) -> None:
        """Lets an entry be written when the request is over."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[K, V]):
    """How an answer is kept on disk."""

    name: Callable[[K], str]
    """The name of the entry. It tells everything the answer depends on beside inputs, the compiler included."""
    to_bytes: Callable[[V], bytes]
    """Raises ValueError for what cannot be written."""
    from_bytes: Callable[[bytes], V]
    """Raises ValueError, TypeError or EOFError for what was not written so."""
    also_tells: Callable[[Memo, K, V], None] | None = None
    """Seeds what an answer that was read tells of others. Those may still hold where it does not any more."""


def _always(said: object) -> bool:
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Input(Generic[K, V]):
    """Something that the outside says. How it is looked at is for each request to say (`Asking.see`).

    `is_same` may deny that anything equals what cannot be told, as of a file that was written just now.
    """

    name: str
    is_same: Callable[[V, V], bool] = operator.eq
    at_once: bool = False
    """Whether nobody minds that more is looked at than was asked for; `is_same` is equality then, but for the above."""
    is_lasting: Callable[[V], bool] = _always
    """Whether what it says means the same in another process."""


@dataclass(frozen=True, slots=True, eq=False)
class Query(Generic[K, V]):
    """A pure function of its key, and of what it asks for; None where each request says which (`Asking.work_out`)."""

    name: str
    compute: Callable[[Asking, K], V] | None = None
    is_same: Callable[[V, V], bool] = operator.eq
    """Whether nobody can tell two answers apart; `operator.is_` where comparing takes longer than working out."""
    most: int | None = None
    """So many answers are kept, those worked out last; None for all."""
    lives_with_key: bool = False
    """Whether an answer goes when nobody holds on to its key any more; the answer must not do so."""
    keeps: tuple[type[Exception], ...] = ()
    """What it may raise that is as good as an answer."""


class QueryCycle(Exception):
    """A query asked for itself. `path` are the names and keys on the way round, the first one again at the end."""

    def __init__(self, path: tuple[tuple[str, Hashable], ...]) -> None:
        super().__init__(" asks for ".join(f"{name}({key!r})" for name, key in path))
        self.path = path


_Any: TypeAlias = "Query[Any, Any] | Input[Any, Any]"
Instead: TypeAlias = "Callable[[Asking, Any, Callable[[Asking, Any], Any]], Any]"
"""Answers a query, given the key and the function that does."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Instead of an answer: what was raised."""

    error: Exception


_Step: TypeAlias = tuple[_Any, Hashable, object]
"""Who was asked, for what, and the answer."""
_Said: TypeAlias = dict[Input[Any, Any], dict[Hashable, object]]
"""What inputs said, by key."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a query answered, a failure where that is kept, and what it was told before."""

    answer: object
    trace: tuple[_Step, ...]
    below: _Said | None = None
    """All inputs that it rests on, however deep; None where one will not say the same again, or nobody knows."""


class Memo:
    """Answers kept from one request to the next. Hand one to all of them; safe to share between threads.

    `store` is where those of the queries with a codec in `on_disk` are kept for other processes. Those with somebody
    `instead` are answered by them, who are given the function.
    """

    def __init__(
        self,
        store: Entries | None = None,
        on_disk: Mapping[Query[Any, Any], Codec[Any, Any]] | None = None,
        instead: Mapping[Query[Any, Any], Instead] | None = None,
    ) -> None:
        self._tables: dict[Query[Any, Any], MutableMapping[Any, _Entry]] = {}
        self._lock = threading.Lock()
        self._store = store
        self._codecs = {} if store is None or on_disk is None else on_disk
        self._instead = instead or {}

    def asking(self) -> Asking:
        """A new request, which has looked at nothing yet."""
        return Asking(self)

    def ask(self, query: Query[K, V], key: K) -> V:
        """The answer to one that rests on its key alone, or on others that do."""
        known = self._kept(query, key)
        if known is not None and not known.trace and not isinstance(known.answer, _Failure):
            return cast(V, known.answer)
        return Asking(self).ask(query, key)

    def seed(self, query: Query[K, V], key: K, answer: V, read: tuple[Input[A, B], A, B]) -> None:
        """Lets be known what somebody else worked out from this input; not over what is known."""
        if self._kept(query, key) is None:
            self._keep(query, key, _Entry(answer, (read,)))

    def count(self, query: Query[Any, Any]) -> int:
        """How many answers are kept."""
        return len(self._tables.get(query, ()))

    def _kept(self, query: Query[Any, Any], key: Hashable) -> _Entry | None:
        table = self._tables.get(query)
        return None if table is None else table.get(key)

    def _keep(self, query: Query[Any, Any], key: Hashable, entry: _Entry) -> None:
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
    from weakref import WeakKeyDictionary  # who keeps nothing pays nothing

    return WeakKeyDictionary()


_UNKNOWN: Final = object()


@dataclass(slots=True, eq=False)
class Asking:
    """One request: what it was told is final for it. Used by one thread at a time."""

    _memo: Memo
    _looks: dict[Input[Any, Any], Callable[[Any], Any]] = field(default_factory=dict)
    _looks_at_all: dict[Input[Any, Any], Callable[[Iterable[Any]], Mapping[Any, Any]]] = field(default_factory=dict)
    _work: dict[Query[Any, Any], Callable[[Asking, Any], Any]] = field(default_factory=dict)
    _at_once: _Said = field(default_factory=dict)
    """By those inputs that may be looked at at once."""
    _told: dict[tuple[_Any, Hashable], object] = field(default_factory=dict)
    """The answer, or the failure, of everybody that was asked."""
    _entries: dict[tuple[_Any, Hashable], _Entry] = field(default_factory=dict)
    """What stands behind those answers of queries that are kept."""
    _constant: set[tuple[_Any, Hashable]] = field(default_factory=set)
    """Those of them that rest on no input."""
    _running: dict[tuple[_Any, Hashable], dict[tuple[_Any, Hashable], object] | None] = field(default_factory=dict)
    """The queries that wait for each other, the first one first, with what each was told; None for one whose answer
    will not be kept."""

    def see(
        self,
        source: Input[K, V],
        look: Callable[[K], V],
        look_at_all: Callable[[Iterable[K]], Mapping[K, V]] | None = None,
    ) -> None:
        """Says how the outside is looked at; for one input once, and before anything is asked."""
        self._looks[source] = look
        if source.at_once:
            self._at_once[source] = {}
            self._looks_at_all[source] = look_at_all or (lambda keys: {each: look(each) for each in keys})

    def work_out(self, query: Query[K, V], compute: Callable[[Asking, K], V]) -> None:
        """Says how a query is answered in this request: by a function of the key and of what it asks for."""
        self._work[query] = compute

    def keep_nothing(self) -> None:
        """Says that the answer that is worked out just now, if any, is not to be kept: it is of this request alone."""
        if self._running:
            self._running[next(reversed(self._running))] = None

    def look(self, source: Input[K, V], key: K) -> V:
        """What the outside says, the first time it was looked at in this request."""
        return cast(V, self._answer(source, key, self._seen))

    def ask(self, query: Query[K, V], key: K) -> V:
        """The answer of the query, as of now."""
        return cast(V, self._answer(query, key, self._asked))

    def _answer(self, whom: _Any, key: Hashable, find: Callable[[Any, Hashable], object]) -> object:
        what = (whom, key)
        told = self._told.get(what, _UNKNOWN)
        if told is _UNKNOWN:
            try:
                told = find(whom, key)
            except Exception as error:
                told = _Failure(error)
            self._told[what] = told
        trace = next(reversed(self._running.values()), None)  # of who asks; without its key, which may be long
        if trace is not None:
            if isinstance(told, _Failure) and not _is_kept(whom, told.error):
                self.keep_nothing()
            elif what not in self._constant:
                trace.setdefault(what, told)
        if isinstance(told, _Failure):
            raise told.error.with_traceback(None) if _is_kept(whom, told.error) else told.error
        return told

    def _seen(self, source: Input[Any, Any], key: Hashable) -> object:
        if not source.at_once:
            return self._looks[source](key)
        said = self._at_once[source]
        if key not in said:
            said[key] = self._looks[source](key)
        return said[key]

    def _asked(self, query: Query[Any, Any], key: Hashable) -> object:
        what = (query, key)
        known = self._memo._kept(query, key)
        if known is not None and self._hold_at_once(known.below):
            self._entries[what] = known
        else:
            known = self._gone_through(what, known)
            if not known.trace and what in self._entries:
                self._constant.add(what)
        if isinstance(known.answer, _Failure):
            raise known.answer.error
        return known.answer

    def _gone_through(self, what: tuple[Query[Any, Any], Hashable], known: _Entry | None) -> _Entry:
        """What is known, if its trace says so, or what another process left, else the answer worked out."""
        if what in self._running:
            way = [*self._running]
            raise QueryCycle(tuple((each.name, of) for each, of in (*way[way.index(what) :], what)))
        self._running[what] = {}
        try:
            held = self._read(*what) if known is None else self._held(*what, known)
            if held is not None:
                self._entries[what] = held
                return held
            self._running[what] = {}  # going through the old trace is not reading
            return self._computed(*what, known)
        finally:
            del self._running[what]

    def _held(self, query: Query[Any, Any], key: Hashable, known: _Entry) -> _Entry | None:
        """What is known if its trace says so; what lies below is then told as it is now, to be held at once again."""
        if not self._holds(known.trace):
            return None
        if known.below and all(source.at_once for source in known.below):
            known = _Entry(known.answer, known.trace, self._below(known.trace))
            self._memo._keep(query, key, known)
        return known

    def _computed(self, query: Query[Any, Any], key: Hashable, before: _Entry | None) -> _Entry:
        answer: object
        compute, instead = query.compute or self._work[query], self._memo._instead.get(query)
        try:
            answer = compute(self, key) if instead is None else instead(self, key, compute)
        except Exception as error:
            if not _is_kept(query, error):
                raise
            answer = _Failure(error.with_traceback(None))  # which holds on to all that was under way
        trace = self._running[query, key]
        if before is not None and _is_same(query, before.answer, answer):
            answer = before.answer
        if trace is None:
            return _Entry(answer, ())
        steps = tuple((*what, told) for what, told in trace.items())
        entry = _Entry(answer, steps, self._below(steps))
        meanwhile = self._memo._kept(query, key)
        if meanwhile is not None and meanwhile is not before and self._holds(meanwhile.trace):
            self._entries[query, key] = meanwhile
            return meanwhile
        self._memo._keep(query, key, entry)
        self._entries[query, key] = entry
        if query in self._memo._codecs and not isinstance(answer, _Failure):
            self._note(self._memo._codecs[query], key, entry)
        return entry

    def _below(self, trace: Iterable[_Step]) -> _Said | None:
        """All inputs below a trace; None if the answer is good for this request alone."""
        found: defaultdict[Input[Any, Any], dict[Hashable, object]] = defaultdict(dict)
        for whom, key, said in trace:
            if isinstance(whom, Input):
                if not _is_same(whom, said, said):
                    return None
                found[whom][key] = said
                continue
            entry = self._entries.get((whom, key))
            if entry is None or entry.below is None:
                return None
            for source, by_key in entry.below.items():
                found[source].update(by_key)
        return found

    def _hold_at_once(self, before: _Said | None) -> bool:
        """Whether inputs say what they said; False as well where they are to be looked at one by one."""
        if not before:
            return False
        for source, said in before.items():
            now = self._at_once.get(source)
            if now is None:
                return False
            if not said.keys() <= now.keys():
                now.update(self._looks_at_all[source]([key for key in said if key not in now]))
            if not said.items() <= now.items():
                return False
        return True

    def _holds(self, trace: Iterable[_Step]) -> bool:
        """Whether everybody in a trace says what they said."""
        for whom, key, before in trace:
            now = self._said(whom, key)
            if now is before and isinstance(whom, Query):
                continue
            if not _is_same(whom, before, now):  # an input may deny even that what it is told equals itself
                return False
        return True

    def _said(self, whom: _Any, key: Hashable) -> object:
        try:
            return self.ask(whom, key) if isinstance(whom, Query) else self.look(whom, key)
        except Exception as error:
            return _Failure(error)

    # ------------------------------------------------------------ on disk

    def _note(self, codec: Codec[Any, Any], key: Hashable, entry: _Entry) -> None:
        """Lets an answer be written when the request is over, unless something below it means nothing elsewhere."""
        store, below = self._memo._store, entry.below
        if store is None or below is None:
            return
        if all(source.is_lasting(each) for source, said in below.items() for each in said.values()):
            store.note(codec.name(key), lambda: _written(codec, below, entry.answer))

    def _read(self, query: Query[Any, Any], key: Hashable) -> _Entry | None:
        codec = self._memo._codecs.get(query)
        data = None if codec is None or self._memo._store is None else self._memo._store.read(codec.name(key))
        if codec is None or data is None:
            return None
        sources = {each.name: each for each in self._looks}
        try:
            inputs, body = cast("tuple[list[tuple[str, dict[Hashable, object]]], bytes]", marshal.loads(data))
            below = {sources[name]: said for name, said in inputs}
            trace = tuple((source, of, told) for source, said in below.items() for of, told in said.items())
            holds = self._hold_at_once(below) or self._holds(trace)
            if not holds and codec.also_tells is None:  # to make an answer of it takes longer
                return None
            entry = _Entry(codec.from_bytes(body), trace, below)
        except (ValueError, TypeError, EOFError, KeyError, AttributeError):
            return None
        if codec.also_tells is not None:
            codec.also_tells(self._memo, key, entry.answer)
        if not holds:
            return None
        self._memo._keep(query, key, entry)
        return entry


def _written(codec: Codec[Any, Any], below: Mapping[Input[Any, Any], Any], answer: object) -> bytes | None:
    try:
        return marshal.dumps(([(source.name, said) for source, said in below.items()], codec.to_bytes(answer)))
    except ValueError:
        return None


def _is_kept(whom: _Any, error: Exception) -> bool:
    return isinstance(whom, Query) and isinstance(error, whom.keeps)


def _is_same(whom: _Any, before: object, now: object) -> bool:
    if isinstance(before, _Failure) and isinstance(now, _Failure):
        mine, other = before.error, now.error
        return _is_kept(whom, other) and type(mine) is type(other) and mine.args == other.args
    if isinstance(before, _Failure) or isinstance(now, _Failure):
        return False
    return whom.is_same(before, now)

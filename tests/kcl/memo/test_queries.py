"""What is kept with what it rests on: each test counts what is worked out."""

from __future__ import annotations

import gc
import marshal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kcl.cache.store import Store
from kcl.memo.inputs import SETTLED_NANOSECONDS, Stamp, stamp
from kcl.memo.queries import Codec, Input, Memo, Query, QueryCycle, Request

TEXT: Input[str, str] = Input("text")


class World:
    """Texts by name, and queries over them, with how often each was worked out."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts
        self.worked: Counter[tuple[str, str]] = Counter()
        self.looked: Counter[str] = Counter()
        self.memo = Memo()
        self.words: Query[str, tuple[str, ...]] = Query("words", self._words)
        self.number: Query[str, int] = Query("number", self._number)
        self.all: Query[str, tuple[str, ...]] = Query("all", self._all)

    def _text(self, name: str) -> str:
        self.looked[name] += 1
        return self.texts[name]

    def _words(self, request: Request, name: str) -> tuple[str, ...]:
        self.worked["words", name] += 1
        return tuple(request.read(TEXT, name).split())

    def _number(self, request: Request, name: str) -> int:
        self.worked["number", name] += 1
        return len(request.get(self.words, name))

    def _all(self, request: Request, name: str) -> tuple[str, ...]:
        """The words of the files that a file names."""
        self.worked["all", name] += 1
        return tuple(word for each in request.get(self.words, name) for word in request.get(self.words, each))

    def request(self) -> Request:
        request = self.memo.request()
        request.provide_input(TEXT, self._text)
        return request

    def ran(self) -> set[tuple[str, str]]:
        """What was worked out since this was asked last."""
        ran, self.worked = set(self.worked), Counter()
        return ran


def test_nothing_is_worked_out_again_while_nothing_changed_and_an_input_is_looked_at_once_a_request() -> None:
    world = World(a="one two")
    for _ in range(3):
        request = world.request()
        assert request.get(world.number, "a") == request.get(world.number, "a") == 2
        assert request.get(world.words, "a") == ("one", "two")
    assert world.worked == {("number", "a"): 1, ("words", "a"): 1}
    assert world.looked == {"a": 3}


def test_within_a_request_an_answer_is_final() -> None:
    world = World(a="one two")
    request = world.request()
    assert request.get(world.number, "a") == 2
    world.texts["a"] = "one"
    assert request.get(world.number, "a") == 2
    assert world.request().get(world.number, "a") == 1


def test_a_change_stops_where_it_makes_no_difference() -> None:
    world = World(a="one two")
    before = world.request().get(world.words, "a")
    assert world.request().get(world.number, "a") == 2
    world.ran()
    world.texts["a"] = "one   two"
    request = world.request()
    assert request.get(world.number, "a") == 2
    assert world.ran() == {("words", "a")}, "its answer was the same, so nothing above it ran"
    assert request.get(world.words, "a") is before
    world.texts["a"] = "two one"
    assert world.request().get(world.number, "a") == 2
    assert world.ran() == {("words", "a"), ("number", "a")}


def test_what_is_read_is_known_from_reading() -> None:
    world = World(list="a b", a="one", b="two", c="three")
    assert world.request().get(world.all, "list") == ("one", "two")
    world.ran()
    world.texts["c"] = "four"
    assert world.request().get(world.all, "list") == ("one", "two")
    assert world.ran() == set(), "nobody read c"
    world.texts["list"] = "a c"
    assert world.request().get(world.all, "list") == ("one", "four")
    assert ("words", "b") not in world.ran()
    world.texts["b"] = "five"
    assert world.request().get(world.all, "list") == ("one", "four")
    assert world.ran() == set(), "nobody reads b any more"
    world.texts["c"] = "six"
    assert world.request().get(world.all, "list") == ("one", "six")


def test_what_is_not_read_any_more_is_not_asked_for() -> None:
    world = World(list="a b", a="one", b="two")
    world.request().get(world.all, "list")
    del world.texts["b"]  # looking at it would fail
    world.texts["list"] = "a"
    assert world.request().get(world.all, "list") == ("one",)


def test_two_requests_may_see_different_worlds() -> None:
    world = World(a="one two")
    tried = world.memo.request()
    tried.provide_input(TEXT, lambda name: "one")
    real = world.request()
    assert real.get(world.number, "a") == 2
    assert tried.get(world.number, "a") == 1
    assert real.get(world.number, "a") == 2
    assert world.request().get(world.number, "a") == 2


def test_who_asks_for_itself_is_told_by_which_way() -> None:
    def follow(request: Request, name: str) -> str:
        return request.get(links, request.read(TEXT, name)) if name != "end" else "end"

    links: Query[str, str] = Query("link", follow)
    world = World(a="b", b="c", c="b")
    with pytest.raises(QueryCycle) as caught:
        world.request().get(links, "a")
    assert caught.value.path == (("link", "b"), ("link", "c"), ("link", "b"))
    assert str(caught.value) == "link('b') asks for link('c') asks for link('b')"
    world.texts["c"] = "end"
    assert world.request().get(links, "a") == "end"
    world.texts.update(b="end", a="c", c="b")  # the other way round than the traces say
    assert world.request().get(links, "a") == "end"
    world.texts.update(b="c", c="end")
    assert world.request().get(links, "a") == "end"


def test_what_a_query_raises_is_not_kept() -> None:
    tried: list[str] = []

    def fail(request: Request, name: str) -> str:
        tried.append(name)
        raise OSError(f"no {name}")

    failing: Query[str, str] = Query("failing", fail)
    memo = Memo()
    for _ in range(2):
        request = memo.request()
        for _ in range(2):
            with pytest.raises(OSError, match="no a"):
                request.get(failing, "a")
    assert tried == ["a", "a"], "once a request"


def test_what_a_query_says_it_keeps_is_raised_again_until_it_is_another() -> None:
    def check(request: Request, name: str) -> int:
        world.worked["check", name] += 1
        return int(request.read(TEXT, name))

    def above(request: Request, name: str) -> str:
        world.worked["above", name] += 1
        try:
            return str(request.get(checking, name))
        except ValueError:
            return "wrong"

    checking: Query[str, int] = Query("check", check, cached_errors=(ValueError,))
    reading: Query[str, str] = Query("above", above)
    world = World(a="x")
    for _ in range(2):
        assert world.request().get(reading, "a") == "wrong"
        with pytest.raises(ValueError, match="'x'"):
            world.request().get(checking, "a")
    assert world.ran() == {("check", "a"), ("above", "a")} and not world.worked
    world.texts["a"] = "1"
    assert world.request().get(reading, "a") == "1"
    world.texts["a"] = "y"
    with pytest.raises(ValueError, match="'y'"):
        world.request().get(checking, "a")


def test_an_answer_made_of_a_failure_that_is_not_kept_is_not_kept_either() -> None:
    def size(request: Request, name: str) -> int:
        try:
            return len(request.read(TEXT, name))
        except KeyError:
            return -1

    sizes: Query[str, int] = Query("size", size)
    world = World()
    assert world.request().get(sizes, "a") == -1
    world.texts["a"] = "there"
    assert world.request().get(sizes, "a") == 5
    del world.texts["a"]
    assert world.request().get(sizes, "a") == -1


def test_failures_one_above_the_other_take_no_longer_than_one() -> None:
    def down(request: Request, depth: int) -> int:
        asked.append(depth)
        return request.get(chain, depth - 1) if depth else int(request.read(TEXT, "a"))

    chain: Query[int, int] = Query("chain", down)
    world, asked = World(a="1"), list[int]()
    assert world.request().get(chain, 30) == 1
    asked.clear()
    world.texts["a"] = "none"
    with pytest.raises(ValueError, match="none"):
        world.request().get(chain, 30)
    assert len(asked) == 31


def test_stamps_that_tell_nothing_are_no_ground_to_stay(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    written = file.stat().st_mtime_ns
    stamps: Input[str, Stamp | None] = Input("stamp", lambda before, now: before is not None and before == now)
    read: list[str] = []

    def text(request: Request, path: str) -> str:
        request.read(stamps, path)
        read.append(path)
        return Path(path).read_text()

    texts: Query[str, str] = Query("text", text)
    memo = Memo()

    def ask(age: int) -> str:
        request = memo.request()
        request.provide_input(stamps, lambda path: stamp(path, lambda: (written + age, age)))
        return request.get(texts, str(file))

    assert [ask(0), ask(0)] == ["one", "one"] and len(read) == 2, "it may be written again in the same tick"
    age = 30 * SETTLED_NANOSECONDS
    assert [ask(age), ask(age)] == ["one", "one"] and len(read) == 3


def test_inputs_that_do_no_harm_are_looked_at_all_at_once() -> None:
    sizes: Input[str, int | None] = Input(
        "size", lambda before, now: before is not None and before == now, at_once=True
    )
    ones: Query[str, int | None] = Query("one", lambda request, name: request.read(sizes, name))
    sums: Query[str, int] = Query("sum", lambda request, names: sum(request.get(ones, name) or 0 for name in names))
    memo, world, looked = Memo(), {"a": 1, "b": 2}, list[list[str]]()

    def look_at_all(names: Iterable[str]) -> dict[str, int | None]:
        looked.append(sorted(names))
        return {each: world.get(each) for each in looked[-1]}

    def ask(names: str) -> int:
        request = memo.request()
        request.provide_input(sizes, world.get, look_at_all)
        return request.get(sums, names)

    assert [ask("ab"), ask("ab")] == [3, 3] and looked == [["a", "b"]]
    world["b"] = 5
    assert ask("ab") == 6 and ask("ab") == 6
    assert looked[1:] == [["a", "b"], ["a", "b"]], "what was looked at stays looked at, for the trace too"
    assert [ask("ac"), ask("ac")] == [1, 1] and looked[3:] == [["a"], ["a"]], "what can't be told is no ground to stay"
    world["c"] = 1
    assert ask("ac") == 2


def test_each_request_may_say_how_a_query_is_answered_and_what_is_of_it_alone() -> None:
    lines: Query[str, int] = Query("lines")
    world, told = World(a="one two"), list[str]()

    def count(request: Request, name: str) -> int:
        words = request.read(TEXT, name).split()
        if "wrong" in words:
            told.append(name)
            request.discard()
        return len(words)

    def ask() -> int:
        request = world.request()
        request.provide(lines, count)
        return request.get(above, "a") + request.get(lines, "a") - request.get(lines, "a")

    above: Query[str, int] = Query("above", lambda request, name: request.get(lines, name))
    assert ask() == 2
    assert world.request().get(lines, "a") == 2, "and nobody has to where it holds"
    world.texts["a"] = "wrong"
    assert [ask(), ask()] == [1, 1]
    assert told == ["a", "a"], "once a request"
    world.texts["a"] = "one two"
    assert ask() == 2


def test_only_so_many_answers_are_kept_as_a_query_says() -> None:
    def double(request: Request, number: int) -> int:
        ran.append(number)
        return 2 * number

    ran: list[int] = []
    memo, doubled = Memo(), Query("double", double, most=2)
    assert [memo.get(doubled, each) for each in (1, 2, 3, 2, 3, 1)] == [2, 4, 6, 4, 6, 2]
    assert ran == [1, 2, 3, 1]


def test_facts_of_what_never_changes_are_not_gone_through_again() -> None:
    ones: Query[str, int] = Query("one", lambda request, text: len(text))
    sums: Query[tuple[str, ...], int] = Query("sum", lambda request, texts: sum(request.get(ones, t) for t in texts))
    memo = Memo()
    assert [memo.get(sums, ("a", "bc")), memo.get(sums, ("a", "bc"))] == [3, 3]
    (entry,) = memo._tables[sums].values()
    assert entry.trace == ()


def test_what_somebody_else_worked_out_holds_while_its_input_does() -> None:
    world = World(a="one two")
    world.memo.seed(world.words, "a", ("one", "two"), (TEXT, "a", "one two"))
    assert world.request().get(world.number, "a") == 2
    assert world.ran() == {("number", "a")}
    world.texts["a"] = "one"
    assert world.request().get(world.number, "a") == 1
    assert world.ran() == {("number", "a"), ("words", "a")}
    world.memo.seed(world.words, "a", ("none",), (TEXT, "a", "one"))
    assert world.request().get(world.words, "a") == ("one",), "what is known stays"


def test_what_lives_with_its_key_goes_with_it() -> None:
    class Key:
        pass

    kept: Query[Key, list[int]] = Query("kept", lambda request, key: [1], lives_with_key=True)
    memo, key = Memo(), Key()
    assert memo.get(kept, key) is memo.get(kept, key)
    del key
    gc.collect()
    assert not memo._tables[kept]


def test_who_is_last_takes_the_answer_of_the_first() -> None:
    firsts: list[list[str]] = []

    def slow(request: Request, name: str) -> list[str]:
        text = request.read(TEXT, name)
        if not firsts:
            firsts.append([])  # as if another thread began later and was faster
            firsts.append(world.request().get(slowly, name))
        return [text]

    slowly: Query[str, list[str]] = Query("slow", slow)
    world = World(a="one")
    assert world.request().get(slowly, "a") is firsts[1]
    assert world.request().get(slowly, "a") is firsts[1]


def test_two_threads_have_right_answers_whoever_is_first() -> None:
    world = World(list="a b", a="one", b="two")
    ready, wrong = threading.Barrier(2), list[object]()

    def ask(tried: str) -> None:
        ready.wait()
        for number in range(300):
            request = world.memo.request()
            texts = {**world.texts, "a": f"{tried} {number // 3}"}
            request.provide_input(TEXT, texts.__getitem__)
            found = request.get(world.all, "list")
            if found != (tried, str(number // 3), "two"):
                wrong.append(found)

    threads = [threading.Thread(target=ask, args=(each,)) for each in ("mine", "yours")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


# --- On disk ---


class AtOnce(Store):
    """Writes what is noted when it is noted."""

    def note(self, name: str, content: Callable[[], bytes | None]) -> None:
        data = content()
        assert data is not None and self.write(name, data)


def _stored(folder: Path, worked: list[str]) -> tuple[Memo, Query[str, int], Query[str, int]]:
    def words(request: Request, name: str) -> int:
        worked.append(name)
        return len(request.read(TEXT, name).split())

    def twice(request: Request, name: str) -> int:
        worked.append(f"twice {name}")
        return 2 * request.get(number, name)

    codec: Codec[str, int] = Codec(lambda name: f"twice-{name}", marshal.dumps, marshal.loads)
    number: Query[str, int] = Query("number", words)
    doubled = Query("twice", twice)
    return Memo(AtOnce(str(folder)), {doubled: codec}), number, doubled


def _told(memo: Memo, query: Query[str, int], text: str) -> int:
    request = memo.request()
    request.provide_input(TEXT, lambda name: text)
    return request.get(query, "a")


def test_another_process_takes_an_answer_while_its_inputs_are_the_same(tmp_path: Path) -> None:
    worked: list[str] = []
    memo, _, twice = _stored(tmp_path / "store", worked)
    assert _told(memo, twice, "one two") == 4
    worked.clear()
    memo, _, twice = _stored(tmp_path / "store", worked)
    assert [_told(memo, twice, "one two"), _told(memo, twice, "one two")] == [4, 4]
    assert not worked
    assert _told(memo, twice, "one") == 2, "it rests on the text that the query below it read"
    assert worked == ["twice a", "a"]
    memo, _, twice = _stored(tmp_path / "store", worked)
    assert _told(memo, twice, "one two") == 4


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"no marshal",
        marshal.dumps(1),
        marshal.dumps(([("unheard", {"a": "one two"})], marshal.dumps(7))),
        marshal.dumps(([("text", {"a": "one two"})], b"no number")),
        marshal.dumps(([("text", {"a": "other"})], marshal.dumps(7))),
        marshal.dumps(([("text", ["a", "one two"])], marshal.dumps(7))),
        marshal.dumps(([(["text"], {"a": "one two"})], marshal.dumps(7))),
    ],
)
def test_an_entry_that_says_nothing_is_none(entry: bytes, tmp_path: Path) -> None:
    worked: list[str] = []
    memo, _, twice = _stored(tmp_path / "store", worked)
    assert Store(str(tmp_path / "store")).write("twice-a", entry)
    assert _told(memo, twice, "one two") == 4


def test_only_what_lasts_is_written_and_what_else_an_entry_tells_is_taken_also_where_it_does_not_hold(
    tmp_path: Path,
) -> None:
    moments: Input[str, str] = Input("moment", is_lasting=lambda said: said != "now")
    stamped: Query[str, str] = Query(
        "stamped", lambda request, name: request.read(moments, name) + request.read(TEXT, name)
    )
    copied: Query[str, str] = Query("copied", lambda request, name: request.read(TEXT, name))

    def also(memo: Memo, name: str, answer: str, data: bytes) -> None:
        assert data.decode() == answer
        memo.seed(copied, name, answer, (TEXT, name, answer.removeprefix("then ")))

    codec: Codec[str, str] = Codec(lambda name: f"stamped-{name}", str.encode, bytes.decode, also)

    def request(moment: str, text: str) -> tuple[Memo, Request]:
        memo = Memo(AtOnce(str(tmp_path / "store")), {stamped: codec})
        request = memo.request()
        request.provide_input(moments, lambda name: moment)
        request.provide_input(TEXT, lambda name: text)
        return memo, request

    _, first = request("now", "one")
    assert first.get(stamped, "a") == "nowone"
    assert not (tmp_path / "store").exists()
    _, first = request("then ", "one")
    first.get(stamped, "a")
    memo, again = request("now", "one")
    assert again.get(stamped, "a") == "nowone"
    assert memo.count(copied) == 1 and again.get(copied, "a") == "then one", "nobody looked at the text"

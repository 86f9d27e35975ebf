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
from kcl.memo.queries import Asking, Codec, Input, Memo, Query, QueryCycle

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

    def _words(self, asking: Asking, name: str) -> tuple[str, ...]:
        self.worked["words", name] += 1
        return tuple(asking.look(TEXT, name).split())

    def _number(self, asking: Asking, name: str) -> int:
        self.worked["number", name] += 1
        return len(asking.ask(self.words, name))

    def _all(self, asking: Asking, name: str) -> tuple[str, ...]:
        """The words of the files that a file names."""
        self.worked["all", name] += 1
        return tuple(word for each in asking.ask(self.words, name) for word in asking.ask(self.words, each))

    def asking(self) -> Asking:
        asking = self.memo.asking()
        asking.see(TEXT, self._text)
        return asking

    def ran(self) -> set[tuple[str, str]]:
        """What was worked out since this was asked last."""
        ran, self.worked = set(self.worked), Counter()
        return ran


def test_nothing_is_worked_out_again_while_nothing_changed_and_an_input_is_looked_at_once_a_request() -> None:
    world = World(a="one two")
    for _ in range(3):
        asking = world.asking()
        assert asking.ask(world.number, "a") == asking.ask(world.number, "a") == 2
        assert asking.ask(world.words, "a") == ("one", "two")
    assert world.worked == {("number", "a"): 1, ("words", "a"): 1}
    assert world.looked == {"a": 3}


def test_within_a_request_an_answer_is_final() -> None:
    world = World(a="one two")
    asking = world.asking()
    assert asking.ask(world.number, "a") == 2
    world.texts["a"] = "one"
    assert asking.ask(world.number, "a") == 2
    assert world.asking().ask(world.number, "a") == 1


def test_a_change_stops_where_it_makes_no_difference() -> None:
    world = World(a="one two")
    before = world.asking().ask(world.words, "a")
    assert world.asking().ask(world.number, "a") == 2
    world.ran()
    world.texts["a"] = "one   two"
    asking = world.asking()
    assert asking.ask(world.number, "a") == 2
    assert world.ran() == {("words", "a")}, "its answer was the same, so nothing above it ran"
    assert asking.ask(world.words, "a") is before
    world.texts["a"] = "two one"
    assert world.asking().ask(world.number, "a") == 2
    assert world.ran() == {("words", "a"), ("number", "a")}


def test_what_is_read_is_known_from_reading() -> None:
    world = World(list="a b", a="one", b="two", c="three")
    assert world.asking().ask(world.all, "list") == ("one", "two")
    world.ran()
    world.texts["c"] = "four"
    assert world.asking().ask(world.all, "list") == ("one", "two")
    assert world.ran() == set(), "nobody read c"
    world.texts["list"] = "a c"
    assert world.asking().ask(world.all, "list") == ("one", "four")
    assert ("words", "b") not in world.ran()
    world.texts["b"] = "five"
    assert world.asking().ask(world.all, "list") == ("one", "four")
    assert world.ran() == set(), "nobody reads b any more"
    world.texts["c"] = "six"
    assert world.asking().ask(world.all, "list") == ("one", "six")


def test_what_is_not_read_any_more_is_not_asked_for() -> None:
    world = World(list="a b", a="one", b="two")
    world.asking().ask(world.all, "list")
    del world.texts["b"]  # looking at it would fail
    world.texts["list"] = "a"
    assert world.asking().ask(world.all, "list") == ("one",)


def test_two_requests_may_see_different_worlds() -> None:
    world = World(a="one two")
    tried = world.memo.asking()
    tried.see(TEXT, lambda name: "one")
    real = world.asking()
    assert real.ask(world.number, "a") == 2
    assert tried.ask(world.number, "a") == 1
    assert real.ask(world.number, "a") == 2
    assert world.asking().ask(world.number, "a") == 2


def test_who_asks_for_itself_is_told_by_which_way() -> None:
    def follow(asking: Asking, name: str) -> str:
        return asking.ask(links, asking.look(TEXT, name)) if name != "end" else "end"

    links: Query[str, str] = Query("link", follow)
    world = World(a="b", b="c", c="b")
    with pytest.raises(QueryCycle) as caught:
        world.asking().ask(links, "a")
    assert caught.value.path == (("link", "b"), ("link", "c"), ("link", "b"))
    assert str(caught.value) == "link('b') asks for link('c') asks for link('b')"
    world.texts["c"] = "end"
    assert world.asking().ask(links, "a") == "end"
    world.texts.update(b="end", a="c", c="b")  # the other way round than the traces say
    assert world.asking().ask(links, "a") == "end"
    world.texts.update(b="c", c="end")
    assert world.asking().ask(links, "a") == "end"


def test_what_a_query_raises_is_not_kept() -> None:
    tried: list[str] = []

    def fail(asking: Asking, name: str) -> str:
        tried.append(name)
        raise OSError(f"no {name}")

    failing: Query[str, str] = Query("failing", fail)
    memo = Memo()
    for _ in range(2):
        asking = memo.asking()
        for _ in range(2):
            with pytest.raises(OSError, match="no a"):
                asking.ask(failing, "a")
    assert tried == ["a", "a"], "once a request"


def test_what_a_query_says_it_keeps_is_raised_again_until_it_is_another() -> None:
    def check(asking: Asking, name: str) -> int:
        world.worked["check", name] += 1
        return int(asking.look(TEXT, name))

    def above(asking: Asking, name: str) -> str:
        world.worked["above", name] += 1
        try:
            return str(asking.ask(checking, name))
        except ValueError:
            return "wrong"

    checking: Query[str, int] = Query("check", check, keeps=(ValueError,))
    reading: Query[str, str] = Query("above", above)
    world = World(a="x")
    for _ in range(2):
        assert world.asking().ask(reading, "a") == "wrong"
        with pytest.raises(ValueError, match="'x'"):
            world.asking().ask(checking, "a")
    assert world.ran() == {("check", "a"), ("above", "a")} and not world.worked
    world.texts["a"] = "1"
    assert world.asking().ask(reading, "a") == "1"
    world.texts["a"] = "y"
    with pytest.raises(ValueError, match="'y'"):
        world.asking().ask(checking, "a")


def test_an_answer_made_of_a_failure_that_is_not_kept_is_not_kept_either() -> None:
    def size(asking: Asking, name: str) -> int:
        try:
            return len(asking.look(TEXT, name))
        except KeyError:
            return -1

    sizes: Query[str, int] = Query("size", size)
    world = World()
    assert world.asking().ask(sizes, "a") == -1
    world.texts["a"] = "there"
    assert world.asking().ask(sizes, "a") == 5
    del world.texts["a"]
    assert world.asking().ask(sizes, "a") == -1


def test_failures_one_above_the_other_take_no_longer_than_one() -> None:
    def down(asking: Asking, depth: int) -> int:
        asked.append(depth)
        return asking.ask(chain, depth - 1) if depth else int(asking.look(TEXT, "a"))

    chain: Query[int, int] = Query("chain", down)
    world, asked = World(a="1"), list[int]()
    assert world.asking().ask(chain, 30) == 1
    asked.clear()
    world.texts["a"] = "none"
    with pytest.raises(ValueError, match="none"):
        world.asking().ask(chain, 30)
    assert len(asked) == 31


def test_stamps_that_tell_nothing_are_no_ground_to_stay(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    written = file.stat().st_mtime_ns
    stamps: Input[str, Stamp | None] = Input("stamp", lambda before, now: before is not None and before == now)
    read: list[str] = []

    def text(asking: Asking, path: str) -> str:
        asking.look(stamps, path)
        read.append(path)
        return Path(path).read_text()

    texts: Query[str, str] = Query("text", text)
    memo = Memo()

    def ask(age: int) -> str:
        asking = memo.asking()
        asking.see(stamps, lambda path: stamp(path, lambda: (written + age, age)))
        return asking.ask(texts, str(file))

    assert [ask(0), ask(0)] == ["one", "one"] and len(read) == 2, "it may be written again in the same tick"
    age = 30 * SETTLED_NANOSECONDS
    assert [ask(age), ask(age)] == ["one", "one"] and len(read) == 3


def test_inputs_that_do_no_harm_are_looked_at_all_at_once() -> None:
    sizes: Input[str, int | None] = Input(
        "size", lambda before, now: before is not None and before == now, at_once=True
    )
    ones: Query[str, int | None] = Query("one", lambda asking, name: asking.look(sizes, name))
    sums: Query[str, int] = Query("sum", lambda asking, names: sum(asking.ask(ones, name) or 0 for name in names))
    memo, world, looked = Memo(), {"a": 1, "b": 2}, list[list[str]]()

    def look_at_all(names: Iterable[str]) -> dict[str, int | None]:
        looked.append(sorted(names))
        return {each: world.get(each) for each in looked[-1]}

    def ask(names: str) -> int:
        asking = memo.asking()
        asking.see(sizes, world.get, look_at_all)
        return asking.ask(sums, names)

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

    def count(asking: Asking, name: str) -> int:
        words = asking.look(TEXT, name).split()
        if "wrong" in words:
            told.append(name)
            asking.keep_nothing()
        return len(words)

    def ask() -> int:
        asking = world.asking()
        asking.work_out(lines, count)
        return asking.ask(above, "a") + asking.ask(lines, "a") - asking.ask(lines, "a")

    above: Query[str, int] = Query("above", lambda asking, name: asking.ask(lines, name))
    assert ask() == 2
    assert world.asking().ask(lines, "a") == 2, "and nobody has to where it holds"
    world.texts["a"] = "wrong"
    assert [ask(), ask()] == [1, 1]
    assert told == ["a", "a"], "once a request"
    world.texts["a"] = "one two"
    assert ask() == 2


def test_only_so_many_answers_are_kept_as_a_query_says() -> None:
    def double(asking: Asking, number: int) -> int:
        ran.append(number)
        return 2 * number

    ran: list[int] = []
    memo, doubled = Memo(), Query("double", double, most=2)
    assert [memo.ask(doubled, each) for each in (1, 2, 3, 2, 3, 1)] == [2, 4, 6, 4, 6, 2]
    assert ran == [1, 2, 3, 1]


def test_facts_of_what_never_changes_are_not_gone_through_again() -> None:
    ones: Query[str, int] = Query("one", lambda asking, text: len(text))
    sums: Query[tuple[str, ...], int] = Query("sum", lambda asking, texts: sum(asking.ask(ones, t) for t in texts))
    memo = Memo()
    assert [memo.ask(sums, ("a", "bc")), memo.ask(sums, ("a", "bc"))] == [3, 3]
    (entry,) = memo._tables[sums].values()
    assert entry.trace == ()


def test_what_somebody_else_worked_out_holds_while_its_input_does() -> None:
    world = World(a="one two")
    world.memo.seed(world.words, "a", ("one", "two"), (TEXT, "a", "one two"))
    assert world.asking().ask(world.number, "a") == 2
    assert world.ran() == {("number", "a")}
    world.texts["a"] = "one"
    assert world.asking().ask(world.number, "a") == 1
    assert world.ran() == {("number", "a"), ("words", "a")}
    world.memo.seed(world.words, "a", ("none",), (TEXT, "a", "one"))
    assert world.asking().ask(world.words, "a") == ("one",), "what is known stays"


def test_what_lives_with_its_key_goes_with_it() -> None:
    class Key:
        pass

    kept: Query[Key, list[int]] = Query("kept", lambda asking, key: [1], lives_with_key=True)
    memo, key = Memo(), Key()
    assert memo.ask(kept, key) is memo.ask(kept, key)
    del key
    gc.collect()
    assert not memo._tables[kept]


def test_who_is_last_takes_the_answer_of_the_first() -> None:
    firsts: list[list[str]] = []

    def slow(asking: Asking, name: str) -> list[str]:
        text = asking.look(TEXT, name)
        if not firsts:
            firsts.append([])  # as if another thread began later and was faster
            firsts.append(world.asking().ask(slowly, name))
        return [text]

    slowly: Query[str, list[str]] = Query("slow", slow)
    world = World(a="one")
    assert world.asking().ask(slowly, "a") is firsts[1]
    assert world.asking().ask(slowly, "a") is firsts[1]


def test_two_threads_have_right_answers_whoever_is_first() -> None:
    world = World(list="a b", a="one", b="two")
    ready, wrong = threading.Barrier(2), list[object]()

    def ask(tried: str) -> None:
        ready.wait()
        for number in range(300):
            asking = world.memo.asking()
            texts = {**world.texts, "a": f"{tried} {number // 3}"}
            asking.see(TEXT, texts.__getitem__)
            found = asking.ask(world.all, "list")
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
    def words(asking: Asking, name: str) -> int:
        worked.append(name)
        return len(asking.look(TEXT, name).split())

    def twice(asking: Asking, name: str) -> int:
        worked.append(f"twice {name}")
        return 2 * asking.ask(number, name)

    codec: Codec[str, int] = Codec(lambda name: f"twice-{name}", marshal.dumps, marshal.loads)
    number: Query[str, int] = Query("number", words)
    doubled = Query("twice", twice)
    return Memo(AtOnce(str(folder)), {doubled: codec}), number, doubled


def _told(memo: Memo, query: Query[str, int], text: str) -> int:
    asking = memo.asking()
    asking.see(TEXT, lambda name: text)
    return asking.ask(query, "a")


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
        "stamped", lambda asking, name: asking.look(moments, name) + asking.look(TEXT, name)
    )
    copied: Query[str, str] = Query("copied", lambda asking, name: asking.look(TEXT, name))

    def also(memo: Memo, name: str, answer: str) -> None:
        memo.seed(copied, name, answer, (TEXT, name, answer.removeprefix("then ")))

    codec: Codec[str, str] = Codec(lambda name: f"stamped-{name}", str.encode, bytes.decode, also)

    def asking(moment: str, text: str) -> tuple[Memo, Asking]:
        memo = Memo(AtOnce(str(tmp_path / "store")), {stamped: codec})
        asking = memo.asking()
        asking.see(moments, lambda name: moment)
        asking.see(TEXT, lambda name: text)
        return memo, asking

    _, first = asking("now", "one")
    assert first.ask(stamped, "a") == "nowone"
    assert not (tmp_path / "store").exists()
    _, first = asking("then ", "one")
    first.ask(stamped, "a")
    memo, again = asking("now", "one")
    assert again.ask(stamped, "a") == "nowone"
    assert memo.count(copied) == 1 and again.ask(copied, "a") == "then one", "nobody looked at the text"

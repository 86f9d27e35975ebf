"""Our dataclasses behave as those of the standard library: classes are defined by both, and compared."""

from __future__ import annotations

import abc
import copy
import dataclasses
import functools
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kcl import records

SHAPES = {
    "plain": {},
    "frozen": {"frozen": True},
    "slots": {"slots": True},
    "frozen slots": {"frozen": True, "slots": True},
    "ordered": {"order": True, "frozen": True, "slots": True},
    "by identity": {"eq": False, "slots": True},
    "shown plainly": {"eq": False, "slots": True, "repr": False},
}


class Made:
    """Classes of one shape, as `library` makes them."""

    def __init__(self, library: ModuleType, shape: dict[str, Any]) -> None:
        dataclass, field = library.dataclass, library.field

        @dataclass(**shape)
        class Empty:
            pass

        @dataclass(**shape)
        class Point:
            x: int
            y: int = 7

            @property
            def sum(self) -> int:
                return self.x + self.y

        @dataclass(**shape)
        class Named(Point):
            name: str = field(default="n", repr=False, compare=False)
            tags: list[str] = field(default_factory=list)
            late: int = field(default=3, init=False)

            def __post_init__(self) -> None:
                object.__setattr__(self, "late", self.x * 2)

        @dataclass(**shape)
        class Own(Point):
            """Has what else would be written for it."""

            def __repr__(self) -> str:
                return "own"

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Own) and self.x == other.x

            def __hash__(self) -> int:
                return 5

        @dataclass(**shape)
        class Loop:
            inner: Any = None

        self.classes = {each.__name__: each for each in (Empty, Point, Named, Own, Loop)}
        for each in self.classes.values():
            each.__qualname__, each.__module__ = each.__name__, __name__

    def __getattr__(self, name: str) -> Any:
        return self.classes[name]


@pytest.fixture(params=SHAPES, name="both")
def _both(request: pytest.FixtureRequest) -> tuple[Made, Made]:
    shape = SHAPES[request.param]
    return Made(records, shape), Made(dataclasses, shape)


Act = Callable[[Made], Any]


def _raised(act: Callable[[], Any]) -> str:
    try:
        return f"answers {act()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _set(value: Any, name: str) -> Any:
    setattr(value, name, 9)
    return getattr(value, name)


def _delete(value: Any, name: str) -> Any:
    delattr(value, name)
    return hasattr(value, name)


def _as_loop(made: Made) -> str:
    loop = made.Loop()
    object.__setattr__(loop, "inner", [loop])
    return repr(loop)


def _matched(value: Any, kind: Any) -> Any:
    match value:
        case kind(1, y):
            return y
        case _:
            return None


ACTS: dict[str, Act] = {
    "repr": lambda made: [repr(each) for each in (made.Empty(), made.Point(1), made.Named(1), made.Own(1))],
    "repr of itself": _as_loop,
    "equal": lambda made: [
        one == other
        for one, other in [
            (made.Point(1), made.Point(1, 7)),
            (made.Empty(), made.Empty()),
            (made.Own(1), made.Own(1, 2)),
        ]
    ],
    "unequal": lambda made: [made.Point(1) == made.Point(2), made.Point(1) == made.Named(1), made.Point(1) == (1, 7)],
    "not compared": lambda made: made.Named(1, name="a") == made.Named(1, name="b"),
    "nan is itself": lambda made: made.Point(float("nan")) == made.Point(float("nan")),
    "hash": lambda made: len({hash(each) for each in [made.Point(1), made.Point(1)]}),
    "own hash": lambda made: hash(made.Own(1)),
    "order": lambda made: [made.Point(1) < made.Point(2), made.Point(1, 3) >= made.Point(1, 2)],
    "order of others": lambda made: made.Point(1) < made.Named(1),
    "order of one field": lambda made: made.Loop(1) <= made.Loop(2),
    "sorted": lambda made: [each.x for each in sorted([made.Point(2), made.Point(1)])],
    "missing": lambda made: made.Point(),
    "unknown": lambda made: made.Point(1, z=2),
    "too many": lambda made: made.Point(1, 2, 3),
    "not for init": lambda made: made.Named(1, late=2),
    "post init": lambda made: made.Named(4).late,
    "factory": lambda made: [made.Named(1).tags is made.Named(1).tags, made.Named(1, tags=["a"]).tags],
    "set": lambda made: _set(made.Point(1), "x"),
    "set what is inherited": lambda made: _set(made.Named(1), "x"),
    "delete": lambda made: _delete(made.Point(1), "x"),
    "property": lambda made: made.Point(1).sum,
    "class default": lambda made: getattr(made.Point, "x", "none"),
    "slots": lambda made: [getattr(each, "__slots__", None) for each in (made.Point, made.Named, made.Empty)],
    "dict": lambda made: hasattr(made.Point(1), "__dict__"),
    "match": lambda made: [_matched(made.Point(1, 5), made.Point), made.Named.__match_args__],
    "copy": lambda made: [copy.copy(made.Named(1)).tags, copy.deepcopy(made.Named(1, tags=["a"])).tags],
    "replace": lambda made: dataclasses.replace(made.Named(1), x=5).late,
    "replace wrongly": lambda made: dataclasses.replace(made.Named(1), late=5),
    "fields": lambda made: [
        (each.name, each.init, each.repr, each.compare, each.default is dataclasses.MISSING)
        for each in dataclasses.fields(made.Named)
    ],
    "asdict": lambda made: dataclasses.asdict(made.Named(made.Point(1), name="b")) if made else None,
    "documentation": lambda made: made.Own.__doc__,
    "names": lambda made: [made.Point.__name__, made.Point.__init__.__name__, made.Point.__qualname__],
}  # fmt: skip


@pytest.mark.parametrize("name", ACTS)
def test_a_record_behaves_as_a_dataclass(both: tuple[Made, Made], name: str) -> None:
    if name in ("asdict",):
        for each in both:  # whose number can't be doubled
            setattr(each.classes["Named"], "__post_init__", lambda self: None)  # noqa: B010
    ours, theirs = (_raised(lambda made=made: ACTS[name](made)) for made in both)  # type: ignore[misc]
    assert _without_addresses(ours) == _without_addresses(theirs)


def _without_addresses(text: str) -> str:
    return re.sub(r" at 0x\w+|Made.__init__.<locals>.", "", text)


def test_a_frozen_record_gets_no_other_attributes() -> None:
    for shape in ("frozen", "frozen slots"):  # of the latter the standard library says something odd
        with pytest.raises(dataclasses.FrozenInstanceError):
            Made(records, SHAPES[shape]).Point(1).other = 9


@pytest.mark.parametrize("shape", SHAPES)
def test_a_record_can_be_pickled(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(records, SHAPES[shape])
    for name, each in made.classes.items():
        monkeypatch.setattr(sys.modules[__name__], name, each, raising=False)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(made.Named(2, tags=["a"], name="b"), protocol))
        assert (again.x, again.y, again.name, again.tags, again.late) == (2, 7, "b", ["a"], 4)


def test_helpers_answer_as_those_of_the_standard_library() -> None:
    made = Made(records, {"frozen": True, "slots": True})
    named = made.Named(1, tags=[made.Point(2)])
    assert [each.name for each in records.fields(named)] == [each.name for each in dataclasses.fields(named)]
    assert records.astuple(named) == dataclasses.astuple(named) == (1, 7, "n", [(2, 7)], 2)
    assert records.replace(named, x=3) == dataclasses.replace(named, x=3) != named
    assert records.asdict(named) == dataclasses.asdict(named)
    assert [records.is_dataclass(each) for each in (named, made.Named, 1, int)] == [True, True, False, False]
    with pytest.raises(ValueError, match="late"):
        records.replace(named, late=1)
    with pytest.raises(TypeError):
        records.fields(1)  # type: ignore[arg-type]


def test_helpers_know_the_dataclasses_of_others() -> None:
    @dataclasses.dataclass(frozen=True)
    class Foreign:
        x: int = 1

    assert records.replace(Foreign(), x=2) == Foreign(2) and records.is_dataclass(Foreign)
    assert records.asdict(Foreign()) == {"x": 1} and [each.name for each in records.fields(Foreign)] == ["x"]


def test_no_name_of_a_field_is_taken_for_one_of_our_own() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Names:
        missing: list[int] = records.field(default_factory=list)
        set_: int = 1
        put: int = 2
        _missing: int = 3
        __put: int = 4
        default_put: int = 5
        make_missing: int = 6

    made = Names([1], 10, 20, 30, 40, 50, 60)
    assert records.astuple(made) == ([1], 10, 20, 30, 40, 50, 60)
    assert records.astuple(Names()) == ([], 1, 2, 3, 4, 5, 6)


def test_a_field_may_be_compared_and_left_out_of_the_hash() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Call:
        name: str
        arguments: list[int] = records.field(hash=False)

    assert hash(Call("a", [1])) == hash(Call("a", [2])) and Call("a", [1]) != Call("a", [2])
    assert next(each for each in dataclasses.fields(Call) if each.name == "arguments").hash is False


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @records.dataclass
        class Wrong:
            items: list[int] = []  # noqa: RUF012


def test_a_dataclass_can_be_derived_from_a_record() -> None:
    @records.dataclass(frozen=True)
    class Base:
        x: int = 1

    @dataclasses.dataclass(frozen=True)
    class Derived(Base):
        y: int = 2

    assert Derived(3) == Derived(3, 2) and repr(Derived()).endswith("Derived(x=1, y=2)")


def test_abstract_methods_stay_abstract() -> None:
    @records.dataclass(slots=True)
    class Base(abc.ABC):
        x: int

        @abc.abstractmethod
        def answer(self) -> int: ...

    @records.dataclass(slots=True)
    class Whole(Base):
        def answer(self) -> int:
            return self.x

    with pytest.raises(TypeError):
        Base(1)  # type: ignore[abstract]
    assert Whole(4).answer() == 4


def test_what_is_computed_once_is_kept_on_a_frozen_record() -> None:
    @records.dataclass(frozen=True)
    class Lazy:
        x: int

        @functools.cached_property
        def double(self) -> Iterator[int]:
            return iter([self.x * 2])

    lazy = Lazy(2)
    assert lazy.double is lazy.double


def test_what_one_process_compiled_another_takes_over(tmp_path: Path) -> None:
    script = f"""
import sys
sys.path[:] = {sys.path!r}
from kcl import records
from kcl.cache.compiled import leave, share
from kcl.cache.entries import Entries
from kcl.cache.store import Store
entries = Entries(Store({str(tmp_path / "kept")!r}))
share(entries)
@records.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: list = records.field(default_factory=list)
    z: int = 3
found = Point(1), Point(x=1, y=[2], z=4)
compiled = (("given", "made", "given"), "slots", False) in records._compiled
leave(entries)
entries.write()
print(found, compiled)
"""
    for compiled in (True, False):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert ended.stdout == f"(Point(x=1, y=[], z=3), Point(x=1, y=[2], z=4)) {compiled}\n"

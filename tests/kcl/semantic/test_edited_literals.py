"""A literal in whose place any other does the same is not checked again, and nothing wrong gets by for that."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kcl.diagnostics import Diagnostic
from kcl.loader import LoadRequest, load
from kcl.memo.queries import Memo
from kcl.semantic import check
from kcl.semantic.checked import CACHED_BY_TEXT
from kcl.semantic.packages import Checker
from kcl.source import InMemoryFileSystem
from kcl.stdlib.library import TYPES
from tests.kcl.memos import answers

MODEL = """schema Size:
    cpu: int = 1

schema Server:
    pods: int = 1
    title?: str
    level?: "low" | "high"
    port?: 80 | 8080
    share?: float
    free?: any
    size?: Size
    labels?: {str:str}
    twice?: int

schema Limits:
    [...str]: int
    most?: int
"""
BASE = """import model

web: model.Server {
    pods = 1
    title = "web"
    level = "low"
}
"""
OWN = """import model

web: model.Server {
    pods = 3
    port = 80
    share = 1
    free = 7
    size = model.Size {cpu = 2}
    labels = {team = "a"}
}
"""


class Session:
    def __init__(self) -> None:
        self.parsed, self.kept = Memo(), Memo()

    def found(self, own: str, base: str = BASE) -> list[Diagnostic]:
        texts = {"/r/kcl.mod": "", "/r/base.k": base, "/r/own.k": own, "/r/model/model.k": MODEL}

        def program(parsed: Memo) -> Any:
            return load(LoadRequest(("base.k", "own.k"), "/r"), InMemoryFileSystem(texts), parsed).program

        found = check(program(self.parsed), TYPES, memo=self.kept)
        assert found == check(program(Memo()), TYPES), "as a check that knows nothing"
        return found

    def literals(self) -> set[str]:
        """Those that need no check, as they are written now."""
        (cached,) = answers(self.kept, CACHED_BY_TEXT).values()
        assert cached.last is not None
        found = set()
        for at, effect in cached.last.effects.items():
            for part, start, end in effect.literals:
                module, statement = cached.last.parts_of(*at)[part]
                found.add(module.source.text[statement.start + start : statement.start + end])
        return found

    def is_checked(self, own: str, base: str = BASE) -> bool:
        """Whether anything is, of an edit in which nothing is wrong."""
        with alone() as statements:
            assert self.found(own, base) == []
        return bool(statements)


@contextmanager
def alone() -> Iterator[list[object]]:
    """The statements that are checked meanwhile in surroundings that are known."""
    original, checked = Checker._alone, list[object]()

    def noted(self: Checker, statement: Any, *rest: Any) -> Any:
        checked.append(statement)
        return original(self, statement, *rest)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Checker, "_alone", noted)
        yield checked


@pytest.fixture
def session() -> Session:
    """One that has seen an edit of each file, so that it knows what there is to know."""
    made = Session()
    for number in (3, 4, 5, 3):
        assert made.found(OWN.replace("3", str(number))) == []
    return made


def test_values_of_attributes_that_take_any_number_or_text_are(session: Session) -> None:
    assert session.literals() == {"3", '"web"'}
    assert not session.is_checked(OWN.replace("3", "12345"))
    assert session.literals() == {"12345", '"web"'}
    assert not session.is_checked(OWN.replace("3", "12345"), BASE.replace('"web"', '"the shop"'))
    assert not session.is_checked("# moved\n" + OWN.replace("3", "0"), BASE.replace('"web"', '"the shop"'))
    assert session.literals() == {"0", '"the shop"'}


def test_in_another_file_one_at_the_same_place_stays_where_it_is() -> None:
    session = Session()
    base = 'import model\n\nweb: model.Server {\n    title = "web"\n}\n'
    own = "import model\n\nweb: model.Server {\n    twice = 80\n}\n"
    for number in (80, 7, 8, 12345):
        assert session.found(own.replace("80", str(number)), base) == []
    assert session.literals() == {"12345", '"web"'}
    assert not session.is_checked(own.replace("80", "12345"), base.replace('"web"', '"w"'))
    assert session.literals() == {"12345", '"w"'}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pods = 3", "pods = 3 + 1"),
        ("pods = 3", "pods = 0x3"),
        ("pods = 3", "pods = 1234567890123456"),
        ("port = 80", "port = 8080"),
        ("share = 1", "share = 2"),
        ("free = 7", "free = 8"),
        ("cpu = 2", "cpu = 4"),
        ('team = "a"', 'team = "b"'),
    ],
)
def test_whatever_else_is_edited_is_checked(session: Session, old: str, new: str) -> None:
    assert OWN.count(old) == 1
    assert session.is_checked(OWN.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pods = 3", 'pods = "3"', "expected int, got str(3)"),
        ("pods = 3", "pods = 3.5", "expected int, got float(3.5)"),
        ("pods = 3", "pods = 1Ki", "expected int, got number_multiplier(1Ki)"),
        ("pods = 3", "pods = unknown", "unknown"),
        ("pods = 3", "pots = 3", "pots"),
        ("port = 80", "port = 81", "expected int(80) | int(8080), got int(81)"),
    ],
)
def test_what_is_wrong_is_told(session: Session, old: str, new: str, message: str) -> None:
    assert OWN.count(old) == 1
    assert message in " ".join(each.message for each in session.found(OWN.replace(old, new)))
    assert session.found(OWN) == []


@pytest.mark.parametrize("wrong", ['"a ${unknown}"', '"a" + 1', "7"])
def test_a_text_is_not_taken_for_one_that_computes(session: Session, wrong: str) -> None:
    assert session.found(OWN, BASE.replace('"web"', wrong)) != []
    assert session.found(OWN, BASE.replace('"web"', '"a"')) == []


def test_a_value_that_another_entry_mentions_is_checked() -> None:
    """A literal type may follow from it: `port` takes no number but two."""
    session = Session()
    own = OWN.replace("port = 80", "twice = 80\n    port = twice")
    outcomes = [bool(session.found(own.replace("twice = 80", f"twice = {each}"))) for each in (80, 8080, 80, 8080, 81)]
    assert outcomes[:4] == [False] * 4
    assert session.literals() == {"3", '"web"'}


def test_of_a_signature_that_takes_any_number_none_is() -> None:
    session = Session()
    own = "import model\n\nlimits: model.Limits {\n    a = 3\n    most = 4\n}\n"
    for number in (3, 5, 6):
        assert session.found(own.replace("3", str(number))) == []
    assert session.literals() == {"4"}


_LITERALS = (
    "3",
    "80",
    "8080",
    "1.5",
    '"a"',
    '"low"',
    '"high"',
    "1Ki",
    "0",
    "007",
    '"a\\"b"',
    '"${pods}"',
    "r'a'",
    '""',
)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_takes_the_place_of_a_literal(seed: int) -> None:
    """All attributes with all kinds of literals, some mentioned by others, and checked as if nothing were known."""
    rng = random.Random(seed)
    session = Session()
    names = ("pods", "title", "level", "port", "share", "free", "twice")
    files = [
        {name: rng.choice(_LITERALS[:7]) for name in rng.sample(names, 4)},
        {name: rng.choice(_LITERALS[:7]) for name in rng.sample(names, 4)},
    ]
    for _ in range(80):
        one = rng.choice(files)
        name = rng.choice([*one])
        fitting = {"pods": ("1", "22", "3"), "title": ('"x"', '"longer"'), "twice": ("80", "8080", "5")}.get(name, ())
        one[name] = rng.choice(fitting if fitting and rng.random() < 0.7 else (*_LITERALS, *names))
        texts = [
            "import model\n\n" + "#\n" * rng.randrange(2) + "web: model.Server {\n"
            "" + "".join(f"    {each} = {value}\n" for each, value in file.items()) + "}\n"
            for file in files
        ]
        session.found(texts[1], texts[0])

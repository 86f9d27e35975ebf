"""Statements of files that stay the same are not walked through again, and what is wrong is found all the same."""

from __future__ import annotations

import random

import pytest

from kcl.diagnostics import Diagnostic
from kcl.loader import LoadRequest, Program, load
from kcl.memo.queries import Memo
from kcl.semantic import check
from kcl.semantic.checked import CACHED_BY_TEXT, CACHED_STATEMENTS
from kcl.semantic.statement_cache import Effect
from kcl.source import InMemoryFileSystem
from kcl.stdlib.library import TYPES
from tests.kcl.memos import answers, walks

MODEL = "schema Model:\n    size: int = 1\n    name?: str\n"
SAME = """import model
import math

_all = [given, 2]
made = model.Model {size = given}
scaled = [grow(each) for each in _all]
if given > 1:
    _more = made.size
_total = sum(scaled)
_total += 1
assert math.pow(_total, 2) > 0
text = "${_total} of ${given}"
"""
EDITED = """given = 3
grow = lambda value: int -> int {
    value * 2
}
"""


class Session:
    """A main package of one file that is edited and one that is not."""

    def __init__(self) -> None:
        self.parsed, self.kept = Memo(), Memo()

    def program(self, parsed: Memo, edited: str, same: str = SAME) -> Program:
        texts = {"/r/kcl.mod": "", "/r/edited.k": edited, "/r/same.k": same, "/r/model/model.k": MODEL}
        return load(LoadRequest(("edited.k", "same.k"), "/r"), InMemoryFileSystem(texts), parsed).program

    def found(self, edited: str, same: str = SAME) -> list[Diagnostic]:
        found = check(self.program(self.parsed, edited, same), TYPES, memo=self.kept)
        assert found == check(self.program(Memo(), edited, same), TYPES), "as a check that knows nothing"
        return found

    def walked(self, edited: str, same: str = SAME) -> bool:
        """Whether the package is walked through for it, in which nothing is wrong."""
        with walks() as walked:
            assert check(self.program(self.parsed, edited, same), TYPES, memo=self.kept) == []
        return "__main__" in walked

    @property
    def effects(self) -> list[Effect]:
        return [
            effect
            for (_, path), each in answers(self.kept, CACHED_STATEMENTS).items()
            if path.endswith("same.k")
            for effect in each.effects.values()
        ]


def test_what_stays_the_same_is_walked_through_twice() -> None:
    session = Session()
    counts = []
    for number in range(4):
        assert session.found(EDITED.replace("3", str(number))) == []
        counts.append(session.effects)
    assert counts[0] == []
    assert len(counts[1]) == 8
    assert all(one is other for one, other in zip(counts[2], counts[3], strict=True)), "nothing was found out again"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("given = 3", 'given = "3"', "expected int, got str"),
        ("given = 3", "given = 3.5", "expected int, got float"),
        ("value: int -> int", "value: str -> str", ""),
        ("grow = lambda", "_grow = lambda", "name 'grow' is not defined"),
        ("given = 3\n", "given = 3\nimport model as math\n", ""),
        ("given = 3\n", "given = 3\nmade = 1\n", ""),
    ],
)
def test_what_its_names_mean_is_looked_at_each_time(old: str, new: str, message: str) -> None:
    session = Session()
    for number in range(3):
        assert session.found(EDITED.replace("3", str(number))) == []
    assert EDITED.count(old) == 1
    found = session.found(EDITED.replace(old, new))
    assert found
    assert message in " ".join(each.message for each in found)
    assert session.found(EDITED) == []


BASE = """import model

web: model.Model {size = 1}
cart: model.Model {size = 2}
"""
OWN = """import model

_sizes = [1, 2]
web: model.Model {size = 3}
cart: model.Model {name = "cart"}
"""


def by_name(session: Session) -> dict[str, Effect]:
    """What is known of the statements that are found by their texts, by how these begin."""
    (cached,) = answers(session.kept, CACHED_BY_TEXT).values()
    return {str(key[-1][1]).partition(" ")[0]: each for key, each in cached.effects.items() if isinstance(key, tuple)}


def test_what_files_describe_together_is_walked_through_where_one_of_them_says_something_else() -> None:
    session = Session()
    for number in (3, 4, 5):
        assert session.found(OWN.replace("3", str(number)), BASE) == []
    known = by_name(session)
    assert known.keys() == {"_sizes", "web:", "cart:"}
    assert session.found("# moved\n" + OWN.replace("3", "6"), BASE) == []
    assert by_name(session) == known, "nothing was found out again"
    assert session.found(OWN, BASE.replace("size = 2", 'size = "2"')) != []
    assert session.found(OWN.replace("name =", "label ="), BASE) != []
    assert session.found(OWN, BASE) == []


def test_what_is_wrong_in_a_statement_that_moved_is_where_it_stands_now() -> None:
    session = Session()
    for lines in range(4):
        (found,) = session.found("\n" * lines + OWN.replace('"cart"', "7"), BASE)
        assert found.primary is not None


def test_a_statement_of_an_edited_file_is_checked_by_what_its_names_mean_there() -> None:
    session = Session()
    for number in (3, 4, 5):
        assert session.found(OWN.replace("3", str(number)), BASE) == []
    assert session.found(OWN.replace("import model", "import math as model"), BASE) != []
    assert session.found(OWN.replace("_sizes = [1, 2]", "_sizes = 1\ncart = 1"), BASE) != []


def test_statements_that_are_gone_are_not_cached_any_longer() -> None:
    session = Session()
    for number in range(20):
        assert session.found(OWN.replace("3", str(number)), BASE) == []
    (cached,) = answers(session.kept, CACHED_BY_TEXT).values()
    assert len(cached.words) == 3


def test_places_of_what_is_wrong_are_those_of_now() -> None:
    session = Session()
    for number in range(3):
        assert session.found(EDITED.replace("3", str(number))) == []
    (found,) = session.found("# one line more\n" + EDITED + "made = 2\n")[:1]
    assert found.primary is not None
    for number in range(3):
        assert session.found("#" * number + "\n" + EDITED + "scaled = 2\n") != []


def test_what_is_wrong_in_it_is_told_every_time() -> None:
    session = Session()
    wrong = SAME.replace("made.size", "made.sise")
    for number in range(4):
        (found,) = session.found(EDITED.replace("3", str(number)), wrong)
        assert "sise" in found.message
    assert session.found(EDITED) == []


def test_where_one_value_is_another_the_rest_is_not_walked_through() -> None:
    session = Session()
    assert [session.walked(OWN.replace("3", str(number)), BASE) for number in range(4)] == [True, True, False, False]
    assert not session.walked("# moved\n\n" + OWN.replace("3", "9"), BASE)
    assert not session.walked("# moved\n\n" + OWN.replace("3", "9"), "# moved too\n" + BASE)
    assert not session.walked(OWN.replace("3", "8 - 2"), BASE)
    assert not session.walked(OWN.replace("3", "8 - 2"), BASE.replace("size = 2", "size = 4"))
    assert session.walked(OWN.replace("3", "9"), BASE), "two at once"
    assert not session.walked(OWN.replace("3", "8"), BASE)
    assert session.found(OWN.replace("size = 3", "sise = 3"), BASE) != []
    assert not session.walked(OWN, BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("size = 3", "size = 3}\nmore: model.Model {size = 1"),
        ("web:", "shop:"),
        ("_sizes = [1, 2]", "_sizes = 1"),
        ("_sizes = [1, 2]", "_sizes = lambda x: int { x }"),
        ("_sizes = [1, 2]", "_sizes = web.size"),
        ("_sizes = [1, 2]", "_sizes: [int] = [1, 2]"),
        ("import model", "import model\nimport math"),
        ("cart: model.Model", "cart = model.Model"),
    ],
)
def test_what_declares_or_leads_to_other_things_is_walked_through(old: str, new: str) -> None:
    session = Session()
    assert [session.walked(OWN.replace("3", str(number)), BASE) for number in range(3)] == [True, True, False]
    assert OWN.count(old) == 1
    assert session.walked(OWN.replace(old, new), BASE)


_WRONG = ("unknown", "model", "math.pow", "third.sise", "lambda each: int -> int { each }", "[1, first].x", "web + 1")
_ANY = (
    *("True", "None", "[1, 'a']", "{a = 1}", "grow", '"x"', "[each for each in [1, first]]", "1 if first else 'a'"),
    *("first", "_second", "third.size"),
)
_INTEGERS = ("1", "7", "3 + 4", "math.pow(2, 3)", "first", "grow(7)", "third.size", "model.Model {size = 2}.size")
_MODELS = (*(f"model.Model {{size = {each}}}" for each in _INTEGERS), 'model.Model {name = "n"}', "model.Model {}")
_VALUES = {
    "first = ": ("1", "2", "3", "7 - 2", "grow(2)"),
    "number: int = ": _INTEGERS,
    "_second = ": (*_ANY, *_INTEGERS),
    "_third: any = ": _ANY,
    "third: model.Model = ": _MODELS,
    "web: ": _MODELS,
}
"""By how a statement begins, what may be right after it."""
_IMPORTS = (
    "import model\nimport math\ngrow = lambda value: int -> int { value * 2 }\n",
    "import model\nimport math\n",
)


@pytest.mark.parametrize("seed", range(24))
def test_whatever_is_edited_it_is_as_a_check_that_knows_nothing(seed: int) -> None:
    rng = random.Random(seed)
    session = Session()

    def value(head: str) -> str:
        return rng.choice(_VALUES[head] if rng.random() < 0.95 else _WRONG + _ANY)

    heads = rng.sample([*_VALUES], len(_VALUES))
    files = [[(head, value(head)) for head in sorted(heads[at::2])] for at in range(2)]
    for _ in range(60):
        body = rng.choice(files)
        at = rng.randrange(len(body))
        head = body[at][0] if rng.random() < 0.95 else rng.choice([*_VALUES])
        body[at] = head, value(head)
        texts = [
            "#\n" * rng.randrange(2) + begin + "".join(f"{head}{value}\n" for head, value in each)
            for begin, each in zip(_IMPORTS, files, strict=True)
        ]
        session.found(*texts)

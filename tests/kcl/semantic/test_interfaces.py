"""A package is checked again exactly when it, or what it can see of others, is another."""

from __future__ import annotations

import pytest

from kcl.loader import LoadRequest, Program, load
from kcl.memo.queries import Memo
from kcl.semantic import CheckCache, check
from kcl.semantic.packages import Checked
from kcl.source import InMemoryFileSystem
from kcl.stdlib.library import TYPES

MODEL = """import deep

schema Base:
    port: int = 80
    name?: str

schema Model(Base):
    size: int = 1
    more: {str:} = {a = 1}
    check:
        size > 0

rule Fits:
    1 > 0

type Sizes = [int]
limit = 3
_hidden = "x"
grow = lambda value: int -> int {
    value + limit
}
far = deep.x
"""
FACADE = "import model\n\nschema Facade(model.Model):\n    other: model.Sizes = []\n\nlimit = model.limit\n"
MAIN = "import facade\n\na = facade.Facade {size = facade.limit}\n"


class Session:
    """The same repository from edit to edit."""

    def __init__(self) -> None:
        self.parsed, self.kept = Memo(), CheckCache()

    def program(self, model: str, main: str = MAIN, deep: str = "x = 1\n") -> Program:
        texts = {
            "/r/kcl.mod": "",
            "/r/main.k": main,
            "/r/facade/facade.k": FACADE,
            "/r/model/model.k": model,
            "/r/deep/deep.k": deep,
        }
        return load(LoadRequest(("main.k",), "/r"), InMemoryFileSystem(texts), self.parsed).program

    def found(self, model: str, main: str = MAIN, deep: str = "x = 1\n") -> list[str]:
        found = check(self.program(model, main, deep), TYPES, cache=self.kept)
        assert found == check(self.program(model, main, deep), TYPES), "as a check that knows nothing"
        return [each.message for each in found]

    def checked(self, package: str) -> Checked:
        (found,) = [each for each in self.kept.entries.values() if each.path == package]
        return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port: int = 80", "port: int = 8080"),
        ("size > 0", "size > 0 and size < 100"),
        ("value + limit", "value * limit + 1"),
        ("limit = 3", "limit = 4"),
        ('_hidden = "x"', '_hidden = "y"'),
        ("import deep\n", "# said above\n\n\nimport deep\n"),
        ("{a = 1}", "{a = 2, b = 3}"),
        ("1 > 0", "2 > 0"),
    ],
)
def test_what_others_cannot_see_leaves_them_checked(old: str, new: str) -> None:
    session = Session()
    assert session.found(MODEL) == []
    model, facade = session.checked("model"), session.checked("facade")
    assert MODEL.count(old) == 1
    assert session.found(MODEL.replace(old, new)) == []
    assert session.checked("model") is not model
    assert session.checked("facade") is facade


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port: int = 80", "port: float = 80"),
        ("name?: str", "name: str"),
        ("name?: str", "name?: str\n    [...str]: int"),
        ("size: int = 1", "size: int = 1\n    also?: str"),
        ("schema Model(Base):", "schema Model:"),
        ("schema Model(Base):", "schema Model[given: int = 1](Base):"),
        ("type Sizes = [int]", "type Sizes = [str]"),
        ("limit = 3", "limit = 3.5"),
        ("limit = 3", "limit = 3\nanother = 1"),
        ("lambda value: int -> int", "lambda value: int, by: int = 1 -> int"),
    ],
)
def test_what_others_can_see_has_them_checked_again(old: str, new: str) -> None:
    session = Session()
    assert session.found(MODEL) == []
    facade = session.checked("facade")
    assert MODEL.count(old) == 1
    session.found(MODEL.replace(old, new))
    assert session.checked("facade") is not facade


def test_what_a_package_shows_of_another_counts_as_its_own() -> None:
    session = Session()
    assert session.found(MODEL) == []
    model, facade = session.checked("model"), session.checked("facade")
    assert session.found(MODEL, deep="x = 2\n") == []
    assert session.checked("model") is model
    assert session.found(MODEL, deep='x = "s"\n') == []
    assert session.checked("model") is not model
    assert session.checked("facade") is not facade


def test_what_is_wrong_is_told_with_the_places_of_now() -> None:
    session = Session()
    wrong = MAIN.replace("facade.limit", '"much"')
    assert session.found(MODEL) == []
    assert session.found("# one line more\n" + MODEL) == []
    assert session.found("# one line more\n" + MODEL, wrong) == ["expected int, got str(much)"]
    assert session.found("# one line more\n# and another\n" + MODEL, wrong) == ["expected int, got str(much)"]
    assert session.found(MODEL) == []
    assert session.found(MODEL.replace("size: int = 1", "size: str = 1")) != []
    assert session.found(MODEL) == []


def test_a_finding_has_only_what_moved_checked_again_and_who_imports_it() -> None:
    session = Session()
    moved = "# one line more\n" + MODEL
    assert session.found(MODEL) == session.found(moved) == []
    deep, model, facade = (session.checked(each) for each in ("deep", "model", "facade"))
    assert model.moved and not facade.moved
    assert session.found(moved, MAIN.replace("facade.limit", '"much"')) == ["expected int, got str(much)"]
    assert session.checked("deep") is deep
    assert session.checked("facade") is not facade
    again = session.checked("model")
    assert again is not model and not again.moved
    assert session.found(moved) == []
    assert session.checked("model") is again


def test_the_same_import_may_lead_to_another_package() -> None:
    """A file alone in its folder is that folder's package, and what nobody names is not held against a program."""
    parsed, kept = Memo(), CheckCache()

    def found(name: str, text: str) -> list[str]:
        texts = {"/r/kcl.mod": "", "/r/main.k": "import every.one\n\na = one.a\n", name: text}
        program = load(LoadRequest(("main.k",), "/r"), InMemoryFileSystem(texts), parsed).program
        findings = check(program, TYPES, cache=kept)
        assert findings == check(program, TYPES), "as a check that knows nothing"
        return [each.message for each in findings]

    assert found("/r/every/one/a.k", "a = 1\n") == []
    assert found("/r/every/one.k", "a = b\n") == ["name 'b' is not defined"]
    assert found("/r/every/one/a.k", "a = b\n") == ["name 'b' is not defined"]

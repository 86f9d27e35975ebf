"""A package is checked again exactly when it, or what it can see of others, is another."""

from __future__ import annotations

import pytest

from kcl.loader import LoadRequest, Program, load
from kcl.memo.queries import Memo
from kcl.semantic import check
from kcl.semantic.checked import CHECKED, Checked
from kcl.source import InMemoryFileSystem
from kcl.stdlib.library import TYPES
from tests.kcl.memos import answers, walks

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
        self.parsed, self.kept = Memo(), Memo()

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
        found = check(self.program(model, main, deep), TYPES, memo=self.kept)
        assert found == check(self.program(model, main, deep), TYPES), "as a check that knows nothing"
        return [each.message for each in found]

    def checked(self, package: str) -> Checked:
        (found,) = [each for each in answers(self.kept, CHECKED).values() if each.path == package]
        return found

    def walked(self, model: str, main: str = MAIN, deep: str = "x = 1\n") -> list[str]:
        """The packages that are walked through for this."""
        program = self.program(model, main, deep)
        with walks() as walked:
            check(program, TYPES, memo=self.kept)
        assert self.found(model, main, deep) is not None
        return walked


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
    assert session.walked(MODEL.replace(old, new)) == ["model"]
    assert session.checked("model") is model
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
    model = session.checked("model")
    assert MODEL.count(old) == 1
    assert session.walked(MODEL.replace(old, new))[:3] == ["model", "facade", "__main__"]
    assert session.checked("model") is not model


def test_what_a_package_shows_of_another_counts_as_its_own() -> None:
    session = Session()
    assert session.found(MODEL) == []
    assert session.walked(MODEL, deep="x = 2\n") == ["deep"]
    assert session.walked(MODEL, deep='x = "s"\n') == ["deep", "model", "facade", "__main__"]


RIGHT, WRONG = "x = 1\n", "x = 1\nassert none\n"
"""Of which others see the same."""


class Importing:
    """`main` imports `b`, which imports a package as `of`; what of it goes wrong is no matter of what `b` shows."""

    def __init__(self) -> None:
        self._session = Session()

    def found(self, imported: str = "a", a: str = RIGHT) -> list[str]:
        texts = {"/r/kcl.mod": "", "/r/main.k": "import b\n\nx = b.x\n", "/r/a/a.k": a, "/r/c/c.k": WRONG}
        files = InMemoryFileSystem({**texts, "/r/b/b.k": f"import {imported} as of\n\nx = of.x\n"})
        program = load(LoadRequest(("main.k",), "/r"), files, self._session.parsed).program
        told = check(program, TYPES, memo=self._session.kept)
        assert told == check(program, TYPES), "as a check that knows nothing"
        return [each.message for each in told]


def test_an_imported_package_may_go_wrong_that_shows_what_it_did() -> None:
    importing = Importing()
    assert importing.found() == []
    assert importing.found(a=WRONG) != []
    assert importing.found() == []
    assert importing.found("c") != [], "nor by which package it imports in its place"
    assert importing.found() == []


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
    wrong = MAIN.replace("facade.limit", '"much"')
    assert session.found(MODEL) == session.found(moved) == []
    assert session.walked(moved, wrong) == ["__main__", "model", "facade", "__main__"]
    assert session.walked(moved, wrong.replace("much", "more")) == ["__main__", "__main__"]
    assert session.walked(moved) == ["__main__"]


def test_packages_that_import_each_other_are_of_one_request() -> None:
    session = Session()
    texts = {"/r/kcl.mod": "", "/r/main.k": "import a\n\nx = a.A {}\n"}
    texts["/r/a/a.k"] = "import b\n\nschema A:\n    other?: b.B\n\nnone = b.none\n"
    texts["/r/b/b.k"] = "import a\n\nschema B:\n    other?: a.A\n"
    program = load(LoadRequest(("main.k",), "/r"), InMemoryFileSystem(texts), session.parsed).program
    for _ in range(3):
        with walks() as walked:
            told = check(program, TYPES, memo=session.kept)
        assert told == check(program, TYPES) != []
        assert walked == ["b", "a", "__main__"] * 2
    assert answers(session.kept, CHECKED) == {}


def test_the_same_import_may_lead_to_another_package() -> None:
    """A file alone in its folder is that folder's package, and what nobody names is not held against a program."""
    parsed, kept = Memo(), Memo()

    def found(name: str, text: str) -> list[str]:
        texts = {"/r/kcl.mod": "", "/r/main.k": "import every.one\n\na = one.a\n", name: text}
        program = load(LoadRequest(("main.k",), "/r"), InMemoryFileSystem(texts), parsed).program
        findings = check(program, TYPES, memo=kept)
        assert findings == check(program, TYPES), "as a check that knows nothing"
        return [each.message for each in findings]

    assert found("/r/every/one/a.k", "a = 1\n") == []
    assert found("/r/every/one.k", "a = b\n") == ["name 'b' is not defined"]
    assert found("/r/every/one/a.k", "a = b\n") == ["name 'b' is not defined"]

"""Names that are not there: what is said of them, and that the edits mend the program."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest

from kcl.api import InMemoryFileSystem, ProgramError, run
from kcl.cli import main
from tests.kcl.teaching.mending import mended
from tests.properties.fuzz import own_programs

_PACKAGE = {
    "/w/kcl.mod": "[package]\nname = 'w'\n",
    "/w/api/apps/v1/app.k": "schema App:\n    x?: int\n",
    "/w/base/base.k": "schema Base:\n    x?: int\n",
    "/w/other/other.k": "import api.apps.v1 as workloads\ny = workloads.App {}\n",
}


def _failure(text: str) -> ProgramError:
    with pytest.raises(ProgramError) as problem:
        _run(text)
    return problem.value


def _run(text: str) -> str:
    files = InMemoryFileSystem({**_PACKAGE, "/w/main.k": text})
    return run(["main.k"], work_dir="/w", file_system=files).yaml()


_MENDED = [
    ("a = true\n", "KCL writes `True` for `true`", "a = True\n"),
    ("a = {b = false}\n", "KCL writes `False` for `false`", "a = {b = False}\n"),
    ("a = null\n", "KCL writes `None` for `null`", "a = None\n"),
    ("a = nil\n", "KCL writes `None` for `nil`", "a = None\n"),
    ("schema A:\n    x?: string\na = A {}\n", "KCL writes `str` for `string`", "schema A:\n    x?: str\na = A {}\n"),
    ("schema A:\n    x?: [boolean]\na = A {}\n", "`bool` for `boolean`", "schema A:\n    x?: [bool]\na = A {}\n"),
    ("let a = 1\n", "without `let`", "a = 1\n"),
    ("const a: int = 1\n", "without `const`", "a: int = 1\n"),
    ("f = lambda x {\n    return x\n}\na = f(1)\n", "without `return`", "f = lambda x {\n    x\n}\na = f(1)\n"),
    (
        "schema A:\n    x: int = 1\n    y: int = self.x\na = A {}\n",
        "without `self.`",
        "schema A:\n    x: int = 1\n    y: int = x\na = A {}\n",
    ),
    ("a = 5 // the number\n", "begins with `#`", "a = 5 # the number\n"),
    ("a = math.log(2)\n", "`import math`", "import math\na = math.log(2)\n"),
    ("a = v1.App {}\n", "`import api.apps.v1`", "import api.apps.v1\na = v1.App {}\n"),
    (
        "import base\na = v1.App {}\nb = base.Base {}\n",
        "`import api.apps.v1`",
        "import base\nimport api.apps.v1\na = v1.App {}\nb = base.Base {}\n",
    ),
    (
        "import other\na = workloads.App {}\nb = other.y\n",
        "`import api.apps.v1 as workloads`",
        "import other\nimport api.apps.v1 as workloads\na = workloads.App {}\nb = other.y\n",
    ),
    (
        "import api.app.v1 as v\na = v.App {}\n",
        "the package `api.apps.v1` is there",
        "import api.apps.v1 as v\na = v.App {}\n",
    ),
    ("import apps.v1\na = v1.App {}\n", "the package `api.apps.v1` is there", "import api.apps.v1\na = v1.App {}\n"),
    ("import bse\na = 1\n", "the package `base` is there", "import base\na = 1\n"),
    ("a = yes\n", "KCL writes `True` for `yes`", "a = True\n"),
    ("schema A:\n    x?: int\na = new A {x = 1}\n", "without `new`", "schema A:\n    x?: int\na = A {x = 1}\n"),
    ("a = {\n    my-key = 1\n}\n", 'in quotes: `"my-key"`', 'a = {\n    "my-key" = 1\n}\n'),
    ("a = {k8s.io/name: 'x'}\n", 'in quotes: `"k8s.io/name"`', "a = {\"k8s.io/name\": 'x'}\n"),
    ("a = {app: web-server}\n", 'in quotes: `"web-server"`', 'a = {app: "web-server"}\n'),
    ("schema A:\n    n: int\na = A {n = '3'}\n", "without quotes: `3`", "schema A:\n    n: int\na = A {n = 3}\n"),
    ("schema A:\n    n: str\na = A {n = 80}\n", 'in quotes: `"80"`', 'schema A:\n    n: str\na = A {n = "80"}\n'),
    (
        'schema A:\n    k: "web" | "job"\na = A {k = "wbe"}\n',
        "did you mean `web`?",
        'schema A:\n    k: "web" | "job"\na = A {k = "web"}\n',
    ),
]


@pytest.mark.parametrize(("text", "message", "right"), _MENDED, ids=[each[0] for each in _MENDED])
def test_a_name_that_is_not_there_gets_a_hint_whose_edits_mend_the_program(text: str, message: str, right: str) -> None:
    problem = _failure(text)
    shown = [each for each in problem.diagnostics if not each.follows]
    assert len(shown) == 1, [each.message for each in shown]
    assert any(message in hint.message for hint in shown[0].hints), shown[0].hints
    assert mended(text, shown) == right
    _run(right)


@pytest.mark.parametrize(
    "text",
    [
        "a = 10 // unknown\n",
        "a = elsewhere.App {}\n",
        "a = v1.Missing {}\n",
        "import api.entirely.different\na = 1\n",
        "a = 'x // y z' + unknown\n",
        "a = unknown\n",
        "a = let\n",
    ],
)
def test_where_nothing_is_certain_nothing_is_said(text: str) -> None:
    assert not any(each.hints for each in _failure(text).diagnostics)


def test_two_nots_are_told_as_what_kcl_has_for_them() -> None:
    (hint,) = _failure("a = not not True\n").diagnostics[0].hints
    assert "`bool(x)`" in hint.message


def test_where_a_program_nests_too_deeply_is_told() -> None:
    text = "x = 1\ny = 1 + " + "1 + " * 30_000 + "1\n"
    (finding,) = _failure(text).diagnostics
    assert "nests too deeply" in finding.message
    assert "/w/main.k" in finding.message or (finding.primary is not None and finding.primary.path == "/w/main.k")


def test_a_text_behind_a_dash_in_a_list_is_told_as_an_item() -> None:
    [said, _] = [[hint.message for hint in each.hints] for each in _failure('a = [\n  - "x"\n  - "y"\n]\n').diagnostics]
    assert said == ["an item of a list stands in a line of its own without `-`"]
    [said] = [[hint.message for hint in each.hints] for each in _failure('a = 1\nb = -"x"\n').diagnostics]
    assert said == []


def test_a_package_of_a_dependency_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib" / "api" / "apps" / "v1").mkdir(parents=True)
    (tmp_path / "lib" / "kcl.mod").write_text('[package]\nname = "lib"\nversion = "0.1.0"\n')
    (tmp_path / "lib" / "api" / "apps" / "v1" / "app.k").write_text("schema App:\n    x?: int\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "kcl.mod").write_text('[package]\nname = "own"\n[dependencies]\nlib = { path = "../lib" }\n')
    (tmp_path / "own" / "main.k").write_text("import lib.api.app.v1 as v\na = v.App {}\n")
    stderr = io.StringIO()
    status = main(["run", "main.k"], cwd=tmp_path / "own", stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr)
    assert status == 1
    assert "lib.api.apps.v1" in stderr.getvalue(), stderr.getvalue()


def test_constants_of_other_languages_in_the_corpora_are_named_and_mended() -> None:
    rng, tried = random.Random(7), 0
    for program in own_programs():
        words = list(re.finditer(r"(?<== )(True|False|None)\b", program))
        if not words or len(program) > 5_000 or tried >= 25:
            continue
        try:
            right = _run(program)
        except ProgramError:
            continue
        word = rng.choice(words)
        wrong = {"True": "true", "False": "false", "None": "null"}[word[0]]
        text = program[: word.start()] + wrong + program[word.end() :]
        try:
            _run(text)
        except ProgramError as problem:
            hints = [hint for each in problem.diagnostics for hint in each.hints]
            assert [hint.message for hint in hints] == [f"KCL writes `{word[0]}` for `{wrong}`"], text
            assert _run(mended(text, problem.diagnostics)) == right
            tried += 1
    assert tried >= 10


@pytest.mark.parametrize(
    "text, hint",
    [
        ('a = "x" + 1\n', "`str(...)`"),
        ("a = [1]\na.append(2)\n", "`old + [more]`"),
        ("schema A:\n    x?: int\na = A(x=1)\n", "attributes stand in braces: `A {name = value}`"),
        ("schema A:\n    x: List[str]\n", "the type of a list is `[str]`"),
        ("schema A:\n    x: map[str]str\n", "`{str:int}`"),
        ("schema A:\n    x: Optional[int]\n", "`name?: type`"),
        ("from base import x\n", "`import base.x`"),
    ],
)
def test_what_other_languages_write_is_told_as_kcl_has_it(text: str, hint: str) -> None:
    told = [each.message for item in _failure(text).diagnostics for each in item.hints]
    assert any(hint in each for each in told), told


def test_a_difference_of_names_is_no_text() -> None:
    told = [each.message for item in _failure("size = 3\na = size-used\n").diagnostics for each in item.hints]
    assert not told, told

"""How the checker works: what it keeps, how it grows, what it leaves to the run."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kcl.api import ParseCache, ProgramError, run
from kcl.evaluator.dialect import KONFIG_2023
from kcl.evaluator.evaluate import findings
from kcl.loader import LoadRequest, load
from kcl.memo.queries import Memo
from kcl.semantic import check
from kcl.semantic.suggestions import did_you_mean
from kcl.semantic.types import ANY, FLOAT, INT, NONE, STR, DictType, ListType, LiteralType, common, subsumed, widened
from kcl.source import InMemoryFileSystem
from kcl.stdlib import Access, build_library
from kcl.stdlib.library import TYPES
from tests.kcl.memos import walks


def _loaded(cache: Memo, **texts: str) -> Any:
    files = {"/r/kcl.mod": ""} | {f"/r/{name.replace('__', '/')}.k": text for name, text in texts.items()}
    return load(LoadRequest(("main.k",), "/r"), InMemoryFileSystem(files), cache).program


def test_packages_are_checked_again_only_where_something_changed() -> None:
    parsed, kept = Memo(), Memo()
    texts = {"main": "import a\nimport b\nx = a.x + b.x\n", "a__a": "x = 1\n", "b__b": "import a\nx = a.x\n"}
    assert check(_loaded(parsed, **texts), TYPES, memo=kept) == []
    with walks() as walked:
        assert check(_loaded(parsed, **texts), TYPES, memo=kept) == []
    assert walked == []

    changed = check(
        _loaded(parsed, **texts | {"a__a": 'x = "s"\n', "main": "import b\nx = b.x + 1\n"}), TYPES, memo=kept
    )
    assert [finding.message for finding in changed] == ["unsupported operand type(s) for +: 'str' and 'int(1)'"]

    alone = check(_loaded(parsed, **texts | {"main": "import a\nx = a.x\n"}), TYPES, memo=kept)
    assert alone == []


def test_what_is_wrong_is_told_again_from_what_was_kept() -> None:
    parsed = ParseCache()
    for _ in range(2):
        with pytest.raises(ProgramError) as caught:
            run(["main.k"], work_dir="/w", texts={"main.k": 'x: int = "a"\ny = z\n'}, cache=parsed)
        assert [finding.message for finding in caught.value.diagnostics] == [
            "expected int, got str(a)",
            "name 'z' is not defined",
        ]


def test_a_package_that_is_only_imported_is_neither_held_to_rules_nor_run() -> None:
    program = {"main": "import a\nx = 1\n", "a__a": 'x: int = "s"\nassert False\n'}
    assert check(_loaded(Memo(), **program), TYPES) == []
    texts = {"/r/kcl.mod": "", "/r/main.k": program["main"], "/r/a/a.k": program["a__a"]}
    assert run(["main.k"], work_dir="/r", file_system=InMemoryFileSystem(texts)).documents == ({"x": 1},)


def test_code_that_is_never_run_is_checked() -> None:
    program = "schema S:\n    a: int\n    if a > 1:\n        b = nope\n    check:\n        a > 'x'\n"
    program += "f = lambda {\n    1 + 'a'\n}\n"
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir="/w", texts={"main.k": program})
    assert [finding.message for finding in caught.value.diagnostics] == [
        "name 'nope' is not defined",
        "unsupported operand type(s) for >: 'int' and 'str(x)'",
        "unsupported operand type(s) for +: 'int(1)' and 'str(a)'",
    ]


def test_the_dialect_of_2023_leaves_unknown_names_and_missing_arguments_to_the_run() -> None:
    program = "schema S[a, b]:\n    x?: any = b\ns = S(1) {}\ny = nope\nz: int = 'a'\n"
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir="/w", texts={"main.k": program}, dialect=KONFIG_2023)
    assert [finding.message for finding in caught.value.diagnostics] == ["expected int, got str(a)"]


@pytest.mark.parametrize(
    "program",
    [
        "a = " + "{a = " * 1000 + "1" + "}" * 1000 + "\n",
        "a = [" + ",".join(map(str, range(20_000))) + "]\n",
        "a = [" + ",".join(f"{{k{i} = {i}}}" for i in range(2_000)) + "]\n",
        "a = " + " + ".join(["1"] * 5_000) + "\n",
        "".join(f"a{i} = b{i}\n" for i in range(100)),
    ],
    ids=["deep", "long list", "list of dictionaries", "long chain", "many unknown names"],
)
def test_large_programs_are_checked_in_little_time(program: str) -> None:
    loaded = _loaded(Memo(), main=program)
    started = time.process_time()
    findings(loaded, build_library(Access()))  # with a stack as deep as a run has it
    assert time.process_time() - started < 5


def test_types_of_literals_are_told_apart_until_a_variable_holds_them() -> None:
    one, two, text = LiteralType(1), LiteralType(2), LiteralType("a")
    assert str(common([one, two, LiteralType(1), text])) == "int(1) | int(2) | str(a)"
    assert str(common([one, FLOAT, NONE])) == "float"
    assert common([one, ANY]) is ANY
    assert common([]) is ANY
    assert str(widened(ListType(common([one, two, text])))) == "[int | str]"
    assert str(DictType(text, LiteralType(1.0))) == "{str(a):float(1)}"
    assert subsumed(one, INT)
    assert subsumed(INT, FLOAT)
    assert not subsumed(FLOAT, INT)
    assert not subsumed(ANY, STR)
    assert subsumed(ANY, STR, True)


def test_names_that_are_near_are_offered_the_nearest_last() -> None:
    assert did_you_mean("port", ["ports", "Port", "part", "host"]) == ', did you mean \'["Port", "part", "ports"]\'?'
    assert did_you_mean("zzz", ["abc"]) == ""
    assert did_you_mean("a" * 10_000, ["a" * 10_000]) == ""

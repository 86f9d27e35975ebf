"""`rename_code` of `kcl.compat` beside the official one.

`python -m tests.differential.test_renaming` prints the figures over generated programs as well.
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from kcl.api import ProgramError, run
from kcl.compat import api
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from tests.differential.programs import program

official = pytest.importorskip("kcl_lib.api", reason="the official KCL compiler is not installed")

_NEW = "renamed_to"
_MAIN = "/mock/path/main.k"
TEXTS = {
    "a variable": ("a", "a = 1\nb = a + 1\nc = 1 + a\n"),
    "in strings": ("a", "a = 1\nb = '${a + 1} a'\nc = 'a'\n"),
    "in configurations": ("a", "a = 1\nb = {a = a, c = {d = a}, 'a' = 2}\n"),
    "in lists and calls": ("a", "a = [1]\nb = [x + 1 for x in a if x > 0]\nc = max(a)\n"),
    "a parameter of the same name": ("a", "a = 1\nf = lambda a: int -> int { a + 1 }\nb = f(a)\n"),
    "a loop variable of the same name": ("a", "a = 1\nb = [a for a in [1]]\nc = a\n"),
    "a private one that changes": ("_a", "_a = 1\n_a += 2\nb = _a\n"),
    "under a condition": ("a", "if True:\n    a = 1\nb = a\n"),
    "a schema": ("S", "schema S:\n    a: int\nschema T(S):\n    b?: S\n    c?: [S]\nx = S {a = 1}\ny: S = x\n"),
    "an attribute of the same name": ("a", "schema S:\n    a: int = 1\na = 2\nb = S {a = a}\n"),
    "a union": ("a", "schema S:\n    x?: int\n    y?: int\na: S {x = 1}\na: S {y = 2}\nb = a.x\n"),
    "a type": ("T", "type T = int | str\na: T = 1\nb: {str:T} = {}\n"),
    "what follows a comment": ("a", "# a\na = 1  # a\nb = a  # says a\n"),
}


def new_name(symbol: str) -> str:
    return f"_{_NEW}" if symbol.startswith("_") else _NEW


def theirs(symbol: str, codes: dict[str, str]) -> dict[str, str] | None:
    """The files that change; None where it fails."""
    asked = official.RenameCodeArgs(
        package_root="/mock/path", symbol_path=symbol, source_codes=codes, new_name=new_name(symbol)
    )
    try:
        changed = official.API().rename_code(asked).changed_codes
        return {path: text + "\n" for path, text in changed.items()}  # it loses the last line end
    except Exception:  # the client raises nothing more precise
        return None


def ours(symbol: str, codes: dict[str, str]) -> dict[str, str] | None:
    asked = api.RenameCodeArgs("/mock/path", symbol, codes, new_name(symbol))
    try:
        return api.API().rename_code(asked).changed_codes
    except api.ServiceError:
        return None


@pytest.mark.parametrize("name", TEXTS)
def test_renamed_as_officially(name: str) -> None:
    symbol, text = TEXTS[name]
    assert ours(symbol, {_MAIN: text}) == theirs(symbol, {_MAIN: text})


def test_files_beside_are_renamed_too() -> None:
    """Officially they keep the old name, and the package is wrong."""
    codes = {_MAIN: "a = 1\nb = a\n", "/mock/path/other.k": "c = a + b\n"}
    main = {_MAIN: "renamed_to = 1\nb = renamed_to\n"}
    assert theirs("a", codes) == main
    assert ours("a", codes) == {**main, "/mock/path/other.k": "c = renamed_to + b\n"}


def names(text: str) -> list[str]:
    body = parse(SourceFile(_MAIN, text)).module.body
    assigned = [each.targets[0].name for each in body if isinstance(each, ast.Assign)]
    return list(dict.fromkeys([*assigned, *(each.name for each in body if isinstance(each, ast.Schema))]))


def evaluated(text: str) -> object:
    try:
        return run([_MAIN], texts={_MAIN: text}, work_dir="/mock/path").documents
    except ProgramError:
        return None


def compared(seeds: range) -> Counter[str]:
    """How often both rename alike, over all variables and schemas of generated programs.

    Where they don't, one result is another program than before but for the name, or a reference is missing in it.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        text = program(seed)
        before = evaluated(text)
        if before is None:
            continue
        for name in names(text):
            codes = {_MAIN: text}
            mine, other = ours(name, codes), theirs(name, codes)
            if mine == other:
                counts["alike"] += 1
            elif mine is None:
                counts[
                    "refused here, officially another program" if not _is_kept(other, name, before) else "refused"
                ] += 1
            else:
                counts["ours another program"] += not _is_kept(mine, name, before)
                counts["officially another program" if not _is_kept(other, name, before) else "differs"] += 1
    return counts


def _is_kept(codes: dict[str, str] | None, name: str, before: object) -> bool:
    after = None if codes is None or _MAIN not in codes else evaluated(codes[_MAIN])
    return after is not None and str(after).replace(new_name(name), name) == str(before)


def test_a_second_reference_on_one_line_is_renamed() -> None:
    """Officially it is forgotten."""
    text = "a = 1\nb = a + a\n"
    assert theirs("a", {_MAIN: text}) == {_MAIN: "renamed_to = 1\nb = a + renamed_to\n"}
    assert ours("a", {_MAIN: text}) == {_MAIN: "renamed_to = 1\nb = renamed_to + renamed_to\n"}


def test_names_of_generated_programs_are_renamed_as_officially() -> None:
    counts = compared(range(6))
    assert counts["alike"] > 20, counts
    assert counts["ours another program"] == counts["refused"] == 0, counts
    assert counts["differs"] < counts["alike"] // 5, counts


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}: {count}\n" for name, count in compared(range(200)).most_common())

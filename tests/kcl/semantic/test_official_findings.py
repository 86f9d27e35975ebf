"""What the checker says is what the official compiler says: class, place and text of every finding, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kcl.api import ProgramError, run
from tests.properties.findings import Finding, findings


def _findings(text: str) -> list[Finding]:
    """What was found before the run, in what a compiler prints."""
    return [finding for finding in findings(text) if finding.title != "EvaluationError"]


class _Official:
    def __init__(self) -> None:
        self.api = pytest.importorskip("kcl_lib.api", reason="kcl-lib is not installed")

    def findings(self, folder: Path, files: list[str]) -> list[Finding]:
        arguments = self.api.ExecProgramArgs(work_dir=str(folder), k_filename_list=files)
        try:
            result: Any = self.api.API().exec_program(arguments)
        except Exception as refusal:
            return _findings(str(refusal))
        return _findings(result.err_message)


@pytest.fixture(scope="module")
def official() -> _Official:
    return _Official()


def _ours(folder: Path, files: list[str]) -> list[Finding]:
    try:
        run(files, work_dir=folder)
    except ProgramError as problem:
        return _findings(problem.render())
    return []


def _assert_alike(official: _Official, folder: Path, program: str) -> None:
    """`program` is the text of main.k, or several texts, each after a line `### path`."""
    parts = re.split(r"^### (\S+)\n", program, flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True)) or {"main.k": program}
    for name, text in {"kcl.mod": "", **texts}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    files = [name for name in texts if name in ("main.k", "stack.k")]
    expected, found = official.findings(folder, files), _ours(folder, files)
    assert [item for item in found if item not in expected] == [], "ours only"
    assert [item for item in expected if item not in found] == [], "official only"
    assert found == expected, "order"


_VALUES = (
    '1', '"a"', '"int"', 'True', '1.5', 'None', 'Undefined', '[]', '[1]', '["a", 1]', '[1, None]', '{}', '{a = 1}',
    '{"a": "x", b = [1]}', '[{a = 1}, {b = "x"}]', '1Ki', 'lambda { 1 }', 'lambda x: int, y { "a" }', 'S', 'S {a = 1}',
    '[S {a = 1}]', 'len', '"${1}"', '1 if True else "a"', '[x for x in [1, 2]]', '{k: v for k, v in {a = 1}}', '-1',
    'not 1', '1 < 2', 'math', '"a".upper', '"a".upper()', 'math.pi_', '{**{a = 1}, b = "x"}', '[*[1], "a"]',
)  # fmt: skip
_TYPES = (
    'int', 'str', 'bool', 'float', 'any', '[int]', '[]', '[str | int]', '{str:int}', '{str:}', '{:}', '1', '"a"',
    'True', '1.5', '1 | 2', '"a" | "b"', 'int | str', 'S', '[S]', '{str:S}', 'S | int', '1Ki', 'units.NumberMultiplier',
    '(int) -> str', '() -> int', '[[int]]', '{str:[int]}', 'A', 'Nope',
)  # fmt: skip
_OPERANDS = (
    '1', '"a"', 'True', '1.5', '[1]', '["a"]', '{a = 1}', 'None', '1Ki', 's', 'i', 'f', 'l', 'd', 'u', 'S {a = 1}', 'x',
)  # fmt: skip
_USES = (
    "[y for y in {}]", "[y + 1 for k, y in {}]", "all y in [{}] {{ y }}", "[*{}]", "{{**{}}}", "-{}", "~{}", "({})()",
    "{{z += {}}}",
)  # fmt: skip
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", "&", "|", "^", "and", "or")
_COMPARING = ("==", "!=", "<", ">=", "in", "not in", "is", "is not")
_HEADER = """import math
import units
type A = int | [str]
schema S:
    a?: int
    b?: str
s: str = "a"
i: int = 1
f: float = 1.5
l: [int] = [1]
d: {str:int} = {}
u: int | str = 1
x: any = 1
"""


def _lines(name: str, template: str, *alternatives: tuple[str, ...]) -> str:
    """A variable for each combination, its value by the template."""
    combinations = enumerate(product(*alternatives))
    return _HEADER + "".join(f"{name}{place} = {template.format(*chosen)}\n" for place, chosen in combinations)


def _matrices() -> Iterator[Any]:
    for index, type_ in enumerate(_TYPES):
        lines = [f"v{place}: {type_} = {value}\n" for place, value in enumerate(_VALUES)]
        yield pytest.param(_HEADER + "".join(lines), id=f"assigned to {type_}")
        attributes = "".join(f"    {line}" for line in lines)
        yield pytest.param(f"{_HEADER}schema T:\n{attributes}", id=f"default of {type_}")
        if index % 3 == 0:
            entries = "".join(f"    v{place} = {value}\n" for place, value in enumerate(_VALUES))
            declared = "".join(f"    v{place}: {type_}\n" for place in range(len(_VALUES)))
            yield pytest.param(f"{_HEADER}schema T:\n{declared}t = T {{\n{entries}}}\n", id=f"entry of {type_}")
            calls = "".join(f"c{place} = g({value})\n" for place, value in enumerate(_VALUES))
            program = f"{_HEADER}g = lambda p: {type_} {{\n    1\n}}\n{calls}"
            yield pytest.param(program, id=f"argument of {type_}")
    for operator in (*_BINARY, *_COMPARING):
        yield pytest.param(_lines("o", f"{{}} {operator} {{}}", _OPERANDS, _OPERANDS), id=f"operator {operator}")
    yield pytest.param(_lines("c", "{} as {}", _VALUES, ("int", "str", "S", "A", "float")), id="casts")
    yield pytest.param(_lines("m", "({}).{}", _VALUES, ("x", "a", "upper", "instances")), id="members")
    indexes = ("0", '"a"', '"zz"', "1.5", "None", "x", "s", "[1]", "0:1", '"a":')
    yield pytest.param(_lines("n", "({})[{}]", _VALUES, indexes), id="items")
    for use in _USES:
        yield pytest.param(_lines("p", use, tuple(value for value in _VALUES if value != "math")), id=f"use {use}")


@pytest.mark.parametrize("program", _matrices())
def test_types_of_all_kinds_meet(program: str, official: _Official, tmp_path: Path) -> None:
    _assert_alike(official, tmp_path, program)


_PROGRAMS = Path(__file__).with_name("official_programs.txt")


@pytest.mark.parametrize("program", _PROGRAMS.read_text().split("---\n"))
def test_programs_are_told_the_same(program: str, official: _Official, tmp_path: Path) -> None:
    _assert_alike(official, tmp_path, program)

"""Programs that ask for too much, nest too deeply or are no text: a diagnostic or a result, in bounded time.

Each runs in a process with limited memory, so that one that breaks its limit fails here and nowhere else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.api import OsFileSystem, ProgramError, run
from tests.properties.official import Child
from tests.sizes import size

_CHILD = Path(__file__).with_name("ours_child.py")


@pytest.fixture(scope="module")
def compiler() -> Iterator[Child]:
    with Child([sys.executable, str(_CHILD)], seconds=100) as child:
        yield child


def outcome(compiler: Child, text: str) -> tuple[str | None, str]:
    """The result's first characters, or None and the first complaint. An exception or a death fails the test."""
    answer = compiler.ask({"text": text, "shown": 200})
    assert answer["crash"] is None, answer["crash"]
    complaints = answer["complaints"]
    return answer["yaml"], complaints[0][2] if complaints else ""


def chain(count: int, line: Callable[[int], str]) -> str:
    return "".join(f"{line(number)}\n" for number in range(count))


LIST = "a list of"
STRING = "a string of"
LONG = size(10_000_000, 100_000_000)
TOO_DEEP = "more than 15000 levels of nesting"
NESTED = "the program nests too deeply to be evaluated"
ENDLESS = "more than 1500 nested calls"
TOO_MUCH = "written out this has more than the 20000000 values"

REFUSED: dict[str, tuple[str, str]] = {
    "a lambda that calls itself without end": ("f = lambda x { f(x + 1) }\na = f(1)\n", ENDLESS),
    "a schema that holds itself": ("schema A:\n    b: A = A {}\na = A {}\n", ENDLESS),
    "variables that need each other": ("a = b + 1\nb = a + 1\n", "unsupported operand type"),
    "a chain of ten thousand variables": (chain(10_000, lambda n: f"a{n} = a{n + 1}") + "a10000 = 1\n", ENDLESS),
    "a string of a million millions": ('a = "x" * 10 ** 12\n', STRING),
    "a list of a million millions": ("a = [1] * 10 ** 12\n", LIST),
    "a range of a million millions": ("a = range(10 ** 12)\n", LIST),
    "a loop over a million millions": ("a = [x for x in range(10 ** 12)]\n", LIST),
    "an item for every pair": (
        "_a = range(100000)\na = [1 for x in range(101) for y in _a]\n",
        LIST,
    ),
    "a string that doubles": ('_a0 = "xxxxxxxx"\n' + chain(40, lambda n: f"_a{n + 1} = _a{n} + _a{n}"), STRING),
    "an interpolation that doubles": (
        '_a0 = "xxxxxxxx"\n' + chain(40, lambda n: f'_a{n + 1} = "${{_a{n}}}${{_a{n}}}"') + "b = len(_a40)\n",
        STRING,
    ),
    "a list that doubles": ("_a0 = [1]\n" + chain(40, lambda n: f"_a{n + 1} = _a{n} + _a{n}"), LIST),
    "a configuration that doubles": (
        "_a0 = [1]\n" + chain(40, lambda n: f"_a{n + 1} = {{x = _a{n}, y = _a{n}}}") + "b = _a40\n",
        TOO_MUCH,
    ),
    "the text of a configuration that doubles": (
        "_a0 = [1]\n" + chain(40, lambda n: f"_a{n + 1} = {{x = _a{n}, y = _a{n}}}") + "b = str(_a40)\n",
        TOO_MUCH,
    ),
    "a replacement that blows up": ('a = ("x" * 10000).replace("x", "y" * 100000)\n', STRING),
    "a join that blows up": ('a = ("x" * 100000).join(["y" for i in range(100000)])\n', STRING),
    "a width of a million millions": ('a = "{:>1000000000000}".format(1)\n', STRING),
    "a shift by a thousand millions": ("a = 1 << 10 ** 9\n", "A 64 bit integer overflow"),
    "a power of a power": ("a = 10 ** 10 ** 9\n", "A 64 bit integer overflow"),
    "a function's power": ("a = pow(10, 10 ** 9)\n", "is too large"),
    "a module's power": ("import math\na = math.pow(10, 10 ** 9)\n", "is too large"),
    "a literal of many digits": (f"a = {'9' * 100_000}\n", 'expected one of ["int"] got 999'),
    "a literal of many digits in base 16": (f"a = 0x{'f' * 100_000}\n", 'expected one of ["int"] got 0xfff'),
    "a text of many digits": (f'a = int("{"9" * 100_000}")\n', "int() cannot read a number of 100000 digits"),
    "JSON of many digits": ('import json\na = json.decode("9" * 100000)\n', "number out of range"),
    "YAML whose aliases multiply": (
        'import yaml\na = yaml.decode("""\n'
        + "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + chain(12, lambda n: f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 9)}]")
        + '""")\n',
        "more than the limit of 1000000 nodes, aliases counted as written out",
    ),
    "YAML that contains itself": (
        'import yaml\na = yaml.decode("&a [*a]")\n',
        "an alias inside of what it stands for",
    ),
    "a pattern of exponential time that looks ahead": (
        f'import regex\na = regex.match("{"a" * 40}!", "^(?=a)(a+)+$")\n',
        "the regular expression takes longer than 5 s",
    ),
    "a pattern of polynomial time that looks ahead": (
        'import regex\na = regex.replace("a" * 100000, "(?=a)a*a*a*b", "")\n',
        "the regular expression takes longer than 5 s",
    ),
    "configurations twenty thousand deep": (
        "a = " + "{a=" * 20_000 + "1" + "}" * 20_000 + "\n",
        TOO_DEEP,
    ),
    "a key of twenty thousand parts": ("a = {" + ".".join(["a"] * 20_000) + " = 1}\n", NESTED),
    "brackets that never close": ("a = " + "[" * 20_000 + "\n", TOO_DEEP),
    "types that never close": ("a: " + "[" * 20_000 + "\n", TOO_DEEP),
    "a broken line of a megabyte": ("a = [" + "1," * 100_000 + "}\n", "error nesting on close brace"),
    "a line of nothing but errors": ("a = " + "= " * 100_000 + "\n", "expected one of"),
    "NUL in a string": ('a = "x\0y"\n', "unterminated string"),
    "NUL between tokens": ("a = 1\0\n", "unknown start of token"),
}

# those that fill much memory are made where they are needed
TAKEN: dict[str, tuple[str | Callable[[], str], str]] = {
    "configurations two thousand deep": ("a = " + "{a=" * 2_000 + "1" + "}" * 2_000 + "\n", "a:"),
    "lists ten thousand deep": ("a = " + "[" * 10_000 + "]" * 10_000 + "\n", "a:"),
    "parentheses ten thousand deep": ("a = " + "(" * 10_000 + "1" + ")" * 10_000 + "\n", "a: 1"),
    "calls a thousand deep": ("a = " + "abs(" * 1_000 + "1" + ")" * 1_000 + "\n", "a: 1"),
    "a sum of twenty thousand": ("a = " + "+".join(["1"] * 20_000) + "\n", "a: 20000"),
    "lambdas a thousand deep": ("f = " + "lambda { " * 1_000 + "1" + " }" * 1_000 + "\na = 1\n", "a: 1"),
    "blocks a thousand deep": (
        "".join("    " * n + "if True:\n" for n in range(1_000)) + "    " * 1_000 + "_a = 1\n" + "b = _a\n",
        "b: 1",
    ),
    "three thousand branches": (
        "if False:\n    _a = 1\n"
        + chain(3_000, lambda n: f"elif False:\n    _a = {n}")
        + "else:\n    _a = 2\nb = _a\n",
        "b: 2",
    ),
    "a string of ten megabytes, or a hundred": (lambda: '_a = "' + "x" * LONG + '"\nb = len(_a)\n', f"b: {LONG}"),
    "a comment of ten megabytes, or a hundred": (lambda: "#" + "x" * LONG + "\na = 1\n", "a: 1"),
    "a name of a megabyte": ("_" + "a" * 1_000_000 + " = 1\nb = 2\n", "b: 2"),
    "a million items": ("_a = [x for x in range(1000000)]\nb = sum(_a)\n", "b: 499999500000"),
    "a million items compared": ("a = isunique(range(1000000))\n", "a: true"),
    "a harmless pattern on a long text": ('import regex\na = regex.match("a" * 1000000 + "b", "a+b$")\n', "a: true"),
    "a suspicious pattern on a short text": ('import regex\na = regex.match("aaab", "^(a+)+b$")\n', "a: true"),
    "a byte-order mark": ("\ufeffa = 1\n", "a: 1"),
    "a variable that unpacks itself": ("a = {**a}\n", "a: {}"),
    "line ends of another system": ("a = {\r\n    b = 1\r\n\r\n    c = 2\r\n}\r\n", "a:"),
}


WAITED_FOR = "a pattern of polynomial time that looks ahead"
"""Works until its time is over, as the exponential one does."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.soak) if each == WAITED_FOR else each for each in REFUSED]
)
def test_what_asks_for_too_much_ends_in_a_diagnostic(compiler: Child, name: str) -> None:
    text, message = REFUSED[name]
    result, complaint = outcome(compiler, text)
    assert result is None
    assert message in complaint[:400]
    assert len(complaint) < 2_000


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_only_large_is_compiled(compiler: Child, name: str) -> None:
    text, start = TAKEN[name]
    result, complaint = outcome(compiler, text if isinstance(text, str) else text())
    assert not complaint
    assert result is not None and result.startswith(start)


def complaint_about(folder: Path, content: bytes, **arguments: Any) -> str:
    (folder / "main.k").write_bytes(content)
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir=folder, **arguments)
    return caught.value.render()


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    assert "main.k" in complaint_about(tmp_path, b"a = '\xff\xfe'\n")


def test_a_folder_that_is_called_like_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.k").mkdir()
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir=tmp_path)
    assert "main.k" in caught.value.render()


class _Changing(OsFileSystem):
    """Files that somebody writes to: each reading gives less, and at last there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = 0

    def read_bytes(self, path: str) -> bytes:
        self.readings += 1
        content = super().read_bytes(path)
        if self.readings > 2:
            raise FileNotFoundError(2, os.strerror(2), path)
        return content[: -self.readings]


def test_files_that_change_while_they_are_read_end_in_a_result_or_in_diagnostics(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text('[package]\nname = "x"\n')
    (tmp_path / "main.k").write_text('import other\nimport file\na = other.b\nc = file.read("main.k")\n')
    (tmp_path / "other.k").write_text("b = [1, 2]\n")
    try:
        result = run(["main.k"], work_dir=tmp_path, file_system=_Changing())
    except ProgramError as problem:
        assert problem.render()
    else:
        assert result.yaml()

"""Lines, indentation and brackets: which layouts are programs, held against the official compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.comparing import difference, official_outcome, our_outcome
from tests.properties.official import Gone, Official, official

_DEPTHS = ("", "  ", "    ", "      ", "        ", "            ")


def _lambdas() -> Iterator[str]:
    """Statements of a lambda, and of blocks in one, at every depth."""
    for first in _DEPTHS:
        for second in _DEPTHS:
            yield f"f = lambda x {{\n    a = 1\n{first}b = 2\n{second}a + b + x\n}}\nr = f(1)\n"
            yield f"f = lambda x {{\n    if x:\n        a = 1\n{first}b = 2\n{second}c = 3\n    x\n}}\nr = f(1)\n"
    for depth in _DEPTHS:
        yield f"f = lambda {{\n    if 1:\n        a = 1\n    else:\n        b = 1\n{depth}c = 2\n    2\n}}\nr = f()\n"
        yield f"f = lambda x {{\n    if x:\n        if x:\n            a = 1\n{depth}b = 2\n    x\n}}\nr = f(1)\n"
        yield f"schema S:\n    x?: int\n    if True:\n        x = 1\n{depth}x = 2\ns = S {{}}\n"


def _quantifiers() -> Iterator[str]:
    """Conditions and braces of quantifiers, on lines of their own or not."""
    for opening in ("{", "{ ", "{ # c\n    ", "{\n    ", "{\n\n    ", "{\n        ", "{\n"):
        for condition in ("x > 0", "x > 0 if x < 5", "x in [\n        1\n    ]", "any y in [2] { y > x }"):
            for closing in ("}", " }", "\n}", " # c\n}", "\n\n}", "\n    }", "\n  }"):
                yield f"r = all x in [1] {opening}{condition}{closing}\n"


def _continuations() -> Iterator[str]:
    """Lines with nothing but a backslash, before and after lines of every kind."""
    wholes = (
        *(
            "a = 1\nb = 2\n",
            "schema A:\n    x: int = 1\n    y: int = 2\na = A {}\n",
            "if True:\n    a = 1\n    b = 2\n",
        ),
        *("a = {\n    x = 1\n    y = 2\n}\n", "a = [\n    1\n    if True:\n        2\n]\n"),
        *("f = lambda x {\n    if x:\n        y = 1\n    x\n}\nr = f(1)\n", "a = max(\n    1,\n    2\n)\n"),
    )
    for whole in wholes:
        lines = whole.splitlines(keepends=True)
        for at in range(len(lines) + 1):
            for depth in _DEPTHS[:5:2]:
                yield "".join([*lines[:at], f"{depth}\\\n", *lines[at:]])


@pytest.fixture(scope="module")
def peer() -> Iterator[Official]:
    with official(seconds=3) as running:
        yield running


@pytest.mark.parametrize("programs", [_lambdas, _quantifiers, _continuations])
def test_layout_is_accepted_or_refused_as_officially(programs: object, peer: Official) -> None:
    assert callable(programs)
    wrong, unanswered = [], 0
    for text in programs():
        try:
            theirs = official_outcome(peer.run(text))
        except Gone:
            unanswered += 1  # it hangs on some
            continue
        found = difference(text, our_outcome(text), theirs)
        if found is not None and not found.startswith("line "):
            wrong.append(f"{text!r}: {found}")
    assert unanswered < 10
    assert not wrong, f"{len(wrong)} layouts\n" + "\n".join(wrong)

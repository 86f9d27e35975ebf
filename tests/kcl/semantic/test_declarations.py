"""Exported variables are assigned once."""

import pytest

from kcl.api import Code, ProgramError, run

_SCHEMA = "schema S:\n    x?: int\n    y?: int\n"


def _lines(text: str) -> list[tuple[int, int]]:
    """(line of the second assignment, line of the first) of every diagnostic; [] when the program runs."""
    try:
        run(["main.k"], work_dir="/w", texts={"main.k": _SCHEMA + text})
    except ProgramError as problem:
        source = problem.sources["/w/main.k"]
        found = [item for item in problem.diagnostics if item.code is Code.IMMUTABLE]
        assert found, problem
        return [
            (source.count("\n", 0, item.primary.start) + 1, source.count("\n", 0, item.labels[0].span.start) + 1)
            for item in found
            if item.primary is not None
        ]
    return []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a = 1\na = 1\na = 1\n", [(5, 4), (6, 4)]),
        ("if True:\n    a = 1\nelse:\n    a = 2\n", [(7, 5)]),
        ("a = 1\nif False:\n    if True:\n        a = 2\n", [(7, 4)]),
        ("a = {b = 1}\na.b = 2\n", [(5, 4)]),
        ("a = b = 1\nb = 2\n", [(5, 4)]),
        ("a = 1\na += 1\n", [(5, 4)]),
        ("a: S {x = 1}\na = S {y = 1}\n", [(5, 4)]),
        ("S = 1\n", [(4, 1)]),
        ("import math\nmath = 1\n", [(5, 4)]),
        ("type b = int\nb = 1\n", [(5, 4)]),
    ],
)
def test_second_assignment_is_an_error_at_both_places(text: str, lines: list[tuple[int, int]]) -> None:
    assert _lines(text) == lines


@pytest.mark.parametrize(
    "text",
    [
        "_a = 1\n_a = 2\n_a += 1\n",
        "a: S {x = 1}\na: S {y = 1}\n",
        "a = S {x = 1}\na: S {y = 1}\n",
        "a: S {x = 1}\na |= S {y = 1}\n",
        "a = [b for b in [1, 2]]\nb = 1\n",
        "a = lambda {\n    a = 1\n    a = 2\n    a\n}\n",
        "schema T:\n    q: int = 1\n    q = 2\nw = T {}\n",
    ],
)
def test_what_may_be_written_again(text: str) -> None:
    assert _lines(text) == []


def test_files_of_a_package_share_their_names() -> None:
    with pytest.raises(ProgramError) as caught:
        run(["a.k", "b.k"], work_dir="/w", texts={"a.k": "x = 1\n", "b.k": "x = 2\n"})
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.primary is not None
    assert (diagnostic.primary.path, diagnostic.labels[0].span.path) == ("/w/b.k", "/w/a.k")
    assert "note: change the variable name to '_x' to make it mutable" in caught.value.render()

"""`runtime.catch`: what went wrong, as text."""

from typing import Any

import pytest

from kcl.api import run

_PROGRAM = """import runtime
schema S:
    n: int
    check:
        n > 0, "too small"
schema T:
    n: int
    check:
        n > 0
a = runtime.catch(lambda {
    %s
})
"""


@pytest.mark.parametrize(
    ("statement", "caught"),
    [
        ("1", None),
        ("[][2]", "list index out of range: 2"),
        ("assert False\n    1", ""),
        ('assert 1 == 2, "msg"\n    1', "msg"),
        ("S {n = -1}", "too small"),
        ("T {n = -1}", ""),
        ("runtime.catch(lambda { [][2] })", None),
        ('option("x", required=True)', "option('x') must be initialized, try '-D x=?' argument"),
    ],
)
def test_caught_message(statement: str, caught: Any) -> None:
    document = run(["main.k"], work_dir="/w", texts={"main.k": _PROGRAM % statement}).documents[0]
    assert document.get("a") == caught

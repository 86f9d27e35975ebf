"""A program that fails in code which was generated for an earlier run fails with the same words."""

from __future__ import annotations

import pytest

from kcl.api import InMemoryFileSystem, ParseCache, ProgramError, run

_LIBRARY = """
_length = lambda values {
    len(values)
}

schema S:
    name: str
    items?: [int]
    check:
        _length(items) > 0
"""


def _said(entry: str, cache: ParseCache | None) -> str:
    files = {"/kcl.mod": "", "/lib/a.k": _LIBRARY, "/main.k": f"import lib\nx = lib.S {{{entry}}}\n"}
    with pytest.raises(ProgramError) as raised:
        run(["main.k"], work_dir="/", file_system=InMemoryFileSystem(files), cache=cache)
    return str(raised.value)


def test_a_lambda_of_a_package_that_was_called_often() -> None:
    """Its value is kept from run to run, and holds the generated code."""
    cache = ParseCache()
    for _ in range(5):
        for entry in ("name = 'a'", "name = 'a', items = None", "name = 'a', items = []"):
            assert _said(entry, cache) == _said(entry, None)

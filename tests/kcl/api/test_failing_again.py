"""A program that fails with generated code, and what a cache keeps of it, fails as it does without either."""

from __future__ import annotations

import pytest

from kcl.api import ParseCache, ProgramError, run
from kcl.source import InMemoryFileSystem

_LIBRARIES = {
    "a lambda called in a check": """
_length = lambda v {
    len(v)
}

schema S:
    name: str
    items?: [int]
    check:
        _length(items) > 0
""",
    "a lambda that captures, made in a schema": """
_lengths = [lambda v {
    len(v) + extra
} for extra in [0, 1]]

schema S:
    name: str
    items?: [int]
    check:
        _lengths[1](items) > 1
""",
    "a lambda in an instance that is kept": """
schema _Tools[extra: int]:
    length: any = lambda v {
        len(v) + extra
    }

_called_often = [_Tools(extra).length([1]) for extra in range(60)]
_tools = _Tools(0)

schema S:
    name: str
    items?: [int]
    check:
        _tools.length(items) > 0
""",
}
_MAINS = [
    *("import lib\nx = lib.S {name = 'a', items = [1]}\n" for _ in range(12)),
    "import lib\nx = lib.S {name = 'a', items = None}\n",
    "import lib\nx = lib.S {name = 'a'}\n",
    "import lib\nx = lib.S {name = 'a', items = []}\n",
    "import lib\nx = lib.S {name = 'a', items = [1, 2]}\n",
]


@pytest.mark.parametrize("library", _LIBRARIES.values(), ids=_LIBRARIES)
def test_messages_and_values_are_those_of_a_run_that_keeps_nothing(library: str) -> None:
    assert _outcome(library, _MAINS[0], None).startswith("x:")
    cache = ParseCache()
    for _ in range(5):
        for main in _MAINS:
            assert _outcome(library, main, cache) == _outcome(library, main, None)


def _outcome(library: str, main: str, cache: ParseCache | None) -> str:
    files = InMemoryFileSystem({"/m/kcl.mod": "[package]\n", "/m/lib/a.k": library, "/m/main.k": main})
    try:
        return run(["main.k"], work_dir="/m", file_system=files, cache=cache).yaml()
    except ProgramError as problem:
        return str(problem)

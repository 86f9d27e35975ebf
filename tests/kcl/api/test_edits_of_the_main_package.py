"""Runs with a cache: after each edit of one file of the main package the result is that of a run that knows nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kcl import api

_A = "replicas = 1\nname = 'shop'\n"
_B = "full = name + '-' + str(replicas)\nlimit = max([replicas, 3])\n"
_C = "import math\nshown = [full, limit]\n"

EDITS = {
    "a value": {"a.k": ["replicas = 2\nname = 'shop'\n", "replicas = 2\nname = 'store'\n"]},
    "a name that hides a function": {"a.k": [_A + "max = lambda items: [int] -> int { 7 }\n", _A]},
    "a name that is gone": {"a.k": ["replicas = 1\n", _A]},
    "another setter of the same name": {"a.k": [_A + "replicas = 5\n", _A, "if True:\n    replicas = 9\nname = 'x'\n"]},
    "a schema": {
        "a.k": [
            _A + "schema S:\n    x: int = 1\n",
            _A + "schema S:\n    x: int = 2\n",
            _A + "schema S(T):\n    x = 2\nschema T:\n    x: int = 1\n",
        ],
        "b.k": [_B + "made = S {}\n"],
    },
    "a type alias": {"a.k": [_A + "type Size = int\n", _A + "type Size = str\n"], "c.k": ["size: Size = 1\n"]},
    "unifications over files": {
        "a.k": [_A + "schema S:\n    x: int = 1\n    y?: [str]\n"],
        "b.k": [_B + "app: S {\n    y = ['b']\n}\n"],
        "c.k": [
            _C + "app: S {\n    x = 5\n}\n",
            _C + "app: S {\n    x = 6\n}\n",
            _C,
            _C + "app: S {\n    y += ['c']\n}\n",
        ],
    },
    "an import": {"c.k": ["import math\nshown = [math.floor(1.5)]\n", "shown = [1]\n", _C]},
    "a mistake and its mending": {"b.k": ["full = name +\n", _B, "full = unknown\n", _B]},
    "what a file states": {"c.k": [_C + "{extra = replicas}\n", _C + "{extra = 2}\n", _C]},
}


def _outcome(texts: dict[str, str], cache: api.ParseCache | None) -> tuple[object, ...]:
    files = api.InMemoryFileSystem({f"/p/{name}": text for name, text in texts.items()})
    try:
        result = api.run(sorted(texts), work_dir="/p", file_system=files, cache=cache)
    except api.ProgramError as problem:
        return (problem.render(),)
    places = [result.provenance.lookup(0, (name,)) for name in result.documents[0]]
    return result.yaml(), result.diagnostics, places


@pytest.mark.parametrize("title", EDITS)
def test_a_run_after_an_edit_is_as_one_that_knows_nothing(title: str) -> None:
    cache = api.ParseCache()
    texts = {"a.k": _A, "b.k": _B, "c.k": _C}
    history = [dict(texts)]
    for name, versions in EDITS[title].items():
        for text in versions:
            texts[name] = text
            history.append(dict(texts))
    for before, after in pairwise([*history, *reversed(history)]):
        _outcome(before, cache)
        assert _outcome(after, cache) == _outcome(after, None)

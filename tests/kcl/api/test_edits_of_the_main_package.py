"""Runs with a cache: after each edit of one file of the main package the result is that of a run that knows nothing."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import Any

import pytest

from kcl import api
from kcl.evaluator.provenance import Provenance
from kcl.evaluator.value import SchemaInstance

_A = "replicas = 1\nname = 'shop'\n"
_B = "full = name + '-' + str(replicas)\nlimit = max([replicas, 3])\n"
_C = "import math\nshown = [full, limit]\n"
_MODELS = """schema App:
    name: str
    size: int = 1
    check:
        size > 0, "no size"
schema Backend[app: App]:
    line: str = "${app.name} of ${app.size}"
    parts: [App] = [App {name = app.name + "-part"}] if len(app.name) > 1 else []
"""

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
    "instances that are counted, and made of others": {
        "a.k": [_A + _MODELS, _A + _MODELS],
        "b.k": [
            _B + "one: App {name = 'a'}\ntwo: App {name = 'b'}\n",
            _B + "one: App {name = 'c'}\ntwo: App {name = 'b'}\n",
            _B + "one: App {name = 'longer'}\ntwo: App {name = 'b'}\n",
            _B + "one: App {name = 'c'}\n\n\ntwo: App {name = 'b'}\n",
            _B + "one: App {name='c' }\ntwo: App {name = 'b'}\n",
            _B + "one: App {name = 'c'}\ntwo: App {name = full}\n",
        ],
        "c.k": [
            _C,
            _C + "made = [Backend(each).line for each in App.instances()]\ncount = len(App.instances())\n",
            _C + "made = [Backend(two).line, Backend(two).line, Backend(one).line]\n",
            _C + "two: App {size = 2}\nmade = Backend(two).line\n",
            _C + "two: App {size = 3}\nmade = Backend(two).line\n",
            _C + "two: App {size = -3}\nmade = Backend(two).line\n",
        ],
    },
    "what is printed, and what a lambda reads": {
        "a.k": [_A + "say = lambda x {\n    print(x, replicas)\n    x\n}\n"],
        "b.k": [_B + "said = say('a')\n", _B + "said = say('a')\nmore = [say(x) for x in ['b', 'c']]\n"],
        "c.k": [_C + "p = print('always')\n", _C + "q = 1\np = print('always')\n"],
    },
}


def _outcome(texts: dict[str, str], cache: api.ParseCache | None) -> tuple[object, ...]:
    files = api.InMemoryFileSystem({f"/p/{name}": text for name, text in texts.items()})
    try:
        result = api.run(sorted(texts), work_dir="/p", file_system=files, cache=cache)
    except api.ProgramError as problem:
        return (problem.render(),)
    places = [result.provenance.lookup(0, (name,)) for name in result.documents[0]]
    return result.yaml(), result.printed, result.diagnostics, places


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


def _values(texts: dict[str, str], cache: api.ParseCache) -> Any:
    files = api.InMemoryFileSystem({f"/p/{name}": text for name, text in texts.items()})
    behind = api.run(sorted(texts), work_dir="/p", file_system=files, cache=cache).provenance
    assert isinstance(behind, Provenance)
    return behind.documents[0]


def test_what_reads_nothing_that_an_edit_changed_is_not_made_again() -> None:
    texts = {
        "a.k": _A + _MODELS,
        "b.k": "one: App {name = 'a'}\ntwo: App {name = 'b'}\nsees = [replicas]\n",
        "c.k": "two: App {size = 2}\nmade = [Backend(each) for each in App.instances()]\n",
    }
    cache = api.ParseCache()
    before = _values(texts, cache)

    after = _values({**texts, "b.k": texts["b.k"].replace("'a'", "'c'")}, cache)

    assert [each["line"] for each in after["made"]] == ["c of 1", "b of 2"]
    assert after["two"] is before["two"]
    assert after["made"][1] is before["made"][1]
    assert after["made"][0] is not before["made"][0]
    assert after["sees"] is not before["sees"]


def test_another_option_makes_everything_again() -> None:
    texts = {"a.k": "x = [option('a')]\ny = 1\n"}
    files = api.InMemoryFileSystem({f"/p/{name}": text for name, text in texts.items()})
    cache = api.ParseCache()

    found = [
        api.run(["a.k"], work_dir="/p", file_system=files, cache=cache, options={"a": value}).documents[0]["x"]
        for value in (1, 1, True, 2)
    ]

    assert repr(found) == "[[1], [1], [True], [2]]"


def test_only_the_last_evaluation_is_held() -> None:
    models = "schema Held:\n    size: int = 1\n"
    cache = api.ParseCache()
    for size in (1, 2, 3):
        _values({"a.k": models, "b.k": f"made = [Held {{size = {size}}} for _ in range(50)]\n"}, cache)
    gc.collect()
    held = [each for each in gc.get_objects() if isinstance(each, SchemaInstance) and each.schema.name == "Held"]
    assert {each["size"] for each in held} <= {3}

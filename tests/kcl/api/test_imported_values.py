"""Variables of imported packages keep their values between runs, and nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcl import api
from tests.kcl.clocks import later, let_tick


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kcl.mod").write_text("")
    return tmp_path


def _write(folder: Path, **packages: str) -> None:
    for name, text in packages.items():
        file = folder / "main.k" if name == "main" else folder / name / f"{name}.k"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    if packages.keys() != {"main"}:
        let_tick(folder)


def _run(folder: Path, cache: api.ParseCache | None, **arguments: Any) -> api.RunResult:
    return api.run(["main.k"], work_dir=folder, cache=cache, **arguments)


def _all_that_is_seen(result: api.RunResult) -> tuple[object, ...]:
    places = [result.provenance.lookup(0, (key,)) for key in result.documents[0]]
    return result.yaml(), result.printed, result.diagnostics, places


SHARED = {
    "prints": 'print("once")\nx = 1\n',
    "prints twice": 'y = x\nx = len("ab")\nprint(y)\n',
    "makes instances": "schema S:\n    a: int = 1\n_hidden = [S {}, S {a = 2}]\nx = len(_hidden)\n",
    "makes output": "import manifests\nmanifests.yaml_stream([{a = 1}])\nx = 1\n",
    "is only asked for later": "x = 1\nif x > 1:\n    print('never')\n    z = 1\n",
}


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED.keys())
def test_another_run_is_as_the_first(folder: Path, shared: str) -> None:
    _write(folder, shared=shared, main="import shared\ny = shared.x\n")
    cache = api.ParseCache(clock=later)

    runs = [_run(folder, cache) for _ in range(3)]

    assert len({repr(_all_that_is_seen(each)) for each in [*runs, _run(folder, None)]}) == 1


def test_an_edit_of_the_main_file_sees_them_as_they_are(folder: Path) -> None:
    _write(folder, shared="schema S:\n    a: int\nx = S {a = 1}\n")
    cache = api.ParseCache(clock=later)

    for number in range(4):
        _write(
            folder,
            main=f"import shared\ny = shared.x | {{a = {number}}}\nz = shared.x\nn = len(shared.S.instances(True))\n",
        )
        result = _run(folder, cache)
        assert result.documents == ({"y": {"a": number}, "z": {"a": 1}, "n": 2},)
        assert _all_that_is_seen(result) == _all_that_is_seen(_run(folder, None))


def test_instances_count_also_where_nobody_asked_before(folder: Path) -> None:
    _write(folder, shared="schema S:\n    a: int = 1\nx = S {}\n", main="import shared\ny = shared.x.a\n")
    cache = api.ParseCache(clock=later)
    assert _run(folder, cache).documents == ({"y": 1},)

    _write(folder, main="import shared\ny = len(shared.S.instances(True))\n")

    assert _run(folder, cache).documents == ({"y": 1},)


def test_other_options_give_other_values(folder: Path) -> None:
    _write(folder, shared='x = typeof(option("a"))\n', main="import shared\ny = shared.x\n")
    cache = api.ParseCache(clock=later)

    given = [1, True, 1.0, "1", 1, None]
    found = [_run(folder, cache, options={} if each is None else {"a": each}).documents[0]["y"] for each in given]

    assert found == ["int", "bool", "float", "str", "int", "None"]


@pytest.mark.parametrize("asks", ["crypto.uuid()", 'file.read("told.txt")'])
def test_what_was_asked_of_the_world_is_asked_again(folder: Path, asks: str) -> None:
    _write(folder, shared=f"import {asks.split('.')[0]}\nx = {asks}\n", main="import shared\ny = shared.x\n")
    cache, seen = api.ParseCache(clock=later), set()

    for number in range(3):
        (folder / "shared" / "told.txt").write_text(f"{number}")
        seen.add(_run(folder, cache).documents[0]["y"])

    assert len(seen) == 3


def test_a_run_that_failed_leaves_nothing_behind(folder: Path) -> None:
    _write(
        folder,
        shared='x = int(option("n"))\nprint(x)\n',
        main='import shared\nassert shared.x < 5, "too many"\ny = 1\n',
    )
    cache = api.ParseCache(clock=later)

    for number in (1, 9, 9, 1):
        if number < 5:
            assert _run(folder, cache, options={"n": number}).printed == f"{number}\n"
            continue
        with pytest.raises(api.ProgramError) as caught:
            _run(folder, cache, options={"n": number})
        assert caught.value.diagnostics[0].message.endswith("too many")


def test_an_edited_package_reaches_all_that_import_it_and_no_others(folder: Path) -> None:
    low = "schema Low:\n    a: int = {number}\n"
    _write(
        folder,
        low=low.format(number=1),
        middle="import low\nschema Middle(low.Low):\n    b: int = a + 1\n",
        apart="schema Apart:\n    c: int = 7\n",
        main="import middle\nimport apart\ny = middle.Middle {}\nz = apart.Apart {}\n",
    )
    cache = api.ParseCache(clock=later)

    for number in range(4):
        _write(folder, low=low.format(number=number))
        assert _run(folder, cache).documents == ({"y": {"a": number, "b": number + 1}, "z": {"c": 7}},)


def test_an_edit_is_seen_after_everything_was_prepared_anew(folder: Path) -> None:
    """As it is under other rules, and after very many edits."""
    _write(folder, shared="x = 1\n", main="import shared\ny = shared.x\n")
    cache, strict = api.ParseCache(clock=later), [api.Settings(strict_range_check=True)]
    assert _run(folder, cache).documents == ({"y": 1},)
    assert _run(folder, cache, settings=strict).documents == ({"y": 1},)

    _write(folder, shared="x = 2\n")

    assert _run(folder, cache, settings=strict).documents == ({"y": 2},)

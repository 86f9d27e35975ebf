"""The diagnostics of a program that its files alone cause are cached, sealed, while these files are the same."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import Any

import pytest

from kcl import api
from kcl.cache.store import Store
from tests.kcl.clocks import let_tick
from tests.kcl.results.program import MAIN, MODELS
from tests.kcl.results.program import run as _run


def _said(folder: Path, store: Store | None, **more: Any) -> api.ProgramError:
    with pytest.raises(api.ProgramError) as caught:
        _run(folder, store, **more)
    return caught.value


def _failures(store: Store) -> list[Path]:
    return sorted(Path(store.folder).glob("failed-*.entry"))


def _fails(*_: object, **__: object) -> None:
    raise AssertionError("it was run again")


_WRONG = "import models\n\na = models.Thing {nme = 'x'}\nb = none\n"


def test_what_is_wrong_is_said_again_and_what_was_kept_before_does_not_come_back(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(folder, store)
    (folder / "main.k").write_text(_WRONG)
    let_tick(folder)
    first = _said(folder, store)
    assert first.diagnostics == _said(folder, None).diagnostics
    monkeypatch.setattr("kcl.api._run", _fails)
    again = _said(folder, store)
    assert again.diagnostics == first.diagnostics and again.render(guided=True) == first.render(guided=True)
    assert again.sources == first.sources and again.dependency_names == first.dependency_names
    assert again.is_of_files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.k", MAIN),
        ("models/thing.k", MODELS.replace("name: str", "nme: str")),
        ("models/other.k", "schema Thing:\n    nme: str\n"),
        ("kcl.mod", "[package\n"),
    ],
)
def test_a_change_of_what_a_failure_rests_on_runs_the_program_again(
    folder: Path, store: Store, name: str, text: str
) -> None:
    (folder / "main.k").write_text(_WRONG.replace("b = none\n", ""))
    let_tick(folder)
    before = _said(folder, store).render()
    (folder / name).write_text(text)
    let_tick(folder)
    try:
        assert _run(folder, store).documents == _run(folder, None).documents
    except api.ProgramError as problem:
        assert problem.render() == _said(folder, None).render() != before


@pytest.mark.parametrize(
    ("program", "options", "is_kept"),
    [
        ("a = b\n", {}, True),
        ("a = [1\n", {}, True),
        ("a: int = option('size')\n", {"size": "much"}, False),
        ("import json\nprint('said')\na: int = json.decode('{}')\n", {}, False),
        ("assert False\n", {}, False),
        ("import json\nimport file\na: int = json.decode(file.read('settings.json'))\n", {}, False),
    ],
)
def test_what_is_wrong_is_kept_where_the_files_alone_say_so(
    folder: Path, store: Store, program: str, options: dict[str, str], is_kept: bool
) -> None:
    (folder / "main.k").write_text(program)
    (folder / "settings.json").write_text("{}")
    let_tick(folder)
    for _ in range(2):
        assert _said(folder, store, options=options).render() == _said(folder, None, options=options).render()
    assert bool(_failures(store)) is is_kept


def test_what_is_wrong_quotes_lines_and_is_therefore_sealed(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text("a: int = 'my-own-words'\n")
    let_tick(folder)
    assert "my-own-words" in _said(folder, store).render()
    (entry,) = _failures(store)
    assert b"own-words" not in entry.read_bytes()
    content = store.read(entry.stem)
    assert content is not None
    for damaged in (b"", b"nothing of ours", content[:-1], marshal.dumps((1, 2))):
        store.write(entry.stem, damaged)
        assert "my-own-words" in _said(folder, store).render()

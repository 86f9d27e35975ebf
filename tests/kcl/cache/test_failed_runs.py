"""What was said of a wrong program is said again while nothing has changed, and a mended file is seen at once."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kcl.cache.store import Store
from kcl.cli import main
from tests.kcl.clocks import later, let_tick

_MODELS = "schema Thing:\n    name: str\n    size: int = 1\n"
_WRONG = 'import models\n\na = models.Thing {nme = "x"}\n'
_RIGHT = 'import models\n\na = models.Thing {name = "x"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "models").mkdir(parents=True)
    (folder / "kcl.mod").write_text('[package]\nname = "p"\n')
    (folder / "models" / "thing.k").write_text(_MODELS)
    return folder


def _run(folder: Path, *flags: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    store = Store(str(folder.parent / "kept"))
    status = main(
        ["run", "main.k", *flags], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, store=store, clock=later
    )
    return status, out.getvalue(), err.getvalue()


def _kept(folder: Path) -> int:
    return len(list((folder.parent / "kept").glob("failed-*.entry")))


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    let_tick(folder.parent)


def test_what_was_said_is_said_again_without_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(folder, "main.k", _WRONG)
    first = _run(folder)
    assert first[0] == 1 and "Cannot add member 'nme'" in first[2]
    assert _kept(folder) == 1
    monkeypatch.setattr("kcl.cli._run", lambda *_: pytest.fail("it was run again"))
    assert _run(folder) == first


@pytest.mark.parametrize(
    ("wrong", "mended", "text"),
    [
        (_WRONG, "main.k", _RIGHT),
        (_WRONG, "models/thing.k", "schema Thing:\n    nme: str\n"),
        ("import others\na = others.x\n", "others/x.k", "x = 1\n"),
        ("a = [1\nb = 2\n", "main.k", "a = [1]\nb = 2\n"),
        ("a = true\n", "main.k", "a = True\n"),
        ("import lib\na = lib.x\n", "kcl.mod", '[package]\nname = "p"\n[dependencies]\nlib = { path = "../lib" }\n'),
    ],
)
def test_a_mended_file_is_seen_at_once(folder: Path, wrong: str, mended: str, text: str) -> None:
    (folder.parent / "lib").mkdir()
    (folder.parent / "lib" / "kcl.mod").write_text('[package]\nname = "lib"\n')
    (folder.parent / "lib" / "x.k").write_text("x = 1\n")
    (folder / "others").mkdir()
    _write(folder, "main.k", wrong)
    assert _run(folder)[0] == 1
    assert _kept(folder) == 1
    _write(folder, mended, text)
    status, out, err = _run(folder)
    assert status == 0 and out and not err, err
    _write(folder, "main.k", "b = wrong_again\n")
    assert _run(folder)[0] == 1


def test_a_hint_on_packages_rests_on_the_folders_it_was_looked_for_in(folder: Path) -> None:
    _write(folder, "main.k", "import model\na = 1\n")
    assert "the package `models` is there" in _run(folder)[2]
    (folder / "modell").mkdir()
    _write(folder, "modell/x.k", "x = 1\n")
    assert "`modell`, `models`" in _run(folder)[2]


@pytest.mark.parametrize(
    "text",
    [
        "a = {x: 1, x: 2}\n",
        "f = lambda x {\n    f(x)\n}\na = f(1)\n",
        'assert False, "never"\n',
        "import datetime\nimport json\nschema S:\n    a: int\nx = S {a = json.decode('\"' + datetime.now() + '\"')}\n",
    ],
)
def test_what_only_the_run_finds_is_not_kept(folder: Path, text: str) -> None:
    _write(folder, "main.k", text)
    assert _run(folder)[0] == 1
    assert not _kept(folder)


def test_what_is_said_in_another_way_is_another_entry(folder: Path) -> None:
    _write(folder, "main.k", "a = [1\nb = 2\n")
    guided, official = _run(folder)[2], _run(folder, "--all-errors")[2]
    assert guided != official
    assert (_run(folder)[2], _run(folder, "--all-errors")[2]) == (guided, official)
    assert _kept(folder) == 2


def test_a_secret_that_a_message_quotes_is_not_readable_in_the_store(folder: Path) -> None:
    _write(folder, "main.k", 'password = "hunter2-hunter2"\na: int = password\nb = true\n')
    assert _run(folder)[0] == 1
    for entry in (folder.parent / "kept").rglob("*.entry"):
        assert b"hunter2" not in entry.read_bytes()

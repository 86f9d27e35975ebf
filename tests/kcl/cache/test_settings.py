"""What settings say is taken by the next process as long as their text is the same, unless it may be secret."""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from kcl import api
from kcl.cache.store import Store
from kcl.cli import main
from tests.kcl.clocks import later

ROOT = Path(__file__).parents[3]
PROGRAM = 'given = option("given")\nmore = option("more")\n'
SETTINGS = "kcl_options:\n  - key: given\n    value: 7\n  - key: more\n    value: {a: [1, 2.5, null, yes]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "main.k").write_text(PROGRAM)
    (folder / "kcl.yaml").write_text(SETTINGS)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kept"))


def _given(folder: Path, store: Store) -> object:
    """As a process would that has just begun."""
    cache = api.ParseCache(clock=later, store=store, results=False)
    (document,) = api.run(["main.k"], work_dir=folder, settings=["kcl.yaml"], cache=cache).documents
    return document["given"], document["more"]


def _entries(store: Store) -> list[str]:
    return [each.stem for each in Path(store.folder).glob("settings-*.entry")]


def test_the_next_process_takes_what_settings_said(folder: Path, store: Store) -> None:
    first = _given(folder, store)
    assert first == (7, {"a": [1, 2.5, None, "yes"]})
    assert _given(folder, store) == first
    (entry,) = _entries(store)
    content = store.read(entry)
    assert content is not None
    said = marshal.loads(content)
    said[1] = (("given", 8),)
    store.write(entry, marshal.dumps(said))
    assert _given(folder, store) == (8, None)
    (folder / "kcl.yaml").write_text(SETTINGS.replace("7", "9"))
    assert _given(folder, store) == (9, first[1])
    for foreign in (b"", b"nothing of ours", marshal.dumps(7), marshal.dumps([1] * 99)):
        store.write(entry, foreign)
        (folder / "kcl.yaml").write_text(SETTINGS)
        assert _given(folder, store) == first


@pytest.mark.parametrize(
    ("old", "new"),
    [("key: given", "key: given\n    value: 7\n  - key: DB_PASS"), ("{a: [1", "{token: opensesame, a: [1")],
)
def test_what_may_be_secret_is_not_kept(folder: Path, store: Store, old: str, new: str) -> None:
    (folder / "kcl.yaml").write_text(SETTINGS.replace(old, new))
    _given(folder, store)
    assert _entries(store) == []


def test_what_is_wrong_with_settings_is_said_each_time(folder: Path, store: Store) -> None:
    (folder / "kcl.yaml").write_text("kcl_options: 7\n")
    for _ in range(2):
        with pytest.raises(api.ProgramError, match="invalid setting file format"):
            _given(folder, store)
    assert _entries(store) == []


def test_a_run_whose_settings_are_known_needs_no_reader_of_yaml(folder: Path, store: Store) -> None:
    """The library is not even to be found; nor is what else takes long to load, and is seldom of use."""
    environment = {"KCL_RUN_CACHE": store.folder, "PATH": os.environ["PATH"]}
    arguments, nothing = ["run", "main.k", "-Y", "kcl.yaml"], StringIO()
    given = partial(main, cwd=folder, stdin=nothing, stdout=nothing, stderr=nothing, environment=environment)
    assert given(arguments, store=store, clock=later) == 0
    (folder / "main.k").write_text(PROGRAM + "a = 1\n")
    script = (
        f"import json, sys; sys.path[:0] = [{str(ROOT)!r}]; sys.argv[1:] = {arguments!r}; "
        "from kcl.cli import entry; status = entry(); sys.stdout.flush(); "
        "sys.stderr.write(json.dumps([each for each in ('yaml', 'pathlib', '_hashlib') if each in sys.modules]))"
    )
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1:] == ["a: 1"], done.stderr
    assert json.loads(done.stderr) == []

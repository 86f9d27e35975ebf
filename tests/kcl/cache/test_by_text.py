"""The next process takes what settings and kcl.mod said as long as their text is the same, unless it may be secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from kcl import api
from kcl.cache.objects import from_bytes, to_bytes
from kcl.cache.store import Store
from kcl.cli import main
from kcl.loader import Manifest
from kcl.records import replace
from tests.kcl.clocks import later

LOADED_SELDOM = ("yaml", "tomllib", "pathlib", "_hashlib")
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
    return [each.stem for each in Path(store.folder).glob("said-*.entry")]


def test_the_next_process_takes_what_settings_said(folder: Path, store: Store) -> None:
    first = _given(folder, store)
    assert first == (7, {"a": [1, 2.5, None, "yes"]})
    assert _given(folder, store) == first
    (entry,) = _entries(store)
    content = store.read(entry)
    assert content is not None
    said = from_bytes(content, ("kcl.loader.",))
    store.write(entry, to_bytes(replace(said, options=(("given", 8),))))
    assert _given(folder, store) == (8, None)
    (folder / "kcl.yaml").write_text(SETTINGS.replace("7", "9"))
    assert _given(folder, store) == (9, first[1])
    for foreign in (b"", b"nothing of ours", to_bytes(7), to_bytes(Manifest("x"))):
        store.write(entry, foreign)
        (folder / "kcl.yaml").write_text(SETTINGS)
        assert _given(folder, store) == first


def test_arguments_of_kcl_mod_that_may_be_secret_are_not_kept(folder: Path, store: Store) -> None:
    mod = '[package]\nname = "p"\n[profile]\nentries = ["main.k"]\narguments = ["given=7"]\n'
    for text, entries in ((mod.replace("given", "DB_PASS"), 0), (mod, 1)):
        (folder / "kcl.mod").write_text(text)
        (folder / "kcl.yaml").unlink(missing_ok=True)
        cache = api.ParseCache(clock=later, store=store, results=False)
        api.run(work_dir=folder, cache=cache)
        assert len(_entries(store)) == entries


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("key: given", "key: given\n    value: 7\n  - key: DB_PASS"),
        ("{a: [1", "{token: opensesame, a: [1"),
        ("value: 7", "value: postgres://u:pw@h/db"),
    ],
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


def test_a_run_whose_settings_are_known_needs_no_reader_of_yaml_or_toml(folder: Path, store: Store) -> None:
    """The library is not even to be found; nor is what else takes long to load, and is seldom of use."""
    environment = {"KCL_RUN_CACHE": store.folder, "PATH": os.environ["PATH"]}
    (folder / "kcl.mod").write_text('[package]\nname = "p"\n')
    arguments, nothing = ["run", "main.k", "-Y", "kcl.yaml"], StringIO()
    given = partial(main, cwd=folder, stdin=nothing, stdout=nothing, stderr=nothing, environment=environment)
    assert given(arguments, store=store, clock=later) == 0
    (folder / "main.k").write_text(PROGRAM + "a = 1\n")
    script = (
        f"import json, sys; sys.path[:0] = [{str(ROOT)!r}]; sys.argv[1:] = {arguments!r}; "
        "from kcl.cli import entry; status = entry(); sys.stdout.flush(); "
        f"sys.stderr.write(json.dumps([each for each in {LOADED_SELDOM} if each in sys.modules]))"
    )
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1:] == ["a: 1"], done.stderr
    assert json.loads(done.stderr) == []

"""What a run printed is taken again exactly while running it anew would print the same."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kcl.cache.sealing import key_from, opened, seal
from kcl.cache.store import Store
from kcl.cli import main
from tests.kcl.clocks import later, let_tick, wait_until_settled

Run = Callable[..., str]
ROOT = Path(__file__).parents[3]
PROGRAM = """import models

a = models.Thing {name = "x", size = option("size") or 1}
"""
MODELS = """schema Thing:
    name: str
    size: int = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "models").mkdir(parents=True)
    (folder / "kcl.mod").write_text('[package]\nname = "p"\nedition = "v0.11.0"\nversion = "0.0.1"\n')
    (folder / "main.k").write_text(PROGRAM)
    (folder / "models" / "thing.k").write_text(MODELS)
    let_tick(tmp_path)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kept"))


@pytest.fixture
def run(folder: Path, store: Store) -> Run:
    def run(*arguments: str, expect: int = 0, **environment: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        status = main(
            ["run", *arguments],
            cwd=folder,
            stdin=io.StringIO("z = 1\n"),
            stdout=out,
            stderr=err,
            environment=environment,
            store=store,
            clock=later,
        )
        assert status == expect, err.getvalue()
        return out.getvalue()

    return run


def _kept(store: Store) -> int:
    """How many runs are kept; packages are beside them."""
    return len(list(Path(store.folder).glob("run-*.entry")))


def _forge(store: Store) -> None:
    """Makes the one entry answer something that no run could print."""
    import marshal

    (entry,) = Path(store.folder).glob("run-*.entry")
    content = store.read(entry.stem)
    assert content is not None
    _, stamps, leads, files = marshal.loads(content)
    text: str | bytes = "taken\n"
    if files is not None:
        key = key_from(entry.stem, files)
        assert key is not None
        text = seal(b"taken\n", key)
    store.write(entry.stem, marshal.dumps((text, stamps, leads, files)))


def test_the_same_run_is_taken_from_the_folder(run: Run, store: Store) -> None:
    first = run("main.k")
    assert _kept(store) == 1
    assert run("main.k") == first
    _forge(store)
    assert run("main.k") == "taken\n"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda folder: (folder / "main.k").write_text(PROGRAM.replace('"x"', '"w"')), "name: w"),
        (lambda folder: (folder / "models" / "thing.k").write_text(MODELS + "    more: int = 7\n"), "more: 7"),
        (lambda folder: (folder / "models" / "other.k").write_text("b = 1\n"), "name: x"),
        (lambda folder: (folder / "kcl.mod").write_text('[package]\nname = "q"\n'), "name: x"),
    ],
    ids=["the program", "a model", "another file of a package", "kcl.mod"],
)
def test_a_change_of_anything_looked_at_runs_the_program_again(
    run: Run, store: Store, folder: Path, change: Callable[[Path], object], expected: str
) -> None:
    run("main.k")
    _forge(store)
    change(folder)
    assert expected in run("main.k")


def test_a_change_that_keeps_size_and_times_is_seen(run: Run, store: Store, folder: Path) -> None:
    run("main.k")
    _forge(store)
    before = (folder / "main.k").stat()
    (folder / "main.k").write_text(PROGRAM.replace('"x"', '"w"'))
    os.utime(folder / "main.k", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "name: w" in run("main.k")


def test_other_arguments_are_another_run(run: Run, store: Store) -> None:
    assert "size: 1" in run("main.k")
    assert "size: 3" in run("main.k", "-D", "size=3")
    assert '"size": 1' in run("main.k", "--format", "json")
    assert _kept(store) == 3


def test_a_run_that_fails_is_not_kept(run: Run, store: Store, folder: Path) -> None:
    (folder / "main.k").write_text("a = b\n")
    run("main.k", expect=1)
    assert _kept(store) == 0


@pytest.mark.parametrize(
    "program",
    [
        "import datetime\nt = datetime.today()\n",
        'import file\nt = file.read("kcl.mod")\n',
        "import crypto\nt = crypto.uuid()\n",
        'import json\njson.dump_to_file({}, "out.json")\n',
    ],
    ids=["time", "files", "random", "writing"],
)
def test_what_is_no_function_of_the_files_is_not_kept(run: Run, store: Store, folder: Path, program: str) -> None:
    (folder / "main.k").write_text(program)
    let_tick(folder)
    run("main.k")
    assert _kept(store) == 0


SECRET = 'a = {apiVersion = "v1", kind = "Secret", data.x = "' + "c2VjcmV0LWluLXByb2dyYW0=" + '"}\n'


def test_secrets_are_kept_so_that_only_the_files_of_the_program_open_them(run: Run, store: Store, folder: Path) -> None:
    (folder / "main.k").write_text(SECRET)
    let_tick(folder)
    first = run("main.k")
    (entry,) = Path(store.folder).glob("run-*.entry")
    kept = entry.read_bytes()
    assert "c2VjcmV0LWluLXByb2dyYW0=" in first
    assert all(word not in kept for word in (b"Secret", b"c2VjcmV0", b"apiVersion"))
    assert run("main.k") == first
    _forge(store)
    assert run("main.k") == "taken\n"


def test_secrets_that_the_command_line_had_a_part_in_are_not_kept(run: Run, store: Store, folder: Path) -> None:
    (folder / "main.k").write_text(SECRET)
    let_tick(folder)
    run("main.k", "-D", "size=3")
    assert _kept(store) == 0


def test_a_seal_opens_with_the_same_files_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    key = key_from("entry", [str(one), str(two)])
    assert key is not None
    data = "a: 1\nb: \u00e4\n".encode()
    sealed = seal(data, key)
    assert sealed != seal(data, key)
    assert opened(sealed, key) == data
    for index in (0, len(sealed) // 2, len(sealed) - 1):
        broken = bytearray(sealed)
        broken[index] ^= 1
        assert opened(bytes(broken), key) is None
    other = key_from("another entry", [str(one), str(two)])
    two.write_text("b = 3\n")
    changed = key_from("entry", [str(one), str(two)])
    assert other is not None
    assert changed is not None
    assert opened(sealed, other) is None
    assert opened(sealed, changed) is None
    assert key_from("entry", [str(one), str(tmp_path / "gone")]) is None


@pytest.mark.parametrize(
    "arguments",
    [("-",), ("main.k", "-o", "out.yaml"), ("main.k", "-ro", "out.yaml"), ("main.k", "-D", "password=1")],
    ids=["standard input", "output file", "output file among letters", "a secret option"],
)
def test_runs_that_do_more_than_read_files_are_not_kept(run: Run, store: Store, arguments: tuple[str, ...]) -> None:
    run(*arguments)
    assert _kept(store) == 0


def test_output_named_in_settings_is_written_each_time(run: Run, store: Store, folder: Path) -> None:
    (folder / "kcl.yaml").write_text("kcl_cli_configs:\n  file: [main.k]\n  output: out.yaml\n")
    let_tick(folder)
    run("-Y", "kcl.yaml")
    assert _kept(store) == 0
    (folder / "out.yaml").unlink()
    run("-Y", "kcl.yaml")
    assert (folder / "out.yaml").exists()


_TAKES_AN_ENTRY = {
    *("kcl", "kcl.cache", "kcl.cache.runs", "kcl.cache.store", "kcl.memo", "kcl.memo.digest", "kcl.memo.inputs"),
    *("kcl.streams", "__future__", "gc", "zlib", "_blake2", "_sha3"),
}
"""What is loaded to find an entry: next to nothing. `typing` alone, which loads `re`, takes as long as all of it."""


def _loaded(folder: Path, environment: Mapping[str, str]) -> set[str]:
    """What a process loads for the run that it would not load for any module it ran."""
    own = {**environment, "PYTHONPATH": str(ROOT)}
    loaded = []
    for module in ("this", "kcl"):
        command = [sys.executable, "-S", "-X", "importtime", "-m", module, "run", "main.k"]
        ended = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=True, timeout=60)
        loaded.append({line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()})
    return loaded[1] - loaded[0]


def test_a_fresh_process_prints_what_was_kept(folder: Path, store: Store) -> None:
    environment = {**os.environ, "KCL_RUN_CACHE": store.folder}
    wait_until_settled()  # what is asked is another process
    command = [sys.executable, "-m", "kcl", "run", "main.k"]
    first = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True, timeout=60)
    assert _kept(store) == 1
    _forge(store)
    again = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True, timeout=60)
    assert b"name: x" in first.stdout
    assert again.stdout == b"taken\n"
    assert _loaded(folder, environment) <= _TAKES_AN_ENTRY
    off = {**environment, "KCL_RUN_CACHE": "off"}
    anew = subprocess.run(command, cwd=folder, env=off, capture_output=True, check=True, timeout=60)
    assert anew.stdout == first.stdout

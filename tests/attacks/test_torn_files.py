"""Who is killed in the middle of writing, or has no room on the disk, leaves the old file, never half of a new one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from kcl import whole_file
from kcl.cli import main
from tests.attacks.conftest import Hostile
from tests.kcl.test_whole_file import files_no_larger_than, mode_of, with_umask
from workbench.engine.errors import EditFailed
from workbench.notebook import workspace as workspaces

ROOT = Path(__file__).parents[2]

KILLED = """
import io, resource, signal, sys
from kcl import cli
import kcl.packages.commands, kcl.packages.archive, kcl.packages.resolving
folder, *words = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel ends who writes more than the limit
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
output = io.StringIO()
home = {"HOME": folder, "KCL_PKG_PATH": folder + "/downloaded"}
sys.exit(cli.main(words, cwd=folder, stdin=io.StringIO(), stdout=output, stderr=output, environment=home))
"""

MANIFEST = '[package]\nname = "app"\nversion = "0.1.0"\n\n[profile]\nentries = ["main.k"]\n' + "# a remark\n" * 40
PROGRAM = 'import file\nlines = ["a line" for _ in range(100)]\n'
WRITERS = {
    "manifest": ("kcl.mod", ["mod", "add", "--path", "lib"]),
    "archive": ("app_0.1.0.tar", ["mod", "pkg"]),
    "output": ("out.yaml", ["run", "main.k", "-o", "out.yaml"]),
    "program": ("written.txt", ["run", "writes.k"]),
    "a new archive": ("new/app_0.1.0.tar", ["mod", "pkg", "--target", "new"]),
    "a new output": ("new.yaml", ["run", "main.k", "-o", "new.yaml"]),
}


def repository(folder: Path) -> Path:
    (folder / "new").mkdir()
    (folder / "lib").mkdir()
    (folder / "lib" / "kcl.mod").write_text('[package]\nname = "lib"\nversion = "1.0.0"\n')
    (folder / "lib" / "l.k").write_text("x = 1\n")
    (folder / "kcl.mod").write_text(MANIFEST)
    (folder / "main.k").write_text(PROGRAM)
    (folder / "writes.k").write_text(PROGRAM + 'done = file.write("written.txt", str(lines))\n')
    for name, _ in WRITERS.values():
        if not name.startswith(("kcl.mod", "new")):
            (folder / name).write_text("old\n")
    return folder


def kcl(folder: Path, words: list[str]) -> tuple[int, str]:
    output = io.StringIO()
    home = {"HOME": str(folder), "KCL_PKG_PATH": f"{folder}/downloaded"}
    code = main(words, cwd=folder, stdin=io.StringIO(), stdout=output, stderr=output, environment=home)
    return code, output.getvalue()


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def unfinished(file: Path) -> list[Path]:
    return [each for each in file.parent.iterdir() if each.name.endswith(".unfinished")]


@pytest.mark.parametrize("writer", WRITERS)
def test_who_is_killed_in_the_middle_leaves_what_was_there(tmp_path: Path, writer: str) -> None:
    name, words = WRITERS[writer]
    file = repository(tmp_path) / name
    before = content(file)
    arguments = [sys.executable, "-B", "-c", KILLED, str(tmp_path), *words]
    process = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert content(file) == before
    assert process.returncode == -signal.SIGXFSZ and len(unfinished(file)) == 1, process.stderr


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_what_was_there_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    name, words = WRITERS[writer]
    file = repository(tmp_path) / name
    before = content(file)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # what is imported under the limit would be torn, too
    with files_no_larger_than(100):
        code, said = kcl(tmp_path, words)
    assert content(file) == before and unfinished(file) == []
    assert code == 1 and "File too large" in said
    assert kcl(tmp_path, words)[0] == 0
    after = content(file)
    assert after != before and after is not None and len(after) > 100


def test_a_full_disk_leaves_the_patch_of_a_notebook(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with workspaces.open(hostile.root) as workspace:
        edits = workspace["web/dev"].whatif()
        file = hostile.root / "web/dev/main.k"
        edits.edit(file, text := file.read_text(), text + "# a remark\n" * 100)
        patch = hostile.write("fix.patch", "old\n")
        with files_no_larger_than(100), pytest.raises(EditFailed, match="File too large"):
            edits.to_patch(patch)
        assert patch.read_text() == "old\n" and unfinished(patch) == []
        assert edits.to_patch(patch).read_text() == edits.patch()


# --- what was named is written as whoever opens it would write it


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
@pytest.mark.parametrize("there", [None, 0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode_and_a_new_one_has_what_the_umask_leaves(
    tmp_path: Path, mask: int, there: int | None
) -> None:
    file = tmp_path / "file"
    if there is not None:
        file.touch()
        file.chmod(there)
    with with_umask(mask):
        whole_file.save(file, b"new")
    assert file.read_bytes() == b"new" and mode_of(file) == (0o666 & ~mask if there is None else there)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="Permission denied"):
        whole_file.save(file, b"new")
    assert file.read_bytes() == b"old"


def test_the_output_goes_through_a_pipe(tmp_path: Path) -> None:
    repository(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    assert kcl(tmp_path, ["run", "main.k", "-o", "pipe"]) == (0, "")
    reader.join(timeout=60)
    assert read and read[0].startswith("lines:\n- a line\n") and (tmp_path / "pipe").is_fifo()


def test_a_device_stays_one(tmp_path: Path) -> None:
    repository(tmp_path)
    assert kcl(tmp_path, ["run", "main.k", "-o", "/dev/null"]) == (0, "")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_what_a_process_has_open_is_written_and_stays_what_it_is(tmp_path: Path, name: str, to: str) -> None:
    repository(tmp_path)
    arguments = [sys.executable, "-m", "kcl", "run", "main.k", "-o", name]
    with (tmp_path / "stdout").open("wb") as file:
        stdout = subprocess.PIPE if to == "pipe" else file
        process = subprocess.run(arguments, cwd=tmp_path, stdout=stdout, timeout=120, check=False)
    said = process.stdout if to == "pipe" else (tmp_path / "stdout").read_bytes()
    assert process.returncode == 0 and said.startswith(b"lines:\n- a line\n")
    assert Path("/dev/stdout").is_symlink()


def test_a_link_that_a_repository_put_in_the_place_of_an_output_is_replaced(hostile: Hostile) -> None:
    names = {name for name, _ in WRITERS.values()}
    repository(hostile.root)
    for name in sorted(names - {"kcl.mod"}):
        (hostile.root / name).unlink(missing_ok=True)
        hostile.link(name, hostile.outside / "notes.txt")
    for _, words in WRITERS.values():
        kcl(hostile.root, words)
    hostile.assert_untouched()

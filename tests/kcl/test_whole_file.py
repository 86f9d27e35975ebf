"""A file is written as a whole or not at all: whoever looks, whoever else writes, and wherever the writer ends."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from threading import Thread

import pytest

from kcl import whole_file

ROOT = Path(__file__).parents[2]

KILLED = """
import os, signal, sys
from kcl import whole_file
call, path, durable = sys.argv[1:]
real = getattr(os, call)
def killed(*arguments, **more):
    if call == "open" and ".unfinished" not in str(arguments[0]):
        return real(*arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, call, killed)
whole_file.write(path, b"new" * 100_000, durable=durable == "durable")
"""


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def with_umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("before", [None, b"old"])
@pytest.mark.parametrize("data", [b"", b"new", b"\r\n\0" * 1_000_000], ids=["empty", "small", "large"])
def test_the_content_is_there_and_nothing_else(
    tmp_path: Path, durable: bool, before: bytes | None, data: bytes
) -> None:
    file = tmp_path / "file"
    if before is not None:
        file.write_bytes(before)
    whole_file.write(file, data, durable=durable)
    assert file.read_bytes() == data and names(tmp_path) == ["file"]


# --- who may read it


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_is_the_wished_one_whatever_the_umask_and_whatever_was_there(
    tmp_path: Path, mask: int, mode: int
) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o666)
    with with_umask(mask):
        whole_file.write(file, b"new", mode=mode)
        whole_file.create(tmp_path / "made", b"new", mode=mode)
    assert (mode_of(file), mode_of(tmp_path / "made")) == (mode, mode)


def test_it_is_private_by_default_and_while_it_is_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def rename(source: str, target: str) -> None:
        seen.append((mode_of(Path(source)), source))
        real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", rename)
    with with_umask(0):
        whole_file.write(tmp_path / "file", b"secret")
    assert seen[0][0] == 0o600 == mode_of(tmp_path / "file")
    assert Path(seen[0][1]).parent == tmp_path


# --- links


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("leads_to", ["file", "nothing", "folder", "itself", "device"])
def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(
    tmp_path: Path, leads_to: str, durable: bool
) -> None:
    (tmp_path / "outside").mkdir()
    kept = tmp_path / "outside" / "notes.txt"
    kept.write_text("kept")
    places = {"file": kept, "folder": kept.parent, "itself": tmp_path / "in" / "file", "device": Path("/dev/full")}
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "file"
    file.symlink_to(places.get(leads_to, tmp_path / "outside" / "nothing"))
    whole_file.write(file, b"new", durable=durable)
    assert file.read_bytes() == b"new" and not file.is_symlink()
    assert names(tmp_path / "outside") == ["notes.txt"] and kept.read_text() == "kept"


def test_an_unfinished_file_that_is_there_already_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can guess its name; who could still would not have anything written through a link."""
    monkeypatch.setattr(os, "urandom", bytes)
    kept = tmp_path / "notes.txt"
    kept.write_text("kept")
    (tmp_path / f".file.{'00' * 8}.unfinished").symlink_to(kept)
    with pytest.raises(FileExistsError):
        whole_file.write(tmp_path / "file", b"new")
    assert kept.read_text() == "kept" and not (tmp_path / "file").exists()


def test_of_two_who_create_one_file_the_first_wins(tmp_path: Path) -> None:
    file = tmp_path / "key"
    whole_file.create(file, b"first")
    with pytest.raises(FileExistsError):
        whole_file.create(file, b"second")
    assert file.read_bytes() == b"first" and names(tmp_path) == ["key"]


def test_nothing_is_created_behind_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileExistsError):
        whole_file.create(tmp_path / "key", b"new")
    assert names(tmp_path) == ["key"]


# --- names


@pytest.mark.parametrize(
    "name",
    [
        b"a" * 255,
        "ä".encode() * 127,
        "\U0001f600".encode() * 63,
        b"\xff" * 255,
        b"-rf",
        b" ",
        b".",
        b".hidden",
        b"a\nb",
    ],
    ids=["ascii", "two bytes", "four bytes", "no utf-8", "option", "blank", "dots", "hidden", "line"],
)
@pytest.mark.parametrize("act", [whole_file.write, whole_file.create])
def test_every_name_that_the_file_system_takes_can_be_written(tmp_path: Path, name: bytes, act: object) -> None:
    name = name if name != b"." else b"..."
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    act(path, b"new")  # type: ignore[operator]
    assert path.read_bytes() == b"new" and names(tmp_path) == [path.name]


def test_a_name_without_a_folder_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole_file.write("file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


# --- what fails leaves what was there


def test_a_full_disk_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    for size in (0, 1, 8192, 299_999):
        with files_no_larger_than(size), pytest.raises(OSError, match="File too large"):
            whole_file.write(file, b"new" * 100_000)
        assert file.read_bytes() == b"old" and names(tmp_path) == ["file"]
    with files_no_larger_than(300_000):
        whole_file.write(file, b"new" * 100_000)
    assert file.read_bytes() == b"new" * 100_000


@pytest.mark.parametrize("call", ["fchmod", "fsync", "replace", "fdopen"])
@pytest.mark.parametrize("raised", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_whatever_ends_it_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, raised: BaseException
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise raised

    file = tmp_path / "file"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, call, broken)
    with pytest.raises(type(raised)):
        whole_file.write(file, b"new")
    monkeypatch.undo()
    assert file.read_bytes() == b"old" and names(tmp_path) == ["file"]


@pytest.mark.parametrize("kind", ["folder", "in nothing", "in a file"])
def test_what_cannot_be_replaced_is_a_failure_without_litter(tmp_path: Path, kind: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_bytes(b"old")
    path = {"folder": tmp_path / "folder", "in nothing": tmp_path / "no" / "file", "in a file": tmp_path / "plain/file"}
    with pytest.raises(OSError):
        whole_file.write(path[kind], b"new")
    assert names(tmp_path) == ["folder", "plain"] and names(tmp_path / "folder") == []


@pytest.mark.parametrize(
    ("call", "durable"),
    [("fsync", "durable"), *product(["open", "fdopen", "fchmod", "replace"], ["durable", "not"])],
)
def test_a_writer_that_is_killed_leaves_the_old_content(tmp_path: Path, call: str, durable: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    arguments = [sys.executable, "-c", KILLED, call, str(file), durable]
    assert subprocess.run(arguments, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGKILL
    assert file.read_bytes() == b"old"
    left = [each for each in names(tmp_path) if each != "file"]
    assert len(left) == (call != "open") and all(mode_of(tmp_path / each) == 0o600 for each in left)

    whole_file.remove_unfinished(tmp_path, "other")
    assert len(names(tmp_path)) == 1 + len(left), "of another file"
    whole_file.remove_unfinished(tmp_path, "file")
    assert names(tmp_path) == ["file"]


def test_without_a_lock_only_what_nobody_writes_any_more_is_removed(tmp_path: Path) -> None:
    for name, seconds in (("new", 0), ("old", 4000), ("of tomorrow", -4000)):
        left = tmp_path / f".file.{name}.unfinished"
        left.touch()
        os.utime(left, (time.time() - seconds,) * 2)
    (tmp_path / ".other.old.unfinished").touch()
    os.utime(tmp_path / ".other.old.unfinished", (0, 0))
    whole_file.remove_unfinished(tmp_path, "file", idle_seconds=3600)
    assert names(tmp_path) == [".file.new.unfinished", ".other.old.unfinished"]


def test_what_killed_writers_left_of_long_names_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ("ä" * 120)
    monkeypatch.setattr(os, "replace", lambda *paths: None)
    whole_file.write(file, b"new")
    assert len(names(tmp_path)) == 1
    whole_file.remove_unfinished(tmp_path, file.name)
    assert names(tmp_path) == []
    whole_file.remove_unfinished(tmp_path / "nothing")


# --- several at once


def test_many_writers_and_readers_see_whole_contents_only(tmp_path: Path) -> None:
    file = tmp_path / "file"
    contents = {bytes([letter]) * 300_000 for letter in b"abcd"}
    file.write_bytes(b"a" * 300_000)
    torn: list[int] = []
    ended: list[bytes] = []

    def write(content: bytes) -> None:
        for _ in range(20):
            whole_file.write(file, content, durable=False)
        ended.append(content)

    def read() -> None:
        while len(ended) < len(contents):
            if (found := file.read_bytes()) not in contents:
                torn.append(len(found))
                return

    threads = [Thread(target=write, args=(each,)) for each in contents] + [Thread(target=read) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=120)
    assert torn == [] and len(ended) == len(contents)
    assert names(tmp_path) == ["file"] and file.read_bytes() in contents


def test_many_who_create_one_file_have_one_winner(tmp_path: Path) -> None:
    won: list[int] = []

    def create(number: int) -> None:
        with suppress(FileExistsError):
            whole_file.create(tmp_path / "key", bytes([number]) * 100_000)
            won.append(number)

    threads = [Thread(target=create, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=120)
    assert len(won) == 1 and (tmp_path / "key").read_bytes() == bytes(won) * 100_000
    assert names(tmp_path) == ["key"]


# --- the power


@pytest.mark.parametrize("durable", [True, False])
def test_the_content_is_on_the_disk_before_the_name_and_then_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    order: list[str] = []
    fsync, rename = os.fsync, os.replace

    def synced(handle: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"{os.fstat(handle).st_size} bytes")
        fsync(handle)

    def renamed(*paths: str) -> None:
        order.append("rename")
        rename(*paths)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    whole_file.write(tmp_path / "file", b"12345", durable=durable)
    assert order == (["5 bytes", "rename", "folder"] if durable else ["rename"])


def test_it_can_be_unfinished_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose digest somebody takes never holds an unfinished file."""
    (tmp_path / "package").mkdir()
    seen: list[list[str]] = []
    rename = os.replace

    def renamed(*paths: str) -> None:
        seen.append(names(tmp_path / "package"))
        rename(*paths)

    monkeypatch.setattr(os, "replace", renamed)
    whole_file.write(tmp_path / "package" / "program", b"new", mode=0o755, unfinished_in=tmp_path)
    assert seen == [[]] and names(tmp_path) == ["package"] and mode_of(tmp_path / "package" / "program") == 0o755

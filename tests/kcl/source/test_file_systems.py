"""One contract, three file systems."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kcl.source import FileSystem, InMemoryFileSystem, OsFileSystem, OverlayFileSystem

FILES: dict[str, str | bytes] = {
    "a/main.k": "a = 1\n",
    "a/base/base.k": "b = 2\n",
    "top.k": b"\xef\xbb\xbfc = '\xc3\xa9'\n",
}


def on_disk(root: Path) -> FileSystem:
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return OsFileSystem()


def in_memory(root: Path) -> FileSystem:
    return InMemoryFileSystem({str(root / name): content for name, content in FILES.items()})


def overlaid(root: Path) -> FileSystem:
    on_disk(root)
    (root / "a/main.k").write_text("stale = True\n")
    return OverlayFileSystem(OsFileSystem(), {str(root / "a/main.k"): FILES["a/main.k"]})


@pytest.fixture(params=[on_disk, in_memory, overlaid])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> FileSystem:
    make: Callable[[Path], FileSystem] = request.param
    return make(tmp_path)


def test_text_comes_decoded_and_without_byte_order_mark(files: FileSystem, tmp_path: Path) -> None:
    assert files.read_text(str(tmp_path / "a/main.k")) == "a = 1\n"
    assert files.read_text(str(tmp_path / "top.k")) == "c = 'é'\n"
    assert files.read_bytes(str(tmp_path / "a/base/base.k")) == b"b = 2\n"


def test_files_and_directories_are_told_apart(files: FileSystem, tmp_path: Path) -> None:
    assert files.is_file(str(tmp_path / "a/main.k")) and not files.is_dir(str(tmp_path / "a/main.k"))
    assert files.is_dir(str(tmp_path / "a")) and not files.is_file(str(tmp_path / "a"))
    assert files.exists(str(tmp_path / "a/base")) and not files.exists(str(tmp_path / "b"))


def test_directories_list_their_names_sorted(files: FileSystem, tmp_path: Path) -> None:
    assert files.list_dir(str(tmp_path)) == ["a", "top.k"]
    assert files.list_dir(str(tmp_path / "a")) == ["base", "main.k"]
    assert files.list_dir(str(tmp_path / "top.k")) == []
    assert files.list_dir(str(tmp_path / "none")) == []


def test_what_cannot_be_read_is_an_os_error(files: FileSystem, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.read_text(str(tmp_path / "none.k"))
    with pytest.raises(IsADirectoryError):
        files.read_text(str(tmp_path / "a"))


def test_an_overlay_adds_files_and_their_directories_and_writes_nothing(tmp_path: Path) -> None:
    on_disk(tmp_path)
    files = OverlayFileSystem(OsFileSystem(), {str(tmp_path / "new/x.k"): "x = 1"})
    assert files.list_dir(str(tmp_path)) == ["a", "new", "top.k"]
    assert files.read_text(str(tmp_path / "new/x.k")) == "x = 1"
    assert not (tmp_path / "new").exists()


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    files = InMemoryFileSystem({str(tmp_path / "f.k"): b"\xff\xfe"})
    with pytest.raises(UnicodeDecodeError):
        files.read_text(str(tmp_path / "f.k"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.k")
    somebody = os.open(tmp_path / "pipe.k", os.O_RDWR)
    nobody = threading.Timer(0.3, os.close, [somebody])  # who does wait gets its end then, and an empty text
    nobody.start()
    try:
        with pytest.raises(OSError, match="not a regular file"):
            OsFileSystem().read_text(str(tmp_path / "pipe.k"))
        assert nobody.is_alive()
    finally:
        nobody.join()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no names for open files here")
def test_a_pipe_that_the_shell_hands_over_is_read(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"a = 1")
    os.close(write)
    try:
        assert OsFileSystem().read_text(f"/dev/fd/{read}") == "a = 1"
    finally:
        os.close(read)
    assert OsFileSystem().read_text("/dev/null") == ""

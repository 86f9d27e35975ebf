"""One contract, three file systems."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kcl.memo.inputs import Moment, now
from kcl.reach import Bounds
from kcl.source import BoundedFileSystem, FileSystem, InMemoryFileSystem, OsFileSystem, OutsideBounds, OverlayFileSystem

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


def _later() -> Moment:
    at, since = now()
    return at + 10**10, since + 10**10


@pytest.mark.parametrize("edited", ["a/main.k", "folder/main.k", "file.k"])
def test_an_overlay_replaces_a_file_by_all_its_names(tmp_path: Path, edited: str) -> None:
    on_disk(tmp_path)
    names = [tmp_path / each for each in ("a/main.k", "folder/main.k", "file.k")]
    (tmp_path / "folder").symlink_to("a")
    (tmp_path / "file.k").symlink_to("folder/main.k")
    bounded = BoundedFileSystem(Bounds(str(tmp_path)), _later)  # for which all of them are settled
    files = OverlayFileSystem(bounded, {str(tmp_path / edited): "edited = 1\n"})
    assert {files.read_text(str(each)) for each in names} == {"edited = 1\n"}
    every = [str(each) for each in (*names, tmp_path / "top.k")]
    before, after = bounded.stamps(every), files.stamps(every)
    assert None not in before.values() and {path for path in every if after[path] == before[path]} == {every[-1]}
    assert all(files.stamp(path) == after[path] for path in every)


def test_an_overlay_adds_to_a_folder_by_all_its_names(tmp_path: Path) -> None:
    on_disk(tmp_path)
    (tmp_path / "folder").symlink_to("a")
    files = OverlayFileSystem(OsFileSystem(), {str(tmp_path / "a/new/x.k"): "x = 1"})
    assert files.list_dir(str(tmp_path / "folder")) == ["base", "main.k", "new"]
    assert files.is_dir(str(tmp_path / "folder/new")) and files.exists(str(tmp_path / "folder/new/x.k"))
    assert files.is_file(str(tmp_path / "folder/new/x.k")) and not files.is_file(str(tmp_path / "folder/new/y.k"))


def test_a_link_out_of_the_bounds_is_refused_whatever_lies_over_what_it_leads_to(tmp_path: Path) -> None:
    on_disk(tmp_path)
    (tmp_path / "within").mkdir()
    (tmp_path / "within/out.k").symlink_to("../top.k")
    (tmp_path / "within/above").symlink_to("..")
    bounded = BoundedFileSystem(Bounds(str(tmp_path / "within")))
    files = OverlayFileSystem(bounded, {str(tmp_path / "top.k"): "edited = 1\n"})
    with pytest.raises(OutsideBounds):
        files.read_text(str(tmp_path / "within/out.k"))
    with pytest.raises(OutsideBounds):
        files.list_dir(str(tmp_path / "within/above"))


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

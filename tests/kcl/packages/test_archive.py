"""Packages as tar files, and what an archive may not do."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from kcl.packages import archive
from kcl.packages.failure import PackageFailure


def _tar(*entries: tuple[str, bytes | None], kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind if data is not None else tarfile.DIRTYPE
            entry.linkname = link
            entry.size = len(data or b"") if kind == tarfile.REGTYPE else 0
            made.addfile(entry, io.BytesIO(data or b""))
    return buffer.getvalue()


def _files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def _package(folder: Path) -> Path:
    for name in ("kcl.mod", "main.k", "sub/s.k", "sub/deep/d.k", "notes.md", ".git/config", "old.tar"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def test_package_comes_out_as_it_went_in(tmp_path: Path) -> None:
    data = archive.packed(_package(tmp_path / "p"))
    archive.unpack(data, tmp_path / "out")
    assert list(_files(tmp_path / "out")) == ["kcl.mod", "main.k", "notes.md", "sub/deep/d.k", "sub/s.k"]
    assert _files(tmp_path / "out")["sub/s.k"] == "sub/s.k"
    assert archive.packed(tmp_path / "out") == data


@pytest.mark.parametrize(
    ("include", "exclude", "names"),
    [
        (["*.k"], [], ["kcl.mod", "main.k"]),
        (["sub"], [], ["kcl.mod", "sub/deep/d.k", "sub/s.k"]),
        (["**/*.k"], ["sub/deep"], ["kcl.mod", "main.k", "sub/s.k"]),
        ([], ["*.md", "sub", "kcl.mod"], ["kcl.mod", "main.k"]),
    ],
)
def test_what_is_published(include: list[str], exclude: list[str], names: list[str], tmp_path: Path) -> None:
    archive.unpack(archive.packed(_package(tmp_path / "p"), include=include, exclude=exclude), tmp_path / "out")
    assert list(_files(tmp_path / "out")) == names


def test_gzipped_archive(tmp_path: Path) -> None:
    archive.unpack(gzip.compress(_tar(("./a/", None), ("./a/b.k", b"x"))), tmp_path)
    assert _files(tmp_path) == {"a/b.k": "x"}


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a\\..\\..\\x", "..", "a/.."])
def test_nothing_comes_out_elsewhere(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    with pytest.raises(PackageFailure, match="leads out of it"):
        archive.unpack(_tar((name, b"x")), inside)
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_only_files_and_folders_come_out(kind: bytes, tmp_path: Path) -> None:
    with pytest.raises(PackageFailure, match="neither a file nor a folder"):
        archive.unpack(_tar(("x", b""), kind=kind, link="/etc/passwd"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_archive_that_says_a_file_twice(tmp_path: Path) -> None:
    with pytest.raises(PackageFailure, match="cannot unpack"):
        archive.unpack(_tar(("x", b"1"), ("x", b"2")), tmp_path)


def test_bomb_is_stopped_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(archive, "MOST_FILES", 10)
    with pytest.raises(PackageFailure, match="holds more than 1000000 bytes"):
        archive.unpack(gzip.compress(_tar(("x", bytes(2_000_000)))), tmp_path / "a")
    with pytest.raises(PackageFailure, match="more than 10 files"):
        archive.unpack(_tar(*((f"f{number}", b"") for number in range(11))), tmp_path / "b")
    assert not (tmp_path / "a/x").exists()


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100, b"\x1f\x8bno gzip"])
def test_what_is_no_archive(data: bytes, tmp_path: Path) -> None:
    if not data:
        archive.unpack(data + bytes(1024), tmp_path)
        assert not list(tmp_path.iterdir())
        return
    with pytest.raises(PackageFailure, match="this is not a"):
        archive.unpack(data, tmp_path)


def test_link_out_of_a_package_is_not_published(tmp_path: Path) -> None:
    folder = _package(tmp_path / "p")
    (tmp_path / "secret").write_text("s")
    (folder / "link.k").symlink_to(tmp_path / "secret")
    with pytest.raises(PackageFailure, match="leads out of the package"):
        archive.packed(folder)

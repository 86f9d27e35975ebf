"""A package as a tar file, and back.

Whoever publishes a package decides what its archive holds, so nothing of it is trusted: only plain files and folders
come out, below the folder asked for, up to the limits here.
"""

from __future__ import annotations

import fnmatch
import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Final

from kcl.loader.checksum import package_files
from kcl.packages.failure import PackageFailure
from kcl.regular import read_regular
from kcl.source import OsFileSystem

MOST_BYTES: Final = 256 * 1024 * 1024
"""What an archive may hold, unpacked, and how large it may be."""
MOST_FILES: Final = 20_000
_ALWAYS: Final = frozenset({"kcl.mod", "kcl.mod.lock"})
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1024 * 1024


def packed(folder: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> bytes:
    """The files of the package in `folder`; the same files make the same bytes, whatever their dates and owners.

    `include` and `exclude` are patterns of paths in it, as kcl.mod has them; kcl.mod and its lock are always there.
    Raises PackageFailure for links that lead out of `folder`, and beyond the limits.
    """
    buffer = io.BytesIO()
    total = count = 0
    root = folder.resolve()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in package_files(str(folder), OsFileSystem()):
            if name not in _ALWAYS and not _is_published(name, include, exclude):
                continue
            path = folder / name
            if not path.resolve().is_relative_to(root):
                raise PackageFailure(f"cannot publish {name}: it is a link that leads out of the package")
            data = read_regular(path)
            total += len(data)
            count += 1
            _check_limits(total, count)
            entry = tarfile.TarInfo(PurePosixPath(*Path(name).parts).as_posix())
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _is_published(name: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    if any(_matches(name, pattern) for pattern in exclude):
        return False
    return not include or any(_matches(name, pattern) for pattern in include)


def _matches(name: str, pattern: str) -> bool:
    """A pattern fits a file or a folder around it; `*` does not go beyond one name, `**` does."""
    parts, wanted = Path(name).parts, Path(pattern).parts
    return any(_fits(parts[:length], wanted) for length in range(1, len(parts) + 1))


def _fits(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_fits(parts[start:], wanted[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], wanted[0]) and _fits(parts[1:], wanted[1:])


def unpack(data: bytes, folder: Path) -> None:
    """Writes what the tar file `data`, perhaps gzipped, holds below `folder`. Raises PackageFailure."""
    try:
        with tarfile.open(fileobj=io.BytesIO(_uncompressed(data)), mode="r:") as archive:
            total = 0
            for count, entry in enumerate(archive, start=1):
                total += entry.size
                _check_limits(total, count)
                target = folder.joinpath(*_inside(entry.name))
                if entry.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif entry.isreg():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    content = archive.extractfile(entry)
                    assert content is not None  # it is a plain file
                    _write(content, target)
                else:
                    raise PackageFailure(f"the archive holds '{entry.name}', which is neither a file nor a folder")
    except (tarfile.TarError, EOFError, UnicodeError) as problem:
        raise PackageFailure(f"this is not a tar file: {problem}") from None
    except OSError as problem:
        raise PackageFailure(f"cannot unpack the archive: {problem}") from None


def check_folder(folder: Path) -> None:
    """Raises PackageFailure when a folder holds more than a package may, or a link."""
    total = count = 0
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise PackageFailure(f"the package holds a link, {path.relative_to(folder)}")
        if path.is_file():
            total += path.stat().st_size
            count += 1
            _check_limits(total, count)


def _uncompressed(data: bytes) -> bytes:
    """Decompressed before it is looked into: an archive of a few bytes can say that a header has gigabytes."""
    if len(data) > MOST_BYTES:
        raise PackageFailure(f"the archive is larger than {MOST_BYTES} bytes")
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            result = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise PackageFailure(f"this is not a gzipped file: {problem}") from None
    if len(result) > MOST_BYTES:
        raise PackageFailure(f"the archive holds more than {MOST_BYTES} bytes")
    return result


def _check_limits(total: int, count: int) -> None:
    if total > MOST_BYTES:
        raise PackageFailure(f"the package holds more than {MOST_BYTES} bytes")
    if count > MOST_FILES:
        raise PackageFailure(f"the package holds more than {MOST_FILES} files")


def _inside(name: str) -> Iterator[str]:
    """The parts of a path in an archive. Raises PackageFailure when it leads out of the folder it is unpacked in."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or any(char in name for char in "\\\0") or ":" in path.parts[:1]:
        raise PackageFailure(f"the archive holds '{name}', which leads out of it")
    yield from path.parts


def _write(content: IO[bytes], target: Path) -> None:
    with target.open("xb") as file:
        while chunk := content.read(_CHUNK):
            file.write(chunk)

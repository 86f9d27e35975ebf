"""A commit as a folder: its files as git has them, read past everything the checkout says of how to read them.

The working copy is not touched, and no git that writes is run. Attributes (`export-ignore`, filters, line ends) say
what a file is to become elsewhere: here each is what was committed. A file of LFS is its pointer, a submodule absent.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from workbench.engine.errors import EngineError
from workbench.engine.git import SUBMODULE, run_git, run_git_bytes
from workbench.engine.revisions import refuse_ambiguous
from workbench.project import is_git

_SECONDS: Final = 120.0
_MOST_FILES: Final = 200_000
_MOST_BYTES: Final = 1 << 30
_BATCH_BYTES: Final = 32 << 20
_LINK = "120000"


@dataclass(frozen=True, slots=True)
class Range:
    """Two commits, the later None where it is the working tree. The names are what the user called them."""

    base: str
    base_name: str
    end: str | None = None
    end_name: str = "the working tree"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit. `mode` is git's; `size` is 0 for a submodule."""

    path: str
    mode: str
    digest: str
    size: int

    @property
    def is_submodule(self) -> bool:
        return self.mode == SUBMODULE


def parse_range(root: Path, text: str) -> Range:
    """Finds the commits of `A`, `A..B` or `A...B` (from where they parted); an empty side is HEAD.

    Raises `EngineError` where git does not know one of them, or has several things of the name.
    """
    for dots in ("...", ".."):
        if dots not in text:
            continue
        one, other = (each or "HEAD" for each in text.split(dots, 1))
        base, end = _commit(root, one), _commit(root, other)
        if dots == "...":
            base, one = _parted(root, base, end, text), f"{one}...{other}"
        return Range(base, f"{one} ({base[:10]})", end, f"{other} ({end[:10]})")
    base = _commit(root, text)
    return Range(base, f"{text} ({base[:10]})")


def entries(root: Path, commit: str) -> Mapping[str, Entry]:
    """Returns the files of a commit by their path from the top of the checkout.

    Raises `EngineError` where they cannot be listed, are too many or too large.
    """
    listed = _git(root, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    found: dict[str, Entry] = {}
    for line in listed.split(b"\0"):
        if not line:
            continue
        said, _, path = line.partition(b"\t")
        mode, _, digest, size = said.decode().split()
        name = os.fsdecode(path)
        found[name] = Entry(name, mode, digest, int(size) if size.isdecimal() else 0)
    total = sum(each.size for each in found.values())
    if len(found) > _MOST_FILES or total > _MOST_BYTES:
        raise EngineError(
            f"the commit has {len(found):,} files of {total >> 20:,} MB, more than the {_MOST_FILES:,} files "
            f"or {_MOST_BYTES >> 20:,} MB that are compared",
            where=commit,
            hint="compare by wb compile --all --into of two checkouts",
        )
    return found


def write_files(root: Path, found: Iterable[Entry], folder: Path) -> None:
    """Writes files of a commit into an empty folder. Links come last, so that nothing is written through one.

    Raises `EngineError` where an object is missing, or a path leads out of the folder or into a `.git`.
    """
    every = [each for each in found if not each.is_submodule]
    for each in every:
        _refuse_path(each.path, folder)
    ordered = sorted(every, key=lambda each: each.mode == _LINK)
    try:
        for entry, content in _contents(root, ordered):
            target = folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode == _LINK:
                target.symlink_to(os.fsdecode(content))
            else:
                with target.open("xb") as file:
                    file.write(content)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise EngineError(
            f"a commit cannot be written out: {why}",
            where=str(folder),
            hint="is there room on the disk? `git fsck` says whether the commit is whole",
        ) from error


def _refuse_path(path: str, folder: Path) -> None:
    parts = path.split("/")
    if any(each in ("", ".", "..") for each in parts) or is_git(folder / path, folder):
        raise EngineError("a commit names a file that no checkout has", where=path, hint="`git fsck` says more")


def _contents(root: Path, every: list[Entry]) -> Iterator[tuple[Entry, bytes]]:
    for batch in _batches(every):
        given = "".join(f"{each.digest}\n" for each in batch).encode()
        said = memoryview(_git(root, "cat-file", "--batch", given=given))
        at = 0
        for each in batch:
            head_end = bytes(said[at : at + 256]).find(b"\n")
            words = bytes(said[at : at + max(head_end, 0)]).split()
            if len(words) != 3 or words[1] != b"blob":
                raise EngineError(
                    "an object of the commit is missing: the repository is broken, or was cloned in part",
                    where=each.path,
                    hint="`git fsck` says more; a partial clone gets them by `git fetch --refetch --no-filter`",
                )
            start = at + head_end + 1
            at = start + int(words[2]) + 1
            yield each, bytes(said[start : at - 1])


def _batches(every: list[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for each in every:
        batch.append(each)
        size += each.size
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _commit(root: Path, name: str) -> str:
    if not name or name.startswith("-") or "\0" in name:
        raise EngineError(f"{name!r} is no revision", hint="name a branch, a tag or a commit")
    said = _run(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    warned = said.stderr.decode(errors="replace")
    refuse_ambiguous(root, name, warned)
    if said.returncode:
        why = warned.strip().splitlines() or [f"git ended with {said.returncode}"]
        raise EngineError(
            f"git does not know the revision {name!r}: {why[0]}", where=str(root), hint=_missing_hint(root)
        )
    return said.stdout.decode().strip()


def _parted(root: Path, one: str, other: str, text: str) -> str:
    said = _run(root, "merge-base", one, other)
    found = said.stdout.decode().strip()
    if said.returncode or not found:
        raise EngineError(
            f"git does not know where the two of {text!r} parted", where=str(root), hint=_missing_hint(root)
        )
    return found


def _missing_hint(root: Path) -> str:
    if run_git(root, "rev-parse", "--is-shallow-repository", timeout=_SECONDS).stdout.strip() == "true":
        return "the history here is shallow: git fetch --unshallow (in GitHub Actions fetch-depth: 0 of checkout)"
    return "git fetch gets what the remote has; `git log --oneline` shows what is here"


def _git(root: Path, command: str, *arguments: str, given: bytes = b"") -> bytes:
    ended = _run(root, command, *arguments, given=given)
    if ended.returncode:
        why = ended.stderr.decode(errors="replace").strip().splitlines() or [f"git ended with {ended.returncode}"]
        raise EngineError(f"git cannot read the commit: {why[0]}", where=str(root), hint=_missing_hint(root))
    return ended.stdout


def _run(root: Path, command: str, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return run_git_bytes(root, command, *arguments, timeout=_SECONDS, given=given)
    except FileNotFoundError as error:
        raise EngineError("git is not installed", hint="install git: it has what the files were before") from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("git does not answer", where=str(root), hint="is the disk slow, or gone?") from error

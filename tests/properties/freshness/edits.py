"""What happens to the files of a repository on disk: by editors, by git, and by whoever puts times back.

An edit may well leave programs wrong. Half of them leave times of writing as they were, most are of one size with what
was there: then a cache that goes by these shows what was.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.properties.freshness.repositories import Repository

_HOUR: Final = 3_600_000_000_000
_CODE: Final = (".k",)


def edited(text: str, rng: random.Random) -> str:
    """One change as somebody might make it; it may well be wrong."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(7):
        case 0:
            lines.insert(at, "")
        case 1:
            del lines[at]
        case 2:
            lines.insert(at, lines[at])
        case 3:
            lines.append(f"_added{rng.randrange(9)} = {rng.randrange(100)}")
        case 4:
            lines.append(f"schema Added{rng.randrange(9)}:\n    size: int = {rng.randrange(100)}\n")
        case 5:
            numbers = [index for index, line in enumerate(lines) if re.search(r"\b\d+\b", line)]
            if numbers:
                chosen = rng.choice(numbers)
                lines[chosen] = re.sub(r"\b\d+\b", str(rng.randrange(1, 99)), lines[chosen], count=1)
        case _:
            words = [index for index, line in enumerate(lines) if re.search(r'"\w+"', line)]
            if words:
                chosen = rng.choice(words)
                lines[chosen] = re.sub(r'"\w+"', f'"w{rng.randrange(99)}"', lines[chosen], count=1)
    return "\n".join(lines)


def of_one_size(text: str, rng: random.Random) -> str:
    """The text with another digit, or another letter in a string: as long as it was."""
    places = [found.start() for found in re.finditer(r"\d(?![\w.])|(?<=\")[a-z](?=\w*\")|(?<=: )[a-z](?=\w*$)", text)]
    if not places:
        return text
    at = rng.choice(places)
    others = "123456789" if text[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return text[:at] + rng.choice([each for each in others if each != text[at]]) + text[at + 1 :]


class Edits:
    """Changes a repository at random. `log` tells each edit since the last reset, so that a failure can be repeated."""

    def __init__(self, repository: Repository, rng: random.Random) -> None:
        self._repository, self._rng = repository, rng
        self.log: list[str] = []
        self._removed: dict[Path, bytes] = {}
        self._made = 0

    def reset(self) -> None:
        self._repository.reset()
        self._removed.clear()
        self.log.clear()

    def edit(self, files: Sequence[Path]) -> None:
        """One edit of one of the files that a compilation looked at, or near it."""
        rng = self._rng
        there = [each for each in files if each.is_file() and each.is_relative_to(self._repository.root)]
        code = [each for each in there if each.suffix in _CODE]
        if not code:
            self.reset()
            return
        own = [each for each in there if each.suffix == ".yaml" or each.name in ("main.k", "base.k", "kcl.mod")]
        file = rng.choice(own if own and rng.random() < 0.4 else code)
        change = rng.choice(_OF_SETTINGS if file.suffix != ".k" else _OF_CODE)
        before = _times(file)
        with suppress(OSError):  # what an earlier edit moved away cannot be edited: half of this one is one too
            change(self, file)
        when = rng.choice(["restored", "restored", "now", "before", "to come"])
        self._put_back(before, when)
        self.log.append(f"{change.__name__} {file.relative_to(self._repository.root)}, times {when}")

    def _put_back(self, before: dict[Path, int], when: str) -> None:
        by = {"restored": 0, "before": -_HOUR, "to come": 1}.get(when)
        if by is None:
            return
        for path, moment in before.items():
            with suppress(OSError):
                os.utime(path, ns=(moment + by, moment + by), follow_symlinks=not path.is_symlink())

    # --- edits of one file

    def rewrite(self, file: Path) -> None:
        _write(file, edited(_text(file), self._rng))

    def rewrite_of_one_size(self, file: Path) -> None:
        _write(file, of_one_size(_text(file), self._rng))

    def replace(self, file: Path) -> None:
        other = self._new(file.parent, ".part")
        other.write_bytes(of_one_size(_text(file), self._rng).encode())
        shutil.copystat(file, other)
        os.replace(other, file)

    def delete(self, file: Path) -> None:
        self._removed[file] = file.read_bytes()
        file.unlink()

    def create_again(self, file: Path) -> None:
        """A file that was removed comes back, or this one goes and comes."""
        path, content = self._removed.popitem() if self._removed else (file, file.read_bytes())
        if path.parent.is_dir():
            path.unlink(missing_ok=True)
            path.write_bytes(of_one_size(content.decode(), self._rng).encode())

    def link_elsewhere(self, file: Path) -> None:
        """A symbolic link takes its place, or leads elsewhere than it did."""
        target = self._new(self._repository.root / "aside", ".k")
        target.write_bytes(of_one_size(_text(file), self._rng).encode())
        shutil.copystat(file, target)
        link = self._new(file.parent, ".part")
        link.symlink_to(os.path.relpath(target, file.parent))
        os.replace(link, file)

    def link_hard(self, file: Path) -> None:
        target = self._new(self._repository.root / "aside", ".k")
        target.write_bytes(of_one_size(_text(file), self._rng).encode())
        file.unlink()
        os.link(target, file)

    def swap_files(self, file: Path) -> None:
        others = [each for each in sorted(file.parent.glob("*.k")) if each != file]
        if others:
            self._swap(file, self._rng.choice(others))

    def add_beside(self, file: Path) -> None:
        new = self._new(file.parent, ".k")
        new.write_text(f"_made{self._made} = 1\nschema Made{self._made}:\n    a: int = 1\n")

    def touch(self, file: Path) -> None:
        os.utime(file)

    # --- edits of folders

    def shadow(self, file: Path) -> None:
        """A folder of the same name hides a file, or no longer."""
        folder = file.with_suffix("")
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:
            folder.mkdir()
            (folder / file.name).write_bytes(of_one_size(_text(file), self._rng).encode())

    def unshadow(self, file: Path) -> None:
        """A file takes the place of its folder."""
        folder = file.parent
        if folder == self._repository.root or (folder / "stack.yaml").exists() or folder.is_symlink():
            return
        text = _text(file)
        beside = folder.with_suffix(".k")
        if not beside.exists():
            self._move_away(folder)
            beside.write_bytes(text.encode())

    def swap_folders(self, file: Path) -> None:
        others = [each for each in sorted(file.parent.parent.iterdir()) if each.is_dir() and each != file.parent]
        if others and file.parent != self._repository.root:
            self._swap(file.parent, self._rng.choice(others))

    def link_folder(self, file: Path) -> None:
        """A link to a copy takes the place of the folder, or leads to another copy than it did."""
        folder = file.parent
        if folder == self._repository.root or (folder / "stack.yaml").exists():
            return
        target = self._new(self._repository.root / "aside", "")
        shutil.copytree(folder, target, symlinks=True)
        _write(target / file.name, of_one_size(_text(file), self._rng))
        if folder.is_symlink():
            folder.unlink()
        else:
            self._move_away(folder)
        folder.symlink_to(os.path.relpath(target, folder.parent))

    def lead_away(self, file: Path) -> None:
        """A folder above is moved, out of the repository or within, and a link leads to it: nothing in it changed."""
        root = self._repository.root
        folders = [each for each in file.parents if root in each.parents and not each.is_symlink()]
        if folders:
            folder = self._rng.choice(folders)
            beside = self._rng.choice([root / "aside", root.parent / "outside"])
            target = self._new(beside, "")
            folder.rename(target)
            folder.symlink_to(os.path.relpath(target, folder.parent))

    # --- edits of what says which files there are

    def manifest(self, file: Path) -> None:
        path = self._repository.root / "kcl.mod"
        text = path.read_text() if path.is_file() else '[package]\nname = "again"\n'
        match self._rng.randrange(5):
            case 0:
                path.unlink(missing_ok=True)
                return
            case 1:
                lines = [each for each in text.split("\n") if not each.startswith("edition")]
                edition = f'edition = "v0.{self._rng.randrange(4, 12)}.0"'
                text = "\n".join(edition if each.startswith("version") else each for each in lines)
            case 2:
                text = text.replace('path = "./lib/parts"', 'path = "./linked"')
            case 3:
                text = edited(text, self._rng)
            case _:
                text = of_one_size(text, self._rng)
        _write(path, text)

    def lock(self, file: Path) -> None:
        path = self._repository.root / "kcl.mod.lock"
        if path.exists() and self._rng.random() < 0.5:
            path.unlink()
            return
        sum_ = self._rng.choice(["", 'sum = "bm8="\n'])
        path.write_text(
            f'[dependencies.parts]\nname = "parts"\nfull_name = "parts_0.1.{self._rng.randrange(9)}"\n'
            f'version = "0.1.{self._rng.randrange(9)}"\n{sum_}'
        )

    def dependency(self, file: Path) -> None:
        """A package outside of the program goes or comes back, or one of the program takes its name or gives it up."""
        root = self._repository.root
        outside, named, away = root / "lib" / "parts", root / "parts", root / "lib" / "gone"
        if self._rng.random() < 0.5 and named.is_dir():
            self._move_away(named)
        elif self._rng.random() < 0.5 and outside.is_dir():
            shutil.copytree(outside / "sizes", named / "sizes", dirs_exist_ok=True)
        else:
            (outside if outside.is_dir() else away).rename(away if outside.is_dir() else outside)

    def _swap(self, one: Path, other: Path) -> None:
        third = self._new(one.parent, "")
        one.rename(third)
        other.rename(one)
        third.rename(other)

    def _move_away(self, folder: Path) -> None:
        folder.rename(self._new(self._repository.root / "aside", ""))

    def _new(self, folder: Path, suffix: str) -> Path:
        """A name that nothing has yet."""
        self._made += 1
        folder.mkdir(exist_ok=True)
        return folder / f"made{self._made}{suffix}"


Change = Callable[[Edits, Path], None]
_OF_SETTINGS: Final[tuple[Change, ...]] = (
    Edits.rewrite, Edits.rewrite_of_one_size, Edits.rewrite_of_one_size, Edits.replace, Edits.delete,
    Edits.create_again, Edits.touch, Edits.manifest, Edits.lock, Edits.dependency,
)  # fmt: skip
_OF_CODE: Final[tuple[Change, ...]] = (
    Edits.rewrite, Edits.rewrite, Edits.rewrite_of_one_size, Edits.rewrite_of_one_size, Edits.replace,
    Edits.delete, Edits.create_again, Edits.create_again, Edits.link_elsewhere, Edits.link_hard, Edits.swap_files,
    Edits.add_beside, Edits.touch, Edits.shadow, Edits.shadow, Edits.unshadow, Edits.swap_folders, Edits.link_folder,
    Edits.lead_away, Edits.manifest, Edits.lock, Edits.dependency,
)  # fmt: skip


def _times(file: Path) -> dict[Path, int]:
    """When the files and folders around one were last written."""
    around = [*file.parent.iterdir(), file.parent, *file.parent.parent.iterdir(), file.parent.parent]
    times = {}
    for each in around:
        with suppress(OSError):
            times[each] = each.lstat().st_mtime_ns
    return times


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _write(file: Path, text: str) -> None:
    """In place: the same inode."""
    with open(file, "r+b" if file.exists() else "wb") as stream:
        stream.truncate(0)
        stream.write(text.encode())

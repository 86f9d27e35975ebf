"""How far whoever runs a program lets it look: below a few folders once all links are resolved, and never into `.git`.

The one rule, asked by everything that reads, or writes, for a repository that its user has not read. Imports nothing of
ours but how dataclasses are made, so that who only asks loads no compiler.
"""

from __future__ import annotations

import os
import os.path
import stat
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from kcl.records import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

_GIT_NAMES: Final = frozenset({".git", "git~1"})
_GIT_STARTS: Final = frozenset(".gG")
_OUTSIDE: Final = (
    "what a repository is made of lies in its checkout, below the folder with .git: put the file there, or name it "
    "with -Y if it holds settings of yours"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a path may not be looked at. `reason` is the end of a sentence that begins with the path."""

    reason: str
    hint: str
    is_link: bool = False
    """Whether the path begins within the bounds, and a link on it leads out or to what is git's."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Below which folders may be looked. All are absolute, and may be links themselves."""

    root: str
    """What the repository holds."""
    packages: str | None = None
    """The folder of downloaded packages, without entries whose name begins with a dot: there tools keep credentials.

    An entry that is a link is a package that the user keeps elsewhere.
    """
    granted: tuple[str, ...] = ()
    """Files and folders that the user named himself."""
    _real: tuple[str, str | None, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        packages = None if self.packages is None else os.path.realpath(self.packages)
        real = (os.path.realpath(self.root), packages, tuple(map(os.path.realpath, self.granted)))
        object.__setattr__(self, "_real", real)

    def starts(self) -> Iterator[tuple[str, str]]:
        """Yields the folders, each with where it leads."""
        root, packages, _ = self._real
        yield self.root, root
        if self.packages is not None and packages is not None and self.hold(packages):
            yield self.packages, packages

    def hold(self, real: str) -> bool:
        """Whether a path that no link is on, and that need not be there, is one that may be looked at."""
        root, packages, granted = self._real
        if is_below(real, root):
            return not lies_in_git(real, root)
        if packages is not None and is_below(real, packages):
            return not real.startswith(".", len(packages) + 1) and not lies_in_git(real, packages)
        return any(is_below(real, each) for each in granted)

    def real(self, path: str) -> str | None:
        """Returns where a path leads, None where that may not be looked at."""
        real = os.path.realpath(path)
        if self.hold(real):
            return real
        package = self._package(os.path.abspath(path))
        if package is None:
            return None
        folder = os.path.realpath(package)
        return real if is_below(real, folder) and not lies_in_git(real, folder) else None

    def _package(self, path: str) -> str | None:
        """The entry of the folder of packages that a path is written to lie in."""
        for folder in (self.packages, self._real[1]):
            if folder is not None and path != folder and is_below(path, folder):
                name = path[len(folder) :].lstrip(os.sep).partition(os.sep)[0]
                return None if name.startswith(".") else os.path.join(folder, name)
        return None

    def refusal(self, path: str) -> Refusal | None:
        """Returns why a path may not be looked at, None where it may."""
        if self.real(path) is not None:
            return None
        real = os.path.realpath(path)
        root = self._real[0]
        written = os.path.abspath(path)
        if is_below(real, root) and lies_in_git(real, root):
            hint = (
                "what git keeps of a repository may hold credentials: put a copy of what is needed beside the program"
            )
            return Refusal("belongs to git: not read", hint, is_link=not lies_in_git(written, os.sep))
        link = self._link_out(written)
        if link is None:
            return Refusal(f"lies outside of the repository {self.root}: not read", _OUTSIDE)
        place, to = link
        where = "" if place == path else f" at {place}"
        hint = f"put a copy in its place: rm {os.path.basename(place)} and add the file itself"
        return Refusal(f"is a link out of the repository{where}, to {to}: not read", hint, is_link=True)

    def _link_out(self, path: str) -> tuple[str, str] | None:
        """The link on a path by which it leaves the folders, and where that says it leads."""
        at = os.sep
        is_inside = False
        for name in path.split(os.sep)[1:]:
            at = os.path.join(at, name)
            was_inside, is_inside = is_inside, self.real(at) is not None
            if was_inside and not is_inside:
                return at, _target(at)
        return None


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, as they are written."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def lies_in_git(path: str, root: str) -> bool:
    """Whether a path below `root` leads into a `.git` there, in any spelling that some file system takes for it."""
    return any(map(is_git, path[len(root) :].split(os.sep)))


def is_git(name: str) -> bool:
    """Whether the most lenient file system takes a file's name for `.git`.

    Such compare without case, without invisible characters, without dots and spaces at the end, and without the name
    of a stream after a colon.
    """
    if name[:1] not in _GIT_STARTS and name.isascii():
        return False
    visible = "".join(each for each in name if unicodedata.category(each) != "Cf")
    return visible.partition(":")[0].casefold().rstrip(". ") in _GIT_NAMES


class Seen(NamedTuple):
    """Where a path within bounds leads."""

    path: str
    state: os.stat_result | None
    """None for nothing there, or nothing that can be seen."""


_MOST_FOLDERS: Final = 200
"""In one another, that are known one by one: an import may name thousands."""


class Lookup:
    """Where paths lead, and whether that is within bounds. What is known of a folder is kept: ask for one run only."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._folders: dict[str | None, str | None] = {each: real for each, real in bounds.starts() if is_normal(each)}
        self.plain_folders: set[str] = set()
        """Folders that were just seen to be no links themselves, by this or by whoever tells of them."""

    def look(self, path: str) -> Seen | None:
        """Returns where a path leads, None where that may not be looked at."""
        try:
            if not is_normal(path):
                return self._slowly(path)
            folder, _, name = path.rpartition(os.sep)
            real = self._folder(folder)
            return self._slowly(path) if real is None else self._in_folder(real, name, path)
        except ValueError:  # what is no path leads nowhere
            return Seen(path, None)

    def doubtful(self, paths: Iterable[str]) -> list[str]:
        """Returns those of the paths, none of which is a link itself, that are not certainly ones to be looked at."""
        folders = self._folders
        return [path for path in paths if folders.get(_parent(path)) is None and not self._is_inside(path)]

    def _is_inside(self, path: str) -> bool:
        folder = _parent(path)
        return folder is not None and self._folder(folder) is not None

    def _folder(self, folder: str) -> str | None:
        """Where a folder leads, None where that is not within bounds."""
        try:
            return self._folders[folder]
        except KeyError:
            pass
        above, _, name = folder.rpartition(os.sep)
        real = self._folder(above) if above and folder.count(os.sep) <= _MOST_FOLDERS else None
        found: str | None
        if real is not None and folder in self.plain_folders and not _is_doubtful(name):
            found = f"{real}{os.sep}{name}"
        else:
            seen = self._slowly(folder or os.sep) if real is None else self._in_folder(real, name, folder)
            found = None if seen is None else seen.path
        self._folders[folder] = found
        return found

    def _in_folder(self, folder: str, name: str, path: str) -> Seen | None:
        """Where a name in a folder within bounds leads; as written it is `path`."""
        real = f"{folder}{os.sep}{name}"
        try:
            there = os.lstat(real)
        except OSError:
            there = None
        if _is_doubtful(name) or (there is not None and stat.S_ISLNK(there.st_mode)):
            return self._slowly(path)
        if real == path and there is not None and stat.S_ISDIR(there.st_mode):
            self.plain_folders.add(real)
        return Seen(real, there)

    def _slowly(self, path: str) -> Seen | None:
        real = self.bounds.real(path)
        if real is None:
            return None
        try:
            return Seen(real, os.stat(real))
        except OSError:
            return Seen(real, None)


@lru_cache(maxsize=1 << 14)
def _parent(path: str) -> str | None:
    """The folder that decides about a path which is no link; None where more has to be asked.

    Remembered, as each edit asks it of the same hundreds of paths.
    """
    folder, _, name = path.rpartition(os.sep)
    return folder if name and is_normal(path) and not _is_doubtful(name) else None


@lru_cache(maxsize=1 << 12)
def _is_doubtful(name: str) -> bool:
    """Whether the bounds have to be asked about a name in a folder that is within them."""
    return name[:1] == "." or is_git(name)


def is_normal(path: str) -> bool:
    """Whether a path is certainly absolute, with nothing in it that stands for another spelling."""
    return path.startswith("/") and "/." not in path and "//" not in path and not path.endswith("/")


def _target(link: str) -> str:
    """What is written in a link; not where that leads in turn, which tells of folders outside."""
    try:
        written = os.readlink(link)
    except OSError:  # not there any more
        return "elsewhere"
    return "".join(each if each.isprintable() else "?" for each in written)

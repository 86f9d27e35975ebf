"""The dimensions of a repository's configuration, where it declares some: `dimensions.yaml` at its root.

dimensions:                        # from the lowest priority to the highest
  - name: global
    files: [dimensions/global.k]   # of every stack that has coordinates
  - name: site
    values:                        # the baseline files of each value
      hangzhou: [dimensions/site/hangzhou.k]
  - {name: tenant, folder: dimensions/tenant}           # acorn.k there is the baseline of the value acorn
  - {name: env, folder: dimensions/env, optional: true} # a stack need not say which

A stack says its coordinates in stack.yaml, `dimensions: {site: hangzhou}`, or otherwise (`coordinates`). Its own
kcl.yaml lists the baselines, so that every KCL compiler reads the same: `baselines` checks that they are those of the
coordinates, in the declared order, and that what the project and the stack say themselves comes after them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from workbench.project.bounds import refuse_foreign
from workbench.project.errors import BrokenFile, OutsideRepository
from workbench.project.yaml_file import day_at, located, only_keys, place_of, read_mapping, text_at, texts_at

DIMENSIONS_FILE: Final = "dimensions.yaml"
_KEYS: Final = ("name", "files", "values", "folder", "optional", "final")
_MOST_DIMENSIONS: Final = 32
_MOST_BASELINES: Final = 10_000
_PLACE: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_NOT_IN_NAMES: Final = frozenset("=,/ ")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A file of a value of a dimension. `value` is empty where the dimension has none, as one for every stack."""

    dimension: str
    value: str
    file: Path

    def __str__(self) -> str:
        return f"{self.dimension} {self.value}" if self.value else self.dimension


@dataclass(frozen=True, slots=True)
class Dimension:
    """`values` has the baseline files of each value; `files` are those of every stack, where there are no values."""

    name: str
    values: Mapping[str, tuple[Path, ...]]
    files: tuple[Path, ...]
    is_optional: bool
    finals: tuple[tuple[str, ...], ...] = ()
    """Paths of what its baselines say for good; a step may be a glob."""

    def baselines(self, value: str | None) -> tuple[Baseline, ...]:
        """Returns those of a value, none where the stack says no value."""
        if self.files:
            return tuple(Baseline(self.name, "", each) for each in self.files)
        return tuple(Baseline(self.name, value or "", each) for each in self.values.get(value or "", ()))


def covers(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path is what a pattern names, each step of which may be a glob, or lies below that."""
    return len(path) >= len(pattern) and all(map(fnmatchcase, path, pattern))


@dataclass(frozen=True, slots=True)
class Waiver:
    """That something final may be set otherwise, until the end of a day in UTC. A step of `path` may be a glob."""

    path: tuple[str, ...]
    stacks: tuple[str, ...]
    until: date
    reason: str
    where: str

    def is_for(self, path: tuple[str, ...], stack: str) -> bool:
        return covers(self.path, path) and (not self.stacks or any(fnmatchcase(stack, each) for each in self.stacks))

    def has_expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True)
class Dimensions:
    """What is declared, from the lowest priority to the highest; nothing in a repository without the file."""

    root: Path
    dimensions: tuple[Dimension, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    folders: tuple[str, ...] = ()
    """Patterns of the folders of stacks, which say coordinates: `apps/*/{site}-{env}`."""

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.dimensions)

    def __bool__(self) -> bool:
        return bool(self.dimensions)

    @property
    def axes(self) -> tuple[Dimension, ...]:
        """Those that have values: a stack has a coordinate in each."""
        return tuple(each for each in self.dimensions if not each.files)

    def in_folder(self, folder: Path) -> Mapping[str, str]:
        """Returns the coordinates that the name of a stack's folder says, nothing where no pattern fits.

        Where no declared value stands there, what does is returned all the same: it may be misspelt.
        """
        if not self.folders or not folder.is_relative_to(self.root):
            return {}
        name = folder.relative_to(self.root).as_posix()
        found = (each.fullmatch(name) for each in self._patterns)
        return next((each.groupdict() for each in found if each is not None), {})

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        """Those with declared values first: these may have any sign in them that stands between two."""
        values = {each.name: "|".join(map(re.escape, sorted(each.values, key=len, reverse=True))) for each in self.axes}
        exact = [_pattern(each, values) for each in self.folders]
        return (*exact, *(_pattern(each, dict.fromkeys(values, "[^/]+?")) for each in self.folders))

    def priority(self, dimension: str) -> int:
        return next(number for number, each in enumerate(self.dimensions) if each.name == dimension)

    def of_file(self, file: Path) -> Baseline | None:
        """Returns what a file is the baseline of; None for any other file."""
        return self._by_file.get(file)

    def of_path(self, path: str) -> Baseline | None:
        """The same for a path as text: thousands of stacks list a few files each."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> Mapping[str, Baseline]:
        return {str(file): each for file, each in self._by_file.items()}

    @cached_property
    def _by_file(self) -> Mapping[Path, Baseline]:
        every = (found for each in self.dimensions for value in each.values or ("",) for found in each.baselines(value))
        return {each.file: each for each in every}

    def baselines(self, coordinates: Mapping[str, str]) -> tuple[Baseline, ...]:
        """Returns those of a point of the cube, in the declared order; none without coordinates."""
        if not coordinates and self.axes:
            return ()
        point = tuple(coordinates.items())
        if point not in self._points:
            found = (found for each in self.dimensions for found in each.baselines(coordinates.get(each.name)))
            self._points[point] = tuple(found)
        return self._points[point]

    @cached_property
    def _points(self) -> dict[tuple[tuple[str, str], ...], tuple[Baseline, ...]]:
        """The baselines of points that were asked about: many stacks lie at each."""
        return {}


def read_dimensions(root: Path) -> Dimensions:
    """Reads `dimensions.yaml`, none where there is no such file.

    Raises `BrokenFile` for what it does not understand, `OutsideRepository` for a link out of the repository.
    """
    path = root / DIMENSIONS_FILE
    if not os.path.lexists(path):
        return Dimensions(root)
    content = read_mapping(path)
    only_keys(content, ("dimensions", "waivers", "folders"), str(path))
    entries = content.get("dimensions")
    if not isinstance(entries, list) or not entries:
        raise BrokenFile(
            "dimensions needs to be a list", where=str(path), hint="from the lowest priority to the highest"
        )
    if len(entries) > _MOST_DIMENSIONS:
        raise BrokenFile(f"has more than {_MOST_DIMENSIONS} dimensions", where=str(path))
    found = tuple(_dimension(entry, number, path) for number, entry in enumerate(entries, 1))
    names = [each.name for each in found]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise BrokenFile(f"two dimensions are called {name}", where=f"{path}: dimension {number}")
    _refuse_shared(found, path)
    folders = texts_at(content, "folders", path)
    for each in folders:
        _check_folder(each, [dimension.name for dimension in found if not dimension.files], path)
    return Dimensions(root, found, _waivers(content.get("waivers"), path), folders)


def _check_folder(pattern: str, axes: Sequence[str], path: Path) -> None:
    names = _PLACE.findall(pattern)
    where = place_of(path, "folders")
    if unknown := [each for each in names if each not in axes]:
        raise BrokenFile(f"{pattern} has {{{unknown[0]}}}{nearest(unknown[0], axes)}", where=where)
    if not names or len(set(names)) < len(names) or set(_PLACE.sub("", pattern)) & set("{}"):
        hint = "such as apps/*/{site}-{env}, each dimension once"
        raise BrokenFile(f"{pattern!r} is no pattern of folders", where=where, hint=hint)


def _pattern(folder: str, values: Mapping[str, str]) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    for found in _PLACE.finditer(folder):
        parts += [_literal(folder[at : found.start()]), f"(?P<{found[1]}>{values[found[1]]})"]
        at = found.end()
    return re.compile("".join([*parts, _literal(folder[at:])]))


def _literal(text: str) -> str:
    return "[^/]*".join(map(re.escape, text.strip("\n").split("*")))


def _waivers(entries: Any, path: Path) -> tuple[Waiver, ...]:
    if entries is not None and not isinstance(entries, list):
        raise BrokenFile("waivers needs to be a list", where=str(path))
    return tuple(_waiver(each, f"{path}: waiver {number}", path) for number, each in enumerate(entries or (), 1))


def _waiver(entry: Any, where: str, path: Path) -> Waiver:
    if not isinstance(entry, dict):
        raise BrokenFile("needs to be a mapping", where=where)
    only_keys(entry, ("path", "stacks", "until", "reason"), where)
    with located(where):
        said, reason = text_at(entry, "path", path), text_at(entry, "reason", path).strip()
        stacks = texts_at(entry, "stacks", path)
    if not said or not reason or "until" not in entry:
        raise BrokenFile("needs path, until and reason", where=where, hint="one that never ends is no waiver")
    if "stacks" in entry and not stacks:
        raise BrokenFile("an empty list of stacks means none", where=where, hint="leave it out for all")
    return Waiver(_steps(said, where), stacks, day_at(entry, "until", where), reason, where)


def _steps(path: str, where: str) -> tuple[str, ...]:
    steps = tuple(path.split("."))
    if not all(steps) or any(each.isspace() for each in steps):
        raise BrokenFile(f"{path!r} is no path", where=where, hint="such as web.labels.company")
    return steps


def _dimension(entry: Any, number: int, path: Path) -> Dimension:
    where = f"{path}: dimension {number}"
    if not isinstance(entry, dict):
        raise BrokenFile("needs to be a mapping with a name", where=where)
    only_keys(entry, _KEYS, where)
    with located(where):
        name, folder = text_at(entry, "name", path), text_at(entry, "folder", path)
        files, final = texts_at(entry, "files", path), texts_at(entry, "final", path)
    _check_name(name, "name", where)
    where = f"{where} ({name})"
    values, optional = entry.get("values"), entry.get("optional", False)
    if not isinstance(optional, bool):
        raise BrokenFile("optional needs to be true or false", where=where)
    if sum(map(bool, (values, folder, files))) != 1:
        raise BrokenFile(
            "needs either files, values or folder", where=where, hint="files are for every stack; values by name"
        )
    finals = tuple(_steps(each, where) for each in final)
    if files:
        return Dimension(name, {}, tuple(_file(each, path.parent, where) for each in files), optional, finals)
    if folder:
        return Dimension(name, _in_folder(folder, path.parent, where), (), optional, finals)
    return Dimension(name, _values(values, path.parent, where), (), optional, finals)


def _check_name(name: Any, what: str, where: str) -> None:
    is_text = isinstance(name, str) and bool(name) and name.isprintable()
    if not is_text or not _NOT_IN_NAMES.isdisjoint(name):
        raise BrokenFile(
            f"{what} needs to be text without spaces, slashes, commas and =, got {name!r}",
            where=where,
            hint="quote it if YAML reads it as a number or truth value",
        )


def _values(values: Any, root: Path, where: str) -> Mapping[str, tuple[Path, ...]]:
    if not isinstance(values, dict):
        raise BrokenFile("values needs to be a mapping of values to files", where=where)
    if len(values) > _MOST_BASELINES:
        raise BrokenFile(f"has more than {_MOST_BASELINES} values", where=where)
    found: dict[str, tuple[Path, ...]] = {}
    for value, said in values.items():
        _check_name(value, "a value", where)
        files = [said] if isinstance(said, str) else said
        if not isinstance(files, list) or not all(isinstance(each, str) for each in files):
            raise BrokenFile(f"{value} needs to be a list of files", where=where, hint="[] where it has no baseline")
        found[value] = tuple(_file(each, root, where) for each in files)
    return found


def _in_folder(name: str, root: Path, where: str) -> Mapping[str, tuple[Path, ...]]:
    """Every NAME.k in a folder is the baseline of the value NAME."""
    folder = _below(name, root, where)
    try:
        names = sorted(
            each.name for each in folder.iterdir() if each.suffix == ".k" and not each.stem.endswith("_test")
        )
    except OSError as error:
        raise BrokenFile(f"folder {name} cannot be read: {error.strerror}", where=where) from None
    if not names or len(names) > _MOST_BASELINES:
        raise BrokenFile(f"folder {name} needs 1 to {_MOST_BASELINES} files, one NAME.k for each value", where=where)
    found: dict[str, tuple[Path, ...]] = {}
    for each in names:
        _check_name(each.removesuffix(".k"), f"a file's name in {folder.name}", where)
        found[each.removesuffix(".k")] = (_file(f"{name.rstrip('/')}/{each}", root, where),)
    return found


def _file(name: str, root: Path, where: str) -> Path:
    path = _below(name, root, where)
    if not name.endswith(".k") or not path.is_file():
        raise BrokenFile(f"{name} is no KCL file of the repository", where=where, hint="paths start at the root")
    return path


def _below(name: str, root: Path, where: str) -> Path:
    """A path of the repository without `..` and links out of it."""
    path = Path(os.path.normpath(root / name))
    if "\0" in name or not path.is_relative_to(root) or path == root:
        raise BrokenFile(f"{name!r} does not lie below the root", where=where, hint="paths start at the root")
    try:
        refuse_foreign(path, root)
    except OutsideRepository as error:
        raise OutsideRepository(f"{name} {error.message}", where=where, hint=error.hint) from None
    except (OSError, RuntimeError):
        raise BrokenFile(f"{name} is a link that leads nowhere", where=where) from None
    return path


def _refuse_shared(found: Iterable[Dimension], path: Path) -> None:
    """A file that is the baseline of two values would say neither."""
    owners: dict[Path, str] = {}
    for each in found:
        for value in each.values or ("",):
            for baseline in each.baselines(value):
                owner = owners.setdefault(baseline.file, str(baseline))
                if owner != str(baseline):
                    name = baseline.file.relative_to(path.parent)
                    raise BrokenFile(f"{name} is the baseline of both {owner} and {baseline}", where=str(path))


def nearest(name: Any, known: Iterable[str]) -> str:
    near = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f", did you mean {near[0]}?" if near else ""

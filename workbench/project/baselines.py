"""Whether a stack lists the baselines of its coordinates, in the order that dimensions.yaml declares.

Nothing is put in: kcl.yaml says what is compiled, here and by any other KCL compiler. What it says is only held to what
is declared, so that which file wins is never a matter of luck.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from kcl.regular import read_regular_text
from runtimes.base.documents import DocumentError, load_yaml
from workbench.project.bounds import refuse_foreign
from workbench.project.dimensions import DIMENSIONS_FILE, Baseline, Dimensions
from workbench.project.errors import OutsideRepository
from workbench.project.tree import Finding

_LARGEST: Final = 1_000_000
_SETTINGS, _MODULE = "kcl.yaml", "kcl.mod"


@dataclass(frozen=True, slots=True)
class Listed:
    """What a stack is compiled of: files of the repository in their order, and overrides with their lines in
    `settings`, each the path of what it sets."""

    settings: Path
    files: tuple[Path, ...]
    overrides: tuple[tuple[int, str], ...] = ()


def listed_files(folder: Path, project: Path, root: Path) -> Listed:
    """Returns the files that a stack lists, else those of the base and its own. What lies outside is not among them."""
    settings, names = _listed(folder)
    if settings is None:
        files = [*_programs(project / "base"), *_programs(folder)]
    else:
        files = [Path(leads_to(each, str(folder), str(root))) for each in names]
    own = tuple(each for each in files if each.is_relative_to(root) and _is_inside(each, root))
    return Listed(settings or folder, own, tuple(_overrides(settings)) if settings is not None else ())


def _is_inside(path: Path, root: Path) -> bool:
    try:
        refuse_foreign(path, root)
    except (OutsideRepository, OSError, RuntimeError):
        return False
    return True


def _programs(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.suffix == ".k" and not each.stem.endswith("_test"))
    except OSError:
        return []


def _overrides(settings: Path) -> Iterator[tuple[int, str]]:
    try:
        text = read_regular_text(settings, _LARGEST)
        read = tomllib.loads if settings.name == _MODULE else load_yaml
        content = read(text) if "overrides" in text else None
    except (OSError, UnicodeDecodeError, DocumentError, tomllib.TOMLDecodeError, RecursionError):
        return
    match content:
        case {"kcl_cli_configs": {"overrides": list(entries)}} | {"profile": {"overrides": list(entries)}}:
            for each in map(str, entries):
                path = re.split("[:=]", each, maxsplit=1)[0].strip()
                lines = text.split("\n")
                yield next((number for number, line in enumerate(lines, 1) if each in line), 1), path


def baseline_findings(
    folder: Path, project: Path, coordinates: Mapping[str, str], declared: Dimensions
) -> Iterator[Finding]:
    """Yields what of the files that a stack lists is not as its coordinates and the declared order want it."""
    wanted = declared.baselines(coordinates)
    settings, names = _listed(folder)
    if settings is None:
        if wanted:
            yield Finding(
                f"lists no files, so the baseline of {wanted[0]} is not compiled",
                str(folder),
                f"list the baselines in {_SETTINGS}: {_spelled(wanted, declared)}",
            )
        return
    at, root = str(folder), str(declared.root)
    files = [leads_to(each, at, root) for each in names]
    yield from _strangers(files, names, settings, wanted, declared, bool(coordinates))
    yield from _missing(files, settings, wanted, declared)
    yield from _misplaced(files, names, settings, wanted, project)


def _spelled(wanted: Sequence[Baseline], declared: Dimensions) -> str:
    return ", ".join(f"${{KCL_MOD}}/{each.file.relative_to(declared.root)}" for each in wanted)


def _strangers(
    files: Sequence[str],
    names: Sequence[str],
    settings: Path,
    wanted: Sequence[Baseline],
    declared: Dimensions,
    has_coordinates: bool,
) -> Iterator[Finding]:
    for number, file in enumerate(files):
        found = declared.of_path(file)
        if found is None or found in wanted:
            continue
        own = next((each for each in wanted if each.dimension == found.dimension), None)
        is_of = f"the stack is of {own}" if own else f"the stack says no {found.dimension}"
        if not has_coordinates:
            is_of = "the stack says no coordinates"
        hint = "correct the list, or dimensions in stack.yaml"
        yield Finding(f"lists the baseline of {found}, and {is_of}", _line(settings, names[number]), hint)


def _missing(
    files: Sequence[str], settings: Path, wanted: Sequence[Baseline], declared: Dimensions
) -> Iterator[Finding]:
    for each in wanted:
        if str(each.file) not in files:
            name = each.file.relative_to(declared.root)
            hint = f"the order is: {_spelled(wanted, declared)}"
            yield Finding(f"does not list {name}, the baseline of {each}", str(settings), hint)


def _misplaced(
    files: Sequence[str], names: Sequence[str], settings: Path, wanted: Sequence[Baseline], project: Path
) -> Iterator[Finding]:
    """What is listed later wins: a baseline of lower priority, or one after what is the project's own, must not."""
    at = [(files.index(str(each.file)), each) for each in wanted if str(each.file) in files]
    for (one, lower), (other, higher) in pairwise(at):
        if one > other:
            yield Finding(
                f"lists the baseline of {higher} before that of {lower} ({_line(settings, names[one])}), "
                f"and {DIMENSIONS_FILE} gives {higher.dimension} the higher priority",
                _line(settings, names[other]),
                "list them in the declared order: what comes later wins",
            )
    inside = f"{project}{os.sep}"
    own = next((n for n, each in enumerate(files) if each.startswith(inside)), None)
    late = next((each for number, each in at if own is not None and number > own), None)
    if own is not None and late is not None:
        yield Finding(
            f"lists {names[own]} before the baseline of {late}, which would win over it",
            _line(settings, names[own]),
            "baselines come first: what the project and the stack say themselves wins",
        )


def _listed(folder: Path) -> tuple[Path | None, tuple[str, ...]]:
    """Returns the file that lists what is compiled, with what it lists; None where none does."""
    for name, read in ((_SETTINGS, _in_settings), (_MODULE, _in_module)):
        path = folder / name
        if not path.is_symlink():  # a link out of the repository is refused when the stack is compiled
            try:
                names = read(read_regular_text(path, _LARGEST))
            except (OSError, UnicodeDecodeError):
                continue
            if names is not None:
                return path, names
    return None, ()


@lru_cache(maxsize=1024)
def _in_settings(text: str) -> tuple[str, ...] | None:
    """What a kcl.yaml lists: those of stacks are often the same. None where it can't be read, which compiling says."""
    try:
        match load_yaml(text):
            case {"kcl_cli_configs": {"files": list(files)}} if files:
                return tuple(map(str, files))
            case {"kcl_cli_configs": {"file": list(files)}} if files:
                return tuple(map(str, files))
    except DocumentError:
        pass
    return None


@lru_cache(maxsize=1024)
def _in_module(text: str) -> tuple[str, ...] | None:
    try:
        match tomllib.loads(text):
            case {"profile": {"entries": list(files)}} if files:
                return tuple(map(str, files))
    except (tomllib.TOMLDecodeError, RecursionError):
        pass
    return None


def leads_to(name: str, folder: str, root: str) -> str:
    """Where a listed name leads; the module of a stack is the repository, or a package that lists files so too."""
    return _in_root(name, root) if name.startswith("${") else os.path.normpath(os.path.join(folder, name))  # noqa: PTH118


@lru_cache(maxsize=4096)
def _in_root(name: str, root: str) -> str:
    """The files of the repository that stacks list are the same few."""
    return os.path.normpath(os.path.join(root, name.partition("}")[2].lstrip("/")))  # noqa: PTH118


def _line(settings: Path, name: str) -> str:
    """The place of a name in the file that lists it."""
    try:
        lines = read_regular_text(settings, _LARGEST).split("\n")
    except (OSError, UnicodeDecodeError):
        return str(settings)
    return next((f"{settings}:{number}" for number, each in enumerate(lines, 1) if name in each), str(settings))

"""Which program a file is checked as a part of.

A file of a stack means little by itself: `kcl.yaml` says with which others it is compiled, and base files are named by
the `kcl.yaml` of the stacks beside them. A file of models belongs to the package of its folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kcl.diagnostics import KclError
from kcl.loader import Settings, default_settings_file, find_root, load_settings, merge_settings, profile_run
from kcl.loader.texts import reading
from kcl.memo.queries import Memo
from kcl.records import dataclass
from kcl.source import FileSystem

_ROOT = "${KCL_MOD}"


@dataclass(frozen=True, slots=True)
class Unit:
    """The files of a program, as a command line names them, and the folder they are relative to."""

    folder: str
    files: tuple[str, ...]
    package_maps: tuple[tuple[str, str], ...] = ()


def unit_of(path: str, files: FileSystem, memo: Memo) -> Unit:
    """The program that a file is checked in: that of a stack that names it, else its package, else itself."""
    root = find_root(os.path.dirname(path), files)
    for folder in _folders(path, files):
        found = _by_settings(path, folder, root, files, memo)
        if found is not None:
            return found
    if root is None:
        return alone(path)
    return _by_entries(path, root, files, memo) or package_of(path, files)


def _folders(path: str, files: FileSystem) -> Iterator[str]:
    """Folders whose settings may name a file: its own, those above, and those beside its own."""
    own = os.path.dirname(path)
    yield own
    above = os.path.dirname(own)
    if above != own:
        yield from (each for name in files.list_dir(above) if (each := os.path.join(above, name)) != own)


def _by_settings(path: str, folder: str, root: str | None, files: FileSystem, memo: Memo) -> Unit | None:
    settings_file = default_settings_file(folder, files)
    if settings_file is None:
        return None
    try:
        found = load_settings(settings_file, files, request=reading(memo, files.read_text))
    except KclError:  # what is wrong with it is said to those who run the stack
        return None
    return _unit_naming(path, folder, root, merge_settings([found]))


def _unit_naming(path: str, folder: str, root: str | None, settings: Settings) -> Unit | None:
    if any(_absolute(name, folder, root) == path for name in settings.files):
        return Unit(folder, tuple(settings.files), tuple(settings.package_maps.items()))
    return None


def _absolute(name: str, folder: str, root: str | None) -> str:
    if name.startswith(_ROOT) and root is not None:
        return os.path.normpath(root + "/" + name[len(_ROOT) :].lstrip("/\\"))
    return os.path.normpath(os.path.join(folder, name))


def _by_entries(path: str, root: str, files: FileSystem, memo: Memo) -> Unit | None:
    try:
        found = profile_run(root, files, reading(memo, files.read_text))
    except (KclError, OSError, UnicodeDecodeError):
        return None
    return None if found is None else _unit_naming(path, root, root, Settings(files=found.files))


def alone(path: str) -> Unit:
    """A file as a program of its own."""
    return Unit(os.path.dirname(path), (path,))


def package_of(path: str, files: FileSystem) -> Unit:
    """The files of a folder that make a package, and this one whatever its name is."""
    folder = os.path.dirname(path)
    names = [
        name
        for name in files.list_dir(folder)
        if name.endswith(".k") and not name.startswith("_") and not name.endswith("_test.k")
    ]
    found = [each for name in names if files.is_file(each := os.path.join(folder, name))]
    return Unit(folder, tuple(found if path in found else [*found, path]))

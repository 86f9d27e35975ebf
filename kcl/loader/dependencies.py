"""Where the packages lie that a program depends on. Nothing here reaches the network.

A package with a local path lies there. Any other lies in the folder `vendor` beside the program's kcl.mod, or in the
folder of downloaded packages, under its name and version; kcl.mod.lock tells which version, and the checksum of what
must be there. What packages need themselves is found the same way, and what the program asks for wins over what they
ask for.
"""

from __future__ import annotations

import os.path
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Label, error
from kcl.loader.lock import Locked, read_lock
from kcl.loader.manifest import MANIFEST_NAME, Manifest, read_manifest
from kcl.loader.requirement import LocalSource, Requirement, import_name
from kcl.source import FileSystem

VENDOR_FOLDER: Final = "vendor"
_UPDATE: Final = "run 'kcl mod update' to download what is missing and to write kcl.mod.lock"


@dataclass(frozen=True, slots=True)
class Dependency:
    """One package that a program may import."""

    requirement: Requirement
    folder: str | None
    """None when it is not on this machine."""
    locked: Locked | None
    looked_in: tuple[str, ...] = ()
    """Folders it would be in."""

    def problem(self, file_system: FileSystem) -> Diagnostic | None:
        """What keeps the package from being imported, None when nothing does. Reads all its files for the checksum."""
        name = self.requirement.key
        label = Label(self.requirement.span, "it is asked for here")
        if self.folder is None:
            places = " or ".join(self.looked_in) or "any folder of downloaded packages"
            message = f"the package '{name}' is not on this machine: it is not in {places}"
            return error(Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=(_UPDATE,))
        if isinstance(self.requirement.source, LocalSource):
            if file_system.is_dir(self.folder):
                return None
            message = f"the folder of the package '{name}' is not there: {self.folder}"
            return error(
                Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=("correct its path in kcl.mod",)
            )
        if self.locked is None or not self.locked.sum:
            return None
        from kcl.loader.checksum import checksum  # few programs have locked packages

        found = checksum(self.folder, file_system)
        if found == self.locked.sum:
            return None
        where = Label(self.locked.span, "this is its checksum") if self.locked.span is not None else label
        message = f"the package '{name}' in {self.folder} is not what was locked: its checksum is {found}"
        notes = (f"remove the folder and run 'kcl mod pull' to download {self.locked.full_name} again",)
        return error(Code.CANNOT_FIND_MODULE, message, None, labels=(where,), notes=notes)


def find_dependencies(
    root: str, manifest: Manifest, file_system: FileSystem, *, downloaded: str | None, vendored: bool = False
) -> Mapping[str, Dependency]:
    """Every package the program in `root` may import, by the name imports use.

    `downloaded` is the folder of packages that were downloaded earlier, None for none; with `vendored`, or where
    kcl.mod says so, only the folder `vendor` counts. Raises KclError for a broken kcl.mod or kcl.mod.lock.
    """
    if not manifest.requirements:
        return {}
    locked = {import_name(name): item for name, item in read_lock(root, file_system).items()}
    own = {requirement.name for requirement in manifest.requirements}
    vendor = os.path.join(root, VENDOR_FOLDER)
    places = [vendor] if vendored or manifest.vendored or downloaded is None else [vendor, downloaded]
    found: dict[str, Dependency] = {}
    waiting = deque(manifest.requirements)
    while waiting:
        requirement = waiting.popleft()
        if requirement.name in found:
            continue
        chosen = locked.get(requirement.name)
        if chosen is not None and requirement.name in own and requirement.wanted not in ("", chosen.version):
            chosen = None  # kcl.mod was changed since
        dependency = _located(requirement, chosen, places, file_system)
        found[requirement.name] = dependency
        if dependency.folder is not None and file_system.is_file(os.path.join(dependency.folder, MANIFEST_NAME)):
            waiting += read_manifest(dependency.folder, file_system).requirements
    return found


def _located(requirement: Requirement, locked: Locked | None, places: list[str], file_system: FileSystem) -> Dependency:
    if isinstance(requirement.source, LocalSource):
        return Dependency(requirement, requirement.source.path, None)
    names = (*((locked.full_name,) if locked is not None else ()), *requirement.folder_names)
    for place in places:
        for name in names:
            folder = os.path.join(place, name)
            if file_system.is_dir(folder):
                return Dependency(requirement, folder, locked)
    return Dependency(requirement, None, locked, tuple(os.path.join(place, names[0]) for place in places))

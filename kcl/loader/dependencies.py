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
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Label, error
from kcl.loader.lock import Locked, read_lock
from kcl.loader.manifest import MANIFEST_NAME, Manifest, read_manifest
from kcl.loader.requirement import LocalSource, Requirement, import_name
from kcl.records import dataclass, replace
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
    root: str = ""
    """The program's, whose kcl.mod.lock has to tell what the package holds."""

    def is_checked(self, *, needs_sum: bool) -> bool:
        """Whether it depends on a checksum that it may be imported."""
        if isinstance(self.requirement.source, LocalSource):
            return False
        return needs_sum or (self.locked is not None and bool(self.locked.sum))

    def problem(self, file_system: FileSystem, *, needs_sum: bool = False) -> Diagnostic | None:
        """What keeps the package from being imported, None when nothing does. Reads all its files for the checksum.

        With `needs_sum`, a package that nothing says the checksum of is not taken on trust.
        """
        name = self.requirement.key
        label = Label(self.requirement.span, "it is asked for here")
        if self.folder is None:
            places = " or ".join(self.looked_in) or "any folder of downloaded packages"
            message = f"the package '{name}' is not on this machine: it is not in {places}"
            return error(Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=(_UPDATE,))
        refusal = file_system.refusal(self.folder)
        if refusal is not None:
            message = f"the folder of the package '{name}', {self.folder}, {refusal.reason}"
            return error(Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=(refusal.hint,))
        if isinstance(self.requirement.source, LocalSource):
            if file_system.is_dir(self.folder):
                return None
            message = f"the folder of the package '{name}' is not there: {self.folder}"
            return error(
                Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=("correct its path in kcl.mod",)
            )
        if self.locked is None or not self.locked.sum:
            return self._unlocked(label) if needs_sum else None
        from kcl.loader.checksum import checksum, uncovered_files  # few programs have locked packages

        found = checksum(self.folder, file_system)
        if found == self.locked.sum:
            uncovered = next(uncovered_files(self.folder, file_system), None)
            if uncovered is None or not needs_sum:
                return None
            message = f"the package '{name}' in {self.folder} has a file that no checksum covers: {uncovered}"
            notes = ("remove it, or give it a name without .tar and .git in it",)
            return error(Code.CANNOT_FIND_MODULE, message, None, labels=(label,), notes=notes)
        where = Label(self.locked.span, "this is its checksum") if self.locked.span is not None else label
        message = f"the package '{name}' in {self.folder} is not what was locked: its checksum is {found}"
        notes = (f"remove the folder and run 'kcl mod pull' to download {self.locked.full_name} again",)
        return error(Code.CANNOT_FIND_MODULE, message, None, labels=(where,), notes=notes)

    def _unlocked(self, label: Label) -> Diagnostic:
        name = self.requirement.key
        if self.locked is None:
            message = f"the package '{name}' in {self.folder} is not locked: no kcl.mod.lock says what it must hold"
            labels = (label,)
        else:
            message = f"the package '{name}' in {self.folder} is locked without its checksum"
            labels = (Label(self.locked.span, "there is no `sum` here") if self.locked.span is not None else label,)
        notes = (f"run 'kcl mod update' in {self.root}: it writes kcl.mod.lock with the checksum; commit that file",)
        return error(Code.CANNOT_FIND_MODULE, message, None, labels=labels, notes=notes)


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
        dependency = replace(_located(requirement, chosen, places, file_system), root=root)
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

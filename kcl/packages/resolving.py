"""What a package needs, what that needs in turn, and one version of each.

What the program's own kcl.mod asks for is taken as it stands. Of what only other packages ask for, the newest version
any of them names is taken. Versions that kcl.mod.lock holds stay, unless they are to be renewed.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final, assert_never

from kcl.diagnostics import KclError
from kcl.loader.checksum import checksum
from kcl.loader.dependencies import VENDOR_FOLDER
from kcl.loader.lock import Locked
from kcl.loader.manifest import MANIFEST_NAME, Manifest, read_manifest
from kcl.loader.requirement import GitSource, LocalSource, OciSource, Requirement, import_name
from kcl.packages import archive, oci
from kcl.packages.failure import PackageFailure
from kcl.packages.git import Git
from kcl.packages.store import Store
from kcl.packages.versions import newest, order
from kcl.records import dataclass, field, replace
from kcl.source import OsFileSystem

DEFAULT_REGISTRY: Final = "ghcr.io"
DEFAULT_REPOSITORY: Final = "kcl-lang"
_FILES: Final = OsFileSystem()
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class Resolved:
    """One package that was chosen, and is on this machine."""

    requirement: Requirement
    """With the version that was found where none was asked for."""
    folder: Path
    locked: Locked
    needs: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """By the name imports use, every package a program needs."""

    packages: Mapping[str, Resolved]
    notes: tuple[str, ...] = ()
    """What a person should know: versions that were asked for and are not used."""


@dataclass(slots=True)
class Resolver:
    """Finds packages, downloading what is not there."""

    store: Store
    environment: Mapping[str, str]
    tell: Callable[[str], None]
    """Told, in a line, of everything that takes time."""
    check_sums: bool = True
    _registries: dict[str, oci.Registry] = field(default_factory=dict)

    def resolve(
        self, manifest: Manifest, locked: Mapping[str, Locked], *, renew: Collection[str] | None = ()
    ) -> Resolution:
        """Everything `manifest` needs. Versions of `locked` are kept but for the names in `renew`; None renews all.

        Raises PackageFailure, and KclError for a broken kcl.mod of a package.
        """
        known = {import_name(name): item for name, item in locked.items()}
        chosen: dict[str, Resolved] = {}
        notes: list[str] = []
        own = {requirement.name for requirement in manifest.requirements}
        waiting = deque((requirement, 0) for requirement in manifest.requirements)
        while waiting:
            requirement, depth = waiting.popleft()
            name = requirement.name
            previous = chosen.get(name)
            if previous is not None:
                older = order(requirement.wanted) <= order(previous.requirement.wanted)
                if older or name in own or isinstance(previous.requirement.source, LocalSource):
                    if not older:
                        notes.append(
                            f"{name}: kcl.mod asks for {previous.requirement.wanted or 'a folder'}, "
                            f"another package for {requirement.wanted}"
                        )
                    continue
            if depth > _DEEPEST:
                raise PackageFailure(f"packages need one another more than {_DEEPEST} levels deep, at '{name}'")
            renewed = renew is None or name in renew
            kept = None if renewed else known.get(name)
            decided = kept.source if kept is not None and name not in own else None
            if kept is not None and decided is not None:
                # What another package asks for was decided before; a newer version than that still wins.
                if order(requirement.wanted) > order(kept.version):
                    kept = None
                elif not isinstance(requirement.source, LocalSource):
                    requirement = replace(requirement, source=decided, version=kept.version)
            found = self._found(requirement, kept, renewed=renewed)
            chosen[name] = found
            waiting += [(needed, depth + 1) for needed in found.needs]
        return Resolution(chosen, tuple(notes))

    def fetch(self, requirement: Requirement, target: Path) -> Requirement:
        """Writes the package into the folder `target`, which must not exist, and answers what exactly it was."""
        match requirement.source:
            case LocalSource(path=path):
                _copy_package(Path(path), target)
                return requirement
            case GitSource() as source:
                return self._clone(requirement, source, target)
            case OciSource() as source:
                return self._pull(requirement, source, target)
            case _:
                assert_never(requirement.source)

    # ---------------------------------------------------------------- one package

    def _found(self, requirement: Requirement, locked: Locked | None, *, renewed: bool) -> Resolved:
        if isinstance(requirement.source, LocalSource):
            folder = Path(requirement.source.path)
            if not folder.is_dir():
                raise PackageFailure(
                    f"the folder of the package '{requirement.key}' is not there: {folder}",
                    "correct its path in kcl.mod",
                )
            manifest = read_manifest(str(folder), _FILES)
            full_name = f"{manifest.name or requirement.key}_{manifest.version}"
            return Resolved(
                requirement, folder, Locked(requirement.key, full_name, manifest.version), manifest.requirements
            )
        if locked is not None and requirement.wanted not in ("", locked.version):
            locked = None
        if locked is not None and not requirement.wanted and locked.source is not None:
            requirement = replace(requirement, source=locked.source, version=locked.version)
        exact = self._exact(requirement)
        folder = self.store.path(f"{exact.package}_{exact.wanted}")
        moves = isinstance(exact.source, GitSource) and bool(exact.source.branch)
        if not folder.is_dir() or (renewed and moves):
            self.tell(f"downloading {exact.package} {exact.wanted}")
            self.store.put(folder.name, lambda target: _ignore(self.fetch(exact, target)))
        found = checksum(str(folder), _FILES)
        if locked is not None and locked.sum and locked.sum != found and self.check_sums:
            raise PackageFailure(
                f"the package '{exact.key}' {exact.wanted} is not what kcl.mod.lock holds: its checksum is {found}, "
                f"there it is {locked.sum}",
                f"if that is right, run 'kcl mod update {exact.key}'; else find out who changed it",
            )
        manifest = read_manifest(str(folder), _FILES)
        source = self._addressed(exact) if isinstance(exact.source, OciSource) else exact.source
        assert not isinstance(source, LocalSource)
        entry = Locked(exact.key, folder.name, exact.wanted, found, source)
        return Resolved(exact, folder, entry, manifest.requirements)

    def _exact(self, requirement: Requirement) -> Requirement:
        """The requirement with a version: the newest there is, where none was asked for."""
        if requirement.wanted:
            return requirement
        match requirement.source:
            case OciSource():
                source = self._addressed(requirement)
                self.tell(f"asking {source.registry} for the versions of {source.repository}")
                latest = newest(self._registry(source).tags(source.repository))
                if latest is None:
                    raise PackageFailure(f"{source.registry}/{source.repository} has no version")
                return replace(requirement, source=replace(requirement.source, tag=latest))
            case GitSource(url=url):
                self.tell(f"asking {url} for its newest state")
                commit = Git(self.environment).newest_commit(url)
                return replace(requirement, source=replace(requirement.source, commit=commit))
            case LocalSource():
                return requirement
            case _:
                assert_never(requirement.source)

    def _clone(self, requirement: Requirement, source: GitSource, target: Path) -> Requirement:
        if not source.reference and requirement.version:
            source = replace(source, tag=requirement.version)
        work = target.with_name(target.name + ".clone")
        try:
            commit = Git(self.environment).check_out(source, work)
            archive.check_folder(work)
            _package_folder(work, requirement.package).rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if source.reference:
            return requirement
        return replace(requirement, source=replace(source, commit=commit))

    def _pull(self, requirement: Requirement, source: OciSource, target: Path) -> Requirement:
        exact = self._exact(requirement)
        place = self._addressed(exact)
        artifact = self._registry(place).pull(place.repository, place.tag)
        archive.unpack(artifact.data, target)
        declared = artifact.annotations.get(oci.SUM)
        if declared and self.check_sums:
            found = checksum(str(target), _FILES)
            manifest = read_manifest(str(target), _FILES)
            # The official tool sums up the folder a package was published from, with what was kept back.
            if found != declared and not (manifest.include or manifest.exclude):
                raise PackageFailure(
                    f"the package {place.registry}/{place.repository}:{place.tag} says its checksum is {declared}, "
                    f"but it is {found}",
                    "ask who published it, or say --no_sum_check",
                )
        return exact

    def _addressed(self, requirement: Requirement) -> OciSource:
        """The package's place in a registry, with the defaults filled in."""
        source = requirement.source
        assert isinstance(source, OciSource)
        registry = source.registry or self.environment.get("KPM_REG") or DEFAULT_REGISTRY
        below = self.environment.get("KPM_REPO") or DEFAULT_REPOSITORY
        repository = source.repository or f"{below}/{requirement.package}"
        return OciSource(registry, repository, source.tag or requirement.version)

    def _registry(self, place: OciSource) -> oci.Registry:
        if place.registry not in self._registries:
            self._registries[place.registry] = oci.Registry(place.registry, self.environment)
        return self._registries[place.registry]

    def registry_of(self, requirement: Requirement) -> tuple[oci.Registry, OciSource]:
        """The registry a package lies in, and its place there."""
        place = self._addressed(requirement)
        return self._registry(place), place


def _ignore(requirement: Requirement) -> None:
    """What was fetched is known already."""


def _package_folder(folder: Path, package: str) -> Path:
    """The folder of the package in a repository: its root, or the one folder whose kcl.mod has the name."""
    if (folder / MANIFEST_NAME).is_file():
        try:
            if import_name(read_manifest(str(folder), _FILES).name) in ("", import_name(package)):
                return folder
        except KclError:
            return folder
    for path in sorted(folder.rglob(MANIFEST_NAME)):
        try:
            if import_name(read_manifest(str(path.parent), _FILES).name) == import_name(package):
                return path.parent
        except KclError:
            continue
    return folder


def _copy_package(source: Path, target: Path) -> None:
    """A folder as it would be published, without what else lies in it."""
    archive.unpack(archive.packed(source), target)


def vendor(resolution: Resolution, root: Path) -> list[Path]:
    """Copies everything but packages with a local path into the folder `vendor` of `root`."""
    store = Store(root / VENDOR_FOLDER)
    return [
        store.copy(item.folder, item.locked.full_name)
        for item in resolution.packages.values()
        if not isinstance(item.requirement.source, LocalSource)
    ]

"""`kcl mod`: the only commands that reach other machines, and only when one of them is called.

kcl mod init NAME              a new package
kcl mod add SOURCE             ask for a package, and download it
kcl mod update [NAME...]       newer versions, and kcl.mod.lock
kcl mod pull [SOURCE]          download what kcl.mod.lock holds, or one package into a folder
kcl mod vendor                 copy everything into the folder vendor
kcl mod graph | metadata       what needs what, and where it lies
kcl mod pkg | push             make a tar file of this package, publish it
"""

from __future__ import annotations

import argparse
import json
import os.path
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from kcl import whole_file
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import KclError, render
from kcl.loader.checksum import checksum
from kcl.loader.dependencies import find_dependencies
from kcl.loader.load import downloaded_folder
from kcl.loader.lock import LOCK_NAME, Locked, lock_text, read_lock
from kcl.loader.manifest import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.requirement import (
    GitSource,
    LocalSource,
    OciSource,
    Requirement,
    Source,
    import_name,
    oci_place,
    repository_name,
)
from kcl.loader.toml_text import line_of_key, quoted
from kcl.packages import archive, oci
from kcl.packages.editing import requirement_value, with_dependency
from kcl.packages.failure import PackageFailure
from kcl.packages.git import canonical_url
from kcl.packages.resolving import Resolution, Resolver, vendor
from kcl.packages.store import Store
from kcl.records import dataclass, replace
from kcl.source import OsFileSystem

OK, FAILED, USAGE = 0, 1, 2
EDITION: Final = "v0.11.2"
_FILES: Final = OsFileSystem()


@dataclass(frozen=True, slots=True)
class _Call:
    """One command that was given, and where it may write."""

    arguments: argparse.Namespace
    folder: Path
    environment: Mapping[str, str]
    stdout: TextIO
    stderr: TextIO

    def tell(self, line: str) -> None:
        if not self.arguments.quiet:
            self.stderr.write(f"{line}\n")


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(prog="kcl mod", description="Packages: what this one needs, and where it comes from.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, does: Callable[[_Call], int], about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about)
        made.set_defaults(does=does)
        made.add_argument("-q", "--quiet", action="store_true", help="say nothing but what went wrong")
        return made

    init = command("init", _init, "make a new package")
    init.add_argument("name", nargs="?", help="by default that of this folder, which then becomes the package")
    init.add_argument("--version", default="0.0.1")
    add = command("add", _add, "ask for a package and download it")
    _add_source(add)
    add.add_argument("--rename", default="", metavar="NAME", help="what imports call it")
    update = command("update", _update, "take newer versions where kcl.mod allows them, and write kcl.mod.lock")
    update.add_argument("names", nargs="*", metavar="NAME", help="only these; NAME:VERSION changes kcl.mod")
    pull = command("pull", _pull, "download what kcl.mod.lock holds, or one package into a folder")
    _add_source(pull)
    pull.add_argument("-o", "--output", metavar="FOLDER", help="the folder to put it into, by default one of its name")
    push = command("push", _push, "publish this package: oci://HOST/PATH, or the default registry")
    push.add_argument("target", nargs="?", default="", metavar="OCI_URL")
    push.add_argument("--tag", "-t", default="", help="by default the version of kcl.mod")
    push.add_argument("--force", "-f", action="store_true", help="also over a version that is there already")
    pkg = command("pkg", _pkg, "make a tar file of this package")
    pkg.add_argument("--target", default=".", metavar="FOLDER")
    command("graph", _graph, "print which package needs which")
    metadata = command("metadata", _metadata, "print where the packages are, as JSON")
    metadata.add_argument("--vendor", action="store_true", help="look only into the folder vendor")
    command("vendor", _vendor, "copy all packages into the folder vendor")
    for made in (add, update, pull):
        made.add_argument("--no_sum_check", action="store_true", help="believe what was downloaded")
    return parser


def _add_source(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", nargs="?", default="", help="NAME, NAME:VERSION, a folder, git://.., oci://.. or https://..")
    add("--git", default="", metavar="URL")
    add("--oci", default="", metavar="URL")
    add("--path", default="", metavar="FOLDER")
    add("--tag", "-t", default="")
    add("--branch", "-b", default="")
    add("--commit", "-c", default="")


def main(
    argv: Sequence[str], *, cwd: str, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]
) -> int:
    """Runs one command and answers its exit status: 0, 1 when it could not be done, 2 when it makes no sense."""
    try:
        arguments = _parser(stdout).parse_args(list(argv))
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    except HelpPrinted:
        return OK
    try:
        return int(arguments.does(_Call(arguments, Path(cwd).absolute(), environment, stdout, stderr)))
    except UsageError as problem:
        stderr.write(f"kcl mod {arguments.command}: {problem}\n")
        return USAGE
    except PackageFailure as problem:
        stderr.write(f"kcl mod {arguments.command}: {problem}\n")
        if problem.advice:
            stderr.write(f"  {problem.advice}\n")
    except KclError as problem:
        stderr.write(render(problem.diagnostics, _sources(problem)))
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        stderr.write(f"kcl mod {arguments.command}: {where}{problem.strerror or problem}\n")
    return FAILED


def _sources(problem: KclError) -> dict[str, str]:
    """The texts that the diagnostics point into."""
    spans = [item.primary for item in problem.diagnostics if item.primary is not None]
    return {span.path: _FILES.read_text(span.path) for span in spans if _FILES.is_file(span.path)}


# ---------------------------------------------------------------- what all commands do


def _package(call: _Call) -> tuple[Path, Manifest]:
    root = find_root(str(call.folder), _FILES)
    if root is None:
        raise PackageFailure(f"there is no {MANIFEST_NAME} in {call.folder} or above", "run 'kcl mod init' first")
    return Path(root), read_manifest(root, _FILES)


def _resolver(call: _Call) -> Resolver:
    folder = downloaded_folder(call.environment)
    if folder is None:
        raise PackageFailure("there is no folder for downloaded packages", "set KCL_PKG_PATH, or HOME")
    check = not getattr(call.arguments, "no_sum_check", False)
    return Resolver(Store(Path(folder)), call.environment, call.tell, check_sums=check)


def _write_lock(root: Path, resolution: Resolution, call: _Call) -> None:
    text = lock_text(item.locked for item in resolution.packages.values())
    path = root / LOCK_NAME
    if text or path.exists():
        whole_file.save(path, text.encode())
    for note in resolution.notes:
        call.tell(f"note: {note}")


def _source_of(call: _Call) -> Requirement | None:
    """What the arguments ask for, None when they name no package. Raises UsageError when they contradict."""
    arguments = call.arguments
    given = [text for text in (arguments.source, arguments.git, arguments.oci, arguments.path) if text]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"only one package at a time, got {' and '.join(given)}")
    states = [name for name in ("tag", "branch", "commit") if getattr(arguments, name)]
    if len(states) > 1:
        raise UsageError(f"only one of --tag, --branch and --commit can hold, got {' and '.join(states)}")
    text = given[0]
    kind = _kind(text, call)
    name, version = "", arguments.tag
    source: Source
    match kind:
        case "path":
            folder = Path(call.folder, text).absolute()
            source = LocalSource(os.path.normpath(folder), text)
            name = read_manifest(str(folder), _FILES).name or folder.resolve().name
        case "git":
            source = GitSource(canonical_url(text), arguments.tag, arguments.branch, arguments.commit)
            name = repository_name(text)
        case "oci":
            place = oci_place("oci://" + text.partition("://")[2])
            if place is None:
                raise UsageError(f"'{text}' is no address of a package, write oci://HOST/PATH")
            source = OciSource(*place, arguments.tag)
            name = repository_name(place[1])
        case _:
            name, _, in_name = text.partition(":")
            version = arguments.tag or in_name
            source = OciSource("", "", version)
    if kind != "git" and (arguments.branch or arguments.commit):
        raise UsageError("--branch and --commit are for git repositories")
    span = line_of_key("", "", "", "")
    return Requirement(getattr(arguments, "rename", "") or name, name, source, span, version)


def _kind(text: str, call: _Call) -> str:
    arguments = call.arguments
    if arguments.git:
        return "git"
    if arguments.oci or text.startswith("oci://"):
        return "oci"
    if arguments.path:
        return "path"
    if text.startswith(("git://", "git@", "ssh://", "https://", "http://", "file://")):
        return "git"
    if Path(call.folder, text).is_dir() and (os.sep in text or text.startswith(".")):
        return "path"
    return "registry"


# ---------------------------------------------------------------- commands


def _init(call: _Call) -> int:
    name = call.arguments.name
    root = Path(call.folder, name) if name else call.folder
    package = Path(name).name if name else root.name
    if not package.replace("-", "_").isidentifier():
        raise UsageError(f"'{package}' cannot be the name of a package: letters, digits, - and _ make one")
    if (root / MANIFEST_NAME).exists():
        raise PackageFailure(f"{root / MANIFEST_NAME} is there already")
    root.mkdir(parents=True, exist_ok=True)
    version = quoted(call.arguments.version)
    text = f"[package]\nname = {quoted(package)}\nedition = {quoted(EDITION)}\nversion = {version}\n"
    whole_file.save(root / MANIFEST_NAME, text.encode())
    (root / LOCK_NAME).touch()
    main_file = root / "main.k"
    if not main_file.exists():
        whole_file.save(main_file, b"The_first_kcl_program = 'Hello World!'\n")
    call.tell(f"created the package '{package}' in {root}")
    return OK


def _add(call: _Call) -> int:
    root, manifest = _package(call)
    requirement = _source_of(call)
    if requirement is None:
        raise UsageError("say which package: NAME, NAME:VERSION, a folder, --git URL, --oci URL or --path FOLDER")
    if isinstance(requirement.source, LocalSource):
        if Path(requirement.source.path).resolve() == root.resolve():
            raise UsageError("a package cannot depend on itself")
        written = requirement.source.written
        if not Path(written).is_absolute():
            written = os.path.relpath(requirement.source.path, root)
        requirement = replace(requirement, source=replace(requirement.source, written=written))
    if import_name(manifest.name) == requirement.name:
        raise UsageError(f"this package is called '{manifest.name}' itself; --rename gives the other another name")
    others = tuple(item for item in manifest.requirements if item.name != requirement.name)
    locked = {
        name: item for name, item in read_lock(str(root), _FILES).items() if import_name(name) != requirement.name
    }
    changed = replace(manifest, requirements=(*others, requirement))
    resolution = _resolver(call).resolve(changed, locked, renew=(requirement.name,))
    exact = resolution.packages[requirement.name].requirement
    text = _FILES.read_text(str(root / MANIFEST_NAME))
    whole_file.save(root / MANIFEST_NAME, with_dependency(text, exact.key, requirement_value(exact)).encode())
    _write_lock(root, resolution, call)
    call.tell(f"added {exact.key} {exact.wanted}".rstrip())
    return OK


def _update(call: _Call) -> int:
    root, manifest = _package(call)
    path = root / MANIFEST_NAME
    names: list[str] = []
    for text in call.arguments.names:
        name, _, version = text.partition(":")
        names.append(import_name(name))
        found = next((item for item in manifest.requirements if item.name == import_name(name)), None)
        if found is None:
            if import_name(name) in map(import_name, read_lock(str(root), _FILES)):
                continue
            raise PackageFailure(f"'{name}' is no dependency of this package", f"run 'kcl mod add {text}'")
        if version:
            if not isinstance(found.source, OciSource | GitSource):
                raise UsageError(f"'{name}' is a folder, which has no versions")
            source: Source = replace(found.source, tag=version)
            if isinstance(source, GitSource):
                source = replace(source, branch="", commit="")
            changed = replace(found, source=source, version=version)
            text = with_dependency(_FILES.read_text(str(path)), found.key, requirement_value(changed))
            whole_file.save(path, text.encode())
            manifest = read_manifest(str(root), _FILES)
    resolution = _resolver(call).resolve(manifest, read_lock(str(root), _FILES), renew=names or None)
    _write_lock(root, resolution, call)
    return OK


def _pull(call: _Call) -> int:
    requirement = _source_of(call)
    resolver = _resolver(call)
    if requirement is None:
        root, manifest = _package(call)
        _write_lock(root, resolver.resolve(manifest, read_lock(str(root), _FILES)), call)
        return OK
    target = Path(call.folder, call.arguments.output or requirement.package)
    if target.exists():
        raise PackageFailure(f"{target} is there already", "say another folder with -o")
    target.parent.mkdir(parents=True, exist_ok=True)
    exact = Store(target.parent)
    got: list[Requirement] = []
    exact.put(target.name, lambda folder: got.append(resolver.fetch(requirement, folder)))
    call.tell(f"pulled {requirement.package} {got[0].wanted} into {target}")
    return OK


def _vendor(call: _Call) -> int:
    root, manifest = _package(call)
    resolution = _resolver(call).resolve(manifest, read_lock(str(root), _FILES))
    for path in vendor(resolution, root):
        call.tell(f"copied {path.relative_to(root)}")
    _write_lock(root, resolution, call)
    return OK


def _graph(call: _Call) -> int:
    """One line for each need, `package@version package@version`, from this package on. Reads this machine only."""
    root, manifest = _package(call)
    found = find_dependencies(str(root), manifest, _FILES, downloaded=downloaded_folder(call.environment))
    versions = {}
    for name, dependency in found.items():
        locked: Locked | None = dependency.locked
        version = locked.version if locked is not None else dependency.requirement.wanted
        if not version and dependency.folder is not None:
            version = read_manifest(dependency.folder, _FILES).version
        versions[name] = f"{dependency.requirement.key}@{version}"
    seen: set[str] = set()
    waiting = [(f"{manifest.name}@{manifest.version}", manifest.requirements)]
    while waiting:
        label, needs = waiting.pop(0)
        for requirement in needs:
            call.stdout.write(f"{label} {versions[requirement.name]}\n")
            folder = found[requirement.name].folder
            if requirement.name not in seen and folder is not None:
                seen.add(requirement.name)
                waiting.append((versions[requirement.name], read_manifest(folder, _FILES).requirements))
    return OK


def _metadata(call: _Call) -> int:
    root, manifest = _package(call)
    found = find_dependencies(
        str(root), manifest, _FILES, downloaded=downloaded_folder(call.environment), vendored=call.arguments.vendor
    )
    packages = {
        name: {"name": name, "manifest_path": dependency.folder or ""} for name, dependency in sorted(found.items())
    }
    call.stdout.write(json.dumps({"packages": packages}) + "\n")
    return OK


def _published(root: Path, manifest: Manifest) -> bytes:
    if not manifest.name or not manifest.version:
        missing = "name" if not manifest.name else "version"
        raise PackageFailure(f"{root / MANIFEST_NAME} has no {missing}", f'write {missing} = "..." under [package]')
    local = [item.key for item in manifest.requirements if isinstance(item.source, LocalSource)]
    if local:
        raise PackageFailure(
            f"'{local[0]}' is a folder of this machine, which nobody else has",
            "publish that package first, then ask for it by version",
        )
    return archive.packed(root, include=manifest.include, exclude=manifest.exclude)


def _pkg(call: _Call) -> int:
    root, manifest = _package(call)
    data = _published(root, manifest)
    folder = Path(call.folder, call.arguments.target)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{manifest.name}_{manifest.version}.tar"
    whole_file.save(path, data)
    call.tell(f"wrote {path}")
    return OK


def _sum_of(data: bytes) -> str:
    """The checksum of what is published: files that are kept back do not count."""
    with tempfile.TemporaryDirectory() as folder:
        archive.unpack(data, Path(folder))
        return checksum(folder, _FILES)


def _push(call: _Call) -> int:
    root, manifest = _package(call)
    data = _published(root, manifest)
    tag = call.arguments.tag or manifest.version
    source = OciSource("", "", tag)
    if call.arguments.target:
        target = oci_place(call.arguments.target)
        if target is None:
            raise UsageError(f"'{call.arguments.target}' is no address, write oci://HOST/PATH")
        source = OciSource(*target, tag)
    wanted = Requirement(manifest.name, manifest.name, source, line_of_key("", "", "", ""), tag)
    registry, place = _resolver(call).registry_of(wanted)
    if not call.arguments.force and registry.has(place.repository, tag):
        raise PackageFailure(
            f"{place.registry}/{place.repository}:{tag} is there already",
            "raise the version in kcl.mod, or say --force to replace what others may rely on",
        )
    annotations = {
        oci.NAME: manifest.name,
        oci.VERSION: manifest.version,
        oci.DESCRIPTION: manifest.description,
        oci.SUM: _sum_of(data),
        oci.CREATED: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    title = f"{manifest.name}_{manifest.version}.tar"
    registry.push(place.repository, tag, title, oci.Artifact(data, annotations))
    call.tell(f"published {place.registry}/{place.repository}:{tag}")
    return OK

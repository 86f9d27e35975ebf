"""Finds and parses every file a program consists of.

Imports are followed by dotted path from the program's root (the folder of the nearest kcl.mod), relative to the
importing file, into external packages (`-E name=path`, kcl.mod dependencies, the vendor folder), or name a module of
the standard library. What lies outside of the root of the importing package, links included, is no part of a program
unless it is such a package. Nothing here knows what the files mean.
"""

from __future__ import annotations

import os
import os.path
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcl.diagnostics import Code, Diagnostic, KclError, Severity, Span, error
from kcl.loader.folders import Found, PackageFolders, package_files
from kcl.loader.manifest import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.profile import entry_names
from kcl.loader.program import MAIN_PACKAGE, Import, Imported, ImportKind, Module, Package, Program
from kcl.loader.queries import (
    IMPORT_TARGET,
    IMPORTED,
    LEAD,
    ODD_STAMP,
    PACKAGE,
    STAMP,
    Files,
    ImportKey,
    ImportTarget,
    LoadedImports,
    LoadedPackage,
    PackageKey,
    Surroundings,
)
from kcl.loader.requirement import import_name
from kcl.loader.texts import PARSED, TEXT, reading
from kcl.memo.inputs import Leads
from kcl.memo.queries import Memo, Request
from kcl.records import dataclass, field, replace
from kcl.source import FileSystem, OutsideBounds, is_normal
from kcl.syntax import ast

if TYPE_CHECKING:
    from kcl.loader.dependencies import Dependency

SYSTEM_MODULES = frozenset(
    {
        "base32",
        "base64",
        "collection",
        "crypto",
        "datetime",
        "file",
        "json",
        "manifests",
        "math",
        "net",
        "regex",
        "runtime",
        "template",
        "units",
        "yaml",
    }
)
"""Names that an import takes from the standard library whatever files there are."""
_NO_TEXT = "KCL is written in UTF-8: save the file so, or take it out of the package if it is no program"
_PLUGIN_PREFIX = "kcl_plugin"
_MOD_VARIABLE = "KCL_MOD"


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What to load: `files` as named on a command line, relative to `work_dir`.

    A name may be a folder (all its files), start with `${KCL_MOD}` (the root) or `${name:KCL_MOD}` (an external
    package). Without any, the entries of kcl.mod are taken, which are relative to its folder. `texts` gives the content
    of files by that same name, instead of reading them.
    """

    files: Sequence[str]
    work_dir: str
    texts: Mapping[str, str] = field(default_factory=dict)
    package_maps: Mapping[str, str] = field(default_factory=dict)
    vendor_dir: str | None = None
    """Folder of packages that were downloaded earlier; None for none."""
    vendored: bool = False
    """Take packages from the folder `vendor` beside kcl.mod and from nowhere else."""
    needs_sums: bool = False
    """Take no package, vendored or downloaded, whose checksum kcl.mod.lock does not tell."""
    dedent_strings: bool | None = None
    """Whether triple-quoted strings lose their common indentation; None leaves it to the age kcl.mod tells."""
    manifest_folder: str | None = None
    """Folder whose kcl.mod names the packages to depend on; None for that of the files."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, and what is wrong with its files. With errors among `diagnostics` it must not be evaluated."""

    program: Program
    manifest: Manifest
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    """Text by path of every file read: what `render` needs."""
    externals: Mapping[str, str] = field(default_factory=dict)
    """The folders of packages outside of the program, by the names they are imported by."""


def load(request: LoadRequest, file_system: FileSystem, memo: Memo | None = None) -> Loaded:
    """Loads the files of `request` and everything they import. Hand one `memo` to every load of the same repository.

    Problems inside the files come back as diagnostics. Raises KclError when a file named in the request is missing.
    """
    return _Loader(request, file_system, Memo() if memo is None else memo).load()


def downloaded_folder(environment: Mapping[str, str]) -> str | None:
    """The folder of downloaded packages, the official tool's, so that both find what either downloaded.

    `KCL_PKG_PATH`, else `.kcl/kpm` in the user's home; None when there is neither.
    """
    if environment.get("KCL_PKG_PATH"):
        return os.path.abspath(environment["KCL_PKG_PATH"])
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return os.path.join(home, ".kcl", "kpm") if home else None


class _Loader:
    """One load; not reusable."""

    def __init__(self, request: LoadRequest, file_system: FileSystem, memo: Memo) -> None:
        self._request = request
        self._fs = file_system
        self._memo = memo
        self._diagnostics: list[Diagnostic] = []
        self._files = Files()
        """Those of the main package, and then all others."""
        self._read = self._files.looked_at
        self._texts = {self._absolute(name): text for name, text in request.texts.items()}
        self._root = ""
        self._roots: dict[str, str] = {}
        self._dedent = True
        self._externals: dict[str, str] = {}
        self._dependencies: Mapping[str, Dependency] = {}
        self._refused: set[str] = set()
        self._ambiguous: set[tuple[str, tuple[str, ...]]] = set()
        self._usable: set[str] = set()
        self._folders = PackageFolders(file_system, self._texts, Leads(file_system.plain_folders()))
        self._main_files: tuple[str, ...] = ()
        self._manifests = reading(memo, file_system.read_text)
        self._code = reading(memo, _given(self._texts, file_system))
        self._surroundings: Surroundings = ("", frozenset())

    def load(self) -> Loaded:
        names, manifest = self._named()
        wanted = self._request.dedent_strings
        self._dedent = not manifest.expects_before_0_5 if wanted is None else wanted
        entries = self._entries(names)
        self._main_files = tuple(path for entry in entries for path in entry.files)
        request = self._new_request()
        modules = tuple(module for entry in entries for module in self._modules(entry, self._files, request))
        main = Package(MAIN_PACKAGE, os.path.dirname(self._main_files[0]), modules)
        known = request.get(IMPORTED, (tuple(self._files.imported), self._dedent, self._surroundings))
        imported = known.imported
        may_add = self._may_add_circles(known.files)
        self._files.add(known.files)
        if known.has_circles or may_add:
            self._report_cycles()
        program = Program(
            root=self._root,
            packages={MAIN_PACKAGE: main, **imported.packages},
            main=main,
            imported=imported,
            work_dir=self._request.work_dir,
            dedents=self._dedent,
            dependencies=frozenset(self._read),
        )
        folders = {name: each.folder for name, each in self._dependencies.items() if each.folder is not None}
        externals = {**folders, **self._externals}
        return Loaded(program, manifest, tuple(self._diagnostics), self._files.sources, externals)

    # ---------------------------------------------------------------- files named in the request

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._request.work_dir, name))

    def _named(self) -> tuple[Sequence[str], Manifest]:
        """The names of what to run, and the kcl.mod that says what packages there are. Finds root and packages."""
        names, folder = self._request.files, self._request.manifest_folder
        if names:
            self._root = self._main_root(names)
        manifest_folder = folder or (self._root if names else self._root_above(self._absolute("")))
        manifest = read_manifest(manifest_folder, self._fs, self._manifests)
        self._read.add(os.path.join(manifest_folder, MANIFEST_NAME))
        if not names:
            names = entry_names(manifest_folder, manifest)
            self._root = self._main_root(names)
        self._find_externals(manifest_folder, manifest)
        return names, self._with_version(manifest_folder, manifest)

    def _with_version(self, folder: str, manifest: Manifest) -> Manifest:
        """With the language version of the package that it lies in and depends on, if it says none itself."""
        around = folder.rstrip(os.sep) + os.sep
        for each in self._dependencies.values():
            if manifest.language_version:
                break
            if each.folder is not None and around.startswith(each.folder.rstrip(os.sep) + os.sep):
                version = read_manifest(each.folder, self._fs, self._manifests).language_version
                manifest = replace(manifest, language_version=version)
        return manifest

    def _main_root(self, names: Iterable[str]) -> str:
        """The folder of the one kcl.mod above the files, that above the working folder where there are several."""
        roots = dict.fromkeys(self._root_of(self._absolute(name)) for name in names if not name.startswith("${"))
        return next(iter(roots)) if len(roots) == 1 else self._root_above(self._absolute(""))

    def _root_of(self, path: str) -> str:
        return self._root_above(path if self._fs.is_dir(path) else os.path.dirname(path))

    def _root_above(self, folder: str) -> str:
        """The nearest folder with a kcl.mod at or above a folder, else that folder itself."""
        if folder not in self._roots:
            self._roots[folder] = find_root(folder, self._fs) or folder
        return self._roots[folder]

    def _entries(self, names: Iterable[str]) -> list[Found]:
        """The files of the main package, each name's with the root and the package that their imports start from."""
        entries: list[Found] = []
        seen: set[str] = set()
        for name in names:
            path, root, prefix = self._expand(name)
            files = tuple(dict.fromkeys(each for each in self._files_at(path) if each not in seen))
            seen.update(files)
            if files:
                entries.append(Found(MAIN_PACKAGE, os.path.dirname(files[0]), files, root, prefix))
        if not entries:
            message = "No input KCL files"
            notes = ("name the files to run, or list them in kcl.yaml under kcl_cli_configs.file",)
            raise KclError((error(Code.CANNOT_FIND_MODULE, message, None, notes=notes),))
        return entries

    def _files_at(self, path: str) -> list[str]:
        """The file, or all of a folder. Raises KclError when there is none."""
        self._refuse_outside(path)
        if path in self._texts or self._fs.is_file(path):
            return [path]
        if self._fs.is_dir(path):
            self._read.add(path)
            files = package_files(path, self._fs)
            if files:
                return files
            message = f"No KCL files found in the folder '{path}'"
        else:
            message = f"Cannot find the kcl file, please check the file path {path}"
        raise KclError((error(Code.CANNOT_FIND_MODULE, message, None),))

    def _refuse_outside(self, path: str) -> None:
        """Raises OutsideBounds where this load may not look at a path."""
        refusal = None if path in self._texts else self._fs.refusal(path)
        if refusal is not None:
            raise OutsideBounds(path, refusal)

    def _expand(self, name: str) -> tuple[str, str, str]:
        """A name as an absolute path, with `${KCL_MOD}` and `${name:KCL_MOD}` replaced.

        And where imports of the files there start, and what their package paths begin with: a file of an external
        package stays one of that package, so what it imports is what others import of it by its name.
        """
        if name.startswith("${"):
            variable, closed, rest = name[2:].partition("}")
            package, _, last = variable.rpartition(":")
            if closed and last == _MOD_VARIABLE:
                package = import_name(package)
                base = self._external(package, None) if package else self._root
                if base is None:
                    message = f"the package '{package}' of '{name}' is not known"
                    notes = (f"name it in kcl.mod under [dependencies], or give its folder with -E {package}=FOLDER",)
                    unknown = error(Code.CANNOT_FIND_MODULE, message, None, notes=notes)
                    raise KclError(tuple(self._diagnostics) or (unknown,))
                path = os.path.normpath(base + "/" + rest.lstrip("/\\"))
                return (path, self._root_of(path), f"{package}.") if package else (path, self._root, "")
        path = self._absolute(name)
        return path, self._root_of(path), ""

    def _find_externals(self, folder: str, manifest: Manifest) -> None:
        request = self._request
        self._externals = {name: self._absolute(folder) for name, folder in request.package_maps.items()}
        if manifest.requirements:
            from kcl.loader.dependencies import find_dependencies  # only who depends on packages pays for it
            from kcl.loader.lock import LOCK_NAME

            self._dependencies = find_dependencies(
                folder, manifest, self._fs, downloaded=request.vendor_dir, vendored=request.vendored
            )
            self._read.add(os.path.join(folder, LOCK_NAME))
        folders = {**{name: each.folder or "" for name, each in self._dependencies.items()}, **self._externals}
        self._surroundings = (self._root, frozenset(folders.items()))

    def _external(self, name: str, span: Span | None) -> str | None:
        """The folder of the package that is called `name` outside of the program, None when there is none.

        A package that was asked for and cannot be used is reported, once, at the import `span`.
        """
        if name in self._externals:
            self._refuse_outside(self._externals[name])
            return self._externals[name]
        dependency = self._dependencies.get(name)
        if dependency is None:
            return None
        if name not in self._usable and name not in self._refused:
            problem = dependency.problem(self._fs, needs_sum=self._request.needs_sums)
            if problem is None:
                self._usable.add(name)
            else:
                self._refused.add(name)
                self._diagnostics.append(replace(problem, primary=span))
                for label in problem.labels:
                    self._files.sources.setdefault(label.span.path, self._fs.read_text(label.span.path))
        return dependency.folder if name in self._usable else None

    # ---------------------------------------------------------------- packages and modules

    def _new_request(self) -> Request:
        """A request for packages, with inputs as this load sees them.

        Packages that need checksums are verified in every load, so nothing cached by an earlier one is used for those.
        """
        needs_sums = self._request.needs_sums
        is_checked = any(each.is_checked(needs_sum=needs_sums) for each in self._dependencies.values())
        request = (Memo() if is_checked else self._memo).request()
        texts, stamp, stamps = self._texts, self._fs.stamp, self._fs.stamps
        request.provide_input(ODD_STAMP, stamp)
        request.provide_input(LEAD, self._folders.leads.of)
        if texts:
            request.provide_input(STAMP, lambda path: texts[path] if path in texts else stamp(path))
        else:
            request.provide_input(STAMP, stamp, stamps)
        request.provide(IMPORT_TARGET, self._place)
        request.provide(PACKAGE, self._package)
        request.provide(IMPORTED, self._imported_packages)
        return request

    def _imported_packages(self, request: Request, key: tuple[tuple[Found, ...], bool, Surroundings]) -> LoadedImports:
        """All packages that files import which import these, one after the other."""
        told = len(self._diagnostics)
        packages: dict[str, Package] = {}
        members: dict[str, set[str]] = {}
        files = Files()
        pending = deque(key[0])
        while pending:
            found = pending.popleft()
            there = members.get(found.path)
            # of packages in two roots files of both may have one path
            if there is not None and there.issuperset(found.files):
                continue
            members.setdefault(found.path, set()).update(found.files)
            earlier = packages.get(found.path)
            known = request.get(PACKAGE, (found, *key[1:]))
            packages[found.path] = known.package if earlier is None else _merged(earlier, known.package)
            pending += known.files.imported
            files.add(known.files)
        if told != len(self._diagnostics):
            request.discard()
        return LoadedImports(Imported(packages), files, _has_circles(members, files.importers))

    def _package(self, request: Request, key: PackageKey) -> LoadedPackage:
        """A package. It is not kept if something is wrong with it, which is told as it comes up."""
        found, files = key[0], Files()
        for path in found.files:
            _look(request, path)
        return LoadedPackage(Package(found.path, found.directory, self._modules(found, files, request)), files)

    def _modules(self, found: Found, files: Files, request: Request) -> tuple[Module, ...]:
        modules = (self._module(path, found, files, request) for path in found.files)
        return tuple(module for module in modules if module is not None)

    def _module(self, path: str, package: Found, files: Files, request: Request) -> Module | None:
        files.looked_at.add(path)
        try:
            text = self._code.read(TEXT, path)
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
            notes = (_NO_TEXT,) if isinstance(problem, UnicodeDecodeError) else ()
            self._tell(request, error(Code.CANNOT_FIND_MODULE, f"Failed to read '{path}': {reason}", None, notes=notes))
            return None
        files.sources[path] = text
        source, tree, diagnostics = self._code.get(PARSED, (path, self._dedent))
        if diagnostics:
            self._tell(request, *diagnostics)
        imports: dict[str, Import] = {}
        targets: dict[int, str] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                resolved = self._import(statement, path, package, files, request)
                if resolved is not None:
                    imports[resolved.alias] = resolved
                    targets[statement.start] = resolved.package
        return Module(path, source, tree, imports, targets)

    def _import(
        self, statement: ast.Import, path: str, package: Found, files: Files, request: Request
    ) -> Import | None:
        if statement.level == 0:
            head = statement.names[0] if statement.names else ""
            if head == _PLUGIN_PREFIX:
                return Import(statement.name, ".".join(statement.names), ImportKind.PLUGIN, statement)
            if len(statement.names) == 1 and head in SYSTEM_MODULES:
                return Import(statement.name, head, ImportKind.SYSTEM, statement)
        span = Span(path, statement.start, statement.end)
        try:
            place = self._found_place(statement, path, package, request)
        except OutsideBounds as problem:
            raise KclError(tuple(replace(each, primary=span) for each in problem.diagnostics)) from None
        files.looked_at |= place.looked_at
        found = place.found
        if found is None:
            if statement.level or statement.names[0] not in self._refused:
                self._tell(request, self._not_found(statement, path, package, span))
            return None
        files.importers.setdefault(path, []).append((found, span))
        files.imported[found] = None
        return Import(statement.name, found.path, ImportKind.PACKAGE, statement)

    def _found_place(self, statement: ast.Import, path: str, package: Found, request: Request) -> ImportTarget:
        """Where an import leads. What stands in the way is reported at the first import that it does."""
        span = Span(path, statement.start, statement.end)
        start = os.path.dirname(path) if statement.level else package.root
        external = None if statement.level else self._external(statement.names[0], span)
        if not statement.level and statement.names[0] in self._refused:
            self._tell(request)  # another load may find it
        names = tuple(statement.names)
        place = request.get(IMPORT_TARGET, (start, statement.level, names, package.root, package.prefix, external))
        if place.is_ambiguous:
            message = f"the `{statement.path}` is found multiple times in the current package and vendor package"
            is_new = (start, names) not in self._ambiguous
            self._ambiguous.add((start, names))
            self._tell(request, *([error(Code.CANNOT_FIND_MODULE, message, span)] if is_new else ()))
        return place

    def _tell(self, request: Request, *findings: Diagnostic) -> None:
        """Reports what is wrong, so that the answer under way is no longer a mere function of what it asks for."""
        self._diagnostics += findings
        request.discard()

    def _place(self, request: Request, sought: ImportKey) -> ImportTarget:
        """Of a name that has two meanings the package of the program wins."""
        looked_at: set[str] = set()

        def look(path: str) -> None:
            looked_at.add(path)
            _look(request, path)

        start, level, names, root, prefix, external = sought
        for _ in range(level - 1):
            start = os.path.dirname(start)
        target = os.path.join(start, *names)
        inside = os.path.relpath(target, root) if level else ""
        own = other = None
        if inside != os.pardir and not inside.startswith(os.pardir + os.sep):
            own = self._folders.inside(target, root, prefix, look)
        if external is not None:
            look(external)
            there = os.path.join(external, *names[1:])
            other = self._folders.outside(".".join(names), there, external, f"{names[0]}.", look)
        found = own or other
        for file in () if found is None else found.files:
            _look_where_it_lies(request, file)
        return ImportTarget(found, own is not None and other is not None, frozenset(looked_at))

    def _not_found(self, statement: ast.Import, path: str, package: Found, span: Span) -> Diagnostic:
        dotted = statement.path
        if statement.level:
            folder = os.path.dirname(path)
            for _ in range(statement.level - 1):
                folder = os.path.dirname(folder)
            inside = os.path.relpath(os.path.join(folder, *statement.names), package.root)
            if inside.startswith(os.pardir):
                message = (
                    f"Cannot find the module {dotted}: No KCL files found in the specified folder, "
                    f"it lies outside of the root {package.root}"
                )
                return error(Code.CANNOT_FIND_MODULE, message, span)
            place = folder + "/" + dotted.lstrip(".").replace(".", "/")
            head = inside.split(os.sep)[0]
        else:
            place = os.path.join(package.root, *statement.names)
            head = statement.names[0] if statement.names else dotted
        suggestions = (
            f"try 'kcl mod add {head}' to download the missing package",
            "browse more packages at 'https://artifacthub.io'",
        )
        message = f"Cannot find the module {dotted} from {place}"
        return error(Code.CANNOT_FIND_MODULE, message, span, suggestions=suggestions)

    # ---------------------------------------------------------------- cycles

    def _may_add_circles(self, others: Files) -> bool:
        """Whether packages might import one another by what is read of the main package, and not by what was already
        read: only a file that is imported as well is on the way, if it imports more as one of the main package."""
        own, theirs = self._files.importers, others.importers
        return any(
            {found.path for found, _ in own.get(each, ())} - {found.path for found, _ in theirs.get(each, ())}
            for each in self._main_files
            if each in others.sources
        )

    def _report_cycles(self) -> None:
        """Packages that import one another would wait for each other."""
        circles = self._circles()
        if circles:
            files = "".join(f"\n- {path}" for path in sorted({path for circle in circles for _, path, _ in circle}))
            message = f"Could not compiles due to cyclic import statements{files}"
            self._diagnostics.append(error(Code.RECURSIVE_LOAD, message, None))
        for circle in circles:
            if len(circle) > 1:
                names = (circle[-1][0], *(name for name, _, _ in circle[:-1]))
                message = f"There is a circular reference between modules {', '.join(names)}"
                self._diagnostics += [error(Code.COMPILE, message, span) for _, _, span in circle]

    def _circles(self) -> list[list[tuple[str, str, Span]]]:
        """Imports that lead back to where they start, as `(package, importing file, place)`.

        Each package is walked once, from the main files on, so that of circles with a common way only some are found.
        """
        importers = self._files.importers
        circles: list[list[tuple[str, str, Span]]] = []
        trail: list[tuple[str, str, Span]] = []
        done: set[str] = set()
        pending = [_edges(importers, self._main_files)]
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                if trail:
                    done.add(trail.pop()[0])
                continue
            found, path, span = step
            if found.path in done:
                continue
            names = [name for name, _, _ in trail]
            if found.path in names:
                circle = [*trail[names.index(found.path) + 1 :], (found.path, path, span)]
                if circle not in circles:  # a main file that is imported as well was read twice
                    circles.append(circle)
                continue
            trail.append((found.path, path, span))
            pending.append(_edges(importers, found.files))
        return circles


def _has_circles(members: Mapping[str, Iterable[str]], importers: Mapping[str, Sequence[tuple[Found, Span]]]) -> bool:
    """Whether packages, given by the files of each, import one another: those that import none of the rest are taken
    away, over and over, and some are left."""
    left = {
        path: {found.path for file in files for found, _ in importers.get(file, ())} for path, files in members.items()
    }
    while left:
        leaves = [path for path, imported in left.items() if imported.isdisjoint(left)]
        if not leaves:
            return True
        for path in leaves:
            del left[path]
    return False


def _edges(
    importers: Mapping[str, Sequence[tuple[Found, Span]]], files: Iterable[str]
) -> Iterator[tuple[Found, str, Span]]:
    return ((found, path, span) for path in files for found, span in importers.get(path, ()))


def _given(texts: Mapping[str, str], file_system: FileSystem) -> Callable[[str], str]:
    """Reads files of which the texts of some are given. Knows no loader, or neither would go without a search."""
    return lambda path: texts[path] if path in texts else file_system.read_text(path)


def _look(request: Request, path: str) -> None:
    """Notes that an answer rests on what is, or is not, at a path."""
    request.read(STAMP if is_normal(path) else ODD_STAMP, path)
    _look_where_it_lies(request, path)


def _look_where_it_lies(request: Request, path: str) -> None:
    request.read(LEAD, os.path.dirname(path))
    if os.path.islink(path):
        request.read(LEAD, path)


def _merged(first: Package, second: Package) -> Package:
    """One package of the files of two that go by the same path, as officially."""
    there = {module.name for module in first.modules}
    new = tuple(module for module in second.modules if module.name not in there)
    return Package(first.path, first.directory, (*first.modules, *new))


def has_errors(diagnostics: Collection[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)

"""Finds and parses every file a program consists of.

Imports are followed by dotted path from the program's root (the folder of the nearest kcl.mod), relative to the
importing file, into external packages (`-E name=path`, kcl.mod dependencies, the vendor folder), or name a module of
the standard library. What lies outside of the root of the importing package, links included, is no part of a program
unless it is such a package. Nothing here knows what the files mean.
"""

from __future__ import annotations

import os
import os.path
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kcl.diagnostics import Code, Diagnostic, KclError, Severity, Span, error
from kcl.loader.folders import Found, PackageFolders, package_files
from kcl.loader.known import Known, KnownImports, KnownPackages, PackagesElsewhere, Stamps, joined
from kcl.loader.manifest import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.profile import entry_names
from kcl.loader.program import MAIN_PACKAGE, Import, Imported, ImportKind, Module, Package, Program
from kcl.loader.requirement import import_name
from kcl.loader.texts import PARSED, TEXT, reading
from kcl.memo.inputs import Leads
from kcl.memo.queries import Memo
from kcl.records import dataclass, field, replace
from kcl.source import FileSystem, OutsideBounds
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
_PLUGIN_PREFIX = "kcl_plugin"
_MOD_VARIABLE = "KCL_MOD"


@dataclass(slots=True)
class LoadCache:
    """What loads leave to those after them. Hand one to every load of the same repository; threads may share it."""

    memo: Memo = field(default_factory=Memo)
    known: KnownPackages = field(default_factory=KnownPackages)
    on_disk: PackagesElsewhere | None = None
    """Packages that other processes loaded."""


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


def load(request: LoadRequest, file_system: FileSystem, cache: LoadCache | None = None) -> Loaded:
    """Loads the files of `request` and everything they import.

    Problems inside the files come back as diagnostics. Raises KclError when a file named in the request is missing.
    """
    return _Loader(request, file_system, cache or LoadCache()).load()


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

    def __init__(self, request: LoadRequest, file_system: FileSystem, cache: LoadCache) -> None:
        self._request = request
        self._fs = file_system
        self._cache = cache
        self._diagnostics: list[Diagnostic] = []
        self._sources: dict[str, str] = {}
        self._read: set[str] = set()
        self._packages: dict[str, Package] = {}
        self._members: dict[str, set[str]] = {}
        self._pending: list[Found] = []
        self._located: dict[tuple[str, str], Found | None] = {}
        self._texts = {self._absolute(name): text for name, text in request.texts.items()}
        self._root = ""
        self._roots: dict[str, str] = {}
        self._dedent = True
        self._externals: dict[str, str] = {}
        self._dependencies: Mapping[str, Dependency] = {}
        self._refused: set[str] = set()
        self._usable: set[str] = set()
        self._folders = PackageFolders(file_system, self._texts, Leads(file_system.plain_folders()))
        self._main_files: tuple[str, ...] = ()
        self._importers: dict[str, list[tuple[str, Span]]] = {}
        self._stamps = Stamps(file_system, self._texts, self._folders.leads)
        self._known = cache.known
        self._files = reading(cache.memo, file_system.read_text)
        self._code = reading(cache.memo, _given(self._texts, file_system))
        self._surroundings: Hashable | None = None
        # While a package is loaded that may be kept: what it was made of so far.
        self._imported: list[Found] = []
        self._looked_at: dict[str, Hashable | None] = {}
        self._looked_at_by: dict[tuple[str, str], Mapping[str, Hashable | None]] = {}

    def load(self) -> Loaded:
        names, manifest = self._named()
        wanted = self._request.dedent_strings
        self._dedent = not manifest.expects_before_0_5 if wanted is None else wanted
        entries = self._entries(names)
        self._main_files = tuple(path for entry in entries for path in entry.files)
        modules = tuple(module for entry in entries for module in self._modules(entry))
        main = Package(MAIN_PACKAGE, os.path.dirname(self._main_files[0]), modules)
        imported = self._known_imports()
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
        return Loaded(program, manifest, tuple(self._diagnostics), self._sources, externals)

    # ---------------------------------------------------------------- files named in the request

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._request.work_dir, name))

    def _named(self) -> tuple[Sequence[str], Manifest]:
        """The names of what to run, and the kcl.mod that says what packages there are. Finds root and packages."""
        names, folder = self._request.files, self._request.manifest_folder
        if names:
            self._root = self._main_root(names)
        manifest_folder = folder or (self._root if names else self._root_above(self._absolute("")))
        manifest = read_manifest(manifest_folder, self._fs, self._files)
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
                version = read_manifest(each.folder, self._fs, self._files).language_version
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
        self._surroundings = self._import_surroundings()

    def _import_surroundings(self) -> Hashable | None:
        """What dotted imports of a package depend on beside its own root.

        None where packages are held against checksums: that is done in every load.
        """
        dependencies = self._dependencies.items()
        if any(each.is_checked(needs_sum=self._request.needs_sums) for _, each in dependencies):
            return None
        folders = {**{name: each.folder or "" for name, each in dependencies}, **self._externals}
        return (self._root, frozenset(folders.items()))

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
                    self._sources.setdefault(label.span.path, self._fs.read_text(label.span.path))
        if name not in self._usable or dependency.folder is None:
            return None
        self._look(dependency.folder)  # every time: it decides about this import too
        return dependency.folder

    # ---------------------------------------------------------------- packages and modules

    def _known_imports(self) -> Imported:
        """All packages that the main one imports, taken from an earlier load where nothing they rest on changed."""
        key = (tuple(dict.fromkeys(self._pending)), self._dedent, self._surroundings)
        known = None if self._surroundings is None else self._known.closures.get(key)
        if known is not None and self._stamps.hold(known.rests):
            self._take(known)
            return known.imported
        if self._surroundings is not None:
            self._look_ahead()
        parts: list[Known | None] = []
        while self._pending:
            found = self._pending.pop(0)
            earlier = self._packages.get(found.path)
            if self._is_loaded(found):
                continue
            self._members.setdefault(found.path, set()).update(found.files)
            package, part = self._known_package(found)
            self._packages[found.path] = package if earlier is None else _merged(earlier, package)
            parts.append(part)
        imported = Imported(self._packages)
        kept = [part for part in parts if part is not None]
        if self._surroundings is not None and len(kept) == len(parts) and all(part.rests.is_normal for part in kept):
            self._known.keep(key, joined(imported, kept))
        return imported

    def _look_ahead(self) -> None:
        """Looks at once at everything that packages known from earlier loads rest on, and those they import."""
        pending, seen, paths = list(self._pending), set[str](), set[str]()
        while pending:
            found = pending.pop()
            if found.path not in seen:
                seen.add(found.path)
                known = self._earlier(found)
                if known is not None and known.rests.is_normal:
                    paths.update(known.rests.stamps)
                    pending += known.imported
        self._stamps.look_at(paths)

    def _earlier(self, found: Found) -> Known | None:
        """The package as an earlier load, or another process, left it."""
        key = (found, self._dedent, self._surroundings)
        known = self._known.entries.get(key)
        on_disk = None if known is not None else self._cache.on_disk
        if on_disk is not None:
            known = on_disk.read(*key)
            if known is not None:
                self._known.entries[key] = known
                for module in known.package.modules:
                    parsed = (module.source, module.tree, ())
                    self._cache.memo.seed(
                        PARSED, (module.name, self._dedent), parsed, (TEXT, module.name, module.source.text)
                    )
        return known

    def _take(self, known: Known | KnownImports) -> None:
        self._read.update(known.rests.stamps)
        self._sources.update(known.sources)
        for path, targets in known.importers.items():
            self._importers.setdefault(path, []).extend(targets)

    def _known_package(self, found: Found) -> tuple[Package, Known | None]:
        """The package, taken from an earlier load where all it rests on is the same; and what of it may be kept."""
        if self._surroundings is None:
            return self._package(found), None
        known = self._earlier(found)
        if known is not None and self._stamps.hold(known.rests):
            self._take(known)
            self._pending += [each for each in known.imported if not self._is_loaded(each)]
            return known.package, known
        told = len(self._diagnostics)
        self._imported, self._looked_at = [], {path: self._stamps.of(path) for path in found.files}
        package = self._package(found)
        rests = self._stamps.rests(self._looked_at) if told == len(self._diagnostics) else None
        if rests is None:
            return package, None
        paths = [module.name for module in package.modules]
        key = (found, self._dedent, self._surroundings)
        known = self._known.entries[key] = Known(
            package,
            tuple(self._imported),
            {path: tuple(self._importers[path]) for path in paths if path in self._importers},
            {path: self._sources[path] for path in paths},
            rests,
        )
        if self._cache.on_disk is not None:
            self._cache.on_disk.keep(*key, known)
        return package, known

    def _is_loaded(self, found: Found) -> bool:
        """Whether the package, with these files, is there. Of packages in two roots files of both may have its path."""
        there = self._members.get(found.path)
        return there is not None and there.issuperset(found.files)

    def _package(self, found: Found) -> Package:
        return Package(found.path, found.directory, self._modules(found))

    def _modules(self, found: Found) -> tuple[Module, ...]:
        return tuple(module for path in found.files if (module := self._module(path, found)) is not None)

    def _module(self, path: str, package: Found) -> Module | None:
        self._read.add(path)
        try:
            text = self._code.look(TEXT, path)
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
            self._diagnostics.append(error(Code.CANNOT_FIND_MODULE, f"Failed to read '{path}': {reason}", None))
            return None
        self._sources[path] = text
        source, tree, diagnostics = self._code.ask(PARSED, (path, self._dedent))
        self._diagnostics += diagnostics
        imports: dict[str, Import] = {}
        targets: dict[int, str] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                resolved = self._import(statement, path, package)
                if resolved is not None:
                    imports[resolved.alias] = resolved
                    targets[statement.start] = resolved.package
        return Module(path, source, tree, imports, targets)

    def _import(self, statement: ast.Import, path: str, package: Found) -> Import | None:
        if statement.level == 0:
            head = statement.names[0] if statement.names else ""
            if head == _PLUGIN_PREFIX:
                return Import(statement.name, ".".join(statement.names), ImportKind.PLUGIN, statement)
            if len(statement.names) == 1 and head in SYSTEM_MODULES:
                return Import(statement.name, head, ImportKind.SYSTEM, statement)
        key = (package.root if statement.level == 0 else os.path.dirname(path), statement.path)
        if key not in self._located:
            self._located[key], self._looked_at_by[key] = self._known_place(key, statement, path, package)
        self._looked_at |= self._looked_at_by[key]
        found = self._located[key]
        span = Span(path, statement.start, statement.end)
        if found is None:
            if statement.level or not statement.names or statement.names[0] not in self._refused:
                self._not_found(statement, path, package, span)
            return None
        if len(found.files) == 1 and not found.is_folder:
            self._importers.setdefault(path, []).append((found.files[0], span))
        self._imported.append(found)
        if not self._is_loaded(found):
            self._pending.append(found)
        return Import(statement.name, found.path, ImportKind.PACKAGE, statement)

    def _known_place(
        self, key: tuple[str, str], statement: ast.Import, path: str, package: Found
    ) -> tuple[Found | None, Mapping[str, Hashable | None]]:
        """Where an import leads, as found by an earlier load if that still holds, and the stamps it rests on."""
        whole = (key, package.root, package.prefix, self._surroundings)
        known = None if self._surroundings is None else self._known.places.get(whole)
        if known is not None and self._stamps.hold(known[1]):
            self._read.update(known[1].stamps)
            return known[0], known[1].stamps
        told, before, self._looked_at = len(self._diagnostics), self._looked_at, {}
        try:
            found = self._locate(statement, path, package)
        except OutsideBounds as problem:
            span = Span(path, statement.start, statement.end)
            raise KclError(tuple(replace(each, primary=span) for each in problem.diagnostics)) from None
        looked_at, self._looked_at = self._looked_at, before
        if self._surroundings is not None and told == len(self._diagnostics):
            rests = self._stamps.rests(looked_at, () if found is None else found.files)
            if rests is not None:
                self._known.places[whole] = found, rests
        return found, looked_at

    def _look(self, path: str) -> None:
        """Notes that what was found rests on what is, or is not, at a path."""
        self._read.add(path)
        self._looked_at[path] = self._stamps.of(path)

    def _locate(self, statement: ast.Import, path: str, package: Found) -> Found | None:
        """Where an import leads, None when there is nothing. Ambiguity is reported; the program's own package wins."""
        if statement.level:
            folder = os.path.dirname(path)
            for _ in range(statement.level - 1):
                folder = os.path.dirname(folder)
            target = os.path.join(folder, *statement.names)
            inside = os.path.relpath(target, package.root)
            if inside == os.pardir or inside.startswith(os.pardir + os.sep):
                return None
            return self._folders.inside(target, package.root, package.prefix, self._look)
        dotted = ".".join(statement.names)
        target = os.path.join(package.root, *statement.names)
        own = self._folders.inside(target, package.root, package.prefix, self._look)
        head, rest = statement.names[0], statement.names[1:]
        external = self._external(head, Span(path, statement.start, statement.end))
        other = None
        if external:
            place = os.path.join(external, *rest)
            other = self._folders.outside(dotted, place, external, f"{head}.", self._look)
        if own is not None and other is not None:
            message = f"the `{dotted}` is found multiple times in the current package and vendor package"
            self._diagnostics.append(
                error(Code.CANNOT_FIND_MODULE, message, Span(path, statement.start, statement.end))
            )
        return own or other

    def _not_found(self, statement: ast.Import, path: str, package: Found, span: Span) -> None:
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
                self._diagnostics.append(error(Code.CANNOT_FIND_MODULE, message, span))
                return
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
        self._diagnostics.append(error(Code.CANNOT_FIND_MODULE, message, span, suggestions=suggestions))

    # ---------------------------------------------------------------- cycles

    def _report_cycles(self) -> None:
        """Files that import one another, or a main file, would wait for each other; folders may refer in circles."""
        reported: set[frozenset[str]] = set()
        for start in self._main_files:
            self._follow(start, [], reported)

    def _follow(self, path: str, trail: list[tuple[str, Span]], reported: set[frozenset[str]]) -> None:
        for target, span in self._importers.get(path, ()):
            step = [*trail, (path, span)]
            names = [name for name, _ in step]
            if target not in names:
                self._follow(target, step, reported)
                continue
            cycle = step[names.index(target) :]
            members = frozenset(name for name, _ in cycle)
            if members in reported:
                continue
            reported.add(members)
            if len(cycle) == 1:
                files = "".join(f"\n- {name}" for name in sorted(members))
                message = f"Could not compiles due to cyclic import statements{files}"
                self._diagnostics.append(error(Code.RECURSIVE_LOAD, message, None))
                continue
            stems = [os.path.splitext(os.path.basename(name))[0] for name, _ in cycle]
            message = f"There is a circular reference between modules {', '.join(reversed(stems))}"
            for _, where in reversed(cycle):
                self._diagnostics.append(error(Code.COMPILE, message, where))


def _given(texts: Mapping[str, str], file_system: FileSystem) -> Callable[[str], str]:
    """Reads files of which the texts of some are given. Knows no loader, or neither would go without a search."""
    return lambda path: texts[path] if path in texts else file_system.read_text(path)


def _merged(first: Package, second: Package) -> Package:
    """One package of the files of two that go by the same path, as officially."""
    there = {module.name for module in first.modules}
    new = tuple(module for module in second.modules if module.name not in there)
    return Package(first.path, first.directory, (*first.modules, *new))


def has_errors(diagnostics: Collection[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)

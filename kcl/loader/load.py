"""Finds and parses every file a program consists of.

Imports are followed by dotted path from the program's root (the folder of the nearest kcl.mod), relative to the
importing file, into external packages (`-E name=path`, kcl.mod dependencies, the vendor folder), or name a module of
the standard library. What lies outside of the root of the importing package, links included, is no part of a program
unless it is such a package. Nothing here knows what the files mean.
"""

from __future__ import annotations

import os
import os.path
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kcl.diagnostics import Code, Diagnostic, KclError, Severity, Span, error
from kcl.loader.known import Known, KnownPackages, Readings, Stamps, joined
from kcl.loader.manifest import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.program import MAIN_PACKAGE, Import, Imported, ImportKind, Module, Package, Program
from kcl.source import FileSystem, SourceFile, is_normal
from kcl.syntax import ast

if TYPE_CHECKING:
    from kcl.cache.store import Store
    from kcl.loader.dependencies import Dependency
    from kcl.loader.kept import KeptPackages

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
class ParseCache:
    """Parsed files kept between compilations, by path, as long as the text is the same.

    Hand one to every compilation of the same repository; safe to share between threads (an entry is replaced whole).
    """

    entries: dict[tuple[str, bool], tuple[SourceFile, ast.Module, tuple[Diagnostic, ...]]] = field(default_factory=dict)
    readings: Readings = field(default_factory=Readings)
    store: Store | None = None
    """Where imported packages are kept, parsed and checked, for other processes; None for nowhere."""
    results: bool = True
    """Whether the store gets the results of whole runs as well."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What later stages found out about these files and keep beside them, by stage."""

    def parse(self, path: str, text: str, dedent: bool) -> tuple[SourceFile, ast.Module, tuple[Diagnostic, ...]]:
        known = self.entries.get((path, dedent))
        if known is not None and known[0].text == text:
            return known
        from kcl.syntax import parse  # nothing else here needs the parse tables

        source = SourceFile(path, text)
        result = parse(source, dedent=dedent)
        entry = (source, result.module, tuple(result.diagnostics))
        self.entries[path, dedent] = entry
        return entry

    def on_disk(self) -> KeptPackages | None:
        """The packages that the store holds."""
        if self.store is None:
            return None
        if "on disk" not in self.kept:
            from kcl.loader.kept import KeptPackages  # most runs have no store

            self.kept.setdefault("on disk", KeptPackages(self.store))
        kept: KeptPackages = self.kept["on disk"]
        return kept


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What to load: `files` as named on a command line, relative to `work_dir`.

    A name may be a folder (all its files), start with `${KCL_MOD}` (the root) or `${name:KCL_MOD}` (an external
    package). `texts` gives the content of files by that same name, instead of reading them.
    """

    files: Sequence[str]
    work_dir: str
    texts: Mapping[str, str] = field(default_factory=dict)
    package_maps: Mapping[str, str] = field(default_factory=dict)
    vendor_dir: str | None = None
    """Folder of packages that were downloaded earlier; None for none."""
    vendored: bool = False
    """Take packages from the folder `vendor` beside kcl.mod and from nowhere else."""
    dedent_strings: bool | None = None
    """Whether triple-quoted strings lose their common indentation; None leaves it to the age kcl.mod tells."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, and what is wrong with its files. With errors among `diagnostics` it must not be evaluated."""

    program: Program
    manifest: Manifest
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    """Text by path of every file read: what `render` needs."""


def load(request: LoadRequest, file_system: FileSystem, cache: ParseCache | None = None) -> Loaded:
    """Loads the files of `request` and everything they import.

    Problems inside the files come back as diagnostics. Raises KclError when a file named in the request is missing.
    """
    return _Loader(request, file_system, cache or ParseCache()).load()


def downloaded_folder(environment: Mapping[str, str]) -> str | None:
    """The folder of downloaded packages, the official tool's, so that both find what either downloaded.

    `KCL_PKG_PATH`, else `.kcl/kpm` in the user's home; None when there is neither.
    """
    if environment.get("KCL_PKG_PATH"):
        return os.path.abspath(environment["KCL_PKG_PATH"])
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return os.path.join(home, ".kcl", "kpm") if home else None


def package_files(folder: str, file_system: FileSystem) -> list[str]:
    """Paths of the files a package in `folder` consists of, sorted; [] when there are none."""
    return [os.path.join(folder, name) for name in file_system.list_dir(folder) if is_package_file(name)]


def is_package_file(name: str) -> bool:
    """Whether a file of this name belongs to the package of its folder: `_x.k` and tests do not."""
    return name.endswith(".k") and not name.endswith("_test.k") and not name.startswith("_")


def _links_in(folder: str) -> frozenset[str]:
    """Names of links in a folder of the real disk: one look for all of its files."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_symlink())
    except OSError:
        return frozenset()


class _Loader:
    """One load; not reusable."""

    def __init__(self, request: LoadRequest, file_system: FileSystem, cache: ParseCache) -> None:
        self._request = request
        self._fs = file_system
        self._cache = cache
        self._diagnostics: list[Diagnostic] = []
        self._sources: dict[str, str] = {}
        self._read: set[str] = set()
        self._packages: dict[str, Package] = {}
        self._pending: list[Found] = []
        self._located: dict[tuple[str, str], Found | None] = {}
        self._texts = {self._absolute(name): text for name, text in request.texts.items()}
        self._root = ""
        self._dedent = True
        self._externals: dict[str, str] = {}
        self._dependencies: Mapping[str, Dependency] = {}
        self._refused: set[str] = set()
        self._usable: set[str] = set()
        self._real: dict[str, str] = {}
        self._links: dict[str, frozenset[str]] = {}
        self._main_files: tuple[str, ...] = ()
        self._importers: dict[str, list[tuple[str, Span]]] = {}
        self._stamps = Stamps(file_system)
        self._known: KnownPackages = cache.kept.setdefault("packages", KnownPackages())
        self._surroundings: Hashable | None = None
        # While a package is loaded that may be kept: what it was made of so far.
        self._imported: list[Found] = []
        self._looked_at: dict[str, Hashable | None] = {}
        self._looked_at_by: dict[tuple[str, str], Mapping[str, Hashable | None]] = {}

    def load(self) -> Loaded:
        first = self._first_folder()
        found_root = find_root(first, self._fs)
        self._root = found_root if found_root is not None else first
        readings = self._cache.readings
        manifest = read_manifest(self._root, self._fs, readings) if found_root is not None else Manifest(None)
        self._read.add(os.path.join(self._root, MANIFEST_NAME))
        wanted = self._request.dedent_strings
        self._dedent = not manifest.expects_before_0_5 if wanted is None else wanted
        self._find_externals(manifest)
        files = self._main_paths(self._request.files or manifest.entries)
        self._main_files = tuple(files)
        main = self._package(Found(MAIN_PACKAGE, os.path.dirname(files[0]), tuple(files), self._root, ""))
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
        return Loaded(program, manifest, tuple(self._diagnostics), self._sources)

    # ---------------------------------------------------------------- files named in the request

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._request.work_dir, name))

    def _first_folder(self) -> str:
        for name in self._request.files:
            if not name.startswith("${"):
                path = self._absolute(name)
                return path if self._fs.is_dir(path) else os.path.dirname(path)
        return os.path.normpath(self._request.work_dir)

    def _main_paths(self, names: Iterable[str]) -> list[str]:
        paths: list[str] = []
        for name in names:
            path = self._expand(name)
            if path in self._texts or self._fs.is_file(path):
                found = [path]
            elif self._fs.is_dir(path):
                self._read.add(path)
                found = package_files(path, self._fs)
                if not found:
                    raise KclError(
                        (error(Code.CANNOT_FIND_MODULE, f"No KCL files found in the folder '{path}'", None),)
                    )
            else:
                message = f"Cannot find the kcl file, please check the file path {path}"
                raise KclError((error(Code.CANNOT_FIND_MODULE, message, None),))
            paths += [path for path in found if path not in paths]
        if not paths:
            message = "No input KCL files"
            notes = ("name the files to run, or list them in kcl.yaml under kcl_cli_configs.file",)
            raise KclError((error(Code.CANNOT_FIND_MODULE, message, None, notes=notes),))
        return paths

    def _expand(self, name: str) -> str:
        """A file argument as an absolute path, with `${KCL_MOD}` and `${name:KCL_MOD}` replaced."""
        if name.startswith("${"):
            variable, closed, rest = name[2:].partition("}")
            package, _, last = variable.rpartition(":")
            if closed and last == _MOD_VARIABLE:
                base = self._external(package, None) if package else self._root
                if base is None:
                    message = f"the package '{package}' of '{name}' is not known"
                    notes = (f"give its folder with -E {package}=FOLDER",)
                    unknown = error(Code.CANNOT_FIND_MODULE, message, None, notes=notes)
                    raise KclError(tuple(self._diagnostics) or (unknown,))
                return os.path.normpath(base + "/" + rest.lstrip("/\\"))
        return self._absolute(name)

    def _find_externals(self, manifest: Manifest) -> None:
        request = self._request
        self._externals = {name: self._absolute(folder) for name, folder in request.package_maps.items()}
        if manifest.requirements:
            from kcl.loader.dependencies import find_dependencies  # only who depends on packages pays for it
            from kcl.loader.lock import LOCK_NAME

            self._dependencies = find_dependencies(
                self._root, manifest, self._fs, downloaded=request.vendor_dir, vendored=request.vendored
            )
            self._read.add(os.path.join(self._root, LOCK_NAME))
        # Where a dotted import of a package leads depends on these beside its own root. What packages of a registry
        # are made of is held against their checksums in every load, and not kept.
        self._surroundings = None if manifest.requirements else (self._root, frozenset(self._externals.items()))

    def _external(self, name: str, span: Span | None) -> str | None:
        """The folder of the package that is called `name` outside of the program, None when there is none.

        A package that was asked for and cannot be used is reported, once, at the import `span`.
        """
        if name in self._externals:
            return self._externals[name]
        dependency = self._dependencies.get(name)
        if dependency is None:
            return None
        if name not in self._usable and name not in self._refused:
            problem = dependency.problem(self._fs)
            if problem is None:
                self._usable.add(name)
            else:
                self._refused.add(name)
                self._diagnostics.append(replace(problem, primary=span))
                for label in problem.labels:
                    self._sources.setdefault(label.span.path, self._fs.read_text(label.span.path))
        return dependency.folder if name in self._usable else None

    # ---------------------------------------------------------------- packages and modules

    def _known_imports(self) -> Imported:
        """All packages that the main one imports, taken from an earlier load where nothing they rest on changed."""
        key = (tuple(dict.fromkeys(self._pending)), self._dedent, self._surroundings)
        known = None if self._surroundings is None else self._known.closures.get(key)
        if known is not None and self._without_texts(known.stamps) and self._stamps.unchanged(known.stamps):
            self._read.update(known.stamps)
            self._sources.update(known.sources)
            self._import_files(known.importers)
            return known.imported
        if self._surroundings is not None:
            self._look_ahead()
        parts: list[Known | None] = []
        while self._pending:
            found = self._pending.pop(0)
            if found.path not in self._packages:
                self._packages[found.path], part = self._known_package(found)
                parts.append(part)
        imported = Imported(self._packages)
        kept = [part for part in parts if part is not None]
        if self._surroundings is not None and len(kept) == len(parts) and all(part.is_normal for part in kept):
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
                if known is not None and known.is_normal:
                    paths.update(known.stamps)
                    pending += known.imported
        self._stamps.look_at(paths)

    def _earlier(self, found: Found) -> Known | None:
        """The package as an earlier load, or another process, left it."""
        key = (found, self._dedent, self._surroundings)
        known = self._known.entries.get(key)
        on_disk = None if known is not None else self._cache.on_disk()
        if on_disk is not None:
            known = on_disk.read(*key)
            if known is not None:
                self._known.entries[key] = known
                for module in known.package.modules:
                    self._cache.entries.setdefault((module.name, self._dedent), (module.source, module.tree, ()))
        return known

    def _import_files(self, importers: Mapping[str, tuple[tuple[str, Span], ...]]) -> None:
        for path, targets in importers.items():
            self._importers.setdefault(path, []).extend(targets)

    def _known_package(self, found: Found) -> tuple[Package, Known | None]:
        """The package, taken from an earlier load where all it rests on is the same; and what of it may be kept."""
        if self._surroundings is None:
            return self._package(found), None
        known = self._earlier(found)
        if known is not None and self._without_texts(known.stamps) and self._stamps.still(known.stamps):
            self._read.update(known.stamps)
            self._sources.update(known.sources)
            self._import_files(known.importers)
            self._pending += [each for each in known.imported if each.path not in self._packages]
            return known.package, known
        told = len(self._diagnostics)
        self._imported, self._looked_at = [], {path: self._stamps.of(path) for path in found.files}
        package = self._package(found)
        stamps = {path: stamp for path, stamp in self._looked_at.items() if stamp is not None}
        if told == len(self._diagnostics) and len(stamps) == len(self._looked_at) and self._without_texts(stamps):
            paths = [module.name for module in package.modules]
            key = (found, self._dedent, self._surroundings)
            known = self._known.entries[key] = Known(
                package,
                tuple(self._imported),
                {path: tuple(self._importers[path]) for path in paths if path in self._importers},
                {path: self._sources[path] for path in paths},
                stamps,
                all(map(is_normal, stamps)),
            )
            on_disk = self._cache.on_disk()
            if on_disk is not None:
                on_disk.keep(*key, known)
            return package, known
        return package, None

    def _without_texts(self, paths: Mapping[str, object]) -> bool:
        """Whether the request gives the text of none of these files."""
        return not self._texts or self._texts.keys().isdisjoint(paths)

    def _package(self, found: Found) -> Package:
        modules = tuple(module for path in found.files if (module := self._module(path, found)) is not None)
        return Package(found.path, found.directory, modules)

    def _module(self, path: str, package: Found) -> Module | None:
        self._read.add(path)
        try:
            text = self._texts[path] if path in self._texts else self._fs.read_text(path)
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
            self._diagnostics.append(error(Code.CANNOT_FIND_MODULE, f"Failed to read '{path}': {reason}", None))
            return None
        self._sources[path] = text
        source, tree, diagnostics = self._cache.parse(path, text, self._dedent)
        self._diagnostics += diagnostics
        imports: dict[str, Import] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                resolved = self._import(statement, path, package)
                if resolved is not None:
                    imports[resolved.alias] = resolved
        return Module(path, source, tree, imports)

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
        if found.path not in self._packages:
            self._pending.append(found)
        return Import(statement.name, found.path, ImportKind.PACKAGE, statement)

    def _known_place(
        self, key: tuple[str, str], statement: ast.Import, path: str, package: Found
    ) -> tuple[Found | None, Mapping[str, Hashable | None]]:
        """Where an import leads, as found by an earlier load if that still holds, and the stamps it rests on."""
        whole = (key, package.root, package.prefix, self._surroundings)
        known = None if self._surroundings is None else self._known.places.get(whole)
        if known is not None and self._without_texts(known[1]) and self._stamps.still(known[1]):
            self._read.update(known[1])
            return known
        told, before, self._looked_at = len(self._diagnostics), self._looked_at, {}
        found = self._locate(statement, path, package)
        looked_at, self._looked_at = self._looked_at, before
        if self._surroundings is not None and told == len(self._diagnostics) and None not in looked_at.values():
            self._known.places[whole] = (found, looked_at)
        return found, looked_at

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
            dotted = "" if inside == os.curdir else inside.replace(os.sep, ".")
            return self._at(package.prefix + dotted, target, package.root, package.prefix)
        dotted = ".".join(statement.names)
        target = os.path.join(package.root, *statement.names)
        own = self._at(package.prefix + dotted, target, package.root, package.prefix)
        head, rest = statement.names[0], statement.names[1:]
        external = self._external(head, Span(path, statement.start, statement.end))
        other = self._at(dotted, os.path.join(external, *rest), external, f"{head}.") if external else None
        if own is not None and other is not None:
            message = f"the `{dotted}` is found multiple times in the current package and vendor package"
            self._diagnostics.append(
                error(Code.CANNOT_FIND_MODULE, message, Span(path, statement.start, statement.end))
            )
        return own or other

    def _at(self, package: str, target: str, root: str, prefix: str) -> Found | None:
        """The package at `target`: the files of that folder, else the file of that name with `.k`."""
        self._read.add(target)
        self._looked_at[target] = self._stamps.of(target)
        files = [file for file in package_files(target, self._fs) if self._lies_inside(file, root)]
        if files:
            return Found(package, target, tuple(files), root, prefix, is_folder=True)
        path = target + ".k"
        self._read.add(path)
        self._looked_at[path] = self._stamps.of(path)
        if (path in self._texts or self._fs.is_file(path)) and self._lies_inside(path, root):
            return Found(package, os.path.dirname(target), (path,), root, prefix)
        return None

    def _lies_inside(self, path: str, root: str) -> bool:
        """Whether no link leads from the file `path` out of the folder `root`."""
        folder = os.path.dirname(path)
        for name in (root, folder):
            if name not in self._real:
                self._real[name] = os.path.realpath(name)
        real_root = self._real[root].rstrip(os.sep) + os.sep
        if not (self._real[folder] + os.sep).startswith(real_root):
            return False
        if folder not in self._links:
            self._links[folder] = _links_in(folder)
        return os.path.basename(path) not in self._links[folder] or os.path.realpath(path).startswith(real_root)

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


@dataclass(frozen=True, slots=True)
class Found:
    """A package that was located but not parsed yet.

    `root` is where its own dotted imports start, `prefix` what their package paths get before them: both differ from
    the program's for files of external packages.
    """

    path: str
    directory: str
    files: tuple[str, ...]
    root: str
    prefix: str
    is_folder: bool = False


def has_errors(diagnostics: Collection[Diagnostic]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)

"""Who may be changed by whom, as the text of the modules says.

A module rests on what it imports, wherever in it the import stands, on the packages around it, and on every module it
names in a string: tests start `python -m kcl` and run programs given as text, and some modules are loaded by name.
A test rests on the `conftest.py` of the folders above it. All this is more than what really runs, on purpose.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import grimp

PACKAGES = ("kcl", "runtimes", "workbench", "tests")
_DOTTED = rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+(?:\.\{{)?"
# a test may hold whole programs as text; what is shipped says a module's name in a string, or it is only prose
_NAMED_IN_TESTS = re.compile(_DOTTED)
_NAMED = re.compile(rf"""["']({_DOTTED})""")
_STARTED_IN_TESTS = re.compile(r"""["'](wb|kcl|workbench)["']""")
_STARTED = re.compile(r"""["']-m["'],\s*["'](wb|kcl|workbench)["']""")
_PROGRAMS = {"wb": "workbench.__main__", "workbench": "workbench.__main__", "kcl": "kcl.__main__"}


@dataclass(frozen=True, slots=True)
class Module:
    path: str  # from the root of the repository, with slashes
    text: str


@dataclass(frozen=True, slots=True)
class Reach:
    modules: Mapping[str, Module]  # by dotted name; a package is its __init__.py
    resting_on: Mapping[str, frozenset[str]]  # a module: those that may break when it changes

    def at(self, path: str) -> tuple[str, ...]:
        """What the file `path` is here; empty where that is no module of ours, or no longer there."""
        name = _name(path)
        if name not in self.modules or self.modules[name].path != path:
            return ()
        return (name, _loaded(name)) if path.endswith("/__init__.py") else (name,)


def read(root: Path) -> Reach:
    """The modules below `root`, which must stand on `sys.path`."""
    # without a cache: grimp's is of one set of packages, and one shared with lint-imports has stale imports for both
    imports = grimp.build_graph(*PACKAGES, cache_dir=None)
    modules = {}
    for package in PACKAGES:
        for file in sorted(root.joinpath(package).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            modules[_name(path)] = Module(path, file.read_text("utf-8"))
    resting_on: dict[str, set[str]] = defaultdict(set)
    for name, module in modules.items():
        imported = imports.find_modules_directly_imported_by(name) if name in imports.modules else set()
        for other in {*imported, *_named(module, modules), *_around(name, modules)} - {name}:
            resting_on[other].add(name)
        if module.path.endswith("/__init__.py"):
            lines = module.text.splitlines()
            for other in imported:
                at = (each["line_number"] for each in imports.get_import_details(importer=name, imported=other))
                if any(not lines[line - 1].startswith(" ") for line in at):
                    resting_on[other].add(_loaded(name))
    return Reach(modules, {name: frozenset(others) for name, others in resting_on.items()})


def _loaded(package: str) -> str:
    """What runs when a module of the package is loaded: less than all that its `__init__.py` may import later."""
    return f"{package}.__init__"


def _name(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    """`kcl.api` of "import kcl.api; kcl.api.run(...)"; of f"kcl.stdlib.{name}" every module below `kcl.stdlib`."""
    tests = module.path.startswith("tests/")
    for dotted in set((_NAMED_IN_TESTS if tests else _NAMED).findall(module.text)):
        if dotted.endswith(".{"):
            yield from (name for name in modules if name.startswith(dotted[:-1]))
        while dotted not in modules and "." in dotted:
            dotted = dotted.rpartition(".")[0]
        yield dotted
    yield from (_PROGRAMS[program] for program in set((_STARTED_IN_TESTS if tests else _STARTED).findall(module.text)))


def _around(name: str, modules: Mapping[str, Module]) -> Iterator[str]:
    """The packages that are loaded before the module, and what pytest loads before a test."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield _loaded(name)
        if f"{name}.conftest" in modules:
            yield f"{name}.conftest"

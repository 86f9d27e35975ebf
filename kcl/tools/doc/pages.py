"""What Markdown and HTML pages have in common: their names, titles and order, and who is where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.terminal import harmless
from kcl.tools.doc.model import Library, Module, Package, Schema, Target, Use, Value

INDEX: Final = "index"
_OTHER: Final = pattern(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 100
_RESERVED: Final = frozenset({INDEX, "con", "nul", "aux", "prn", "kcl-doc", "kcl-doc-index"})
KINDS: Final = {
    "schema": "Schemas",
    "mixin": "Mixins",
    "protocol": "Protocols",
    "rule": "Rules",
}
VARIABLES: Final = "Variables"
VALUES: Final = {"alias": "Type aliases", "lambda": "Lambdas", "variable": VARIABLES}


@dataclass(frozen=True, slots=True)
class Page:
    """A file of the documentation: a name without folders, and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Book:
    """A library with the name of each page, and its title, by the package's key."""

    library: Library
    stems: Mapping[str, str]
    titles: Mapping[str, str]
    base: str
    """The folder that all modules lie in, or that of the only one."""

    @property
    def title(self) -> str:
        """The name of the module that the others lie in, if there is one."""
        outer = next((each.name for each in self.library.modules if each.root == self.base), "")
        return outer or f"{len(self.library.modules)} modules"

    def place(self, module: Module) -> str:
        """Where a module lies among the others, "" for the outermost."""
        inside = os.path.relpath(module.root, self.base).replace(os.sep, "/")
        return "" if inside == os.curdir else inside

    def module(self, package: Package) -> Module:
        return next(each for each in self.library.modules if each.root == package.module)

    def packages_of(self, module: Module) -> list[Package]:
        return [each for each in self.library.packages if each.module == module.root]


def book(library: Library) -> Book:
    """Names the pages: by the folder below the module, or below what all modules have in common."""
    roots = [each.root for each in library.modules]
    base = roots[0] if len(roots) == 1 else os.path.commonpath(roots) if roots else ""
    modules = {each.root: each for each in library.modules}
    stems: dict[str, str] = {}
    titles: dict[str, str] = {}
    taken = set(_RESERVED)
    for package in library.packages:
        inside = os.path.relpath(package.key, base).replace(os.sep, "/")
        name = package.name or modules[package.module].name
        titles[package.key] = name if package.module == base else harmless(inside)
        stem = _stem(name if inside == os.curdir else inside.replace("/", "."))
        number, unique = 1, stem
        while unique.lower() in taken:  # not every file system tells A from a
            number += 1
            unique = f"{stem}-{number}"
        taken.add(unique.lower())
        stems[package.key] = unique
    return Book(library, stems, titles, base)


def _stem(name: str) -> str:
    """A name that every file system takes, and that needs no escape in a link."""
    return _OTHER.sub("_", name)[:_LONGEST].strip("._-") or "package"


def sections(package: Package) -> Iterator[tuple[str, Sequence[Schema | Value]]]:
    """The titles of a page and what stands below each, without those that would be empty."""
    for kind, title in KINDS.items():
        found: list[Schema | Value] = [each for each in package.schemas if each.kind == kind]
        if found:
            yield title, found
    for kind, title in VALUES.items():
        found = [each for each in package.values if each.kind == kind]
        if found:
            yield title, found


def uses(used_by: Sequence[Use]) -> list[tuple[Target, list[str], list[str]]]:
    """Who names a declaration, each once: with the ways (`extends it`) and the attributes that do."""
    found: dict[Target, tuple[list[str], list[str]]] = {}
    for use in used_by:
        hows, attributes = found.setdefault(use.by, ([], []))
        if use.how and use.how not in hows:
            hows.append(use.how)
        if use.attribute:
            attributes.append(use.attribute)
    return [(target, *each) for target, each in found.items()]


def counted(package: Package) -> str:
    """`3 schemas, 1 lambda`: what a package has."""
    parts = []
    for one, many, count in (
        ("schema", "schemas", len(package.schemas)),
        ("alias", "aliases", sum(each.kind == "alias" for each in package.values)),
        ("lambda", "lambdas", sum(each.kind == "lambda" for each in package.values)),
        ("variable", "variables", sum(each.kind == "variable" for each in package.values)),
        ("option", "options", len(package.options)),
    ):
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    return ", ".join(parts) or "nothing that others see"

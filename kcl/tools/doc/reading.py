"""From parsed files to what is said of them: the values of `kcl.tools.doc.model`. Touches no file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from kcl.records import replace
from kcl.syntax import ast
from kcl.tools.doc.masking import Masking
from kcl.tools.doc.model import (
    Attribute,
    Example,
    Library,
    Module,
    Package,
    Schema,
    Target,
    Text,
    Use,
    Value,
    references,
)
from kcl.tools.doc.resolving import Declared, Names, Scope, declarations, is_private
from kcl.tools.doc.schemas import examples, schema
from kcl.tools.doc.sources import Folder, Root
from kcl.tools.doc.values import options, values
from kcl.tools.docstrings import lines_of


def library(
    folders: Sequence[Folder], roots: Mapping[str, Root], masking: Masking, *, with_deprecated: bool = True
) -> Library:
    """All that is said of the packages; without what `@deprecated` marks, if that is not wanted.

    `masking` learns what is secret in them.
    """
    for folder in folders:
        for file in folder.files:
            masking.learn(file.tree, file.source.text)
    names = Names(folders)
    packages = [_package(folder, names, masking) for folder in folders]
    if not with_deprecated:
        packages = [_without_deprecated(each) for each in packages]
    wanted = sorted({each.root for each in folders})
    problems = [problem for root in wanted if (problem := roots[root].problem) is not None]
    problems += [problem for each in packages for problem in each.problems]
    return Library(
        tuple(_module(roots[each], masking) for each in wanted),
        tuple(_with_uses(packages)),
        tuple(problems),
        tuple(each for folder in folders for each in _examples(folder, names, masking)),
    )


def _module(root: Root, masking: Masking) -> Module:
    said, clean = root.manifest, masking.text
    name = clean(said.name or os.path.basename(root.path) or "kcl")
    return Module(root.path, name, clean(said.version), clean(said.description))


def _package(folder: Folder, names: Names, masking: Masking) -> Package:
    scopes = [Scope(names, folder, file, masking) for file in folder.files]
    schemas: dict[str, Schema] = {}
    found: dict[str, Value] = {}
    for scope in scopes:
        for each in _schemas(scope):
            schemas.setdefault(each.target.name, schema(each, scope))
        for value in values(scope):
            found.setdefault(value.name, value)
    inside = os.path.relpath(folder.path, folder.root).replace(os.sep, "/")
    inside = masking.text("" if inside == os.curdir else inside)
    docs = [scope.lines(lines_of(scope.file.source, doc)) for scope in scopes if (doc := scope.file.tree.doc)]
    return Package(
        key=folder.path,
        module=folder.root,
        name=inside.replace("/", "."),
        folder=inside,
        files=folder.names,
        docs=tuple(each for each in docs if each),
        imports=tuple(sorted({masking.text(each.path) for one in folder.files for each in one.tree.imports()})),
        schemas=tuple(schemas.values()),
        values=tuple(each for each in found.values() if each.name not in schemas),
        options=tuple(each for scope in scopes for each in options(scope)),
        problems=folder.problems,
    )


def _schemas(scope: Scope) -> Iterator[Declared]:
    for node in declarations(scope.file.tree.body):
        if not is_private(node.name) and not isinstance(node, ast.TypeAlias):
            yield Declared(Target(scope.folder.path, node.name), node, scope.folder, scope.file)


def _examples(folder: Folder, names: Names, masking: Masking) -> Iterator[Example]:
    for file in folder.files:
        scope = Scope(names, folder, file, masking)
        for each in _schemas(scope):
            yield from examples(each, scope)


def _without_deprecated(package: Package) -> Package:
    return replace(package, schemas=tuple(_current(each) for each in package.schemas if each.deprecation is None))


def _current(each: Schema) -> Schema:
    """A schema without the attributes that are deprecated."""
    groups = [replace(group, attributes=_kept(group.attributes)) for group in each.inherited]
    return replace(
        each, attributes=_kept(each.attributes), inherited=tuple(group for group in groups if group.attributes)
    )


def _kept(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    return tuple(each for each in attributes if each.deprecation is None)


# ---------------------------------------------------------------- uses


def _with_uses(packages: Sequence[Package]) -> Iterator[Package]:
    uses: dict[Target, dict[Use, None]] = {}
    for package in packages:
        for use, text in _namings(package):
            for each in references(text):
                if each.target != use.by:
                    uses.setdefault(each.target, {})[use] = None
    for package in packages:
        yield replace(
            package,
            schemas=tuple(replace(each, used_by=tuple(uses.get(each.target, ()))) for each in package.schemas),
            values=tuple(replace(each, used_by=tuple(uses.get(each.target, ()))) for each in package.values),
        )


def _namings(package: Package) -> Iterator[tuple[Use, Text]]:
    """Where declarations are named, and the text that names them."""
    for each in package.schemas:
        by = each.target
        yield from ((Use(by, "extends it"), text) for text in each.bases)
        yield from ((Use(by, "mixes it in"), text) for text in each.mixins)
        yield Use(by, "is for it"), each.host
        yield Use(by), (*each.params, *each.index_signature)
        yield from ((Use(by, attribute=one.name), one.type) for one in each.attributes)
    yield from ((Use(value.target), value.type) for value in package.values)

"""Custom resource definitions: a package for each version, a file for each kind, as packages are published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kcl.patterns import pattern
from kcl.records import dataclass, replace
from kcl.tools.imports import names, texts
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure, placed
from kcl.tools.imports.results import Generated, notes_of
from kcl.tools.imports.shapes import KUBERNETES, OBJECT, STRING, Reader, Shape
from kcl.tools.imports.types import Attribute, PackageNames, Type, Typing
from kcl.tools.imports.writer import file_text

_NAME: Final = pattern(r"[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?")
_META: Final = "k8s.apimachinery.pkg.apis.meta.v1"
_DESCRIPTIONS: Final = {
    "apiVersion": "The version of the schema of this object: the group of its API and the version in it.",
    "kind": "The kind of resource that this object is.",
    "metadata": "metadata",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """One version of one definition."""

    source: str
    group: str
    version: str
    kind: str
    schema: Any
    is_pruned: bool
    """Its objects keep the names that are described alone."""
    where: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def package(self) -> str:
        return names.package_part(self.version)

    @property
    def path(self) -> tuple[str, ...]:
        stem = names.file_stem(f"{names.group_words(self.group)}_{self.version}_{names.snake(self.kind)}".lower())
        return (self.package, f"{stem}.k")

    @property
    def full_name(self) -> str:
        return names.schema_name(f"{names.group_words(self.group)}_{self.version}_{self.kind}")


def is_definition(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("kind") in ("CustomResourceDefinition", "CustomResourceDefinitionList", "List")
        and _has_definition(value)
    )


def _has_definition(value: Mapping[str, Any]) -> bool:
    if value.get("kind") == "CustomResourceDefinition":
        return True
    items = value.get("items")
    return isinstance(items, list) and any(is_definition(each) or value["kind"] != "List" for each in items)


def generate(documents: Iterable[Document]) -> list[Generated]:
    """The files for all definitions in some documents. What else is in them is left out, and noted.

    Raises ImportFailure where there is none, or one makes no sense.
    """
    sources: list[str] = []
    kinds: dict[tuple[str, str, str], _Kind] = {}
    left: list[str] = []
    for document in documents:
        sources.append(document.name)
        for each in _kinds(document, document.value, left):
            known = kinds.setdefault((each.group, each.version, each.kind), each)
            if known is not each and known.schema != each.schema:
                raise ImportFailure(
                    f"{each.source}: {each.api_version} {each.kind} is defined otherwise in {known.source}: "
                    "import one of them"
                )
    if not kinds:
        named = ", ".join(dict.fromkeys(sources)) or "the input"
        raise ImportFailure(f"{named}: holds no CustomResourceDefinition: is it meant for another --mode?")
    results = _generated_all(sorted(kinds.values(), key=lambda each: (each.version, each.group, each.kind)))
    if left:
        results[0].notes.extend(left)
    return results


def _generated_all(kinds: Sequence[_Kind]) -> list[Generated]:
    """Raises ImportFailure where two would be one file: names that differ in dots, dashes or capitals alone."""
    named: dict[tuple[str, str], int] = {}
    paths: dict[tuple[str, ...], _Kind] = {}
    for each in kinds:
        at = (each.package, names.kind_name(each.kind))
        named[at] = named.get(at, 0) + 1
        other = paths.setdefault(each.path, each)
        if other is not each:
            raise ImportFailure(
                f"{each.where}: makes the file {'/'.join(each.path)}, as {other.where} does: "
                "import them into packages of their own (--package)"
            )
    shared = {each: named[each.package, names.kind_name(each.kind)] > 1 for each in paths.values()}
    packages: dict[str, PackageNames] = {}
    for package in dict.fromkeys(each.package for each in kinds):
        packages[package] = PackageNames(_root_name(each, shared[each]) for each in kinds if each.package == package)
    found = []
    for each in kinds:
        with placed(each.where):
            found.append(_generated(each, shared[each], packages[each.package]))
    return found


def _root_name(of: _Kind, is_shared_name: bool) -> str:
    return of.full_name if is_shared_name else names.kind_name(of.kind)


def _kinds(document: Document, value: Any, left: list[str]) -> Iterator[_Kind]:
    where = document.name
    if not isinstance(value, Mapping):
        raise ImportFailure(f"{where}: is no Kubernetes object: a mapping with apiVersion and kind is")
    if value.get("kind") in ("List", "CustomResourceDefinitionList") and isinstance(value.get("items"), list):
        for each in value["items"]:
            if isinstance(each, Mapping) and value["kind"] == "CustomResourceDefinitionList":
                each = {"kind": "CustomResourceDefinition", **each}
            yield from _kinds(document, each, left)
        return
    if value.get("kind") != "CustomResourceDefinition":
        left.append(f"{where}: a {value.get('kind', 'mapping without kind')!s:.80} is left out")
        return
    spec = value.get("spec")
    if not isinstance(spec, Mapping):
        raise ImportFailure(f"{where}: a CustomResourceDefinition without spec")
    group, kind = (
        spec.get("group"),
        (spec.get("names") or {}).get("kind") if isinstance(spec.get("names"), Mapping) else None,
    )
    for word, given in (("spec.group", group), ("spec.names.kind", kind)):
        if not isinstance(given, str) or _NAME.fullmatch(given) is None:
            raise ImportFailure(f"{where}: {word} is not a name: {given!r:.80}")
    assert isinstance(group, str) and isinstance(kind, str)
    shared = (
        (spec.get("validation") or {}).get("openAPIV3Schema") if isinstance(spec.get("validation"), Mapping) else None
    )
    versions = spec.get("versions")
    if not versions and spec.get("version"):
        versions = [{"name": spec["version"]}]  # v1beta1 had one
    if not isinstance(versions, list) or not versions:
        raise ImportFailure(f"{where}: {group} {kind}: there is no version in spec.versions")
    for each in versions:
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ImportFailure(f"{where}: {group} {kind}: the name of a version is not a name: {name!r:.80}")
        own = each.get("schema")
        schema = own.get("openAPIV3Schema") if isinstance(own, Mapping) else None
        told = f"{where}: {group}/{name} {kind}"
        yield _Kind(where, group, name, kind, shared if schema is None else schema, _is_pruned(value, spec), told)


def _is_pruned(definition: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """v1beta1 kept unknown names where nothing was said of them."""
    is_old = str(definition.get("apiVersion", "")).endswith("/v1beta1")
    return not spec.get("preserveUnknownFields", is_old)


def _generated(of: _Kind, is_shared_name: bool, package: PackageNames) -> Generated:
    extra = []
    if of.schema is None:
        extra.append(f"{of.where}: has no schema: any content is accepted")
        shape = Shape("", types=(OBJECT,), is_open=True)
    else:
        shape = _reader(of.is_pruned).read(of.schema, "")
    fixed = _fixed(of, shape)
    full = of.full_name
    typing = Typing(package=package)
    name = _root_name(of, is_shared_name)
    package.begin(name)
    typing.reserve("v1")
    made = typing.root(_with_metadata(shape), name, full, fixed)
    made.fixed = dict.fromkeys(fixed, "")
    if is_shared_name:
        extra.append(f"{of.where}: is named {name}, since another group has this kind too")
    text = file_text(
        typing, [f"import {_META}"] if any(each.type.text == "v1.ObjectMeta" for each in made.attributes) else []
    )
    return Generated(of.path, text, [*extra, *notes_of(of.where, typing)], needs_k8s=True)


def _reader(is_pruned: bool) -> Reader:
    def resolve(ref: str, where: str) -> str:
        raise ImportFailure(f"{where}/$ref: definitions of resources hold no references: {ref!r:.80}")

    return Reader(replace(KUBERNETES, is_pruned=is_pruned), resolve)


def _with_metadata(shape: Shape) -> Shape:
    """With what rules may say of every object: API servers let them see its name, and nothing else of metadata."""
    if not shape.properties:
        return shape
    text = Shape("", types=(STRING,))
    properties = {"name": text, "generateName": text}
    metadata = Shape("", types=(OBJECT,), properties=properties, required=("name",))
    every = {"apiVersion": text, "kind": text, "metadata": metadata}
    required = tuple(dict.fromkeys((*shape.required, *every)))
    return replace(shape, properties={**shape.properties, **every}, required=required)


def _fixed(of: _Kind, shape: Shape) -> dict[str, Attribute]:
    """What every object has. Of metadata, what the API server takes, whatever the definition says of it."""
    found = {}
    for name, given in (("apiVersion", of.api_version), ("kind", of.kind)):
        own = shape.properties.get(name)
        described = own.description if own is not None and own.description else _DESCRIPTIONS[name]
        text = texts.text_literal(given)
        found[name] = Attribute(
            name,
            Type(text, frozenset({"str"}), holds_enum=True),
            Shape("", types=(STRING,), description=described),
            False,
            text,
        )
    own = shape.properties.get("metadata")
    described = own.description if own is not None and own.description else _DESCRIPTIONS["metadata"]
    notes = []
    if own is not None and any(name for name in own.properties):
        notes.append("what the definition asks of metadata beside what all objects have")
    found["metadata"] = Attribute(
        "metadata",
        Type("v1.ObjectMeta", frozenset({"object"})),
        Shape("", types=(OBJECT,), description=described),
        "metadata" not in shape.required,
        notes=notes,
    )
    return found

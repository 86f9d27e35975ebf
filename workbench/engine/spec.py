"""A Spec: the resources a stack should have, and for every field of them where in the source it was said.

Compiled output becomes a Spec in one of two ways. Kusion's form is a resource each: `{id, type, attributes, dependsOn,
extensions}`, one a document (what render.k of Konfig streams), all in one list, or under `resources`. A document
without these is a plain Kubernetes object, and gets its id from its own name.

Kusion's own normalisation of what KCL prints happens here too: empty `dependsOn` and `extensions` vanish.
(https://github.com/KusionStack/kusion/blob/main/pkg/apis/api.kusion.io/v1/types.go)
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import (
    CALL_PREFIX,
    UNKNOWN,
    FieldPath,
    InvalidReference,
    InvalidResourceId,
    KubernetesId,
    Resource,
    ResourceId,
    RuntimeType,
    composed,
    format_path,
    parse_id,
    parts,
)
from runtimes.base.documents import DocumentError, load_all_yaml
from runtimes.base.resource import look_for_references
from workbench.engine.errors import DependencyCycle, SpecInvalid
from workbench.engine.fields import MISSING, find, plain_steps
from workbench.engine.graph import find_cycle, found_references, referring_texts
from workbench.engine.masking import (
    opaque_paths,
    public_names,
    resource_paths,
    secret_texts_in,
    secret_values,
    sensitive_texts,
)
from workbench.engine.reads import OutputRead


@dataclass(frozen=True, slots=True)
class SourceSite:
    """A place in the source that had a say in a value. `line` and `column` count from 1, `column` 0 if unknown.

    `kind` says how: literal, default, override, option, ... as the language names it.
    """

    file: Path
    line: int
    column: int
    kind: str = ""

    def relative_to(self, root: Path) -> str:
        """Returns `prod/main.k:12` for screens, the absolute path where the file is outside of `root`."""
        try:
            file = self.file.relative_to(root)
        except ValueError:
            file = self.file
        return f"{file}:{self.line}"


Chain = tuple[SourceSite, ...]
"""The sites behind one value, the most decisive first; empty where nothing is known."""


def place_of(chain: Chain, root: Path | None) -> str:
    """Returns ` (prod/main.k:12)` to end a message with, empty where the chain is."""
    if not chain:
        return ""
    return f" ({chain[0].relative_to(root) if root else f'{chain[0].file}:{chain[0].line}'})"


Lookup = Callable[[int, tuple[str | int, ...]], Chain]
"""Finds the chain of the value at a path of keys and indexes inside the n-th document."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the compiled documents a resource stands: its document, and the path of its attributes in it."""

    document: int
    prefix: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """`resources` are in the order of the source; ids are unique, dependencies known and without cycles."""

    stack: str
    resources: tuple[Resource, ...]
    origins: Mapping[ResourceId, Origin] = field(default_factory=dict, compare=False, repr=False)
    lookup: Lookup | None = field(default=None, compare=False, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Texts that are secret wherever they turn up: those of Secrets and sensitive attributes, and secret options."""
    sensitive: Mapping[ResourceId, tuple[FieldPath, ...]] = field(default_factory=dict, compare=False, repr=False)
    """What is not shown beside what tells itself: attributes that are, or may be, sensitive to their providers."""
    rules: SecretRules = field(default=BUILT_IN, compare=False, repr=False)
    """What is secret by name and by look, with what the repository adds."""
    former: tuple[Resource, ...] = field(default=(), compare=False, repr=False)
    """Resources as once configured, where the Spec only takes them away: that may need their provider's settings."""
    reads: tuple[OutputRead, ...] = field(default=(), compare=False, repr=False)
    """What is in it of what other stacks give, once that was read."""
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What is to be said of that beside."""
    _by_id: Mapping[ResourceId, Resource] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {each.id: each for each in self.resources})

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def get(self, id_: ResourceId) -> Resource | None:
        return self._by_id.get(id_)

    def hidden(self, resource: Resource) -> tuple[FieldPath, ...]:
        """Returns the paths of a resource that are not shown."""
        return (*resource_paths(resource, self.rules), *self.sensitive.get(resource.id, ()))

    def with_sensitive(self, told: Mapping[ResourceId, tuple[FieldPath, ...] | None]) -> Spec:
        """Returns the Spec with what providers call sensitive; None where they never said.

        Then what looks like nothing that people choose among is not shown: it may be what the provider would name.
        """
        known = {id_: paths for id_, paths in told.items() if paths is not None}
        found = [text for id_, paths in known.items() for text in sensitive_texts(self._by_id[id_].attributes, paths)]
        doubtful = {id_: tuple(opaque_paths(self._by_id[id_].attributes)) for id_ in told if id_ not in known}
        secrets = self.secrets | secret_texts_in(found, self.resources)
        return replace(self, sensitive={**known, **doubtful}, secrets=secrets)

    @property
    def names(self) -> frozenset[str]:
        """What everybody may know: the names of the resources, and of what they are in."""
        return public_names(self.resources) | set(self.stack.split("/"))

    def await_provenance(self) -> None:
        """Waits until chains can be had without waiting. Raises `EngineError` where what would tell them is gone."""
        if self.lookup is not None and self.origins:
            origin = next(iter(self.origins.values()))
            self.lookup(origin.document, origin.prefix)

    def chain(self, id_: ResourceId, path: FieldPath = ()) -> Chain:
        """Returns the sites behind a field, or behind the nearest thing around it that has any; empty if none has."""
        found = self._located(id_, path)
        return self._nearest(*found) if found else ()

    def own_chain(self, id_: ResourceId, path: FieldPath) -> Chain:
        """Returns the sites behind a field itself; empty where only something around it has any, or it is not there."""
        found, resource = self._located(id_, path), self.get(id_)
        if found is None or self.lookup is None or resource is None or find(resource.attributes, path) is MISSING:
            return ()
        document, prefix, steps = found
        return self.lookup(document, (*prefix, *steps))

    def _located(
        self, id_: ResourceId, path: FieldPath
    ) -> tuple[int, tuple[str | int, ...], tuple[str | int, ...]] | None:
        """Returns document, place of the attributes in it and place of a field in those, as far as it is there."""
        origin, resource = self.origins.get(id_), self.get(id_)
        if origin is None or resource is None or self.lookup is None:
            return None
        steps = plain_steps(resource.attributes, path)
        if steps[:1] == ("data",):
            # a Secret's texts are applied as the data they become
            written = ("stringData", *steps[1:])
            if self.lookup(origin.document, (*origin.prefix, *written)):
                steps = written
        return origin.document, origin.prefix, steps

    def extension_chain(self, id_: ResourceId, path: FieldPath) -> Chain:
        """Returns the sites behind one of a resource's extensions, as `chain` does; the resource's if none has."""
        origin = self.origins.get(id_)
        if origin is None or origin.prefix[-1:] != ("attributes",):
            return self.chain(id_)
        steps = tuple(each for each in path if isinstance(each, str | int))
        return self._nearest(origin.document, origin.prefix[:-1], ("extensions", *steps))

    def _nearest(self, document: int, prefix: tuple[str | int, ...], steps: tuple[str | int, ...]) -> Chain:
        if self.lookup is None:
            return ()
        for length in range(len(steps), -1, -1):
            if chain := self.lookup(document, (*prefix, *steps[:length])):
                return chain
        return ()

    def documents(self) -> list[dict[str, Any]]:
        """Returns the resources as Kusion writes them, with empty fields left out."""
        return [_as_document(each) for each in self.resources]

    def to_yaml(self) -> str:
        """Returns one YAML list that Kusion reads. Secrets are in clear: what a screen shows is made elsewhere."""
        from kcl.api import yaml_text

        return yaml_text(self.documents())

    def digest(self, salt: bytes) -> str:
        """Returns a digest of all content. Salted, as a bare digest of a short secret could be guessed."""
        text = json.dumps(self.documents(), sort_keys=True, default=str)
        return hmac.new(salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def build(
    documents: Sequence[Any],
    *,
    stack: str,
    lookup: Lookup | None = None,
    drop_empty_lists: bool = False,
    rules: SecretRules = BUILT_IN,
) -> Spec:
    """Builds a Spec from compiled documents; raises `SpecInvalid`, saying which document is wrong and how.

    `drop_empty_lists` leaves out keys whose value is `[]`, as the compilers of the 2023 dialect did.
    """
    resources: list[Resource] = []
    wanted: list[tuple[str, ...]] = []
    origins: dict[ResourceId, Origin] = {}
    for document, prefix, entry in _entries(documents):
        where = f"{stack}, resource {len(resources) + 1}"
        try:
            resource, depends_on, inner = _resource(entry, where)
        except SpecInvalid as error:
            chain = _chain_of_entry(lookup, document, prefix, entry)
            if not chain:
                raise
            said = f"resource {len(resources) + 1} of {stack}: {error.message}"
            raise SpecInvalid(said, where=f"{chain[0].file}:{chain[0].line}", hint=error.hint) from error
        if drop_empty_lists:
            resource = replace(resource, attributes=_without_empty_lists(resource.attributes))
        resources.append(resource)
        wanted.append(depends_on)
        origins.setdefault(resource.id, Origin(document, (*prefix, *inner)))
    by_text = {str(each.id): each.id for each in resources}
    linked = [_linked(each, needs, by_text, stack) for each, needs in zip(resources, wanted, strict=True)]
    spec = Spec(stack, tuple(linked), origins, lookup, secret_values(linked, rules), rules=rules)
    look_for_references(linked)
    _check_references(spec, by_text)
    validate(linked, stack, spec.chain)
    return spec


_CORRECT_REFERENCE: Final = "write $kusion_path.ID.ATTRIBUTE with the id of a resource, or $$kusion_path. for the text"
_CORRECT_CALL: Final = "write $workbench.NAME[ARGUMENTS] with arguments in JSON, or $$workbench. for the text"


def _check_references(spec: Spec, ids: Mapping[str, ResourceId]) -> None:
    """Raises `SpecInvalid` for a text with a reference that leads nowhere, or with a function that is wrong whatever
    its references stand for, with the line that says it."""
    for resource in spec:
        for path, text in referring_texts(resource):
            try:
                composed(parts(text, ids), lambda _: UNKNOWN)
            except InvalidReference as error:
                chain = spec.chain(resource.id, path)
                raise SpecInvalid(
                    f"{format_path(path)} of {resource.id}: {error}",
                    where=f"{chain[0].file}:{chain[0].line}" if chain else spec.stack,
                    hint=_CORRECT_CALL if CALL_PREFIX in text else _CORRECT_REFERENCE,
                ) from None


def load(text: str, *, stack: str, where: str) -> Spec:
    """Reads a Spec file as Kusion or `to_yaml` writes it; `where` names it in errors."""
    try:
        documents = [each for each in load_all_yaml(text) if each]
    except DocumentError as error:
        raise SpecInvalid(f"is not valid YAML: {error.problem}", where=error.place(where)) from error
    return build(documents, stack=stack)


def validate(
    resources: Iterable[Resource], stack: str, chain: Callable[[ResourceId, FieldPath], Chain] = lambda id_, path: ()
) -> None:
    """Raises `SpecInvalid` for two resources with one id and `DependencyCycle` for circular dependencies."""
    known: dict[ResourceId, Resource] = {}
    for each in resources:
        if each.id in known:
            raise SpecInvalid(f"two resources have the id {each.id}", where=stack, hint="give one another name")
        known[each.id] = each
    referring = [each for each in known.values() if each.may_refer]
    ids = {str(each): each for each in known} if referring else {}
    fields = {each.id: {reference.id: path for path, reference in found_references(each, ids)} for each in referring}
    needing = [each for each in known.values() if each.depends_on or each.may_refer]
    cycle = find_cycle({each.id: [*each.depends_on, *fields.get(each.id, ())] for each in needing})
    if not cycle:
        return
    because, site = [], ""
    for one, other in pairwise(cycle):
        path = None if other in known[one].depends_on else fields[one][other]
        because.append("dependsOn" if path is None else format_path(path))
        if path is not None and not site and (found := chain(one, path)):
            site = f"{found[0].file}:{found[0].line}"
    raise DependencyCycle(cycle, because, where=site or stack)


def _entries(documents: Sequence[Any]) -> Iterator[tuple[int, tuple[str | int, ...], Any]]:
    """Yields every resource with its document and its path in it, whichever of the forms the documents have."""
    for number, document in enumerate(documents):
        match document:
            case list():
                for index, each in enumerate(document):
                    yield number, (index,), each
            case {"resources": list() as inside} if "kind" not in document:
                for index, each in enumerate(inside):
                    yield number, ("resources", index), each
            case {} | None if not document:
                continue
            case _:
                yield number, (), document


def _chain_of_entry(lookup: Lookup | None, document: int, prefix: tuple[str | int, ...], entry: Any) -> Chain:
    """Returns the sites behind an entry, or behind the first thing in it that has any."""
    if lookup is None:
        return ()
    inside = [(*prefix, key) for key in entry if isinstance(key, str)] if isinstance(entry, Mapping) else []
    return next((chain for path in (prefix, *inside) if (chain := lookup(document, path))), ())


def _resource(entry: Any, where: str) -> tuple[Resource, tuple[str, ...], tuple[str | int, ...]]:
    """Returns the resource, the ids it depends on as text, and the path of its attributes inside the entry."""
    if not isinstance(entry, Mapping):
        raise SpecInvalid(f"is {type(entry).__name__}, not a resource", where=where)
    try:
        if "attributes" in entry and "id" in entry:
            return *_kusion_resource(entry, where), ("attributes",)
        if "apiVersion" in entry and "kind" in entry:
            return Resource(KubernetesId.of(entry), RuntimeType.KUBERNETES, entry), (), ()
    except InvalidResourceId as error:
        raise SpecInvalid(str(error), where=where) from error
    keys = ", ".join(sorted(str(key)[:80] for key in entry)[:6])
    lacking = [each for each in ("apiVersion", "kind") if each not in entry]
    what = f"has no {lacking[0]}" if len(lacking) == 1 else "is neither a resource nor a Kubernetes object"
    raise SpecInvalid(
        f"{what}: its keys are {keys}",
        where=where,
        hint="a stack ends with resources ({id, type, attributes}) or objects with apiVersion and kind",
    )


def _kusion_resource(entry: Mapping[str, Any], where: str) -> tuple[Resource, tuple[str, ...]]:
    attributes = entry["attributes"]
    if not isinstance(attributes, Mapping) or not isinstance(entry["id"], str):
        raise SpecInvalid("needs text as id and a mapping as attributes", where=where)
    try:
        type_ = RuntimeType(entry.get("type", RuntimeType.KUBERNETES))
    except ValueError as error:
        raise SpecInvalid(f"has the unknown type {entry.get('type')!r}", where=where) from error
    id_ = parse_id(entry["id"], type_)
    if isinstance(id_, KubernetesId):
        _agree(id_, attributes, where)
    depends_on = entry.get("dependsOn") or []
    if not isinstance(depends_on, list) or not all(isinstance(each, str) for each in depends_on):
        raise SpecInvalid("needs a list of ids as dependsOn", where=f"{where} ({id_})")
    return Resource(id_, type_, attributes, extensions=entry.get("extensions") or {}), tuple(depends_on)


def _linked(resource: Resource, depends_on: Sequence[str], known: Mapping[str, ResourceId], stack: str) -> Resource:
    """Ids of both types look alike, so a dependency is found by its text among the resources that are there."""
    if not depends_on:
        return resource
    for each in depends_on:
        if each not in known:
            raise SpecInvalid(
                f"{resource.id} depends on {each}, which is not in this stack", where=stack, hint="correct dependsOn"
            )
    return replace(resource, depends_on=tuple(dict.fromkeys(known[each] for each in depends_on)))


def _agree(id_: KubernetesId, attributes: Mapping[str, Any], where: str) -> None:
    """An id that names another object than its attributes would be planned as one and applied as the other."""
    own = KubernetesId.of(attributes)
    if (own.api_version, own.kind, own.name) != (id_.api_version, id_.kind, id_.name) or (
        own.namespace and own.namespace != id_.namespace
    ):
        raise SpecInvalid(f"has the id {id_} but its attributes are those of {own}", where=where)


def _as_document(resource: Resource) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": str(resource.id),
        "type": resource.type.value,
        "attributes": resource.attributes,
        "dependsOn": [str(each) for each in resource.depends_on],
        "extensions": dict(resource.extensions),
    }
    return {key: value for key, value in document.items() if value or key == "attributes"}


_CONTAINERS: Final = (dict, list)


def _without_empty_lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_empty_lists(each) if isinstance(each, _CONTAINERS) else each
            for key, each in value.items()
            if each != []
        }
    if isinstance(value, list):
        return [_without_empty_lists(each) if isinstance(each, _CONTAINERS) else each for each in value]
    return value

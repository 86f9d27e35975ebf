"""The resources that a cluster serves: the built-in ones, as a real server announces them, and custom ones."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from kcl.records import dataclass, field
from runtimes.sandbox.data import read
from runtimes.sandbox.store import Object, ResourceKey

# Versions and groups that show the same stored objects: named by the one they are stored in.
_STORED_AS: Mapping[ResourceKey, ResourceKey] = {("events.k8s.io", "events"): ("", "events")}
_STORED_VERSION: Mapping[ResourceKey, str] = {("autoscaling", "horizontalpodautoscalers"): "v2"}


@dataclass(frozen=True, slots=True)
class Subresource:
    name: str
    group: str  # of the kind it speaks, e.g. autoscaling/v1 Scale
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource in one version. `definition` is the CustomResourceDefinition's object, None for built-ins."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    definition: Object | None = None
    storage: ResourceKey = ("", "")
    storage_version: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def text(self) -> str:
        """`deployments.apps`, `pods`: as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_custom(self) -> bool:
        return self.definition is not None

    @property
    def storage_version_hash(self) -> str:
        """Changes when the storage version does; "" for what is not stored."""
        if not self.is_custom:
            known: Mapping[str, str] = read("discovery")["hashes"]
            return known.get(f"{self.group}/{self.version}/{self.plural}", "")
        digest = hashlib.sha256(f"{self.group}/{self.storage_version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()


def _from_discovery(group: str, version: str, entry: Mapping[str, Any]) -> Resource:
    def subresource(each: Mapping[str, Any]) -> Subresource:
        kind = each["responseKind"]
        # an empty version stands for the group and version of the resource
        same = not kind["version"]
        return Subresource(
            each["subresource"],
            group if same else kind["group"],
            version if same else kind["version"],
            kind["kind"],
            tuple(each["verbs"]),
        )

    key = (group, entry["resource"])
    return Resource(
        group=group,
        version=version,
        plural=entry["resource"],
        singular=entry["singularResource"],
        kind=entry["responseKind"]["kind"],
        list_kind=entry["responseKind"]["kind"] + "List",
        namespaced=entry["scope"] == "Namespaced",
        verbs=tuple(entry["verbs"]),
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        subresources={each["subresource"]: subresource(each) for each in entry.get("subresources", ())},
        storage=_STORED_AS.get(key, key),
        storage_version=_STORED_VERSION.get(key, version),
    )


@cache
def built_in() -> tuple[Resource, ...]:
    """All of them, groups and versions in the order of the real server's discovery (preferred version first)."""
    document = read("discovery")
    return tuple(
        _from_discovery(group["metadata"].get("name", ""), version["version"], entry)
        for group in (*document["core"], *document["groups"])
        for version in group["versions"]
        for entry in version["resources"]
    )


def _custom_verbs() -> tuple[str, ...]:
    return ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def of_definition(definition: Object) -> Iterator[Resource]:
    """The served versions of a custom definition, in discovery's order."""
    spec = definition["spec"]
    names = definition.get("status", {}).get("acceptedNames") or spec["names"]
    stored = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    for version in sorted(spec["versions"], key=lambda v: version_order(v["name"])):
        if not version.get("served"):
            continue
        subresources = {}
        if "status" in version.get("subresources", {}):
            subresources["status"] = Subresource(
                "status", spec["group"], version["name"], names["kind"], ("get", "patch", "update")
            )
        if "scale" in version.get("subresources", {}):
            subresources["scale"] = Subresource("scale", "autoscaling", "v1", "Scale", ("get", "patch", "update"))
        yield Resource(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            singular=names.get("singular", ""),
            kind=names["kind"],
            list_kind=names.get("listKind") or names["kind"] + "List",
            namespaced=spec["scope"] == "Namespaced",
            verbs=_custom_verbs(),
            short_names=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            subresources=subresources,
            definition=definition,
            storage=(spec["group"], names["plural"]),
            storage_version=stored,
        )


def version_order(version: str) -> tuple[Any, ...]:
    """Sort key of versions: v2 before v1 before v1beta2 before v1alpha1, then other names by the alphabet."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if not match:
        return (1, version)
    major, stage, minor = match.groups()
    rank = {None: 0, "beta": 1, "alpha": 2}[stage]
    return (0, rank, -int(major), -int(minor or 0))


class Resources:
    """The resources of one cluster. Custom ones come and go with their definitions."""

    def __init__(self) -> None:
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self._index: dict[tuple[str, str, str], Resource] = {}
        self._preferred: dict[str, Resource] = {}
        self._kinds: dict[tuple[str, str, str], Resource] = {}
        self._rebuild()

    def _rebuild(self) -> None:
        self._index, self._preferred, self._kinds = {}, {}, {}
        for resource in self:
            self._index[resource.group, resource.version, resource.plural] = resource
            self._preferred.setdefault(resource.text, resource)
            self._kinds[resource.group, resource.version, resource.kind] = resource

    def __iter__(self) -> Iterator[Resource]:
        yield from built_in()
        for name in sorted(self._custom):
            yield from self._custom[name]

    def define(self, definition: Object) -> None:
        """Serve a custom definition, or its new state."""
        self._custom[definition["metadata"]["name"]] = tuple(of_definition(definition))
        self._rebuild()

    def forget(self, name: str) -> None:
        """Stop serving the definition of that name."""
        if self._custom.pop(name, None) is not None:
            self._rebuild()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._index.get((group, version, plural))

    def named(self, text: str) -> Resource:
        """`pods` or `deployments.apps`, in the preferred version. KeyError if there is none."""
        return self._preferred[text]

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        return self._kinds.get((group, version, kind))

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Versions by group, preferred first; the core group is ""."""
        found: dict[str, dict[str, None]] = {}
        for resource in self:
            found.setdefault(resource.group, {})[resource.version] = None
        for group, versions in found.items():
            if any(r.is_custom for r in self.of_group(group)):
                found[group] = dict.fromkeys(sorted(versions, key=version_order))
        return {group: tuple(versions) for group, versions in found.items()}

    def of_group(self, group: str, version: str | None = None) -> Iterable[Resource]:
        return [r for r in self if r.group == group and version in (None, r.version)]

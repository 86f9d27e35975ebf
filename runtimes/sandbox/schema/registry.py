"""All built-in kinds and resources, loaded from the shipped data when first asked for."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from .structural import custom_type, fill
from .types import UNTYPED, Type

# Definitions with an encoding of their own: what OpenAPI says of them is less than what the server knows.
FORMATS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Duration": "duration",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "raw",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "raw",
}
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

# OpenAPI does not carry these: what kubectl accepts for a resource's name, and the groups it is listed in.
SHORT_NAMES = {
    "configmaps": "cm",
    "componentstatuses": "cs",
    "endpoints": "ep",
    "events": "ev",
    "limitranges": "limits",
    "namespaces": "ns",
    "nodes": "no",
    "persistentvolumeclaims": "pvc",
    "persistentvolumes": "pv",
    "pods": "po",
    "replicationcontrollers": "rc",
    "resourcequotas": "quota",
    "serviceaccounts": "sa",
    "services": "svc",
    "customresourcedefinitions": "crd crds",
    "daemonsets": "ds",
    "deployments": "deploy",
    "replicasets": "rs",
    "statefulsets": "sts",
    "horizontalpodautoscalers": "hpa",
    "cronjobs": "cj",
    "ingresses": "ing",
    "ipaddresses": "ip",
    "networkpolicies": "netpol",
    "poddisruptionbudgets": "pdb",
    "priorityclasses": "pc",
    "storageclasses": "sc",
    "volumeattributesclasses": "vac",
}
IN_ALL = frozenset(
    [
        "pods",
        "replicationcontrollers",
        "services",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "horizontalpodautoscalers",
        "cronjobs",
        "jobs",
    ]
)
CATEGORIES = {"customresourcedefinitions": ("api-extensions",), "apiservices": ("api-extensions",)}


@dataclass(frozen=True, slots=True)
class Subresource:
    """`kind` of its bodies, in `group`/`version`: Scale of autoscaling/v1, or the resource's own."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    group: str
    version: str
    resource: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    subresources: dict[str, Subresource]


@dataclass(frozen=True, slots=True)
class KindSchema:
    """A kind in one version. `type` is that of its objects; `is_custom` if it was defined by a client."""

    group: str
    version: str
    kind: str
    type: Type
    is_custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """`Deployment.apps`, or `Pod` in the core group."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def gvk_text(self) -> str:
        """As Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


def storage_version_hash(group: str, version: str, kind: str) -> str:
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


class Registry:
    """Kinds by group, version and name. `load()` gives the shared one of built-in kinds; it is read only."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._schemas: dict[str, dict[str, Any]] = data["schemas"]
        self._go: dict[str, dict[str, Any]] = data["go"]
        self._types: dict[str, Type] = {}
        self._kinds: dict[tuple[str, str, str], KindSchema] = {}
        self._definitions: dict[tuple[str, str, str], str] = {
            (gvk["group"], gvk["version"], gvk["kind"]): name
            for name, schema in self._schemas.items()
            for gvk in schema.get("x-kubernetes-group-version-kind", ())
        }
        self.resources: tuple[ResourceInfo, ...] = tuple(_resource(entry) for entry in data["resources"])

    @staticmethod
    @cache
    def load() -> Registry:
        packed = resources.files(__package__).joinpath("data/definitions.json.gz").read_bytes()
        return Registry(json.loads(gzip.decompress(packed)))

    @staticmethod
    def openapi_document(name: str) -> dict[str, Any] | None:
        """The OpenAPI v3 document of a group version, as `api_v1` or `apis_apps_v1`; None if there is none."""
        path = resources.files(__package__).joinpath(f"data/openapi/{name}.json.gz")
        if not path.is_file():
            return None
        document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        return document

    def kind(self, group: str, version: str, kind: str) -> KindSchema:
        """Raises KeyError for a kind that is not served."""
        key = (group, version, kind)
        if key not in self._kinds:
            self._kinds[key] = KindSchema(group, version, kind, self.definition(self._definitions[key]))
        return self._kinds[key]

    def kinds(self) -> Iterator[tuple[str, str, str]]:
        return iter(self._definitions)

    def custom(self, group: str, version: str, kind: str, schema: dict[str, Any] | None) -> KindSchema:
        """A kind that a CustomResourceDefinition describes; `schema` is its `openAPIV3Schema`."""
        return KindSchema(group, version, kind, custom_type(schema, self.definition(OBJECT_META)), is_custom=True)

    def definition(self, name: str) -> Type:
        if name in self._types:
            return self._types[name]
        package, _, short = name.rpartition(".")
        made = self._types[name] = Type(name=name, go=f"{package.rpartition('.')[2]}.{short}")
        special = FORMATS.get(name, "")
        if special == "raw" and not name.endswith("FieldsV1"):
            made.scalar, made.list, made.map = UNTYPED.scalar, UNTYPED.list, UNTYPED.map
        else:
            fill(made, self._schemas[name], self.definition, False, self._go.get(name, {}))
        if special == "quantity":
            made.scalar, made.list, made.map = "untyped", None, None
        made.format = special or made.format
        return made


def _resource(entry: dict[str, Any]) -> ResourceInfo:
    name, kind = entry["resource"], entry["kind"]
    subresources = {
        sub: Subresource(
            sub, it["group"] or entry["group"], it["version"] or entry["version"], it["kind"], tuple(it["verbs"])
        )
        for sub, it in entry["subresources"].items()
    }
    short = tuple(SHORT_NAMES.get(name, "").split())
    categories = ("all",) if name in IN_ALL else CATEGORIES.get(name, ())
    return ResourceInfo(
        entry["group"],
        entry["version"],
        name,
        kind.lower(),
        kind,
        entry["namespaced"],
        tuple(entry["verbs"]),
        short,
        categories,
        subresources,
    )

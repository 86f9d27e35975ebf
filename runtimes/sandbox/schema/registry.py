"""All built-in kinds, loaded from the shipped data when first asked for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.schema.structural import custom_type, fill
from runtimes.sandbox.schema.types import OWN_JSON, UNTYPED, Type

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
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "schema-or-array",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class KindSchema:
    """A kind in one version. `type` is that of its objects; `is_custom` if it was defined by a client. `scale` are the
    paths of the replicas wanted, of those there are, and of the selector, of a custom resource that can be scaled.
    """

    group: str
    version: str
    kind: str
    type: Type
    is_custom: bool = False
    scale: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk_text(self) -> str:
        """As Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


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

    @staticmethod
    @cache
    def load() -> Registry:
        packed = resources.files(__package__).joinpath("definitions.json.gz").read_bytes()
        return Registry(json.loads(gzip.decompress(packed)))

    def kind(self, group: str, version: str, kind: str) -> KindSchema:
        """Raises KeyError for a kind that is not served."""
        key = (group, version, kind)
        if key not in self._kinds:
            self._kinds[key] = KindSchema(group, version, kind, self.definition(self._definitions[key]))
        return self._kinds[key]

    def custom(
        self, group: str, version: str, kind: str, schema: dict[str, Any] | None, scale: Mapping[str, str] | None = None
    ) -> KindSchema:
        """A kind that a CustomResourceDefinition describes: its `openAPIV3Schema` and subresource."""
        type_ = custom_type(schema, self.definition(OBJECT_META))
        names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
        paths = tuple(scale.get(name, "") for name in names) if scale else ()
        return KindSchema(group, version, kind, type_, is_custom=True, scale=paths)

    def definition(self, name: str) -> Type:
        if name in self._types:
            return self._types[name]
        package, _, short = name.rpartition(".")
        made = self._types[name] = Type(name=name, go=f"{package.rpartition('.')[2]}.{short}")
        special = FORMATS.get(name, "")
        if special in OWN_JSON and not name.endswith("FieldsV1"):
            made.scalar, made.list, made.map = UNTYPED.scalar, UNTYPED.list, UNTYPED.map
        else:
            fill(made, self._schemas[name], self.definition, False, self._go.get(name, {}))
        if special == "quantity":
            made.scalar, made.list, made.map = "untyped", None, None
        made.format = special or made.format
        return made

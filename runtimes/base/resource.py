"""Resources and their identities, as Kusion's Spec writes them.

A resource id is text with a fixed number of parts, divided by colons:

    Kubernetes    apiVersion:Kind[:namespace]:name                    apps/v1:Deployment:shop:web
    Terraform     providerNamespace:provider:resourceType:name        hashicorp:aws:aws_db_instance:main

Both forms may have four parts, so an id is parsed together with its resource's type
(https://github.com/KusionStack/kusion/blob/main/pkg/apis/api.kusion.io/v1/types.go, `Resource.ID`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Self

from kcl.records import dataclass, field
from runtimes.base.contents import may_any_hold, may_hold

Body = Mapping[str, Any]
"""What a resource says, open by nature: JSON-like, never mutated after it was handed over."""
REFERENCE_SIGNS: Final = (b"$kusion_path.", b"$workbench.")
"""What every reference to a value of another resource begins with: see `runtimes.base.references`."""


class RuntimeType(StrEnum):
    """Which runtime holds a resource: the value of `type` in a Spec."""

    KUBERNETES = "Kubernetes"
    TERRAFORM = "Terraform"


class InvalidResourceId(ValueError):
    """A resource id, or a body it should be taken from, that does not have the parts its type needs."""


@dataclass(frozen=True, slots=True, order=True)
class KubernetesId:
    """`namespace` is empty for cluster-wide objects and for objects left to a default namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, body: Body) -> Self:
        """Reads the identity of a Kubernetes object; raises `InvalidResourceId` where it has none."""
        metadata = body.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        parts = body.get("apiVersion"), body.get("kind"), metadata.get("namespace") or "", metadata.get("name")
        if not all(isinstance(part, str) for part in parts) or not (parts[0] and parts[1] and parts[3]):
            raise InvalidResourceId(
                "a Kubernetes resource needs apiVersion, kind and metadata.name, all text; "
                f"got {parts[0]!r}, {parts[1]!r} and {parts[3]!r}"
            )
        return cls(*(str(part) for part in parts))

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def __str__(self) -> str:
        return ":".join(filter(None, (self.api_version, self.kind, self.namespace, self.name)))


@dataclass(frozen=True, slots=True, order=True)
class TerraformId:
    provider_namespace: str
    provider: str
    resource_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider_namespace}:{self.provider}:{self.resource_type}:{self.name}"


ResourceId = KubernetesId | TerraformId


@lru_cache(maxsize=1 << 12)
def parse_id(text: str, type_: RuntimeType) -> ResourceId:
    """Parses an id as a Spec writes it; raises `InvalidResourceId` saying which parts are expected."""
    parts = text.split(":")
    if not all(parts):
        raise InvalidResourceId(f"resource id {text!r} has an empty part")
    match type_, parts:
        case RuntimeType.KUBERNETES, [api_version, kind, name]:
            return KubernetesId(api_version, kind, "", name)
        case RuntimeType.KUBERNETES, [api_version, kind, namespace, name]:
            return KubernetesId(api_version, kind, namespace, name)
        case RuntimeType.KUBERNETES, [api_version, kind, namespace, *rest] if len(rest) > 1:
            # names of RBAC objects may hold colons: system:node-reader
            return KubernetesId(api_version, kind, namespace, ":".join(rest))
        case RuntimeType.TERRAFORM, [provider_namespace, provider, resource_type, name]:
            return TerraformId(provider_namespace, provider, resource_type, name)
    expected = {
        RuntimeType.KUBERNETES: "apiVersion:Kind[:namespace]:name",
        RuntimeType.TERRAFORM: "providerNamespace:provider:resourceType:name",
    }[type_]
    raise InvalidResourceId(f"resource id {text!r} is not of the form {expected}")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a Spec: what should be.

    `depends_on` names resources of the same Spec that come first. `extensions` is Kusion's open field for what a
    runtime needs besides the body (provider, resourceType, kubeConfig, import id).
    """

    id: ResourceId
    type: RuntimeType
    attributes: Body = field(repr=False)
    depends_on: tuple[ResourceId, ...] = ()
    extensions: Body = field(default_factory=lambda: MappingProxyType({}), repr=False)
    _may_refer: bool | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def may_refer(self) -> bool:
        """Whether a text of its body may hold a reference; False where none does, as in most. Looked for once."""
        if self._may_refer is None:
            object.__setattr__(self, "_may_refer", may_hold(self.attributes, *REFERENCE_SIGNS))
        return bool(self._may_refer)


def look_for_references(resources: Sequence[Resource]) -> None:
    """Spares them being asked one by one whether they may refer, where none does, as in most stacks."""
    unknown = [each for each in resources if each._may_refer is None]
    if unknown and not may_any_hold([each.attributes for each in unknown], *REFERENCE_SIGNS):
        refer_to_nothing(unknown)


def refer_to_nothing(resources: Iterable[Resource]) -> None:
    """Notes of resources that no text of their bodies holds a reference, as who looked says."""
    for each in resources:
        object.__setattr__(each, "_may_refer", False)


def in_words(id_: ResourceId) -> str:
    """`Deployment shop/web`, `Namespace shop`, and without its provider `aws_vpc main`."""
    match id_:
        case KubernetesId(kind=kind, namespace=namespace, name=name):
            return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        case TerraformId(resource_type=resource_type, name=name):
            return f"{resource_type} {name}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where one resource lives: the same resource of a Spec may go to several clusters.

    `cluster` is the name the Konfig repository gives the cluster; for Terraform it names the workspace.
    """

    cluster: str
    id: ResourceId

    def __str__(self) -> str:
        return f"{self.id}@{self.cluster}"

    @property
    def in_words(self) -> str:
        """`Deployment checkout-prod/web @hangzhou`: what sentences and tables call it."""
        return f"{in_words(self.id)} @{self.cluster}" if self.cluster else in_words(self.id)

    def __lt__(self, other: Address) -> bool:
        return (self.cluster, str(self.id)) < (other.cluster, str(other.id))

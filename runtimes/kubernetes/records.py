"""Secrets and leases of this program's own. See `runtimes.base.records`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from runtimes.base import KubernetesId, Moved, RuntimeFailure
from runtimes.base.records import Lease, StoredSecret
from runtimes.kubernetes.client import Client, Object
from runtimes.kubernetes.discovery import ApiResource

MANAGER: Final = "workbench-releases"
_SECRETS: Final = ApiResource("v1", "Secret", "secrets", True, frozenset())  # as every cluster serves it: not asked for
_MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "konfig-workbench"}


class KubernetesRecords:
    """See `runtimes.base.records.RecordKeeper`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def place(self) -> str:
        return self._client.place

    def within(self, namespace: str) -> str:
        return f"namespace {namespace} of {self.place}"

    def rights(self, namespace: str) -> str:
        return (
            f"in the namespace {namespace} (which has to be there) it takes get, list, create, update and delete "
            "of secrets and of leases.coordination.k8s.io"
        )

    async def secrets(self, namespace: str, labels: Mapping[str, str]) -> tuple[StoredSecret, ...]:
        listing = await self._client.list(_SECRETS, namespace, labels=_selector(labels))
        return tuple(_secret(each) for each in listing.items)

    async def labels(self, namespace: str, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        listing = await self._client.list(_SECRETS, namespace, labels=_selector(labels), metadata_only=True)
        return tuple(_texts(_mapping(each.get("metadata")).get("labels")) for each in listing.items)

    async def create_secret(self, secret: StoredSecret) -> str:
        made = await self._client.once("POST", _id("Secret", secret), _secret_body(secret), manager=MANAGER)
        return _version(self._that(_id("Secret", secret), made))

    async def replace_secret(self, secret: StoredSecret) -> str:
        body = _secret_body(secret)
        body["metadata"]["resourceVersion"] = secret.version
        made = await self._client.once("PUT", _id("Secret", secret), body, manager=MANAGER)
        return _version(self._that(_id("Secret", secret), made))

    async def delete_secret(self, namespace: str, name: str, version: str) -> None:
        await self._client.delete(KubernetesId("v1", "Secret", namespace, name), uid=None, version=version)

    async def lease(self, namespace: str, name: str) -> Lease | None:
        live = await self._client.get(KubernetesId("coordination.k8s.io/v1", "Lease", namespace, name))
        return None if live is None else _lease(namespace, name, live)

    async def write_lease(self, lease: Lease) -> Lease:
        metadata: Object = {"name": lease.name, "namespace": lease.namespace, "labels": _MANAGED_BY}
        if lease.version:
            metadata["resourceVersion"] = lease.version
        spec: Object = {
            "leaseDurationSeconds": lease.lifetime_seconds,
            "acquireTime": lease.acquired,
            "renewTime": lease.renewed,
            "leaseTransitions": lease.transitions,
        }
        if lease.holder:
            spec["holderIdentity"] = lease.holder
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        written = await self._client.once(
            "PUT" if lease.version else "POST", _id("Lease", lease), body, manager=MANAGER
        )
        return _lease(lease.namespace, lease.name, self._that(_id("Lease", lease), written))

    def _that(self, id_: KubernetesId, written: Object) -> Object:
        """Returns what was written. Raises `RuntimeFailure` for another answer: whether it was written is not known."""
        metadata = _mapping(written.get("metadata"))
        if (written.get("kind"), metadata.get("name")) != (id_.kind, id_.name) or not _version(written):
            said = "the server answered with another thing than what was to be written"
            raise RuntimeFailure(said, target=self.place, subject=str(id_))
        return written

    async def make_namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": _MANAGED_BY}}
        try:
            await self._client.once("POST", KubernetesId("v1", "Namespace", "", name), body, manager=MANAGER)
        except Moved:
            return  # it is there


def _selector(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _id(kind: str, named: StoredSecret | Lease) -> KubernetesId:
    return KubernetesId("v1" if kind == "Secret" else "coordination.k8s.io/v1", kind, named.namespace, named.name)


def _secret_body(secret: StoredSecret) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": secret.type,
        "metadata": {
            "name": secret.name,
            "namespace": secret.namespace,
            "labels": {**_MANAGED_BY, **secret.labels},
            "annotations": dict(secret.annotations),
        },
        "data": {name: base64.b64encode(content).decode() for name, content in secret.data.items()},
    }


def _secret(live: Object) -> StoredSecret:
    """What others wrote may be anything: it is taken as far as it has the form of a secret."""
    metadata = _mapping(live.get("metadata"))
    data: dict[str, bytes] = {}
    unreadable = ""
    for name, text in _mapping(live.get("data")).items():
        try:
            data[str(name)] = base64.b64decode(text or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            unreadable = f"its entry {name!r} is not base64"
    return StoredSecret(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        type=str(live.get("type") or ""),
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        data={} if unreadable else data,
        version=str(metadata.get("resourceVersion") or ""),
        unreadable=unreadable,
    )


def _lease(namespace: str, name: str, live: Object) -> Lease:
    spec = _mapping(live.get("spec"))
    return Lease(
        namespace=namespace,
        name=name,
        holder=str(spec.get("holderIdentity") or ""),
        transitions=_number(spec.get("leaseTransitions")),
        acquired=str(spec.get("acquireTime") or ""),
        renewed=str(spec.get("renewTime") or ""),
        lifetime_seconds=_number(spec.get("leaseDurationSeconds")),
        version=_version(live),
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _version(live: Object) -> str:
    return str(_mapping(live.get("metadata")).get("resourceVersion") or "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in _mapping(value).items()}

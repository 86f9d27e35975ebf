"""Which objects an object names or selects, and which name or select it.

Kubernetes keeps no index of that: what may refer to an object is listed, and each field that can name another is looked
at. Those fields are the ones of the API's own kinds (https://kubernetes.io/docs/reference/kubernetes-api/); what a
custom resource names in fields of its own is not known. Owners are followed by uid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import KubernetesId, NotThere, RuntimeFailure, label_selectors
from runtimes.base.relations import Presence, Related, Relations
from runtimes.kubernetes.client import Client, Object
from runtimes.kubernetes.objects import (
    group_of,
    kind_of,
    mapping,
    mappings,
    metadata,
    name_of,
    namespace_of,
    spec,
    uid_of,
)
from runtimes.kubernetes.together import together

_PARALLEL = 6
_DEEPEST = 8
_VERSIONS: Final = {
    **dict.fromkeys(
        (
            *("ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "ServiceAccount", "Service", "Node"),
            *("Pod", "Endpoints"),
        ),
        "v1",
    ),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("Ingress", "IngressClass", "NetworkPolicy"), "networking.k8s.io/v1"),
    **dict.fromkeys(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), "rbac.authorization.k8s.io/v1"),
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}
_IN_NAMESPACE: Final = (
    *("Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service", "EndpointSlice"),
    *("Ingress", "NetworkPolicy", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PersistentVolumeClaim"),
    *("ServiceAccount", "RoleBinding"),
)
_OF_CLUSTER: Final[Mapping[str, tuple[str, ...]]] = {
    "Node": ("Pod",),
    "PersistentVolume": ("PersistentVolumeClaim",),
    "StorageClass": ("PersistentVolumeClaim", "PersistentVolume"),
    "IngressClass": ("Ingress",),
    "ClusterRole": ("ClusterRoleBinding", "RoleBinding"),
    "PriorityClass": ("Pod",),
}
"""What may refer to objects that are in no namespace."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One object that a field of another names."""

    id: KubernetesId
    how: str
    is_optional: bool = False


def references(live: Object) -> Iterator[Reference]:
    """Yields what an object names, without its owners."""
    find = _BY_KIND.get(kind_of(live))
    if find is not None and _is_built_in(live):
        for each in find(live):
            if each.id.name:
                yield each


def _is_built_in(live: Object) -> bool:
    return _VERSIONS.get(kind_of(live), "").rpartition("/")[0] == group_of(live)


def _to(kind: str, name: Any, namespace: str, how: str, *, is_optional: bool = False) -> Reference:
    text = name if isinstance(name, str) else ""
    return Reference(KubernetesId(_VERSIONS[kind], kind, namespace, text), how, is_optional)


def _of_pods(path: tuple[str, ...]) -> Callable[[Object], Iterator[Reference]]:
    def found(live: Object) -> Iterator[Reference]:
        inside: Any = live
        for step in path:
            inside = mapping(inside).get(step)
        yield from _of_pod_spec(mapping(inside), namespace_of(live))
        if kind_of(live) == "StatefulSet":
            yield _to("Service", spec(live).get("serviceName"), namespace_of(live), "its service")

    return found


def _of_pod_spec(inside: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    yield _to("Node", inside.get("nodeName"), "", "runs on it")
    yield _to("ServiceAccount", inside.get("serviceAccountName"), namespace, "service account")
    yield _to("PriorityClass", inside.get("priorityClassName"), "", "priority")
    for each in mappings(inside.get("imagePullSecrets")):
        yield _to("Secret", each.get("name"), namespace, "pulls images", is_optional=True)
    for each in mappings(inside.get("volumes")):
        yield from _of_volume(each, namespace)
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for each in mappings(inside.get(part)):
            yield from _of_container(each, namespace)


def _of_volume(volume: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    how = f"volume {volume.get('name')}"
    claim = mapping(volume.get("persistentVolumeClaim"))
    yield _to("PersistentVolumeClaim", claim.get("claimName"), namespace, how)
    sources = [volume, *mappings(mapping(volume.get("projected")).get("sources"))]
    for each in sources:
        settings, secret = mapping(each.get("configMap")), mapping(each.get("secret"))
        is_optional = settings.get("optional") is True
        yield _to("ConfigMap", settings.get("name"), namespace, how, is_optional=is_optional)
        name = secret.get("secretName", secret.get("name"))
        yield _to("Secret", name, namespace, how, is_optional=secret.get("optional") is True)


def _of_container(container: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    at = str(container.get("name"))
    for each in mappings(container.get("envFrom")):
        for kind, name in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            source = mapping(each.get(name))
            is_optional = source.get("optional") is True
            yield _to(kind, source.get("name"), namespace, f"environment of {at}", is_optional=is_optional)
    for each in mappings(container.get("env")):
        for kind, name in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            source = mapping(mapping(each.get("valueFrom")).get(name))
            how = f"{each.get('name')} of {at}"
            yield _to(kind, source.get("name"), namespace, how, is_optional=source.get("optional") is True)


def _of_ingress(live: Object) -> Iterator[Reference]:
    inside, namespace = spec(live), namespace_of(live)
    yield _to("IngressClass", inside.get("ingressClassName"), "", "class")
    for each in mappings(inside.get("tls")):
        yield _to("Secret", each.get("secretName"), namespace, "certificate")
    yield _to(
        "Service", mapping(mapping(inside.get("defaultBackend")).get("service")).get("name"), namespace, "default"
    )
    for rule in mappings(inside.get("rules")):
        for path in mappings(mapping(rule.get("http")).get("paths")):
            service = mapping(mapping(path.get("backend")).get("service"))
            how = f"{rule.get('host') or '*'}{path.get('path') or '/'}"
            yield _to("Service", service.get("name"), namespace, how)


def _of_autoscaler(live: Object) -> Iterator[Reference]:
    target = mapping(spec(live).get("scaleTargetRef"))
    version, kind, name = (str(target.get(each) or "") for each in ("apiVersion", "kind", "name"))
    if version and kind:
        yield Reference(KubernetesId(version, kind, namespace_of(live), name), "scales it")


def _of_claim(live: Object) -> Iterator[Reference]:
    yield _to("PersistentVolume", spec(live).get("volumeName"), "", "volume")
    yield _to("StorageClass", spec(live).get("storageClassName"), "", "class")


def _of_volume_itself(live: Object) -> Iterator[Reference]:
    claim = mapping(spec(live).get("claimRef"))
    yield _to("PersistentVolumeClaim", claim.get("name"), str(claim.get("namespace") or ""), "claim")
    yield _to("StorageClass", spec(live).get("storageClassName"), "", "class", is_optional=True)


def _of_account(live: Object) -> Iterator[Reference]:
    for name in ("secrets", "imagePullSecrets"):
        for each in mappings(live.get(name)):
            yield _to("Secret", each.get("name"), namespace_of(live), name, is_optional=True)


def _of_binding(live: Object) -> Iterator[Reference]:
    role = mapping(live.get("roleRef"))
    kind = "ClusterRole" if role.get("kind") == "ClusterRole" else "Role"
    yield _to(kind, role.get("name"), "" if kind == "ClusterRole" else namespace_of(live), "role")
    for each in mappings(live.get("subjects")):
        if each.get("kind") == "ServiceAccount":
            yield _to("ServiceAccount", each.get("name"), str(each.get("namespace") or namespace_of(live)), "subject")


def _of_slice(live: Object) -> Iterator[Reference]:
    for each in mappings(live.get("endpoints")):
        target = mapping(each.get("targetRef"))
        if target.get("kind") == "Pod":
            yield _to("Pod", target.get("name"), str(target.get("namespace") or namespace_of(live)), "endpoint")


_TEMPLATE: Final = ("spec", "template", "spec")
_BY_KIND: Final[Mapping[str, Callable[[Object], Iterator[Reference]]]] = {
    "Pod": _of_pods(("spec",)),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"), _of_pods(_TEMPLATE)),
    "CronJob": _of_pods(("spec", "jobTemplate", *_TEMPLATE)),
    "Ingress": _of_ingress,
    "HorizontalPodAutoscaler": _of_autoscaler,
    "PersistentVolumeClaim": _of_claim,
    "PersistentVolume": _of_volume_itself,
    "ServiceAccount": _of_account,
    **dict.fromkeys(("RoleBinding", "ClusterRoleBinding"), _of_binding),
    "EndpointSlice": _of_slice,
}


def selects(chooser: Object, pod: Object) -> bool:
    """Whether a Service, a budget or a NetworkPolicy selects a pod by its labels."""
    if kind_of(pod) != "Pod" or namespace_of(chooser) != namespace_of(pod) or not _is_built_in(chooser):
        return False
    labels = mapping(metadata(pod).get("labels"))
    match kind_of(chooser):
        case "Service":
            wanted = mapping(spec(chooser).get("selector"))
            return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())
        case "PodDisruptionBudget":
            return label_selectors.matches(spec(chooser).get("selector"), labels)
        case "NetworkPolicy":
            return label_selectors.matches(spec(chooser).get("podSelector"), labels)
    return False


async def relations(client: Client, id_: KubernetesId) -> Relations | None:
    """See `runtimes.base.relations.Relatable`."""
    live = await client.get(id_)
    if live is None:
        return None
    around = _Around(client, id_, live)
    await around.look()
    owners = await around.owners()
    refers = await around.refers_to()
    return Relations(
        owners, tuple(around.owned()), refers, tuple(around.used_by()), tuple(sorted(around.not_known.items()))
    )


def among(live: Object, objects: Iterable[Object]) -> Relations:
    """Returns what one of some objects has to do with the others, as they say it themselves. Pure: whether something
    that is not among them is there is not known. A workload is selected where the pods of its template are."""
    every, id_ = tuple(objects), _id(live)
    there = {(kind_of(each), namespace_of(each), name_of(each)) for each in every}
    named: dict[KubernetesId, list[Reference]] = {}
    for each in references(live):
        named.setdefault(each.id, []).append(each)
    refers = [
        Related(
            target,
            ", ".join(dict.fromkeys(each.how for each in found)),
            Presence.THERE if (target.kind, target.namespace, target.name) in there else Presence.UNKNOWN,
            all(each.is_optional for each in found),
        )
        for target, found in named.items()
    ]
    refers += [Related(_id(each), "selects its pods") for each in every if each is not live and _chooses(live, each)]
    used = []
    for other in every:
        if other is not live:
            hows = dict.fromkeys(one.how for one in references(other) if _is_same(one.id, id_))
            if _chooses(other, live):
                hows["selects its pods"] = None
            if hows:
                used.append(Related(_id(other), ", ".join(hows)))
    return Relations(refers_to=tuple(refers), used_by=tuple(used))


def _chooses(chooser: Object, workload: Object) -> bool:
    if kind_of(workload) == "Pod":
        return selects(chooser, workload)
    inside = spec(workload)
    if kind_of(workload) == "CronJob":
        inside = mapping(mapping(inside.get("jobTemplate")).get("spec"))
    template = mapping(mapping(inside.get("template")).get("metadata"))
    made = {"namespace": namespace_of(workload), "labels": template.get("labels")}
    return kind_of(workload) in _BY_KIND and selects(chooser, {"apiVersion": "v1", "kind": "Pod", "metadata": made})


class _Around:
    """What is listed around an object."""

    def __init__(self, client: Client, id_: KubernetesId, live: Object) -> None:
        self._client, self._id, self._live = client, id_, live
        self._gate = asyncio.Semaphore(_PARALLEL)
        self._found: list[Object] = []
        self.not_known: dict[str, RuntimeFailure] = {}

    async def look(self) -> None:
        kinds = _IN_NAMESPACE if self._id.namespace else _OF_CLUSTER.get(self._id.kind, ())
        lists = await together(*(self._list(each) for each in kinds))
        self._found = [
            {**each, "kind": kind, "apiVersion": _VERSIONS[kind]}
            for kind, objects in zip(kinds, lists, strict=True)
            for each in objects
        ]

    async def _list(self, kind: str) -> tuple[Object, ...]:
        is_of_node = self._id.kind == "Node" and kind == "Pod"
        async with self._gate:
            try:
                resource = await self._client.discovery.resource(_VERSIONS[kind], kind)
                fields = f"spec.nodeName={self._id.name}" if is_of_node else ""
                return (await self._client.list(resource, self._id.namespace, fields=fields)).items
            except NotThere:
                return ()
            except RuntimeFailure as failure:
                self.not_known[kind] = failure
                return ()

    async def owners(self) -> tuple[Related, ...]:
        found: list[Related] = []
        live: Object | None = self._live
        while live is not None and len(found) < _DEEPEST:
            above = [each for each in mappings(metadata(live).get("ownerReferences")) if each.get("kind")]
            named = next((each for each in above if each.get("controller") is True), above[0] if above else None)
            if named is None:
                break
            uid = str(named.get("uid") or "")
            id_ = await self._owner_id(named, namespace_of(live))
            presence, live = await self._read(id_)
            if presence is Presence.THERE and live is not None and uid_of(live) != uid:
                presence, live = Presence.MISSING, None  # another of that name
            how = "controls it" if named.get("controller") is True else "owns it"
            found.append(Related(id_, how, presence, uid=uid))
        return tuple(found)

    async def _owner_id(self, named: Mapping[str, Any], namespace: str) -> KubernetesId:
        """An owner is in the namespace of what it owns, or in none."""
        version, kind, name = str(named.get("apiVersion")), str(named["kind"]), str(named.get("name") or "")
        try:
            is_namespaced = (await self._client.discovery.resource(version, kind)).is_namespaced
        except RuntimeFailure:
            is_namespaced = True
        return KubernetesId(version, kind, namespace if is_namespaced else "", name)

    def owned(self) -> Iterator[Related]:
        by_owner: dict[str, list[Object]] = {}
        for each in self._found:
            for owner in mappings(metadata(each).get("ownerReferences")):
                by_owner.setdefault(str(owner.get("uid")), []).append(each)
        seen, level = {uid_of(self._live)}, [uid_of(self._live)]
        while level:
            below: list[str] = []
            for owner_uid in level:
                for each in by_owner.get(owner_uid, ()):
                    if uid_of(each) not in seen:
                        seen.add(uid_of(each))
                        below.append(uid_of(each))
                        yield Related(_id(each), uid=uid_of(each), owner=owner_uid)
            level = below

    async def refers_to(self) -> tuple[Related, ...]:
        named: dict[KubernetesId, Reference] = {}
        for each in references(self._live):
            known = named.get(each.id)
            if known is None:
                named[each.id] = each
            elif each.how not in known.how:
                is_optional = known.is_optional and each.is_optional
                named[each.id] = Reference(each.id, f"{known.how}, {each.how}", is_optional)
        reads = await together(*(self._read(each) for each in named))
        found = [
            Related(each.id, each.how, presence, each.is_optional)
            for each, (presence, _) in zip(named.values(), reads, strict=True)
        ]
        chosen = (each for each in self._found if selects(self._live, each))
        return (*found, *(Related(_id(each), "selects it", uid=uid_of(each)) for each in chosen))

    def used_by(self) -> Iterator[Related]:
        """Yields what names it, each once, owners before what they own."""
        found: dict[str, Related] = {}
        for each in self._found:
            if uid_of(each) == uid_of(self._live):
                continue
            hows = dict.fromkeys(one.how for one in references(each) if _is_same(one.id, self._id))
            if selects(each, self._live):
                hows["selects it"] = None
            if hows:
                owner = next((str(one.get("uid")) for one in mappings(metadata(each).get("ownerReferences"))), "")
                found[uid_of(each)] = Related(_id(each), ", ".join(hows), uid=uid_of(each), owner=owner)
        return iter(_owners_first(found.values()))

    async def _read(self, id_: KubernetesId) -> tuple[Presence, Object | None]:
        async with self._gate:
            try:
                live = await self._client.get(id_)
            except NotThere:
                return Presence.UNKNOWN, None  # its kind is not served
            except RuntimeFailure:
                return Presence.UNKNOWN, None
        return (Presence.THERE, live) if live is not None else (Presence.MISSING, None)


def _owners_first(found: Iterable[Related]) -> list[Related]:
    order = {kind: number for number, kind in enumerate(("CronJob", "Deployment", "StatefulSet", "DaemonSet", "Job"))}
    return sorted(found, key=lambda each: (order.get(each.id.kind, 9), each.id.kind, each.id.namespace, each.id.name))


def _id(live: Object) -> KubernetesId:
    return KubernetesId(str(live.get("apiVersion")), kind_of(live), namespace_of(live), name_of(live))


def _is_same(one: KubernetesId, other: KubernetesId) -> bool:
    """Whether they are the same object, by whatever version."""
    return (one.group, one.kind, one.namespace, one.name) == (other.group, other.kind, other.namespace, other.name)

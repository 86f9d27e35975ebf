"""Warnings about objects that are accepted: the client is told, nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtimes.base.quantity import amount
from runtimes.sandbox.schema.registry import KindSchema
from runtimes.sandbox.storage_classes import STORAGE_CLASS_ANNOTATION
from runtimes.sandbox.validate import admission_policies, custom, names, rules
from runtimes.sandbox.validate.causes import Object, shown

DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}
NAME_TEXT = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def about(kind: KindSchema, new: Object, old: Object | None) -> list[str]:
    if kind.is_custom:
        return _finalizers(new, old)
    teller = _TELLERS.get((kind.group, kind.kind))
    return teller(new, old) if teller is not None else []


def _finalizers(new: Object, old: Object | None) -> list[str]:
    """Of custom resources; built-in kinds refuse them."""
    before = ((old or {}).get("metadata") or {}).get("finalizers") or []
    text = (
        "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts "
        "with other finalizer writers"
    )
    return [
        f"metadata.finalizers: {shown(name)}: {text}"
        for name in (new.get("metadata") or {}).get("finalizers") or []
        if "/" not in name and name not in before and name not in ("orphan", "foregroundDeletion")
    ]


def _spec(obj: Object) -> Object:
    spec: Object = obj.get("spec") or {}
    return spec


def _name(obj: Object) -> list[str]:
    wrong = names.label((obj.get("metadata") or {}).get("name", ""))
    return [f"{NAME_TEXT}[{' '.join(wrong)}]"] if wrong else []


def _pod(new: Object, old: Object | None) -> list[str]:
    if old is not None:
        return []  # pods change too often to be looked at each time
    return _name(new) + _pod_spec(_spec(new), "spec")


def _templated(*, named: bool) -> Callable[[Object, Object | None], list[str]]:
    def tell(new: Object, old: Object | None) -> list[str]:
        if old is not None and not _is_changed(new, old):
            return []
        found = _name(new) if named and old is None else []
        return found + _pod_spec(_spec(_spec(new).get("template") or {}), "spec.template.spec")

    return tell


def _cron_job(new: Object, old: Object | None) -> list[str]:
    if old is not None and not _is_changed(new, old):
        return []
    job = _spec(_spec(new).get("jobTemplate") or {})
    found = _pod_spec(_spec(job.get("template") or {}), "spec.jobTemplate.spec.template.spec")
    return [*(_name(new) if old is None else []), *found]


def _volume(new: Object, old: Object | None) -> list[str]:
    if _spec(new).get("persistentVolumeReclaimPolicy") != "Recycle":
        return []
    advice = "Instead, the recommended approach is to use dynamic provisioning."
    return [f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {advice}"]


def _is_changed(new: Object, old: Object) -> bool:
    """Whether what is wanted changed, as generations count it."""
    return bool((new.get("metadata") or {}).get("generation") != (old.get("metadata") or {}).get("generation"))


def _pod_spec(spec: Object, path: str) -> list[str]:
    found: list[str] = []
    for key in spec.get("nodeSelector") or {}:
        if key in DEPRECATED_LABELS:
            found.append(f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or []):
        if constraint.get("labelSelector") is None:
            here = f"{path}.topologySpreadConstraints[{index}].labelSelector"
            found.append(f"{here}: a null labelSelector results in matching no pod")
    for volume in spec.get("volumes") or []:
        if any(not source for source in (volume.get("projected") or {}).get("sources") or []):
            found.append(f'volume "{volume.get("name", "")}" (Projected) has no sources provided')
    found += _doubled(spec.get("hostAliases") or [], "ip", f"{path}.hostAliases")
    found += _doubled(spec.get("imagePullSecrets") or [], "name", f"{path}.imagePullSecrets")
    for index, secret in enumerate(spec.get("imagePullSecrets") or []):
        if not secret.get("name"):
            found.append(f'{path}.imagePullSecrets[{index}].name: invalid empty name ""')
    containers = [
        (container, f"{path}.{field}[{index}]")
        for field in ("initContainers", "containers")
        for index, container in enumerate(spec.get(field) or [])
    ]
    for container, here in containers:
        found += _fractions(container.get("resources") or {}, ("memory", "ephemeral-storage"), f"{here}.resources")
        found += _hidden_variables(container.get("env") or [], f"{here}.env")
    found += _ports(
        [(port, f"{here}.ports[{at}]") for container, here in containers for at, port in _listed(container)]
    )
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{path}.terminationGracePeriodSeconds: {text}")
    return found


def _listed(container: Object) -> list[tuple[int, Object]]:
    return list(enumerate(container.get("ports") or []))


def _doubled(items: list[Object], field: str, path: str) -> list[str]:
    found, seen = [], set()
    for index, item in enumerate(items):
        value = item.get(field, "")
        if value in seen:
            found.append(f"{path}[{index}].{field}: duplicate {field} {shown(value)}")
        seen.add(value)
    return found


def _fractions(resources: Object, names_: tuple[str, ...], path: str) -> list[str]:
    """Amounts of bytes that are no whole number."""
    found = []
    for name in names_:
        for kind in ("limits", "requests"):
            value = (resources.get(kind) or {}).get(name)
            if value is not None and amount(value) != int(amount(value)):
                text = f"fractional byte value {shown(value)} is invalid, must be an integer"
                found.append(f"{path}.{kind}[{name}]: {text}")
    return found


def _hidden_variables(variables: list[Object], path: str) -> list[str]:
    """A variable defined again, unless its new value refers to the old."""
    found: list[str] = []
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == reference or reference not in value):
            text = f"hides previous definition of {shown(name)}, which may be dropped when using apply"
            found.append(f"{path}[{index}]: {text}")
        seen.add(name)
    return found


def _ports(ports: list[tuple[Object, str]]) -> list[str]:
    """Ports of all containers of a pod that are the same, or nearly so."""
    found: list[str] = []
    seen: dict[tuple[Any, ...], list[tuple[Object, str]]] = {}
    for port, where in ports:
        others = seen.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for other, place in others:
            relation = _relation(port, other)
            if relation:
                found.append(f"{where}: {relation} port definition with {place}")
        others.append((port, where))
    named: dict[str, str] = {}
    for port, where in ports:
        name = port.get("name", "")
        if name and name in named:
            text = f"duplicate port name {shown(name)} with {named[name]}, "
            text += f"services and probes that select ports by name will use {named[name]}"
            found.append(f"{where}: {text}")
        elif name:
            named[name] = where
    return found


def _relation(port: Object, other: Object) -> str:
    host, other_host = port.get("hostPort", 0), other.get("hostPort", 0)
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    if (address, host) == (other_address, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and (not address) != (not other_address):
        return "dangerously ambiguous"
    return ""


def _service(new: Object, old: Object | None) -> list[str]:
    spec, found = _spec(new), []
    outside = spec.get("externalIPs")
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if outside:
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    if spec.get("type") == "ExternalName" and outside:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    return found


def _ingress(new: Object, old: Object | None) -> list[str]:
    """On creation only."""
    annotations = (new.get("metadata") or {}).get("annotations") or {}
    if old is None and INGRESS_CLASS_ANNOTATION in annotations:
        return [f"annotation \"{INGRESS_CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


INGRESS_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def _claim(new: Object, old: Object | None) -> list[str]:
    found = []
    if STORAGE_CLASS_ANNOTATION in ((new.get("metadata") or {}).get("annotations") or {}):
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{STORAGE_CLASS_ANNOTATION}]: {text}")
    requests_first = {"requests": (_spec(new).get("resources") or {}).get("requests")}
    limits = {"limits": (_spec(new).get("resources") or {}).get("limits")}
    found += _fractions(requests_first, ("storage",), "spec.resources")
    return found + _fractions(limits, ("storage",), "spec.resources")


def _endpoint_slice(new: Object, old: Object | None) -> list[str]:
    is_told = old is None and new.get("addressType") == "FQDN"
    return ["spec.addressType: FQDN endpoints are deprecated"] if is_told else []


def _stateful_set(new: Object, old: Object | None) -> list[str]:
    found = _templated(named=False)(new, old)
    if (_spec(new).get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {text}")
    return found


def _definition(new: Object, old: Object | None) -> list[str]:
    """Formats that nobody checks, once; and what is not evaluated here."""
    if old is not None and _spec(new) == _spec(old):
        return []
    known = set() if old is None else custom.unknown_formats(old)
    formats = sorted(custom.unknown_formats(new) - known)
    return [*(f"unrecognized format {shown(each)}" for each in formats), *rules.left_out(new)]


def _policy(new: Object, old: Object | None) -> list[str]:
    return [] if old is not None and _spec(new) == _spec(old) else admission_policies.left_out(new)


_TELLERS: dict[tuple[str, str], Callable[[Object, Object | None], list[str]]] = {
    ("", "Pod"): _pod,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("", "Service"): _service,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "ReplicationController"): _templated(named=True),
    ("apps", "Deployment"): _templated(named=True),
    ("apps", "ReplicaSet"): _templated(named=True),
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _templated(named=False),
    ("batch", "Job"): _templated(named=True),
    ("batch", "CronJob"): _cron_job,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _policy,
}

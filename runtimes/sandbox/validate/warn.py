"""Warnings about objects that are accepted: the client is told, nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..quantity import amount
from ..schema.registry import KindSchema
from . import names
from .causes import Object, shown

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
    teller = _TELLERS.get((kind.group, kind.kind))
    return teller(new, old) if teller is not None else []


def _spec(obj: Object) -> Object:
    spec: Object = obj.get("spec") or {}
    return spec


def _name(obj: Object) -> list[str]:
    wrong = names.label((obj.get("metadata") or {}).get("name", ""))
    return [f"{NAME_TEXT}[{' '.join(wrong)}]"] if wrong else []


def _pod(new: Object, old: Object | None) -> list[str]:
    found = [] if old is not None else _name(new)
    return found + _pod_spec(_spec(new), "spec", None if old is None else _spec(old))


def _templated(*, named: bool) -> Callable[[Object, Object | None], list[str]]:
    def tell(new: Object, old: Object | None) -> list[str]:
        found = _name(new) if named and old is None else []
        template = _spec(_spec(new).get("template") or {})
        before = None if old is None else _spec(_spec(old).get("template") or {})
        if before == template:
            return found
        return found + _pod_spec(template, "spec.template.spec", before)

    return tell


def _cron_job(new: Object, old: Object | None) -> list[str]:
    job = _spec(_spec(new).get("jobTemplate") or {})
    return _pod_spec(_spec(job.get("template") or {}), "spec.jobTemplate.spec.template.spec", None)


def _pod_spec(spec: Object, path: str, old: Object | None) -> list[str]:
    found: list[str] = []
    for key in spec.get("nodeSelector") or {}:
        if key in DEPRECATED_LABELS:
            found.append(f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            found += _container(container, f"{path}.{field}[{index}]")
    found += _ports(spec, path)
    if spec.get("terminationGracePeriodSeconds", 0) is not None and spec.get("terminationGracePeriodSeconds", 0) < 0:
        found.append(
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )
    for index, alias in enumerate(spec.get("hostAliases") or []):
        if any(other.get("ip") == alias.get("ip") for other in (spec.get("hostAliases") or [])[:index]):
            found.append(f"{path}.hostAliases[{index}].ip: duplicate ip {shown(alias.get('ip'))}")
    return found


def _container(container: Object, path: str) -> list[str]:
    found: list[str] = []
    for kind in ("limits", "requests"):
        for name in ("memory", "ephemeral-storage"):
            value = ((container.get("resources") or {}).get(kind) or {}).get(name)
            if value is not None and amount(value) != int(amount(value)):
                text = f"fractional byte value {shown(value)} is invalid, must be an integer"
                found.append(f"{path}.resources.{kind}[{name}]: {text}")
    variables = container.get("env") or []
    for index, variable in enumerate(variables):
        for other in variables[:index]:
            if other.get("name") == variable.get("name"):
                text = (
                    f"hides previous definition of {shown(variable.get('name'))}, which may be dropped when using apply"
                )
                found.append(f"{path}.env[{index}]: {text}")
                break
    return found


def _ports(spec: Object, path: str) -> list[str]:
    """The same port twice, in one container or in several."""
    found: list[str] = []
    seen: dict[tuple[Any, ...], str] = {}
    for index, container in enumerate(spec.get("containers") or []):
        here_names: set[str] = set()
        for at, port in enumerate(container.get("ports") or []):
            where = f"{path}.containers[{index}].ports[{at}]"
            key = (port.get("hostIP", ""), port.get("hostPort", 0), port.get("containerPort"), port.get("protocol"))
            if key in seen:
                found.append(f"{where}: duplicate port definition with {seen[key]}")
            else:
                seen[key] = where
            here_names.add(port.get("name", ""))
    return found


def _service(new: Object, old: Object | None) -> list[str]:
    spec, found = _spec(new), []
    if spec.get("sessionAffinity") == "ClientIP" and spec.get("clusterIP") == "None":
        found.append("spec.SessionAffinity is ignored for headless services")
    if spec.get("type") == "ExternalName" and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    return found


_TELLERS: dict[tuple[str, str], Callable[[Object, Object | None], list[str]]] = {
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("", "ReplicationController"): _templated(named=True),
    ("apps", "Deployment"): _templated(named=True),
    ("apps", "ReplicaSet"): _templated(named=True),
    ("apps", "StatefulSet"): _templated(named=False),
    ("apps", "DaemonSet"): _templated(named=False),
    ("batch", "Job"): _templated(named=True),
    ("batch", "CronJob"): _cron_job,
}

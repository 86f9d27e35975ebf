"""What a watch holds of the objects it gets: what readiness, the tree and the WHY line look at.

A watch of a namespace gets all there is of a kind, which may be fifty thousand pods or a hundred thousand events. What
nobody reads of them is left out as they come, secrets before all, and what all of them say is there once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from runtimes.kubernetes.client import Object

_OF_EVENTS = (
    "apiVersion", "kind", "type", "reason", "message", "count", "series", "firstTimestamp", "lastTimestamp",
    "eventTime",
)  # fmt: skip
_REPEATED = frozenset({"apiVersion", "kind", "type", "reason", "namespace"})
_NOT_OF_CONTAINERS: Final = frozenset(
    {
        *("args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "ports", "readinessProbe", "resources"),
        *("securityContext", "startupProbe", "terminationMessagePath", "terminationMessagePolicy", "volumeDevices"),
        *("volumeMounts", "workingDir", "imagePullPolicy"),
    }
)
_NOT_OF_PODS: Final = frozenset(
    {
        *("affinity", "dnsConfig", "hostAliases", "imagePullSecrets", "overhead", "securityContext", "tolerations"),
        *("topologySpreadConstraints", "enableServiceLinks", "preemptionPolicy", "dnsPolicy", "serviceAccount"),
    }
)
_NOT_OF_STATES: Final = frozenset({"allocatedResources", "containerID", "imageID", "resources", "user", "volumeMounts"})
_NOT_OF_STATUS: Final = frozenset({"hostIP", "hostIPs", "podIP", "podIPs", "qosClass", "resize"})
_NOT_OF_CONDITIONS: Final = frozenset({"lastProbeTime"})
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_CLAIMING: Final = ("name", "persistentVolumeClaim", "ephemeral")
_LONGEST_SHARED = 40


def trimmed(live: Object, *, has_rules: bool = False) -> Object:
    """Returns a copy of an object without what a watch has no use for. With rules of somebody's own, which may look at
    any field of it, a Pod is left whole."""
    metadata = {name: value for name, value in (live.get("metadata") or {}).items() if name != "managedFields"}
    if live.get("kind") in ("Secret", "ConfigMap"):
        return {"apiVersion": live.get("apiVersion"), "kind": live["kind"], "metadata": metadata}
    if "involvedObject" in live:
        return _event(live, metadata)
    if live.get("kind") == "Pod" and not has_rules and live.get("apiVersion") in ("v1", None):
        return _pod(live, metadata)
    return {**live, "metadata": metadata}


def _event(live: Object, metadata: Object) -> Object:
    named = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
             if key in metadata}  # fmt: skip
    about = live["involvedObject"]
    kept = {key: _once(key, live[key]) for key in _OF_EVENTS if live.get(key) is not None}
    kept["metadata"] = {key: _once(key, value) for key, value in named.items()}
    kept["involvedObject"] = (
        {key: _once(key, about[key]) for key in ("apiVersion", "kind", "namespace", "name", "uid") if key in about}
        if isinstance(about, dict)
        else about
    )
    return kept


def _once(key: str, value: Any) -> Any:
    return sys.intern(value) if key in _REPEATED and type(value) is str else value


def _pod(live: Object, metadata: Object) -> Object:
    """What its containers are made of is told by their states; of volumes, claims are waited for."""
    spec, status = live.get("spec"), live.get("status")
    kept = {**live, "metadata": _without(metadata, ("annotations", "generateName"))}
    if isinstance(spec, dict):
        spec = _without(spec, _NOT_OF_PODS)
        for part in _CONTAINERS:
            if part in spec:
                spec[part] = _each(spec[part], _NOT_OF_CONTAINERS)
        if isinstance(volumes := spec.get("volumes"), list):
            spec["volumes"] = [
                {key: each[key] for key in _CLAIMING if key in each} if isinstance(each, dict) else each
                for each in volumes
            ]
        kept["spec"] = spec
    if isinstance(status, dict):
        status = _without(status, _NOT_OF_STATUS)
        for part in _STATES:
            if part in status:
                status[part] = _each(status[part], _NOT_OF_STATES)
        if "conditions" in status:
            status["conditions"] = _each(status["conditions"], _NOT_OF_CONDITIONS)
        kept["status"] = status
    shared: Object = _shared(kept)
    return shared


def _each(values: Any, names: frozenset[str]) -> Any:
    if not isinstance(values, list):
        return values
    return [_without(each, names) if isinstance(each, dict) else each for each in values]


def _without(values: Mapping[str, Any], names: Iterable[str]) -> Object:
    return {name: value for name, value in values.items() if name not in names}


def _shared(value: Any) -> Any:
    """Returns a copy whose names and short texts are there once, however many objects say them."""
    match value:
        case str():
            return sys.intern(value) if type(value) is str and len(value) <= _LONGEST_SHARED else value
        case dict():
            return {sys.intern(str(name)): _shared(below) for name, below in value.items()}
        case list():
            return [_shared(each) for each in value]
        case _:
            return value

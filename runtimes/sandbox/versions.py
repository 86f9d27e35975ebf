"""Objects between the version they are stored in and the version that a caller speaks.

Built-in conversions are few: autoscaling v1 (one CPU target, the rest in annotations) and events.k8s.io (other names
for the fields of core events). Versions of a custom resource differ in their
apiVersion alone; where a webhook is to convert them, nothing is shown in another version than the stored one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from runtimes.base.documents import load_json
from runtimes.sandbox import decode
from runtimes.sandbox.autoscaler_versions import behavior_to_v1, behavior_to_v2, metric_to_v1, metrics_to_v2
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.pruning import PRESERVE, pruned
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.store import Object, copied

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"


def is_stored_version(resource: Resource) -> bool:
    return resource.storage[0] == resource.group and resource.version == resource.storage_version


def read_as(stored: Object, resource: Resource) -> Object:
    """The stored object in the caller's version; itself if that is the stored one."""
    if is_stored_version(resource) and stored.get("apiVersion") == resource.api_version:
        return stored
    if resource.storage == ("", "events") and resource.group == "events.k8s.io":
        return _event_to_new(copied(stored))
    if resource.storage == ("autoscaling", "horizontalpodautoscalers") and resource.version == "v1":
        return _autoscaler_to_v1(copied(stored))
    if resource.is_custom and resource.version != resource.storage_version:
        _refuse_webhook(resource, resource.storage_version)
        read: Object = pruned(_schema_of(resource, resource.version), copied(stored), at_root=True)
        return {**read, "apiVersion": resource.api_version}
    return {**stored, "apiVersion": resource.api_version}


def to_storage(obj: Object, resource: Resource) -> Object:
    """The caller's object in the stored version. Takes `obj` over: it may be changed or returned."""
    if is_stored_version(resource):
        return obj
    if resource.storage == ("", "events"):
        return _event_to_core(obj)
    if resource.storage == ("autoscaling", "horizontalpodautoscalers"):
        return _autoscaler_to_v2(obj)
    group, _ = resource.storage
    obj["apiVersion"] = f"{group}/{resource.storage_version}" if group else resource.storage_version
    if resource.is_custom:
        _refuse_webhook(resource, resource.version)
        made: Object = pruned(_schema_of(resource, resource.storage_version), obj, at_root=True)
        return made
    return obj


def _refuse_webhook(resource: Resource, version: str) -> None:
    """Where a webhook converts nothing can be shown in another version: none is called. Raises 500."""
    conversion = (resource.definition or {}).get("spec", {}).get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service") or {}
    where = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port', 443)}{service.get('path', '')}"
    url = client.get("url") or f"https://{where}"
    failed = f'Post "{url}?timeout=30s": the sandbox calls no webhooks'
    text = f"conversion webhook for {resource.group}/{version}, Kind={resource.kind} failed: {failed}"
    raise ApiError(500, "", text)


def _schema_of(resource: Resource, version: str) -> Object:
    """What is kept of a custom resource is what the version says in which it is kept; so with what is shown."""
    versions = (resource.definition or {}).get("spec", {}).get("versions") or ()
    stored: Object = next((each for each in versions if each["name"] == version), {})
    return (stored.get("schema") or {}).get("openAPIV3Schema") or {PRESERVE: True}


_NEW_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def _event_to_new(event: Object) -> Object:
    renamed = {_NEW_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    renamed["apiVersion"] = "events.k8s.io/v1"
    for name in ("reportingController", "reportingInstance"):
        if not renamed.get(name):
            renamed.pop(name, None)
    for name in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        renamed.setdefault(name, None)
    renamed.setdefault("deprecatedSource", {})
    return renamed


def _event_to_core(event: Object) -> Object:
    names = {new: old for old, new in _NEW_EVENT_NAMES.items()}
    renamed = {names.get(key, key): value for key, value in event.items()}
    renamed["apiVersion"] = "v1"
    renamed.setdefault("involvedObject", {})
    renamed.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        renamed.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        renamed.setdefault(name, "")
    return renamed


def _is_cpu_target(metric: dict[str, Any]) -> bool:
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and "averageUtilization" in target


def _autoscaler_to_v1(hpa: Object) -> Object:
    hpa["apiVersion"] = "autoscaling/v1"
    spec, status = hpa.get("spec") or {}, hpa.get("status") or {}
    annotations: dict[str, str] = {}
    others = []
    for metric in spec.pop("metrics", None) or ():
        if _is_cpu_target(metric) and "targetCPUUtilizationPercentage" not in spec:
            spec["targetCPUUtilizationPercentage"] = metric["resource"]["target"]["averageUtilization"]
        else:
            others.append(metric)
    if others:
        others = [metric_to_v1(metric, "target") for metric in others]
        annotations[_METRICS] = json.dumps(others, separators=(",", ":"))
    behavior = spec.pop("behavior", None)
    if behavior:
        annotations[_BEHAVIOR] = json.dumps(behavior_to_v1(behavior), separators=(",", ":"))
    current = status.pop("currentMetrics", None)
    for metric in current or ():
        used = (metric.get("resource") or {}).get("current") or {}
        if (
            metric.get("type") == "Resource"
            and metric["resource"].get("name") == "cpu"
            and "averageUtilization" in used
        ):
            status["currentCPUUtilizationPercentage"] = used["averageUtilization"]
    if current:
        seen = [metric_to_v1(metric, "current") for metric in current]
        annotations[_CURRENT] = json.dumps(seen, separators=(",", ":"))
    conditions = status.pop("conditions", None)
    if conditions:
        annotations[_CONDITIONS] = json.dumps(conditions, separators=(",", ":"))
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    hpa["status"] = status
    if annotations:
        hpa["metadata"]["annotations"] = {**(hpa["metadata"].get("annotations") or {}), **annotations}
    return hpa


def _autoscaler_to_v2(hpa: Object) -> Object:
    hpa["apiVersion"] = "autoscaling/v2"
    spec, status = hpa.setdefault("spec", {}), hpa.setdefault("status", {})
    annotations = hpa.get("metadata", {}).get("annotations") or {}
    metrics = _taken(annotations, _METRICS, "spec", "metrics", partial(metrics_to_v2, value="target")) or []
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    behavior = _taken(annotations, _BEHAVIOR, "spec", "behavior", behavior_to_v2)
    if behavior:
        spec["behavior"] = behavior
    status.pop("currentCPUUtilizationPercentage", None)
    seen = _taken(annotations, _CURRENT, "status", "currentMetrics", partial(metrics_to_v2, value="current"))
    status.setdefault("currentMetrics", seen or None)
    conditions = _taken(annotations, _CONDITIONS, "status", "conditions")
    if conditions:
        status["conditions"] = conditions
    if annotations == {} and "annotations" in hpa.get("metadata", {}):
        del hpa["metadata"]["annotations"]
    return hpa


def _taken(
    annotations: dict[str, str], name: str, part: str, field: str, convert: Callable[[Any], Any] | None = None
) -> Any:
    """What an annotation has for a field of v2, which is taken out of it; None where it does not have the field's
    form: anybody may write annotations, and the server passes over those that it cannot read.
    """
    text = annotations.pop(name, None)
    if not text:
        return None
    kind = Registry.load().kind("autoscaling", "v2", "HorizontalPodAutoscaler")
    try:
        value = load_json(text)
        read = decode.check(kind, {part: {field: convert(value) if convert else value}})
    except (ValueError, decode.DecodeError):
        return None
    return read.object[part].get(field)

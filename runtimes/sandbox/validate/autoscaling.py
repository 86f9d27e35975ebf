"""Rules for HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runtimes.base.quantity import amount
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.names import path_segment


def autoscaler(causes: Causes, obj: Object) -> None:
    _autoscaler(causes, obj, None)


def autoscaler_change(causes: Causes, new: Object, old: Object) -> None:
    """As of a new one, but that the version of a target that stays what it is may be any."""
    _autoscaler(causes, new, old)


def _autoscaler(causes: Causes, obj: Object, old: Object | None) -> None:
    spec = obj.get("spec") or {}
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < 1:
        causes.invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high < 1:
        causes.invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        causes.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    _target_reference(causes, spec.get("scaleTargetRef") or {}, old)
    metrics = spec.get("metrics") or []
    outside = any(metric.get("type") in ("Object", "External") for metric in metrics)
    for index, metric in enumerate(metrics):
        _metric(causes, metric, f"spec.metrics[{index}]")
    if low == 0 and not outside:
        causes.forbidden(
            "spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas"
        )
    _behaviour(causes, spec.get("behavior") or {}, "spec.behavior")


def _target_reference(causes: Causes, target: Object, old: Object | None) -> None:
    _named(causes, target, "spec.scaleTargetRef")
    version, kind = target.get("apiVersion", ""), target.get("kind")
    if old is not None:
        before = (old.get("spec") or {}).get("scaleTargetRef") or {}
        if (before.get("apiVersion", ""), before.get("kind")) == (version, kind):
            return
    _version(causes, version, "spec.scaleTargetRef.apiVersion", has_group=kind != "ReplicationController")


def _named(causes: Causes, reference: Object, path: str) -> None:
    for name in ("kind", "name"):
        value = reference.get(name)
        if not value:
            causes.required(f"{path}.{name}")
        else:
            causes.invalid_each(f"{path}.{name}", value, path_segment(value))


def _version(causes: Causes, version: str, path: str, *, has_group: bool) -> None:
    group, slash, rest = version.partition("/")
    if "/" in rest:
        causes.invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif has_group and not (slash and group):
        causes.invalid(path, version, "apiVersion must specify API group")


METRICS = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _metric(causes: Causes, metric: Object, path: str) -> None:
    kind = metric.get("type", "")
    if not kind:
        causes.required(f"{path}.type", "must specify a metric source type")
    if kind not in METRICS:
        causes.not_supported(f"{path}.type", kind, sorted(METRICS))
    present = [name for name in _SOURCES if metric.get(name) is not None]
    for name in present[:1]:
        _SOURCES[name](causes, metric[name], f"{path}.{name}")
    expected = METRICS.get(kind, "")
    if not expected:
        causes.not_supported(f"{path}.type", kind, sorted(METRICS))
    elif metric.get(expected) is None:
        causes.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != expected:
                causes.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _object_metric(causes: Causes, source: Object, path: str) -> None:
    described = source.get("describedObject") or {}
    _named(causes, described, f"{path}.describedObject")
    _version(causes, described.get("apiVersion", ""), f"{path}.describedObject.apiVersion", has_group=False)
    _identifier(causes, source, path)
    target = source.get("target") or {}
    _target(causes, target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        causes.required(f"{path}.target.averageValue", "must set either a target value or averageValue")


def _external_metric(causes: Causes, source: Object, path: str) -> None:
    _identifier(causes, source, path)
    target = source.get("target") or {}
    _target(causes, target, f"{path}.target")
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        text = "must set either a target value for metric or a per-pod target"
        causes.required(f"{path}.target.averageValue", text)
    if value is not None and average is not None:
        text = "may not set both a target value for metric and a per-pod target"
        causes.forbidden(f"{path}.target.value", text)


def _pods_metric(causes: Causes, source: Object, path: str) -> None:
    _identifier(causes, source, path)
    target = source.get("target") or {}
    _target(causes, target, f"{path}.target")
    if target.get("averageValue") is None:
        causes.required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _container_metric(causes: Causes, source: Object, path: str) -> None:
    if not source.get("name"):
        causes.required(f"{path}.name", "must specify a resource name")
    if not source.get("container"):
        causes.required(f"{path}.container", "must specify a container")
    _share_target(causes, source.get("target") or {}, f"{path}.target")


def _resource_metric(causes: Causes, source: Object, path: str) -> None:
    if not source.get("name"):
        causes.required(f"{path}.name", "must specify a resource name")
    _share_target(causes, source.get("target") or {}, f"{path}.target")


def _identifier(causes: Causes, source: Object, path: str) -> None:
    metric = source.get("metric") or {}
    name = metric.get("name") or ""
    if not name:
        causes.required(f"{path}.metric.name", "must specify a metric name")
    else:
        causes.invalid_each(f"{path}.metric.name", name, path_segment(name))


def _target(causes: Causes, target: Object, path: str) -> None:
    kind, share = target.get("type", ""), target.get("averageUtilization")
    if not kind:
        causes.required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        causes.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and amount(target[name]) <= 0:
            causes.invalid(f"{path}.{name}", target[name], "must be positive")
    if share is not None and share < 1:
        causes.invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _share_target(causes: Causes, target: Object, path: str) -> None:
    """Of what pods ask for: a share or an amount."""
    _target(causes, target, path)
    share = target.get("averageUtilization")
    if share is None and target.get("averageValue") is None:
        text = "must set either a target raw value or a target utilization"
        causes.required(f"{path}.averageUtilization", text)
    if share is not None and target.get("averageValue") is not None:
        text = "may not set both a target raw value and a target utilization"
        causes.forbidden(f"{path}.averageValue", text)


_SOURCES: Mapping[str, Callable[[Causes, Object, str], None]] = {
    "object": _object_metric,
    "external": _external_metric,
    "pods": _pods_metric,
    "resource": _resource_metric,
    "containerResource": _container_metric,
}


# --- behaviour -----------------------------------------------------------------------------------------------------


def _behaviour(causes: Causes, behaviour: Object, path: str) -> None:
    for direction in ("scaleUp", "scaleDown"):
        if behaviour.get(direction) is not None:
            _scaling(causes, behaviour[direction], f"{path}.{direction}")


def _scaling(causes: Causes, rules: Object, path: str) -> None:
    window, policies, select = rules.get("stabilizationWindowSeconds"), rules.get("policies"), rules.get("selectPolicy")
    if window is not None:
        _bounded(causes, window, 0, 3600, f"{path}.stabilizationWindowSeconds")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        causes.not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min"))
    if not policies:
        causes.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies or []):
        here, kind = f"{path}.policies[{index}]", policy.get("type", "")
        if kind not in ("Percent", "Pods"):
            causes.not_supported(f"{here}.type", kind, ("Percent", "Pods"))
        if policy.get("value", 0) <= 0:
            causes.invalid(f"{here}.value", policy.get("value", 0), "must be greater than zero")
        _bounded(causes, policy.get("periodSeconds", 0), 1, 1800, f"{here}.periodSeconds")


def _bounded(causes: Causes, value: int, least: int, most: int, path: str) -> None:
    if value < least:
        causes.invalid(path, value, f"must be greater than {'or equal to ' if least == 0 else ''}zero")
    if value > most:
        causes.invalid(path, value, f"must be less than or equal to {most}")


def autoscaler_status(causes: Causes, obj: Object) -> None:
    for name in ("currentReplicas", "desiredReplicas"):
        causes.nonnegative(f"status.{name}", (obj.get("status") or {}).get(name))

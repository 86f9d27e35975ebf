"""Rules for Deployments, ReplicaSets, StatefulSets, DaemonSets and their like."""

from __future__ import annotations

import re
from typing import Any

from runtimes.base import label_selectors
from runtimes.sandbox.validate import meta, pods
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.claims import claim_spec
from runtimes.sandbox.validate.names import label


def _inner(value: Object | None, *fields: str) -> Object | None:
    """A struct as the server's own types are dumped: members by their Go names, absent ones as null."""
    if value is None:
        return None
    return {name[0].upper() + name[1:]: value.get(name) for name in fields}


def _selector(causes: Causes, spec: Object, path: str, noun: str) -> None:
    selector = spec.get("selector")
    if selector is None:
        causes.required(path)
        return
    meta.label_selector(causes, path, selector)
    if meta.is_empty(selector):
        causes.invalid(path, selector, f"empty selector is invalid for {noun}")


def _template(causes: Causes, template: Object, path: str, noun: str) -> None:
    pods.pod_template(causes, template, path)
    _pod_life(causes, template, path, noun)


def _pod_life(causes: Causes, template: Object, path: str, noun: str) -> None:
    """Pods that are kept running always restart and have no deadline."""
    spec = template.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        causes.not_supported(f"{path}.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        causes.forbidden(f"{path}.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {noun} is not Supported")


def _matching_template(causes: Causes, spec: Object, path: str, noun: str) -> None:
    """A template that the selector selects."""
    _selected(causes, spec, path)
    _template(causes, spec.get("template") or {}, path, noun)


def _selected(causes: Causes, spec: Object, path: str) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    selects_all = selector is not None and meta.is_empty(selector)
    if not selects_all and not label_selectors.matches(selector, labels):
        causes.invalid(f"{path}.metadata.labels", labels, meta.MISMATCH)


def bare_template(causes: Causes, obj: Object) -> None:
    """A PodTemplate."""
    pods.pod_template(causes, obj.get("template") or {}, "template")


def deployment(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    causes.nonnegative("spec.replicas", spec.get("replicas"))
    _selector(causes, spec, "spec.selector", "deployment")
    if not meta.is_selector(spec.get("selector")):
        causes.invalid("spec.selector", spec.get("selector"), "invalid label selector")
    else:
        _matching_template(causes, spec, "spec.template", "ReplicaSet")
    _deployment_strategy(causes, spec.get("strategy") or {}, "spec.strategy")
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        causes.nonnegative(f"spec.{name}", spec.get(name))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        causes.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(causes: Causes, strategy: Object, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                causes.forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            if rolling is None:
                causes.required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
            else:
                _rolling_update(causes, rolling, f"{path}.rollingUpdate")
        case kind:
            shown = {"Type": kind or "", "RollingUpdate": _inner(rolling, "maxUnavailable", "maxSurge")}
            causes.not_supported(path, shown, ("Recreate", "RollingUpdate"))


def _rolling_update(causes: Causes, rolling: Object, path: str, *, both_may_be_zero: bool = False) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    meta.int_or_percent(causes, f"{path}.maxUnavailable", unavailable)
    meta.int_or_percent(causes, f"{path}.maxSurge", surge)
    if not both_may_be_zero and _number(unavailable) == 0 and _number(surge) == 0:
        causes.invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    meta.at_most_all(causes, f"{path}.maxUnavailable", unavailable)


def _number(value: Any) -> int:
    """A count or a percentage as a number; 0 if it is neither."""
    if isinstance(value, str):
        return int(value[:-1]) if re.fullmatch("[0-9]+%", value) else 0
    return int(value or 0)


def replica_set(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    causes.nonnegative("spec.replicas", spec.get("replicas"))
    causes.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _selector(causes, spec, "spec.selector", "deployment")
    if not meta.is_selector(spec.get("selector")):
        causes.invalid("spec.selector", spec.get("selector"), "invalid label selector")
    else:
        _matching_template(causes, spec, "spec.template", "ReplicaSet")


def replication_controller(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    causes.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector = spec.get("selector")
    if not selector:
        causes.required("spec.selector")
    causes.nonnegative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        causes.required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels")
    if selector and not label_selectors.matches({"matchLabels": selector}, labels):
        causes.invalid("spec.template.metadata.labels", labels, meta.MISMATCH)
    _template(causes, template, "spec.template", "ReplicationController")


def stateful_set(causes: Causes, obj: Object, *, is_new: bool = True) -> None:
    spec = obj.get("spec") or {}
    if spec.get("podManagementPolicy") not in ("OrderedReady", "Parallel"):
        policy = spec.get("podManagementPolicy", "")
        causes.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _stateful_strategy(causes, spec.get("updateStrategy") or {}, "spec.updateStrategy")
    _retention(causes, spec.get("persistentVolumeClaimRetentionPolicy"), "spec.persistentVolumeClaimRetentionPolicy")
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or [] if is_new else []):
        claim_spec(causes, claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    causes.nonnegative("spec.replicas", spec.get("replicas"))
    causes.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds"))
    causes.nonnegative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    if spec.get("serviceName") and is_new:
        causes.invalid_each("spec.serviceName", spec["serviceName"], label(spec["serviceName"]))
    _selector(causes, spec, "spec.selector", "statefulset")
    if not meta.is_selector(spec.get("selector")):
        causes.invalid("spec.selector", spec.get("selector"), "")
        return
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    _selected(causes, spec, "spec.template")
    pods.pod_template(causes, _with_claims(spec)["template"], "spec.template")
    meta.labels(causes, "spec.template.labels", metadata.get("labels"))
    meta.annotation_map(causes, "spec.template.annotations", metadata.get("annotations"))
    _pod_life(causes, template, "spec.template", "StatefulSet")


def _with_claims(spec: Object) -> Object:
    """The template as pods get it: claims stand as volumes, and name and subdomain are the set's own."""
    template = dict(spec.get("template") or {})
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in ("hostname", "subdomain")}
    claims = [(claim.get("metadata") or {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or []]
    if claims:
        kept = [volume for volume in pod.get("volumes") or [] if volume.get("name") not in claims]
        pod["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims] + kept
    return {**spec, "template": {**template, "spec": pod}}


def _stateful_strategy(causes: Causes, strategy: Object, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
                causes.invalid(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")
        case "RollingUpdate":
            if rolling is not None:
                causes.nonnegative(f"{path}.rollingUpdate.partition", rolling.get("partition"))
        case kind:
            shown = {"Type": kind or "", "RollingUpdate": _inner(rolling, "partition", "maxUnavailable")}
            causes.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _retention(causes: Causes, policy: Object | None, path: str) -> None:
    for name in ("whenDeleted", "whenScaled"):
        value = (policy or {}).get(name)
        if policy is not None and value not in ("Retain", "Delete"):
            causes.not_supported(f"{path}.{name}", value or "", ("Retain", "Delete"))


STATEFUL_MAY_CHANGE = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)


def stateful_set_update(causes: Causes, new: Object, old: Object) -> None:
    stateful_set(causes, new, is_new=False)

    def fixed(obj: Object) -> Object:
        return {name: value for name, value in (obj.get("spec") or {}).items() if name not in STATEFUL_MAY_CHANGE}

    if fixed(new) != fixed(old):
        causes.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def daemon_set(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    meta.label_selector(causes, "spec.selector", selector)
    if meta.is_selector(selector) and not label_selectors.matches(selector, labels):
        causes.invalid("spec.template.metadata.labels", labels, meta.MISMATCH)
    if selector is not None and meta.is_empty(selector):
        causes.invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    _template(causes, template, "spec.template", "DaemonSet")
    causes.nonnegative("spec.minReadySeconds", spec.get("minReadySeconds"))
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            pass
        case "RollingUpdate":
            if rolling is None:
                causes.required("spec.updateStrategy.rollingUpdate")
            else:
                _daemon_rolling(causes, rolling, "spec.updateStrategy.rollingUpdate")
        case kind:
            shown = {"Type": kind or "", "RollingUpdate": _inner(rolling, "maxUnavailable", "maxSurge")}
            causes.not_supported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))
    causes.nonnegative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_rolling(causes: Causes, rolling: Object, path: str) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    meta.int_or_percent(causes, f"{path}.maxUnavailable", unavailable)
    meta.int_or_percent(causes, f"{path}.maxSurge", surge)
    has_unavailable, has_surge = _number(unavailable) != 0, _number(surge) != 0
    if has_unavailable and has_surge:
        causes.invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not has_unavailable and not has_surge:
        causes.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    meta.at_most_all(causes, f"{path}.maxUnavailable", unavailable)
    meta.at_most_all(causes, f"{path}.maxSurge", surge)


# --- status --------------------------------------------------------------------------------------------------------


def deployment_status(causes: Causes, obj: Object) -> None:
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    _status_counts(causes, obj, ("observedGeneration", *counts, "terminatingReplicas", "collisionCount"), "updated")


def replica_set_status(causes: Causes, obj: Object) -> None:
    counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    _status_counts(causes, obj, (*counts, "observedGeneration", "terminatingReplicas"), "fullyLabeled")


def stateful_set_status(causes: Causes, obj: Object) -> None:
    status = obj.get("status") or {}
    counts = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    for name in (*counts, "observedGeneration", "collisionCount"):
        causes.nonnegative(f"status.{name}", status.get(name))
    for name in ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"):
        if status.get(name, 0) > status.get("replicas", 0):
            causes.invalid(f"status.{name}", status.get(name, 0), "cannot be greater than status.replicas")
    _available(causes, status, "cannot be greater than status.readyReplicas")


def daemon_set_status(causes: Causes, obj: Object) -> None:
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    more = ("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount")
    for name in (*counts, *more):
        causes.nonnegative(f"status.{name}", (obj.get("status") or {}).get(name))


def controller_status(causes: Causes, obj: Object) -> None:
    """Of a replication controller, which counts what it observed before what is ready."""
    counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    _status_counts(causes, obj, (*counts, "observedGeneration"), "fullyLabeled")


def _available(causes: Causes, status: Object, text: str) -> None:
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        causes.invalid("status.availableReplicas", available, text)


def _status_counts(causes: Causes, obj: Object, counts: tuple[str, ...], first: str) -> None:
    status = obj.get("status") or {}
    for name in counts:
        causes.nonnegative(f"status.{name}", status.get(name))
    for name in (f"{first}Replicas", "readyReplicas", "availableReplicas"):
        value = status.get(name, 0)
        if value > status.get("replicas", 0):
            causes.invalid(f"status.{name}", value, "cannot be greater than status.replicas")
    _available(causes, status, "cannot be greater than readyReplicas")


# --- disruption ----------------------------------------------------------------------------------------------------


def disruption_budget(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    low, high = spec.get("minAvailable"), spec.get("maxUnavailable")
    if low is not None and high is not None:
        shown = {
            "MinAvailable": low,
            "Selector": spec.get("selector"),
            "MaxUnavailable": high,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        causes.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", low), ("maxUnavailable", high)):
        if value is not None:
            meta.int_or_percent(causes, f"spec.{name}", value)
            meta.at_most_all(causes, f"spec.{name}", value)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in ("IfHealthyBudget", "AlwaysAllow"):
        causes.not_supported("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))
    meta.label_selector(causes, "spec.selector", spec.get("selector"))


def controller_revision(causes: Causes, obj: Object) -> None:
    causes.nonnegative("revision", obj.get("revision"))
    if obj.get("data") is None:
        causes.required("data", "data is mandatory")
    elif not isinstance(obj["data"], dict):
        causes.required("data", "data must be a valid JSON object")


def controller_revision_update(causes: Causes, new: Object, old: Object) -> None:
    causes.nonnegative("revision", new.get("revision"))
    causes.immutable("data", new.get("data"), old.get("data"))

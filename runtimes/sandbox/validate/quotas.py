"""Which scopes a quota may have, given what it limits."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.validate.causes import Causes, Object

_SCOPES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
)
_WITHOUT_VALUES = ("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "Terminating")
_CONTRARY = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_COMPUTED = frozenset(
    ["pods", *(f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory"))]
)
_KNOWN = _COMPUTED | {
    "ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.ephemeral-storage",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "configmaps",
    "services.loadbalancers",
    "services.nodeports",
}


def scopes(causes: Causes, spec: Object) -> None:
    """Those named one by one, then those of the selector."""
    limited = sorted(spec.get("hard") or {})
    named = spec.get("scopes") or []
    for scope in named:
        if scope not in _SCOPES:
            causes.invalid("spec.scopes", named, "unsupported scope")
        _fitting(causes, "spec.scopes", named, scope, limited)
    _contrary(causes, named, named)
    selector = spec.get("scopeSelector")
    if selector is not None:
        wanted = selector.get("matchExpressions") or []
        for each in wanted:
            _requirement(causes, each, selector, limited, "spec.scopeSelector.matchExpressions")
        _contrary(causes, named, [each.get("scopeName") for each in wanted])


def _contrary(causes: Causes, shown: Any, found: list[Any]) -> None:
    for pair in _CONTRARY:
        if pair <= set(found):
            causes.invalid("spec.scopes", shown, "conflicting scopes")


def _fitting(causes: Causes, path: str, shown: Any, scope: str, limited: list[str]) -> None:
    for name in limited:
        if name in _KNOWN and not _is_for(scope, name):
            causes.invalid(path, shown, "unsupported scope applied to resource")


def _is_for(scope: str, resource: str) -> bool:
    match scope:
        case "BestEffort":
            return resource == "pods"
        case "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity":
            return resource in _COMPUTED
        case "VolumeAttributesClass":
            return resource in ("persistentvolumeclaims", "requests.storage")
    return True


def _requirement(causes: Causes, wanted: Object, selector: Object, limited: list[str], path: str) -> None:
    scope, operator, values = wanted.get("scopeName", ""), wanted.get("operator", ""), wanted.get("values") or []
    if scope not in _SCOPES:
        causes.invalid(f"{path}.scopeName", scope, "unsupported scope")
    _fitting(causes, path, selector, scope, limited)
    if scope in _WITHOUT_VALUES and operator != "Exists":
        text = ", ".join(f"ResourceQuotaScope{name}" for name in ("Terminating", "NotTerminating", "BestEffort"))
        either = "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
        causes.invalid(f"{path}.operator", operator, f"must be 'Exists' when scope is any of {text}, {either}")
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            causes.required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            causes.invalid(f"{path}.values", values, text)
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")

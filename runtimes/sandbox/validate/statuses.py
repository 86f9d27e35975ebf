"""What may be written to the status of kinds whose status is no more than looked at: addresses, amounts, conditions."""

from __future__ import annotations

import re

from runtimes.base.quantity import amount
from runtimes.sandbox.validate import containers, core, names
from runtimes.sandbox.validate.causes import Causes, Object

_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_LONGEST_REASON, _LONGEST_MESSAGE = 1024, 32768
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def conditions(causes: Causes, listed: list[Object], path: str) -> None:
    """Those that are all of one form, whatever kind has them."""
    seen: set[str] = set()
    for index, each in enumerate(listed):
        here, kind, reason = f"{path}[{index}]", each.get("type") or "", each.get("reason") or ""
        if kind in seen:
            causes.duplicate(f"{here}.type", kind)
        seen.add(kind)
        causes.invalid_each(f"{here}.type", kind, names.qualified(kind))
        if each.get("status") not in ("True", "False", "Unknown"):
            causes.not_supported(f"{here}.status", each.get("status") or "", ("False", "True", "Unknown"))
        if (each.get("observedGeneration") or 0) < 0:
            text = "must be greater than or equal to zero"
            causes.invalid(f"{here}.observedGeneration", each["observedGeneration"], text)
        if not each.get("lastTransitionTime"):
            causes.required(f"{here}.lastTransitionTime")
        if len(reason.encode()) > _LONGEST_REASON:
            causes.too_long(f"{here}.reason", _LONGEST_REASON)
        elif not reason:
            causes.required(f"{here}.reason")
        elif not re.fullmatch(_REASON, reason):
            causes.invalid(f"{here}.reason", reason, _reason_text())
        if len((each.get("message") or "").encode()) > _LONGEST_MESSAGE:
            causes.too_long(f"{here}.message", _LONGEST_MESSAGE)


def _reason_text() -> str:
    what = (
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
        "characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    return names.pattern_text(what, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")


def budget(causes: Causes, obj: Object) -> None:
    status = obj.get("status") or {}
    conditions(causes, status.get("conditions") or [], "status.conditions")
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        causes.nonnegative(f"status.{name}", status.get(name))


def claim(causes: Causes, obj: Object) -> None:
    status = obj.get("status") or {}
    _amounts(causes, status.get("capacity") or {}, "status.capacity")
    for name, word in (status.get("allocatedResourceStatuses") or {}).items():
        if name != "storage":
            causes.not_supported("status.allocatedResourceStatuses", name, ("storage",))
        elif word not in _RESIZES:
            causes.not_supported("status.allocatedResourceStatuses", name, _RESIZES)
    allocated = status.get("allocatedResources") or {}
    for name in allocated:
        if name != "storage":
            causes.not_supported("status.allocatedResources", name, ("storage",))
    _amounts(causes, {name: each for name, each in allocated.items() if name == "storage"}, "status.allocatedResources")


def _amounts(causes: Causes, amounts: Object, path: str) -> None:
    for name, value in amounts.items():
        if amount(value) < 0:
            causes.invalid_whole(f"{path}[{name}]", f"{value}: must be a valid resource quantity")


def node(causes: Causes, obj: Object) -> None:
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, value in (status.get(field) or {}).items():
            containers.quantity_value(causes, f"status.{field}.{name}", name, value)
    seen: list[Object] = []
    for index, address in enumerate(status.get("addresses") or []):
        if address in seen:
            shown = {"Type": address.get("type") or "", "Address": address.get("address") or ""}
            causes.duplicate(f"status.addresses[{index}]", shown)
        seen.append(address)


def quota(causes: Causes, quota: Object) -> None:
    for field in ("hard", "used"):
        core.quota_amounts(causes, (quota.get("status") or {}).get(field) or {}, f"status.{field}")


def ingress(causes: Causes, obj: Object) -> None:
    _balancer(causes, obj)


def service(causes: Causes, obj: Object) -> None:
    if _entries(obj) and (obj.get("spec") or {}).get("type") != "LoadBalancer":
        causes.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, each in enumerate(_entries(obj)):
        mode, where = each.get("ipMode"), f"status.loadBalancer.ingress[{index}].ipMode"
        if mode is not None and not each.get("ip"):
            causes.forbidden(where, "may not be specified when `ip` is not set")
        elif mode is not None and mode not in ("Proxy", "VIP"):
            causes.not_supported(where, mode, ("Proxy", "VIP"))
    _balancer(causes, obj)


def _entries(obj: Object) -> list[Object]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _balancer(causes: Causes, obj: Object) -> None:
    for index, each in enumerate(_entries(obj)):
        here, address, host = f"status.loadBalancer.ingress[{index}]", each.get("ip") or "", each.get("hostname") or ""
        if address:
            causes.invalid_each(f"{here}.ip", address, names.ip_address(address))
        if host:
            causes.invalid_each(f"{here}.hostname", host, names.subdomain(host))
            if not names.ip_address(host):
                causes.invalid(f"{here}.hostname", host, "must be a DNS name, not an IP address")


def namespace(causes: Causes, namespace: Object) -> None:
    phase = (namespace.get("status") or {}).get("phase")
    is_marked = bool((namespace.get("metadata") or {}).get("deletionTimestamp"))
    wanted = "Terminating" if is_marked else "Active"
    if phase != wanted:
        state = "is not" if is_marked else "is"
        causes.invalid("status.Phase", phase or "", f"may only be '{wanted}' if `deletionTimestamp` {state} empty")

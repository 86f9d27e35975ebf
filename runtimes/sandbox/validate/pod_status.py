"""What may be written to a Pod's status, and what of it may not go back."""

from __future__ import annotations

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_KINDS_OF_CONTAINERS = ("container", "initContainer", "ephemeralContainer")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_LARGEST_ID = 2**31 - 1


def addresses_agree(status: Object) -> None:
    """One address and the list of all: the single one counts where they differ, and each is made from the other."""
    one, several = status.get("podIP"), status.get("podIPs") or []
    if one and (not several or several[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif several and not one and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


def pod_status(causes: Causes, new: Object, old: Object) -> None:
    status, before, spec = (new.get("status") or {}), (old.get("status") or {}), (old.get("spec") or {})
    for index, condition in enumerate(status.get("conditions") or []):
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            causes.invalid_each(f"status.conditions[{index}].Type", kind, names.qualified(kind))
    observed = status.get("observedGeneration")
    if observed is not None and observed < 0:
        causes.invalid("status.observedGeneration", observed, "must be a non-negative integer")
    nominated = status.get("nominatedNodeName") or ""
    if nominated and nominated != before.get("nominatedNodeName"):
        causes.invalid_each("status.nominatedNodeName", nominated, names.subdomain(nominated))
    if (status.get("qosClass") or None) != (before.get("qosClass") or None):
        causes.invalid("status.qosClass", status.get("qosClass") or "", "field is immutable")
    for kind in _KINDS_OF_CONTAINERS[:2]:
        _stay_ended(causes, kind, status, before, spec)
    _claims(causes, status, spec)
    _addresses(causes, "podIPs", status.get("podIPs") or [])
    _host_addresses(causes, status)
    for kind in _KINDS_OF_CONTAINERS:
        _users(causes, f"status.{kind}Statuses", status.get(f"{kind}Statuses") or [])


def _stay_ended(causes: Causes, kind: str, status: Object, before: Object, spec: Object) -> None:
    """A container that is not to be restarted does not run again once it ended."""
    policy = spec.get("restartPolicy") or "Always"
    if policy == "Always":
        return
    always = {each.get("name") for each in spec.get(f"{kind}s") or [] if each.get("restartPolicy") == "Always"}
    for index, was in enumerate(before.get(f"{kind}Statuses") or []):
        ended = (was.get("state") or {}).get("terminated")
        if ended is None or was.get("name") in always or (ended.get("exitCode") and policy == "OnFailure"):
            continue
        for now in status.get(f"{kind}Statuses") or []:
            if now.get("name") == was.get("name") and (now.get("state") or {}).get("terminated") is None:
                text = "may not be transitioned to non-terminated state"
                causes.forbidden(f"status.{kind}Statuses[{index}].state", text)


def _claims(causes: Causes, status: Object, spec: Object) -> None:
    known = {each.get("name") for each in spec.get("resourceClaims") or []}
    for index, claim in enumerate(status.get("resourceClaimStatuses") or []):
        if claim.get("name") not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            causes.invalid(f"status.resourceClaimStatuses[{index}].name", claim.get("name") or "", text)


def _addresses(causes: Causes, field: str, listed: list[Object]) -> None:
    texts = [each.get("ip") or "" for each in listed]
    for index, text in enumerate(texts):
        causes.invalid_each(f"status.{field}[{index}]", text, names.ip_address(text))
    families = [":" in text for text in texts]
    if (
        len(families) > 1
        and (len(families) > 2 or families[0] == families[1])
        and not any(map(names.ip_address, texts))
    ):
        shown = [{"IP": text} for text in texts]
        causes.invalid(f"status.{field}", shown, "may specify no more than one IP for each IP family")


def _host_addresses(causes: Causes, status: Object) -> None:
    listed = status.get("hostIPs") or []
    if not listed:
        return
    first = listed[0].get("ip") or ""
    if first != (status.get("hostIP") or ""):
        causes.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
    _addresses(causes, "hostIPs", listed)


def _users(causes: Causes, path: str, statuses: list[Object]) -> None:
    for index, each in enumerate(statuses):
        user = (each.get("user") or {}).get("linux") or {}
        ids = [(name, user.get(name)) for name in ("uid", "gid")]
        ids += [(f"supplementalGroups[{at}]", value) for at, value in enumerate(user.get("supplementalGroups") or [])]
        for name, value in ids:
            if value is not None and not 0 <= value <= _LARGEST_ID:
                text = f"must be between 0 and {_LARGEST_ID}, inclusive"
                causes.invalid(f"{path}[{index}].user.linux.{name}", value, text)

"""What may become of a Service: its addresses stay, and who balances its load."""

from __future__ import annotations

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.core import is_headless, service


def service_update(causes: Causes, new: Object, old: Object) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        both_headless = is_headless(spec) and is_headless(before)
        if not both_headless:
            _kept_addresses(causes, spec.get("clusterIPs") or [], before.get("clusterIPs") or [])
    _kept_balancer(causes, spec, before)
    service(causes, new)


def _kept_balancer(causes: Causes, spec: Object, before: Object) -> None:
    """Who balances a Service's load is settled when it begins to be balanced."""
    ours, theirs = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
    if spec.get("type") != "LoadBalancer":
        if ours is not None:
            causes.forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")
    elif before.get("type") == "LoadBalancer":
        if ours != theirs:
            causes.invalid("spec.loadBalancerClass", ours, "may not change once set")
    elif ours is not None:
        causes.invalid_each("spec.loadBalancerClass", ours, names.qualified(ours))


def _kept_addresses(causes: Causes, new: list[str], old: list[str]) -> None:
    if len(new) == len(old):
        for index, (ours, theirs) in enumerate(zip(new, old, strict=True)):
            if ours != theirs:
                causes.invalid(f"spec.clusterIPs[{index}]", new, "may not change once set")
    elif len(old) > len(new):
        if not new:
            causes.invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
        elif new[0] != old[0]:
            causes.invalid("spec.clusterIPs[0]", new, "may not change once set")
    elif old and new[0] != old[0]:
        causes.invalid("spec.clusterIPs[0]", new, "may not change once set")

"""Resource quotas: what an object uses, whether it fits, and the usage it is charged with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Protocol

from runtimes.base import quantity
from runtimes.sandbox.errors import forbidden
from runtimes.sandbox.pod_amounts import has_amounts_of_its_own, pod_amounts
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.state import State
from runtimes.sandbox.storage_classes import class_of
from runtimes.sandbox.store import Object, copied

QUOTAS = ("", "resourcequotas")
_COUNTED = {
    ("", "pods"): "pods",
    ("", "services"): "services",
    ("", "replicationcontrollers"): "replicationcontrollers",
    ("", "resourcequotas"): "resourcequotas",
    ("", "secrets"): "secrets",
    ("", "configmaps"): "configmaps",
    ("", "persistentvolumeclaims"): "persistentvolumeclaims",
}
Usage = dict[str, Decimal]


class Call(Protocol):
    """The part of a writing request that quotas are about."""

    @property
    def resource(self) -> Resource: ...
    @property
    def namespace(self) -> str: ...
    @property
    def subresource(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...


def _nothing() -> None:
    pass


def charge(state: State, call: Call, new: Object, old: Object | None) -> Callable[[], None]:
    """Check a write against the namespace's quotas and note its usage; 403 if it does not fit. Returns the undo."""
    if not call.resource.namespaced or call.subresource is not None or call.resource.storage == QUOTAS:
        return _nothing
    quotas = state.store.items(QUOTAS, call.namespace)
    if not quotas:
        return _nothing
    used, before = usage(call.resource, new), usage(call.resource, old) if old is not None else {}
    delta = {name: amount - before.get(name, Decimal(0)) for name, amount in used.items()}
    if old is not None and not any(amount > 0 for amount in delta.values()):
        return _nothing
    changed: list[tuple[tuple[str, str], Object, Object]] = []
    for key, quota in quotas:
        if not is_in_scope(quota, call.resource, new):
            continue
        after = _charged(call, quota, new, delta, is_new=old is None)
        if after is not None:
            changed.append((key, quota, after))
    if call.dry_run or not changed:
        return _nothing
    for key, _, after in changed:
        state.store.put(QUOTAS, key, after)

    def undo() -> None:
        for key, quota, _ in changed:
            state.store.put(QUOTAS, key, copied(quota))

    return undo


def _charged(call: Call, quota: Object, obj: Object, delta: Usage, is_new: bool) -> Object | None:
    """The quota with the usage added; None if it does not concern the object."""
    status = quota.get("status") or {}
    hard: Mapping[str, Any] = status.get("hard") or {}
    concerned = {name: amount for name, amount in delta.items() if name in hard}
    name = obj["metadata"].get("name") or ""

    def refuse(why: str) -> Exception:
        return forbidden(call.resource.group, call.resource.plural, name, why)

    if is_new and call.resource.storage == ("", "pods"):
        missing = _unspecified(hard, obj["spec"])
        if missing:
            raise refuse(f"failed quota: {quota['metadata']['name']}: {missing}")
    if not concerned:
        return None
    used: Mapping[str, Any] = status.get("used") or {}
    unknown = sorted(each for each in concerned if each not in used)
    if unknown:
        raise refuse(f"status unknown for quota: {quota['metadata']['name']}, resources: {','.join(unknown)}")
    exceeded = sorted(
        each
        for each, amount in concerned.items()
        if amount > 0 and quantity.amount(used[each]) + amount > quantity.amount(hard[each])
    )
    if exceeded:
        parts = {
            "requested": {each: _text(concerned[each], hard[each]) for each in exceeded},
            "used": {each: used[each] for each in exceeded},
            "limited": {each: hard[each] for each in exceeded},
        }
        texts = [f"{part}: " + ",".join(f"{k}={v}" for k, v in values.items()) for part, values in parts.items()]
        raise refuse(f"exceeded quota: {quota['metadata']['name']}, {', '.join(texts)}")
    after: Object = copied(quota)
    for each, amount in concerned.items():
        after["status"]["used"][each] = _text(quantity.amount(used[each]) + amount, hard[each])
    return after if after["status"]["used"] != quota["status"]["used"] else None


def _text(amount: Decimal, like: str) -> str:
    return str(quantity.Quantity(amount, quantity.parse(str(like)).family))


def usage(resource: Resource, obj: Object) -> Usage:
    """What an object counts for, by the names that quotas use."""
    plural = resource.storage[1]
    counted = f"count/{plural}.{resource.storage[0]}" if resource.storage[0] else f"count/{plural}"
    if resource.storage == ("", "pods"):
        done = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return {counted: Decimal(1)} if done else {counted: Decimal(1), "pods": Decimal(1), **_pod_usage(obj["spec"])}
    found: Usage = {counted: Decimal(1)}
    if resource.storage in _COUNTED:
        found[_COUNTED[resource.storage]] = Decimal(1)
    if resource.storage == ("", "services"):
        type_, ports = obj["spec"].get("type"), len(obj["spec"].get("ports") or ())
        found["services.nodeports"] = Decimal(ports if type_ in ("NodePort", "LoadBalancer") else 0)
        found["services.loadbalancers"] = Decimal(type_ == "LoadBalancer")
    if resource.storage == ("", "persistentvolumeclaims"):
        storage = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
        found["requests.storage"] = quantity.amount(storage)
        class_name = class_of(obj)
        if class_name:
            prefix = f"{class_name}.storageclass.storage.k8s.io"
            found[f"{prefix}/requests.storage"] = found["requests.storage"]
            found[f"{prefix}/persistentvolumeclaims"] = Decimal(1)
    return found


def _pod_usage(spec: Mapping[str, Any]) -> Usage:
    """Requests count under the resource's own name too."""
    requests = {name: each.value for name, each in pod_amounts(spec, "requests").items()}
    limits = {name: each.value for name, each in pod_amounts(spec, "limits").items()}
    return {
        **requests,
        **{f"requests.{name}": value for name, value in requests.items()},
        **{f"limits.{name}": value for name, value in limits.items()},
    }


def _unspecified(hard: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """Which containers lack an amount that the quota covers: `must specify requests.cpu for: a,b; ...`; "" if none.

    They need none where the Pod has amounts of its own.
    """
    if has_amounts_of_its_own(spec):
        return ""
    lacking: dict[str, list[str]] = {}
    for name in hard:
        part, _, what = name.rpartition(".")
        part = part or "requests"
        if part not in ("requests", "limits") or what not in ("cpu", "memory", "ephemeral-storage"):
            continue
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            if what not in ((container.get("resources") or {}).get(part) or {}):
                lacking.setdefault(name, []).append(container.get("name", ""))
    texts = [f"{name} for: {','.join(sorted(containers))}" for name, containers in sorted(lacking.items())]
    return f"must specify {'; '.join(texts)}" if texts else ""


def is_in_scope(quota: Object, resource: Resource, obj: Object) -> bool:
    scopes = list(quota["spec"].get("scopes") or ())
    expressions = (quota["spec"].get("scopeSelector") or {}).get("matchExpressions") or ()
    if not scopes and not expressions:
        return True
    if resource.storage != ("", "pods"):
        return False
    return all(_matches_scope({"scopeName": s, "operator": "Exists"}, obj) for s in scopes) and all(
        _matches_scope(each, obj) for each in expressions
    )


def _matches_scope(expression: Mapping[str, Any], pod: Object) -> bool:
    spec, best_effort = pod["spec"], (pod.get("status") or {}).get("qosClass") == "BestEffort"
    match expression["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return best_effort
        case "NotBestEffort":
            return not best_effort
        case "PriorityClass":
            name, values = spec.get("priorityClassName") or "", expression.get("values") or ()
            return {
                "In": name in values,
                "NotIn": name not in values,
                "Exists": bool(name),
                "DoesNotExist": not name,
            }[expression["operator"]]
        case _:
            return False

"""Rules for who waits for whom at the API server: FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

import math
from typing import Any, Final

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_MOST_PRECEDENCE: Final = 10_000
_MOST_QUEUES: Final = 10_000_000
_MOST_HASH_BITS: Final = 60
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}


# --- Flow schemas ---


def flow_schema(causes: Causes, obj: Object) -> None:
    spec, name = obj.get("spec") or {}, (obj.get("metadata") or {}).get("name")
    _precedence(causes, spec.get("matchingPrecedence") or 0, name)
    method, level = spec.get("distinguisherMethod"), (spec.get("priorityLevelConfiguration") or {}).get("name")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        inner = {"Type": method.get("type") or ""}
        causes.not_supported("spec.distinguisherMethod.type", inner, ("ByNamespace", "ByUser"))
    at_level = "spec.priorityLevelConfiguration.name"
    if level:
        causes.invalid_each(at_level, level, names.subdomain(level))
    else:
        causes.required(at_level, "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or []):
        _rule(causes, rule, f"spec.rules[{index}]")


def _precedence(causes: Causes, value: int, name: str | None) -> None:
    path = "spec.matchingPrecedence"
    if value <= 0:
        causes.invalid(path, value, "must be a positive value")
    if value > _MOST_PRECEDENCE:
        causes.invalid(path, value, f"must not be greater than {_MOST_PRECEDENCE}")
    if value == 1 and name != "exempt":
        causes.invalid(path, value, "only the schema named 'exempt' may have matchingPrecedence 1")


def _rule(causes: Causes, rule: Object, path: str) -> None:
    subjects = rule.get("subjects") or []
    for index, subject in enumerate(subjects):
        _subject(causes, subject, f"{path}.subjects[{index}]")
    if not subjects:
        causes.required(f"{path}.subjects", "subjects must contain at least one value")
    resources, others = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not others:
        causes.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, each in enumerate(resources):
        _resource_rule(causes, each, f"{path}.resourceRules[{index}]")
    for index, each in enumerate(others):
        _other_rule(causes, each, f"{path}.nonResourceRules[{index}]")


def _subject(causes: Causes, subject: Object, path: str) -> None:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        causes.not_supported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    part = _SUBJECTS[kind]
    given = subject.get(part)
    if given is None:
        causes.required(f"{path}.{part}", f"{part} is required when subject kind is '{kind}'")
    else:
        _named_subject(causes, given, f"{path}.{part}", is_account=kind == "ServiceAccount")
    for other in ("ServiceAccount", "User", "Group"):
        name = _SUBJECTS[other]
        if other != kind and subject.get(name) is not None:
            causes.forbidden(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'")


def _named_subject(causes: Causes, given: Object, path: str, *, is_account: bool) -> None:
    name, namespace = given.get("name") or "", given.get("namespace") or ""
    if not name:
        causes.required(f"{path}.name")
    elif is_account and name != "*":
        causes.invalid_each(f"{path}.name", name, names.subdomain(name))
    if not is_account:
        return
    if namespace:
        causes.invalid_each(f"{path}.namespace", namespace, names.label(namespace))
    else:
        causes.required(f"{path}.namespace", "must specify namespace for service account")


def _verbs(causes: Causes, verbs: list[str], path: str) -> None:
    if not verbs:
        causes.required(f"{path}.verbs", "verbs must contain at least one value")
    elif "*" in verbs:
        _alone(causes, verbs, f"{path}.verbs", "verbs")
    elif set(verbs) - set(_VERBS):
        causes.not_supported(f"{path}.verbs", verbs, _VERBS)


def _alone(causes: Causes, values: list[str], path: str, what: str) -> None:
    if "*" in values and len(values) > 1:
        causes.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resource_rule(causes: Causes, rule: Object, path: str) -> None:
    _verbs(causes, rule.get("verbs") or [], path)
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        given = rule.get(field) or []
        if not given:
            causes.required(f"{path}.{field}", f"resource rules must supply at least one {one}")
        _alone(causes, given, f"{path}.{field}", many)
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        causes.required(f"{path}.namespaces", text)
    elif "*" in namespaces:
        _alone(causes, namespaces, f"{path}.namespaces", "namespaces")
    else:
        intro = "each member of this list must be '*' or a DNS-1123 label; "
        for index, namespace in enumerate(namespaces):
            wrong = [intro + text for text in names.label(namespace)]
            causes.invalid_each(f"{path}.namespaces[{index}]", namespace, wrong)


def _other_rule(causes: Causes, rule: Object, path: str) -> None:
    _verbs(causes, rule.get("verbs") or [], path)
    urls = rule.get("nonResourceURLs") or []
    if not urls:
        causes.required(f"{path}.nonResourceURLs", "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        _alone(causes, urls, f"{path}.nonResourceURLs", "non-resource URLs")
    else:
        for index, url in enumerate(urls):
            wrong = _wrong_path(url)
            causes.invalid_each(f"{path}.nonResourceURLs[{index}]", url, [wrong] if wrong else [])


def _wrong_path(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if url.count("*") > 1 or ("*" in url and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


# --- Priority levels ---


def priority_level(causes: Causes, obj: Object) -> None:
    spec, name = obj.get("spec") or {}, (obj.get("metadata") or {}).get("name")
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        causes.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    match kind:
        case "Exempt":
            if limited is not None:
                causes.forbidden("spec.limited", "must be nil if the type is not Limited")
            if exempt is not None:
                _shares(causes, exempt, "spec.exempt")
                _lendable(causes, exempt, "spec.exempt")
        case "Limited":
            if exempt is not None:
                causes.forbidden("spec.exempt", "must be nil if the type is Limited")
            if limited is None:
                causes.required("spec.limited", "must not be empty when type is Limited")
            else:
                _limited(causes, limited, "spec.limited")
        case _:
            causes.not_supported("spec.type", kind, ("Exempt", "Limited"))


def _shares(causes: Causes, given: Object, path: str) -> None:
    shares = given.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        causes.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _lendable(causes: Causes, given: Object, path: str) -> None:
    percent: Any = given.get("lendablePercent")
    if percent is not None and not 0 <= percent <= 100:
        causes.invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _limited(causes: Causes, limited: Object, path: str) -> None:
    _shares(causes, limited, path)
    response = limited.get("limitResponse") or {}
    kind, queuing = response.get("type") or "", response.get("queuing")
    here = f"{path}.limitResponse"
    if kind == "Reject" and queuing is not None:
        causes.forbidden(f"{here}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue" and queuing is None:
        causes.required(f"{here}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif kind == "Queue":
        _queuing(causes, queuing or {}, f"{here}.queuing")
    elif kind != "Reject":
        causes.not_supported(f"{here}.type", kind, ("Queue", "Reject"))
    _lendable(causes, limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        causes.invalid(f"{path}.borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def _queuing(causes: Causes, queuing: Object, path: str) -> None:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        causes.invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        causes.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        causes.invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        causes.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        causes.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _MOST_HASH_BITS:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        causes.invalid(f"{path}.handSize", hand, f"{text} {_MOST_HASH_BITS}")

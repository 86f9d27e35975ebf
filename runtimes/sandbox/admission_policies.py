"""ValidatingAdmissionPolicies: rules in CEL that those who run a cluster hold every write to.

A policy says what it looks at and what has to be true of it; a binding says where, with which parameters, and whether
who breaks it is refused or warned. They take effect with their own writes, which a real server does moments later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.base import label_selectors
from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.evaluation import Budget, OutOfBudget, evaluate
from runtimes.sandbox.cel.syntax import CelError, Node
from runtimes.sandbox.errors import ApiError, forbidden
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object, Store
from runtimes.sandbox.validate import meta

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = (GROUP, "validatingadmissionpolicies"), (GROUP, "validatingadmissionpolicybindings")
_EXEMPT = (POLICIES, BINDINGS)
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
KindOf = Callable[[str, str, str], Resource | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request: what it does, to what, and by whom. `obj` is None for a deletion, `old` for a creation."""

    operation: str
    resource: Resource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None
    user: Mapping[str, Any]
    dry_run: bool
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class _Denial:
    text: str
    reason: str = "Invalid"


class _Unevaluated(Exception):
    """The policy uses what is not here."""


def judge(store: Store, kind_of: KindOf, attempt: Attempt, warnings: list[str]) -> None:
    """Raises ApiError where a policy refuses the request; adds what policies warn of."""
    bindings = store.items(BINDINGS)
    if not bindings or attempt.resource.storage in _EXEMPT:
        return
    refused: list[_Denial] = []
    for _, binding in bindings:
        policy = store.get(POLICIES, ("", binding["spec"]["policyName"]))
        if policy is None or not _applies(store, policy, binding, attempt):
            continue
        for denial in _denials(store, kind_of, policy, binding, attempt):
            names = f"'{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
            actions = binding["spec"].get("validationActions") or ()
            if "Warn" in actions:
                warnings.append(f"Validation failed for ValidatingAdmissionPolicy {names}: {denial.text}")
            if "Deny" in actions:
                text = f"ValidatingAdmissionPolicy {names} denied request: {denial.text}"
                refused.append(_Denial(text, denial.reason))
    if refused:
        raise _refusal(attempt, refused[0])


def _refusal(attempt: Attempt, denial: _Denial) -> ApiError:
    refused = forbidden(attempt.resource.group, attempt.resource.plural, attempt.name, denial.text)
    details = {**(refused.details or {}), "causes": [{"message": denial.text}]}
    return ApiError(_CODES.get(denial.reason, 422), denial.reason, refused.message, details)


# --- What a policy is about ------------------------------------------------------------------------------------------


def _applies(store: Store, policy: Object, binding: Object, attempt: Attempt) -> bool:
    constraints = policy["spec"].get("matchConstraints") or {}
    narrower = binding["spec"].get("matchResources")
    return _matches(store, constraints, attempt, needs_rule=True) and (
        narrower is None or _matches(store, narrower, attempt, needs_rule=False)
    )


def _matches(store: Store, given: Object, attempt: Attempt, *, needs_rule: bool) -> bool:
    rules = given.get("resourceRules") or []
    if any(_covers(rule, attempt) for rule in given.get("excludeResourceRules") or ()):
        return False
    if (rules or needs_rule) and not any(_covers(rule, attempt) for rule in rules):
        return False
    return _selects_namespace(store, given.get("namespaceSelector"), attempt) and _selects_object(
        given.get("objectSelector"), attempt
    )


def _covers(rule: Object, attempt: Attempt) -> bool:
    resource = attempt.resource
    name = f"{resource.plural}/{attempt.subresource}" if attempt.subresource else resource.plural
    scope = rule.get("scope") or "*"
    return (
        _among(attempt.operation, rule.get("operations"))
        and _among(resource.group, rule.get("apiGroups"))
        and _among(resource.version, rule.get("apiVersions"))
        and any(_is_resource(each, name) for each in rule.get("resources") or ())
        and scope in ("*", "Namespaced" if resource.namespaced else "Cluster")
        and (not rule.get("resourceNames") or attempt.name in rule["resourceNames"])
    )


def _among(value: str, allowed: list[str] | None) -> bool:
    return "*" in (allowed or ()) or value in (allowed or ())


def _is_resource(pattern: str, name: str) -> bool:
    """`*` is every resource, `*/*` with its subresources, `pods/*` a pod's subresources."""
    if pattern == "*/*" or pattern == name:
        return True
    if pattern == "*":
        return "/" not in name
    wanted, slash, sub = pattern.partition("/")
    plural, has_sub, own = name.partition("/")
    return bool(slash and has_sub) and wanted in ("*", plural) and sub in ("*", own)


def _selects_namespace(store: Store, selector: Object | None, attempt: Attempt) -> bool:
    if not selector or meta.is_empty(selector):
        return True
    if attempt.resource.storage == ("", "namespaces"):
        return label_selectors.matches(selector, _labels(attempt.obj or attempt.old))
    if not attempt.namespace:
        return True
    return label_selectors.matches(selector, _labels(store.get(("", "namespaces"), ("", attempt.namespace))))


def _selects_object(selector: Object | None, attempt: Attempt) -> bool:
    if not selector or meta.is_empty(selector):
        return True
    return any(
        label_selectors.matches(selector, _labels(each)) for each in (attempt.obj, attempt.old) if each is not None
    )


def _labels(obj: Object | None) -> dict[str, str]:
    return dict(((obj or {}).get("metadata") or {}).get("labels") or {})


# --- What it says ----------------------------------------------------------------------------------------------------


def _denials(store: Store, kind_of: KindOf, policy: Object, binding: Object, attempt: Attempt) -> Iterator[_Denial]:
    spec = policy["spec"]
    ignores = spec.get("failurePolicy") == "Ignore"
    try:
        parameters = _parameters(store, kind_of, spec, binding, attempt)
    except _NoParameters as missing:
        if missing.is_denied and not ignores:
            text = "no params found for policy binding with `Deny` parameterNotFoundAction"
            yield _Denial(f"failed to configure binding: {text}")
        return
    for each in parameters:
        try:
            yield from _broken(store, spec, each, attempt, ignores=ignores)
        except _Unevaluated:
            return


class _NoParameters(Exception):
    def __init__(self, *, is_denied: bool) -> None:
        super().__init__("no parameters")
        self.is_denied = is_denied


def _parameters(store: Store, kind_of: KindOf, spec: Object, binding: Object, attempt: Attempt) -> list[Object | None]:
    """The objects that the policy is evaluated with, each alone; [None] for one that has none."""
    kind, reference = spec.get("paramKind"), binding["spec"].get("paramRef")
    if kind is None or reference is None:
        return [None]
    group, _, version = str(kind.get("apiVersion") or "").rpartition("/")
    resource = kind_of(group, version, str(kind.get("kind")))
    found: list[Object] = []
    if resource is not None:
        namespace = (reference.get("namespace") or attempt.namespace) if resource.namespaced else ""
        for (_, name), obj in store.items(resource.storage, namespace or None):
            wanted = reference.get("name")
            if name == wanted if wanted else label_selectors.matches(reference.get("selector") or {}, _labels(obj)):
                found.append(obj)
    if not found:
        raise _NoParameters(is_denied=reference.get("parameterNotFoundAction") != "Allow")
    return list(found)


def _broken(
    store: Store, spec: Object, parameters: Object | None, attempt: Attempt, *, ignores: bool
) -> Iterator[_Denial]:
    values = _values(store, spec, parameters, attempt)
    for condition in spec.get("matchConditions") or ():
        result, error = _result(condition["expression"], values)
        if error:
            if not ignores:
                yield _Denial(error)
            return
        if result is not True:
            return
    for rule in spec.get("validations") or ():
        result, error = _result(rule["expression"], values)
        if error and not ignores:
            yield _Denial(error)
        elif not error and result is not True:
            yield _Denial(_message(rule, values), rule.get("reason") or "Invalid")


def _message(rule: Object, values: Mapping[str, Any]) -> str:
    if rule.get("messageExpression"):
        made, error = _result(rule["messageExpression"], values)
        if not error and isinstance(made, str) and made.strip() and "\n" not in made:
            return made.strip()
    return str(rule.get("message") or "").strip() or f"failed expression: {str(rule['expression']).strip()}"


def _result(text: str, values: Mapping[str, Any]) -> tuple[Any, str]:
    """The value of an expression, or why it has none."""
    try:
        return evaluate(_tree(text), values, Budget()), ""
    except CelError as error:
        return None, f"expression '{text}' resulted in error: {error.message}"
    except OutOfBudget:
        return None, f"expression '{text}' resulted in error: out of cost budget"


def _tree(text: str) -> Node:
    tree, names = checking.parsed(text)
    if names & checking.KNOWN_ELSEWHERE:
        raise _Unevaluated
    return tree


class _Variables(dict[str, Any]):
    """Values of the policy's own names, evaluated when one is asked for."""

    def __init__(self, declared: Mapping[str, str], values: Mapping[str, Any]) -> None:
        super().__init__(dict.fromkeys(declared))
        self._declared, self._values = declared, values

    def __getitem__(self, name: str) -> Any:
        try:
            return evaluate(_tree(self._declared[name]), {**self._values, "variables": self}, Budget())
        except CelError as error:
            raise CelError(f'composited variable "{name}" fails to evaluate: {error.message}', error.at) from error


def _values(store: Store, spec: Object, parameters: Object | None, attempt: Attempt) -> Mapping[str, Any]:
    resource = attempt.resource
    namespace = store.get(("", "namespaces"), ("", attempt.namespace)) if attempt.namespace else None
    request = {
        "operation": attempt.operation,
        "name": attempt.name,
        "namespace": attempt.namespace,
        "kind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "subResource": attempt.subresource,
        "dryRun": attempt.dry_run,
        "userInfo": dict(attempt.user),
    }
    values: dict[str, Any] = {
        "object": _without_nulls(attempt.obj),
        "oldObject": _without_nulls(attempt.old),
        "params": _without_nulls(parameters),
        "namespaceObject": _without_nulls(namespace),
        "request": request,
    }
    declared = {each["name"]: each["expression"] for each in spec.get("variables") or ()}
    return {**values, "variables": _Variables(declared, values)}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value

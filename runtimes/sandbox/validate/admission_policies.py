"""Rules for ValidatingAdmissionPolicies and their bindings: their expressions are compiled as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.syntax import CelError
from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.admission_rules import rule_with_operations
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.rules import shown

_TEXT, _ANY = {"type": "string"}, {"x-kubernetes-preserve-unknown-fields": True}


def _members(*names: str, **others: Object) -> Object:
    return {"type": "object", "properties": {**dict.fromkeys(names, _TEXT), **others}}


_KIND, _RESOURCE = _members("group", "version", "kind"), _members("group", "version", "resource")
_USER = _members("username", "uid", groups={"type": "array", "items": _TEXT}, extra=_ANY)
_REQUEST = _members(
    *("subResource", "requestSubResource", "name", "namespace", "operation"),
    kind=_KIND,
    resource=_RESOURCE,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    userInfo=_USER,
    dryRun={"type": "boolean"},
    options=_ANY,
)
_NAMES = {
    **dict.fromkeys(("object", "oldObject", "namespaceObject", "authorizer"), checking.DYN),
    "request": checking.type_of(_REQUEST),
}


def _names(has_params: bool, variables: Iterable[str] = ()) -> Names:
    """What expressions may speak of; variables are those that stand before."""
    known = checking.type_of({"type": "object", "properties": dict.fromkeys(variables, _ANY)})
    return {**_NAMES, **({"params": checking.DYN} if has_params else {}), "variables": known}


Names = Mapping[str, checking.Type]
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_SUPPORTED_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MOST_CONDITIONS = 64
_ACTIONS = ("Audit", "Deny", "Warn")


def policy(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    if spec.get("failurePolicy") not in (None, "Fail", "Ignore"):
        causes.not_supported("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        _param_kind(causes, spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        causes.required("spec.matchConstraints")
    else:
        _match_resources(causes, constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            causes.required("spec.matchConstraints.resourceRules")
    has_params, before = spec.get("paramKind") is not None, list[str]()
    match_conditions(causes, spec.get("matchConditions") or [], "spec.matchConditions", has_params)
    for index, each in enumerate(spec.get("variables") or []):
        here, name = f"spec.variables[{index}]", each.get("name") or ""
        if not name.strip():
            causes.required(f"{here}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            causes.invalid(f"{here}.name", name, "must be a valid CEL identifier")
        _expression(causes, each.get("expression") or "", f"{here}.expression", "", _names(has_params, before))
        before.append(name)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        causes.required("spec.validations", text)
        causes.required("spec.auditAnnotations", text)
    for index, each in enumerate(spec.get("validations") or []):
        _validation(causes, each, f"spec.validations[{index}]", _names(has_params, before))
    _audited(causes, obj, _names(has_params, before))


def _audited(causes: Causes, obj: Object, names_: Names) -> None:
    name, seen = (obj.get("metadata") or {}).get("name") or "", set[str]()
    for index, each in enumerate((obj.get("spec") or {}).get("auditAnnotations") or []):
        here, key, text = f"spec.auditAnnotations[{index}]", each.get("key") or "", each.get("valueExpression") or ""
        causes.invalid_each(f"{here}.key", f"{name}/{key}", names.qualified(f"{name}/{key}"))
        if not text.strip():
            causes.required(f"{here}.valueExpression", "valueExpression is not specified")
        else:
            _expression(causes, text, f"{here}.valueExpression", "one of [string null_type]", names_)
        if key in seen:
            causes.duplicate(f"{here}.key", key)
        seen.add(key)


def match_conditions(causes: Causes, conditions: list[Object], path: str, has_params: bool = False) -> None:
    """Of webhooks, too."""
    if len(conditions) > _MOST_CONDITIONS:
        causes.too_many(path, len(conditions), _MOST_CONDITIONS)
    seen: set[str] = set()
    for index, each in enumerate(conditions):
        here, name, text = f"{path}[{index}]", each.get("name") or "", (each.get("expression") or "").strip()
        if text:
            _expression(causes, text, f"{here}.expression", "bool", _names(has_params))
        else:
            causes.required(f"{here}.expression")
        if not name:
            causes.required(f"{here}.name")
        else:
            causes.invalid_each(f"{here}.name", name, names.qualified(name))
            if name in seen:
                causes.duplicate(f"{here}.name", name)
            seen.add(name)


def _param_kind(causes: Causes, kind: Object, path: str) -> None:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    group, _, number = version.rpartition("/")
    if not version:
        causes.required(f"{path}.apiVersion")
    elif version.count("/") > 1:
        causes.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    else:
        if group and names.subdomain(group):
            causes.invalid(f"{path}.apiVersion", group, ",".join(names.subdomain(group)))
        if not number:
            causes.invalid(f"{path}.apiVersion", version, "version must be specified")
        elif names.label_1035(number):
            causes.invalid(f"{path}.apiVersion", version, ",".join(names.label_1035(number)))
    if not name:
        causes.required(f"{path}.kind")
    elif names.label_1035(name.lower()):
        wrong = ",".join(names.label_1035(name.lower()))
        causes.invalid(f"{path}.kind", name, f"may have mixed case, but should otherwise match: {wrong}")


def _match_resources(causes: Causes, given: Object, path: str) -> None:
    if given.get("matchPolicy") not in (None, "Equivalent", "Exact"):
        causes.not_supported(f"{path}.matchPolicy", given["matchPolicy"], ("Equivalent", "Exact"))
    for field in ("namespaceSelector", "objectSelector"):
        meta.label_selector(causes, f"{path}.{field}", given.get(field))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(given.get(field) or []):
            here, listed = f"{path}.{field}[{index}]", rule.get("resourceNames") or []
            for at, name in enumerate(listed):
                causes.invalid_each(f"{here}.resourceNames[{at}]", name, names.path_segment(name))
                if name in listed[:at]:
                    causes.duplicate(f"{here}.resourceNames[{at}]", name)
            rule_with_operations(causes, rule, here)


def _validation(causes: Causes, rule: Object, path: str, names_: Names) -> None:
    text, message = rule.get("expression") or "", rule.get("messageExpression") or ""
    _expression(causes, text, f"{path}.expression", "bool", names_)
    if message and not message.strip():
        causes.invalid(f"{path}.messageExpression", message, "must be non-empty if specified")
    elif message:
        _expression(causes, message, f"{path}.messageExpression", "string", names_)
    said = rule.get("message") or ""
    if said and not said.strip():
        causes.invalid(f"{path}.message", said, "must be non-empty if specified")
    elif "\n" in said.strip() or "\r" in said.strip():
        causes.invalid(f"{path}.message", said, "must not contain line breaks")
    if rule.get("reason") not in (None, *_REASONS):
        causes.not_supported(f"{path}.reason", rule["reason"], _SUPPORTED_REASONS)


def _expression(causes: Causes, text: str, path: str, wanted: str, names_: Names) -> None:
    """`wanted` is the type that it has to have, empty for any."""
    if not text.strip():
        causes.required(path, "expression is not specified")
        return
    try:
        tree, used = checking.parsed(text)
        if used & checking.KNOWN_ELSEWHERE:
            return
        found = checking.check(tree, names_)
    except CelError as error:
        causes.invalid(path, text, f"compilation failed: {shown(text, error)}")
        return
    # the server knows the types of variables
    is_open = found.name == "dyn" and (wanted == "string" or "variables" in used)
    fits = found.name == wanted or (wanted.startswith("one of") and found.name in ("string", "null_type", "dyn"))
    if wanted and not fits and not is_open:
        causes.invalid(path, text, f"must evaluate to {wanted} but got {found}")


def left_out(obj: Object) -> list[str]:
    """What to tell whoever writes a policy that is not evaluated here."""
    spec = obj.get("spec") or {}
    texts = [
        str(each.get(field) or "")
        for part in ("validations", "variables", "matchConditions")
        for each in spec.get(part) or ()
        for field in ("expression", "messageExpression")
    ]
    found = {name for text in texts if text.strip() for name in checking.parsed(text)[1]}
    missing = sorted(found & checking.KNOWN_ELSEWHERE)
    return [f"the sandbox does not evaluate policies that use {name}" for name in missing]


def _param_ref(causes: Causes, ref: Object, path: str) -> None:
    name, selector, action = ref.get("name") or "", ref.get("selector"), ref.get("parameterNotFoundAction")
    if name:
        causes.invalid_each(f"{path}.name", name, names.path_segment(name))
    for field in ("name", "selector"):
        if field == "selector":
            meta.label_selector(causes, f"{path}.selector", selector)
        if name and selector is not None:
            causes.forbidden(f"{path}.{field}", "name and selector are mutually exclusive")
    if not name and selector is None:
        causes.required(path, "one of name or selector must be specified")
    if not action:
        causes.required(f"{path}.parameterNotFoundAction")
    elif action not in ("Allow", "Deny"):
        causes.not_supported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))


def binding(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    name = spec.get("policyName") or ""
    if not name:
        causes.required("spec.policyName")
    else:
        causes.invalid_each("spec.policyName", name, names.subdomain(name))
    if spec.get("paramRef") is not None:
        _param_ref(causes, spec["paramRef"], "spec.paramRef")
    _match_resources(causes, spec.get("matchResources") or {}, "spec.matchResources")
    actions = spec.get("validationActions") or []
    if not actions:
        causes.required("spec.validationActions", "at least one validation action is required")
    for index, action in enumerate(actions):
        here = f"spec.validationActions[{index}]"
        if action not in _ACTIONS:
            causes.not_supported(here, action, _ACTIONS)
        elif action in actions[:index]:
            causes.duplicate(here, action)
    if {"Deny", "Warn"} <= set(actions):
        why = "repeating the same validation failure information in the API response and headers serves no purpose"
        causes.invalid("spec.validationActions", actions, f"must not contain both Deny and Warn ({why})")

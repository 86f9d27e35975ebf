"""Rules for ValidatingAdmissionPolicies and their bindings: their expressions are compiled as they are written."""

from __future__ import annotations

import re

from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.syntax import CelError
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.rules import shown

_NAMES = dict.fromkeys(
    ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer"), checking.DYN
)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_SUPPORTED_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")


def policy(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    if spec.get("matchConstraints") is None:
        causes.required("spec.matchConstraints")
    if spec.get("failurePolicy") not in (None, "Fail", "Ignore"):
        causes.not_supported("spec.failurePolicy", spec["failurePolicy"], ("Fail", "Ignore"))
    for index, each in enumerate(spec.get("matchConditions") or []):
        here = f"spec.matchConditions[{index}]"
        _expression(causes, each.get("expression") or "", f"{here}.expression", "bool")
        if not each.get("name"):
            causes.required(f"{here}.name")
    for index, each in enumerate(spec.get("variables") or []):
        here, name = f"spec.variables[{index}]", each.get("name") or ""
        if not name:
            causes.required(f"{here}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            causes.invalid(f"{here}.name", name, "must be a valid CEL identifier")
        _expression(causes, each.get("expression") or "", f"{here}.expression", "")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        causes.required("spec.validations", text)
        causes.required("spec.auditAnnotations", text)
    for index, each in enumerate(spec.get("validations") or []):
        _validation(causes, each, f"spec.validations[{index}]")


def _validation(causes: Causes, rule: Object, path: str) -> None:
    text, message = rule.get("expression") or "", rule.get("messageExpression") or ""
    _expression(causes, text, f"{path}.expression", "bool")
    if message:
        _expression(causes, message, f"{path}.messageExpression", "string")
    if rule.get("reason") not in (None, *_REASONS):
        causes.not_supported(f"{path}.reason", rule["reason"], _SUPPORTED_REASONS)


def _expression(causes: Causes, text: str, path: str, wanted: str) -> None:
    """`wanted` is the type that it has to have, empty for any."""
    if not text.strip():
        causes.required(path, "expression is not specified")
        return
    try:
        tree, used = checking.parsed(text)
        if used & checking.KNOWN_ELSEWHERE:
            return
        found = checking.check(tree, _NAMES)
    except CelError as error:
        causes.invalid(path, text, f"compilation failed: {shown(text, error)}")
        return
    # the server knows the types of variables
    is_open = found.name == "dyn" and (wanted == "string" or "variables" in used)
    if wanted and found.name != wanted and not is_open:
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


def binding(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    if not spec.get("policyName"):
        causes.required("spec.policyName")
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

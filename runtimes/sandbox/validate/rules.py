"""`x-kubernetes-validations`: rules that a schema states, compiled with it and evaluated on objects.

A rule is seen with the object's part that it stands at as `self`, and that part before the change as `oldSelf`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.evaluation import Budget, OutOfBudget, evaluate
from runtimes.sandbox.cel.functions import Optional, duration, timestamp
from runtimes.sandbox.cel.syntax import CelError, parse
from runtimes.sandbox.validate.causes import Causes, Object

RULES = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BLOCKING = ("FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid")
_METADATA = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}


def has_rules(schema: Any) -> bool:
    return isinstance(schema, dict) and (bool(schema.get(RULES)) or any(has_rules(each) for each, _ in _below(schema)))


def _below(schema: Object) -> Iterator[tuple[Object, str]]:
    for name, member in sorted((schema.get("properties") or {}).items()):
        yield member, f".properties[{name}]"
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield schema[name], f".{name}"


def left_out(definition: Object) -> list[str]:
    """What to tell whoever defines rules that are not evaluated here."""
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") for each in definition["spec"].get("versions") or ()]
    found = {name for schema in schemas if schema for name in _functions_left_out(schema)}
    return [f"the sandbox does not evaluate validation rules that use {name}" for name in sorted(found)]


def _functions_left_out(schema: Object) -> Iterator[str]:
    for rule in schema.get(RULES) or ():
        yield from checking.parsed(rule["rule"])[1] & checking.KNOWN_ELSEWHERE
    for child, _ in _below(schema):
        if isinstance(child, dict):
            yield from _functions_left_out(child)


# --- Definitions ---


def compile_rules(causes: Causes, schema: Object, path: str, adrift: str = "") -> None:
    """What is wrong with the rules of a schema that is sound otherwise; what is below a place comes before it.

    `adrift` is the path of a list around it whose items cannot be told to be the same as before, if there is one.
    """
    is_adrift = schema.get("type") == "array" and schema.get("x-kubernetes-list-type") != "map"
    for child, where in _below(schema):
        if isinstance(child, dict):
            compile_rules(causes, child, f"{path}{where}", adrift or (path if is_adrift else ""))
    names = {"self": checking.type_of(_rooted(schema, path)), "oldSelf": checking.type_of(_rooted(schema, path))}
    for index, rule in enumerate(schema.get(RULES) or ()):
        here = f"{path}.{RULES}[{index}]"
        if _stated_well(causes, rule, schema, here):
            _compiled_well(causes, rule, names, here)
            _correlated(causes, rule, here, adrift)


def _correlated(causes: Causes, rule: Object, path: str, adrift: str) -> None:
    try:
        uses_old = "oldSelf" in checking.parsed(rule["rule"])[1]
    except CelError:
        return
    if uses_old and adrift:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {adrift}"
        causes.invalid(f"{path}.rule", rule["rule"], text)


def _rooted(schema: Object, path: str) -> Object:
    if not path.endswith("openAPIV3Schema"):
        return schema
    own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _METADATA}
    return {**schema, "properties": {**(schema.get("properties") or {}), **own}}


def _stated_well(causes: Causes, rule: Object, schema: Object, path: str) -> bool:
    before = len(causes)
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        causes.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        causes.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        causes.invalid(f"{path}.message", message, "must not contain line breaks")
    elif "\n" in text.strip() and not message.strip():
        causes.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        causes.not_supported(f"{path}.reason", rule["reason"], _REASONS)
    field = rule.get("fieldPath") or ""
    if field and not _is_field(field, schema):
        causes.invalid(f"{path}.fieldPath", field, "must be a valid path")
    return len(causes) == before


def _is_field(path: str, schema: Object) -> bool:
    if not path.startswith("."):
        return False
    for name in path[1:].split("."):
        members = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        found = members.get(name, additional if isinstance(additional, dict) else None)
        if found is None:
            return False
        schema = found
    return True


def _compiled_well(causes: Causes, rule: Object, names: Mapping[str, checking.Type], path: str) -> None:
    uses_old = "oldSelf" in (rule.get("rule") or "")
    if rule.get("optionalOldSelf"):
        names = {**names, "oldSelf": checking.DYN}
    for field, wanted, short, prefix in (
        ("rule", "bool", "cel expression must evaluate to a bool", ""),
        ("messageExpression", "string", "messageExpression must evaluate to a string", "messageExpression "),
    ):
        text = rule.get(field)
        if not text:
            continue
        try:
            tree = parse(text)
            found = checking.check(tree, names)
            if found.name not in (wanted, "dyn"):
                causes.invalid(f"{path}.{field}", _go_rule(rule), short)
                return
            uses_old = uses_old if field != "rule" else "oldSelf" in checking.names_in(tree)
        except CelError as error:
            causes.invalid(f"{path}.{field}", _go_rule(rule), f"{prefix}compilation failed: {shown(text, error)}")
            return
    if rule.get("optionalOldSelf") is not None and not uses_old:
        causes.invalid(
            f"{path}.optionalOldSelf", rule["optionalOldSelf"], "may not be set if oldSelf is not used in rule"
        )


def _go_rule(rule: Object) -> Object:
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def shown(text: str, error: CelError) -> str:
    """The error with its place, as the server's compiler shows it."""
    before, line = text[: error.at].rpartition("\n")[2], text.split("\n")[text.count("\n", 0, error.at)]
    row, column = text.count("\n", 0, error.at) + 1, len(before)
    return f"ERROR: <input>:{row}:{column + 1}: {error.message}\n | {line}\n | {'.' * column}^"


# --- Objects ---


def check_rules(causes: Causes, schema: Object, new: Any, old: Any) -> None:
    """After what else the schema says of an object; `old` is None for a new one."""
    if not has_rules(schema):
        return
    if any(each["reason"] in _BLOCKING for each in causes):
        why = "some validation rules were not checked because the object was invalid; correct the existing errors"
        causes.add("FieldValueInvalid", "<nil>", f"Invalid value: null: {why} to complete validation")
        return
    try:
        _walk(causes, schema, new, old, "", Budget())
    except OutOfBudget:
        kind = json.dumps(schema.get("type", "object"))
        text = "validation failed due to running out of cost budget, no further validation rules will be run"
        causes.add("FieldValueInvalid", "<nil>", f"Invalid value: {kind}: {text}")


def _walk(causes: Causes, schema: Object, new: Any, old: Any, path: str, budget: Budget) -> None:
    if new is None or not has_rules(schema):
        return
    for rule in schema.get(RULES) or ():
        _apply(causes, rule, schema, new, old, path, budget)
    if isinstance(new, dict):
        members, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        held = old if isinstance(old, dict) else {}
        for name in sorted(new):
            below = members.get(name, additional if isinstance(additional, dict) else None)
            if below is not None:
                _walk(causes, below, new[name], held.get(name), f"{path}.{name}" if path else name, budget)
    elif isinstance(new, list) and isinstance(schema.get("items"), dict):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        held_items = {_key(each, keys): each for each in old or ()} if keys and isinstance(old, list) else {}
        for index, item in enumerate(new):
            _walk(causes, schema["items"], item, held_items.get(_key(item, keys)), f"{path}[{index}]", budget)


def _key(item: Any, keys: Any) -> str:
    return json.dumps([item.get(key) for key in keys] if isinstance(item, dict) else None)


def _apply(causes: Causes, rule: Object, schema: Object, new: Any, old: Any, path: str, budget: Budget) -> None:
    text, kind = rule["rule"], json.dumps(schema.get("type", ""))
    try:
        tree, names = checking.parsed(text)
    except CelError:
        return  # it was refused when its definition was written
    if names & checking.KNOWN_ELSEWHERE:
        return
    optional = bool(rule.get("optionalOldSelf"))
    if "oldSelf" in names and old is None and not optional:
        return
    if "oldSelf" not in names and old is not None and old == new:
        return  # what was stored before the rule may stay as it is
    values = {"self": _value(schema, new)}
    before = None if old is None else _value(schema, old)
    values["oldSelf"] = Optional(before, old is not None) if optional else before
    try:
        if evaluate(tree, values, budget) is True:
            return
    except CelError as error:
        why = f"'{error.message}': call arguments did not match a supported operator, function or macro signature for"
        said = why if error.message == "no such overload" else f"{error.message} evaluating"
        causes.add("FieldValueInvalid", path or "<nil>", f"Invalid value: {kind}: {said} rule: {_said(rule)}")
        return
    _refuse(causes, rule, kind, f"{path}{rule.get('fieldPath') or ''}".lstrip(".") or "<nil>", values, budget)


def _said(rule: Object) -> str:
    return str(rule.get("message") or "").strip() or str(rule["rule"]).strip()


def _refuse(causes: Causes, rule: Object, kind: str, path: str, values: Mapping[str, Any], budget: Budget) -> None:
    message = str(rule.get("message") or "").strip() or f"failed rule: {str(rule['rule']).strip()}"
    if rule.get("messageExpression"):
        try:
            made = evaluate(checking.parsed(rule["messageExpression"])[0], values, budget)
            if isinstance(made, str) and made.strip() and "\n" not in made:
                message = made
        except CelError:
            pass  # the message that stands beside it is said
    match rule.get("reason"):
        case "FieldValueForbidden":
            causes.forbidden(path, message)
        case "FieldValueRequired":
            causes.required(path, message)
        case "FieldValueDuplicate":
            causes.add("FieldValueDuplicate", path, f"Duplicate value: {kind}")
        case _:
            causes.add("FieldValueInvalid", path, f"Invalid value: {kind}: {message}")


def _value(schema: Object, value: Any) -> Any:
    """As the language sees it: times and durations by their formats, numbers by their types."""
    match value:
        case dict():
            members, additional = schema.get("properties") or {}, schema.get("additionalProperties")
            rest = additional if isinstance(additional, dict) else {}
            return {name: _value(members.get(name, rest), inner) for name, inner in value.items() if inner is not None}
        case list():
            items = schema.get("items")
            return [_value(items if isinstance(items, dict) else {}, each) for each in value]
        case str() if schema.get("format") in ("date-time", "duration"):
            return _time(str(schema["format"]), value)
        case int() if schema.get("type") == "number" and not isinstance(value, bool):
            return float(value)
        case float() if schema.get("type") == "integer":
            return int(value)
    return value


def _time(form: str, text: str) -> datetime | timedelta | str:
    try:
        return timestamp(text) if form == "date-time" else duration(text)
    except CelError:
        return text

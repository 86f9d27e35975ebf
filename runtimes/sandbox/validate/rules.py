"""`x-kubernetes-validations`: rules that a schema states, compiled with it and evaluated on objects.

A rule is seen with the object's part that it stands at as `self`, and that part before the change as `oldSelf`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from kcl.records import dataclass, field
from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.costs import LARGEST_REQUEST, Estimator, least_serialized, plus, times
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


MOST_OF_RULE, MOST_OF_SCHEMA = 10_000_000, 100_000_000
"""What a rule, and all rules of a schema, may cost by estimate."""


@dataclass(slots=True)
class Costs:
    """What the rules of a schema cost by estimate, and the places of those that make up most of it."""

    total: int = 0
    most: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        self.total = plus(self.total, cost)
        if cost >= MOST_OF_SCHEMA // 100:
            self.most = sorted([*self.most, (cost, path)], key=lambda each: -each[0])[:4]


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    hint = "adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
    return f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or {hint})"


def compile_rules(causes: Causes, schema: Object, path: str) -> None:
    """The rules of a whole schema, one by one and in sum."""
    costs = Costs()
    _compile(causes, schema, path, costs)
    if costs.total > MOST_OF_SCHEMA:
        for _, place in costs.most:
            text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            causes.forbidden(place, text)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        causes.forbidden(path, _exceeds(what, costs.total, MOST_OF_SCHEMA))


def _repeats(schema: Object, around: int | None) -> int | None:
    """How often what is below may be there, at most; None where nothing bounds it."""
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif isinstance(schema.get("additionalProperties"), dict):
        most = schema.get("maxProperties")
    else:
        most = 1
    return None if most is None or around is None else times(around, max(int(most), 0))


def _compile(
    causes: Causes, schema: Object, path: str, costs: Costs, adrift: str = "", repeated: int | None = 1
) -> None:
    """What is wrong with the rules of a schema that is sound otherwise; what is below a place comes before it.

    `adrift` is the path of a list around it whose items cannot be told to be the same as before, if there is one.
    `repeated` is how often the place may be in an object, None where there is no bound.
    """
    is_adrift = schema.get("type") == "array" and schema.get("x-kubernetes-list-type") != "map"
    for child, where in _below(schema):
        if isinstance(child, dict):
            around = adrift or (path if is_adrift else "")
            _compile(causes, child, f"{path}{where}", costs, around, _repeats(schema, repeated))
    names = {"self": checking.type_of(_rooted(schema, path)), "oldSelf": checking.type_of(_rooted(schema, path))}
    for index, rule in enumerate(schema.get(RULES) or ()):
        here = f"{path}.{RULES}[{index}]"
        if _compiled_well(causes, rule, names, here):
            _affordable(causes, rule, Estimator(_rooted(schema, path), names), here, costs, repeated)
        _correlated(causes, rule, here, adrift)


def _affordable(
    causes: Causes, rule: Object, estimator: Estimator, path: str, costs: Costs, repeated: int | None
) -> None:
    often = LARGEST_REQUEST // (least_serialized(estimator.schema) + 1) if repeated is None else repeated
    for part, number in (("rule", often), ("messageExpression", 1)):
        if rule.get(part):
            cost = times(estimator.cost(parse(rule[part])), number)
            if cost > MOST_OF_RULE:
                causes.forbidden(f"{path}.{part}", _exceeds(f"estimated {part} cost", cost, MOST_OF_RULE))
            costs.add(f"{path}.{part}", cost)


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


def stated(causes: Causes, schema: Object, path: str) -> None:
    """Whether the rules of a place are written in full; what is below the place is not looked at."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        _stated(causes, rule, schema, f"{path}.{RULES}[{index}]")


def _stated(causes: Causes, rule: Object, schema: Object, path: str) -> None:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        causes.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        causes.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_newlines(message.strip()):
        causes.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_newlines(text.strip()) and not message.strip():
        causes.required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression, field = rule.get("messageExpression") or "", rule.get("fieldPath") or ""
    if expression and not expression.strip():
        causes.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        causes.not_supported(f"{path}.reason", rule["reason"], _REASONS)
    if field and not field.strip():
        causes.invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _has_newlines(field):
        causes.invalid(f"{path}.fieldPath", field, "must not contain line breaks")
    if field and not _is_field(field, schema):
        causes.invalid(f"{path}.fieldPath", field, "must be a valid path")


def _has_newlines(text: str) -> bool:
    return "\n" in text or "\r" in text


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


def _compiled_well(causes: Causes, rule: Object, names: Mapping[str, checking.Type], path: str) -> bool:
    uses_old = "oldSelf" in (rule.get("rule") or "")
    if rule.get("optionalOldSelf"):
        names = {**names, "oldSelf": checking.DYN}
    for part, wanted, short, prefix in (
        ("rule", "bool", "cel expression must evaluate to a bool", ""),
        ("messageExpression", "string", "messageExpression must evaluate to a string", "messageExpression "),
    ):
        text = rule.get(part)
        if not text:
            continue
        try:
            tree = parse(text)
            found = checking.check(tree, names)
            if found.name not in (wanted, "dyn"):
                causes.invalid(f"{path}.{part}", _go_rule(rule), short)
                return False
            uses_old = uses_old if part != "rule" else "oldSelf" in checking.names_in(tree)
        except CelError as error:
            causes.invalid(f"{path}.{part}", _go_rule(rule), f"{prefix}compilation failed: {shown(text, error)}")
            return False
    if rule.get("optionalOldSelf") is not None and not uses_old:
        causes.invalid(
            f"{path}.optionalOldSelf", rule["optionalOldSelf"], "may not be set if oldSelf is not used in rule"
        )
    return True


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
    here = f"ERROR: <input>:{row}:{column + 1}: {error.message}\n | {line}\n | {'.' * column}^"
    return "\n".join([here, *(shown(text, each) for each in error.also)])


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
        case str() if schema.get("format") == "byte":
            return _bytes(value)
        case int() if schema.get("type") == "number" and not isinstance(value, bool):
            return float(value)
        case float() if schema.get("type") == "integer":
            return int(value)
    return value


def _bytes(text: str) -> bytes | str:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text


def _time(form: str, text: str) -> datetime | timedelta | str:
    try:
        return timestamp(text) if form == "date-time" else duration(text)
    except CelError:
        return text

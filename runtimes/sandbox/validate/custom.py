"""Rules that a custom resource's own schema states.

The words are those of the library that the server validates with; rules in CEL are in `runtimes/sandbox/cel`.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import urllib.parse
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import re2

from runtimes.sandbox.apply.typed import go_type, go_value
from runtimes.sandbox.limits import MOST_STEPS, timed_out
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.written import MOST_EXACT, whole_numbers


class _New:
    """In the place of a former value: there was none, or it is not known which one it was."""


NEW = _New()


def schema_rules(causes: Causes, schema: Object, value: Any, path: str, old: Any = NEW) -> None:
    """Check `value`, which is not null unless the schema allows it, against one schema and all below it.

    `old` is what stood there before: parts that stay as they were are not held to the schema, which may be newer.
    Raises ApiError where that takes too long.
    """
    if old is not NEW and old == value:
        return
    causes.steps[0] += 1
    if causes.steps[0] > MOST_STEPS:
        raise timed_out()
    if value is None:
        if not schema.get("nullable"):
            expected = schema.get("type", "")
            if expected:
                causes.wrong_type(path, "null", f'{path} in body must be of type {expected}: "null"')
        return
    if not _has_type(causes, schema, value, path):
        if isinstance(value, float) and schema.get("type") == "integer":
            _number(causes, schema, value, path)  # a number all the same
        _enumeration(causes, schema, value, path)
        _combinations(causes, schema, value, path)
        return
    match value:
        case bool():
            pass
        case dict():
            _object(causes, schema, value, path, old if isinstance(old, dict) else {})
        case list():
            _list(causes, schema, value, path, old if isinstance(old, list) else [])
        case str():
            _text(causes, schema, value, path)
        case int() | float():
            _number(causes, schema, value, path)
    _enumeration(causes, schema, value, path)
    _combinations(causes, schema, value, path)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _has_type(causes: Causes, schema: Object, value: Any, path: str) -> bool:
    expected, found = schema.get("type", ""), _kind(value)
    if schema.get("x-kubernetes-int-or-string"):
        if found not in ("integer", "string"):
            causes.wrong_type(path, found, f'{path} in body must be of type integer,string: "{found}"')
            return False
        return True
    whole = isinstance(value, float) and _is_whole(value)
    fits = found == expected or (expected == "number" and found == "integer") or (expected == "integer" and whole)
    if not expected or fits:
        return True
    causes.wrong_type(path, found, f'{path} in body must be of type {expected}: "{found}"')
    return False


def _enumeration(causes: Causes, schema: Object, value: Any, path: str) -> None:
    allowed = schema.get("enum")
    if allowed is not None and not any(type(value) is type(item) and value == item for item in allowed):
        causes.not_supported(path, value, [item if isinstance(item, str) else json.dumps(item) for item in allowed])


def _object(causes: Causes, schema: Object, value: Object, path: str, old: Object) -> None:
    properties = schema.get("properties") or {}
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None and len(value) > most:
        causes.too_many(path, len(value), most)
    if least is not None and len(value) < least:
        causes.invalid(path, len(value), f"{path} in body should have at least {least} properties")
    for name in schema.get("required") or []:
        if name not in value:
            causes.required(f"{path}.{name}" if path else name)
    additional = schema.get("additionalProperties")
    for name, inner in value.items():
        here = f"{path}.{name}" if path else name
        if name in properties:
            schema_rules(causes, properties[name], inner, here, old.get(name, NEW))
        elif isinstance(additional, dict):
            schema_rules(causes, additional, inner, here, old.get(name, NEW))


def _list(causes: Causes, schema: Object, value: list[Any], path: str, old: list[Any]) -> None:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        causes.too_many(path, len(value), most)
    if least is not None and len(value) < least:
        causes.invalid(path, len(value), f"{path} in body should have at least {least} items")
    if schema.get("uniqueItems") and len({json.dumps(item, sort_keys=True) for item in value}) < len(value):
        causes.invalid(path, "", f"{path} in body shouldn't contain duplicates")
    items = schema.get("items")
    if isinstance(items, dict):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        held = {_key(each, keys): each for each in old} if keys else {}
        for index, item in enumerate(value):
            schema_rules(causes, items, item, f"{path}[{index}]", held.get(_key(item, keys), NEW))


def _key(item: Any, keys: Sequence[str]) -> str:
    return json.dumps([item.get(key) for key in keys] if isinstance(item, dict) else None)


def replicas(causes: Causes, obj: Object, paths: Sequence[str]) -> None:
    """What the scale subresource reads has the right form. The last path is that of a text, the others of numbers."""
    for index, path in enumerate(paths):
        wanted, zero = ("int64", 0) if index < len(paths) - 1 else ("string", "")
        if not path:
            continue
        value, why = _nested(obj, path.removeprefix(".").split("."), wanted)
        if why:
            causes.invalid(path, zero, why)
        elif isinstance(value, int) and value < 0:
            causes.invalid(path, value, "should be a non-negative integer")
        elif isinstance(value, int) and value > 2**31 - 1:
            causes.invalid(path, value, f"should be less than or equal to {2**31 - 1}")


def _nested(obj: Object, names: Sequence[str], wanted: str) -> tuple[Any, str]:
    """What is at a path, None if nothing is; and why it cannot be had."""
    value: Any = obj
    for at, name in enumerate(names):
        if value is None:
            return None, ""
        here = "." + ".".join(names[: at + 1])
        if not isinstance(value, dict):
            why = f"{go_value(value)} is of the type {go_type(value)}, expected map[string]interface{{}}"
            return None, f"{here} accessor error: {why}"
        if name not in value:
            return None, ""
        value = value[name]
    if go_type(value) != wanted:
        why = f"{go_value(value)} is of the type {go_type(value)}, expected {wanted}"
        return None, f".{'.'.join(names)} accessor error: {why}"
    return value, ""


def list_keys(causes: Causes, schema: Object, value: Any, path: str = "") -> None:
    """Doubled elements of map and set lists, anywhere in an object."""
    if isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, inner in value.items():
            below = properties.get(name, additional if isinstance(additional, dict) else None)
            if below is not None:
                list_keys(causes, below, inner, f"{path}.{name}" if path else name)
        return
    if not isinstance(value, list):
        return
    kind, seen = schema.get("x-kubernetes-list-type"), set()
    keys = schema.get("x-kubernetes-list-map-keys") or []
    items = schema.get("items") if isinstance(schema.get("items"), dict) else {}
    for index, item in enumerate(value):
        here = f"{path}[{index}]"
        if kind == "map" and item is not None and not isinstance(item, dict):
            causes.invalid(here, item, "must be an object for an array of list-type map")
            return
        elif kind in ("set", "map"):
            shown: Any = item
            if kind == "map" and isinstance(item, dict):
                defaults = (items or {}).get("properties") or {}
                shown = {key: item.get(key, (defaults.get(key) or {}).get("default")) for key in keys}
                shown = {key: part for key, part in shown.items() if part is not None}
            text = json.dumps(shown, sort_keys=True)
            if text in seen:
                causes.duplicate(here, shown)
            seen.add(text)
        list_keys(causes, items or {}, item, here)


def _text(causes: Causes, schema: Object, value: str, path: str) -> None:
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        causes.too_long(path, most)
    elif least is not None and len(value) < least:
        causes.invalid(path, value, f"{path} in body should be at least {least} chars long")
    elif pattern is not None and not _matches(pattern, value):
        causes.invalid(path, value, f"{path} in body should match '{pattern}'")
    form = schema.get("format", "")
    check = FORMATS.get(form.replace("-", ""))
    if check is not None and not check(value):
        causes.wrong_type(path, value, f'{path} in body must be of type {form}: "{value}"')


def _matches(pattern: str, value: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(value) is not None


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    """A pattern in the language of the server's library, which takes linear time.

    None for one that it does not read, or that takes too much memory: it is not held against the object.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return False
    return "T" in value.upper()


def _is_date(value: str) -> bool:
    try:
        datetime.strptime(value, "%Y-%m-%d")
    except ValueError:
        return False
    return True


def _is_uri(value: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) or value.startswith("/")


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def _is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version
    except ValueError:
        return False


def _is_network(value: str) -> bool:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return "/" in value


_HOSTNAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*")
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_COLOUR = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"


def _fully(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: compiled.fullmatch(value) is not None


def _is_isbn(value: str, lengths: Sequence[int]) -> bool:
    digits = value.replace("-", "").replace(" ", "")
    if len(digits) not in lengths:
        return False
    if len(digits) == 10 and re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return sum((10 - at) * (10 if each == "X" else int(each)) for at, each in enumerate(digits)) % 11 == 0
    if len(digits) == 13 and digits.isdecimal():
        return sum(int(each) * (3 if at % 2 else 1) for at, each in enumerate(digits)) % 10 == 0
    return False


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _fully(rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


_SHORT_NAME = _fully(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONG_NAME = _fully(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# by their names without hyphens, as the server's library looks them up
FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _fully("[0-9a-fA-F]{24}"),
    "uuid3": _uuid("3", "[0-9a-f]"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda value: _is_isbn(value, (10, 13)),
    "isbn10": lambda value: _is_isbn(value, (10,)),
    "isbn13": lambda value: _is_isbn(value, (13,)),
    "creditcard": lambda value: bool(_CARD.fullmatch(re.sub(r"[^0-9]", "", value))),
    "ssn": _fully(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _fully("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _fully(rf"rgb\(\s*{_COLOUR}\s*,\s*{_COLOUR}\s*,\s*{_COLOUR}\s*\)"),
    "password": lambda value: True,
    "k8sshortname": lambda value: len(value) <= 63 and _SHORT_NAME(value),
    "k8slongname": lambda value: len(value) <= 253 and _LONG_NAME(value),
    "datetime": _is_time,
    "date": _is_date,
    "uuid": lambda value: bool(re.fullmatch(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", value)),
    "ipv4": lambda value: _is_address(value, 4),
    "ipv6": lambda value: _is_address(value, 6),
    "cidr": _is_network,
    "mac": lambda value: bool(re.fullmatch(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", value)),
    "hostname": lambda value: len(value) <= 255 and bool(_HOSTNAME.fullmatch(value)),
    "uri": _is_uri,
    "byte": _is_base64,
    "email": lambda value: bool(re.fullmatch(r"[^@\s]+@[^@\s]+", value)),
    "duration": lambda value: bool(re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)\s*[a-zµ]+.*", value)),
}


def unknown_formats(definition: Object) -> set[str]:
    """Formats of texts in a definition that no check is known for."""
    versions = definition["spec"].get("versions") or ()
    left, found = [(each.get("schema") or {}).get("openAPIV3Schema") for each in versions], set()
    while left:
        schema = left.pop()
        if not isinstance(schema, dict):
            continue
        form = schema.get("format")
        if form and schema.get("type") == "string" and form.replace("-", "") not in FORMATS:
            found.add(form)
        left.extend((schema.get("properties") or {}).values())
        left.extend((schema.get("items"), schema.get("additionalProperties")))
    return found


def _number(causes: Causes, schema: Object, value: float, path: str) -> None:
    most, least, step = schema.get("maximum"), schema.get("minimum"), schema.get("multipleOf")
    if step:
        _multiple(causes, value, step, path)
    if most is not None:
        if schema.get("exclusiveMaximum") and value >= most:
            causes.invalid(path, value, f"{path} in body should be less than {_short(most)}")
        elif value > most:
            causes.invalid(path, value, f"{path} in body should be less than or equal to {_short(most)}")
    if least is not None:
        if schema.get("exclusiveMinimum") and value <= least:
            causes.invalid(path, value, f"{path} in body should be greater than {_short(least)}")
        elif value < least:
            causes.invalid(path, value, f"{path} in body should be greater than or equal to {_short(least)}")


def _multiple(causes: Causes, value: float, step: float, path: str) -> None:
    if isinstance(value, int):
        step = int(step)  # the library takes the whole part only
        if not step:
            causes.invalid(path, 0, f"factor MultipleOf declared for {path} must be positive: 0")
            return
    if value % step if isinstance(value, int) else not _is_whole(value / step):
        causes.invalid(path, whole_numbers(value), f"{path} in body should be a multiple of {_short(step)}")


_NEAR: Final = 1e-9


def _is_whole(value: float) -> bool:
    """For the library: as near to a whole number as divisions come (0.3 / 0.1), and in the range without gaps."""
    if abs(value) > MOST_EXACT:
        return False
    nearest = round(value)
    return value == nearest or abs(value - nearest) / (abs(value) + abs(nearest)) < _NEAR


def _short(value: float) -> str:
    return str(whole_numbers(value))


def _fits(causes: Causes, schema: Object, value: Any, path: str) -> Causes:
    found = Causes()
    found.steps = causes.steps
    schema_rules(found, schema, value, path)
    return found


def _combinations(causes: Causes, schema: Object, value: Any, path: str) -> None:
    wanted = [_fits(causes, part, value, path) for part in schema.get("allOf") or []]
    for each in wanted:
        causes.extend(each)
    if any(wanted):
        none = ". None validated" if all(wanted) else ""
        text = f'Invalid value: "": "{path}" must validate all the schemas (allOf){none}'
        causes.add("FieldValueInvalid", "<nil>", text)
    if schema.get("anyOf"):
        results = [_fits(causes, part, value, path) for part in schema["anyOf"]]
        if all(results):
            causes.add(
                "FieldValueInvalid", "<nil>", f'Invalid value: "": "{path}" must validate at least one schema (anyOf)'
            )
            causes.extend(sorted(results, key=len)[0])
    if schema.get("oneOf"):
        results = [_fits(causes, part, value, path) for part in schema["oneOf"]]
        valid = sum(not found for found in results)
        if valid != 1:
            found = f"Found {valid} valid alternatives" if valid else "Found none valid"
            text = f'Invalid value: "": "{path}" must validate one and only one schema (oneOf). {found}'
            causes.add("FieldValueInvalid", "<nil>", text)
            if not valid:
                causes.extend(results[0])
    if schema.get("not") is not None and not _fits(causes, schema["not"], value, path):
        causes.add("FieldValueInvalid", "<nil>", f'Invalid value: "": "{path}" must not validate the schema (not)')

"""Functions over the values of references: `$workbench.NAME[ARGUMENTS]`, the arguments as JSON.

Named as in Terraform, which evaluates those itself whose values only it knows: so each makes of the same arguments the
same text here as there (https://developer.hashicorp.com/terraform/language/functions).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base.documents import load_json

LONGEST_RESULT: Final = 1 << 20
"""Characters; a Kubernetes object may not have more bytes."""


class FunctionFailed(ValueError):
    """A function can't be evaluated. The message is one clause, and quotes no argument: each may be secret."""


@dataclass(frozen=True, slots=True)
class Function:
    """`fewest` and `most` are how many arguments it takes, `most` None for any number. `usage` shows them."""

    evaluate: Callable[[Sequence[Any]], Any]
    usage: str
    fewest: int
    most: int | None


def evaluated(name: str, arguments: Sequence[Any]) -> Any:
    """Raises `FunctionFailed`."""
    try:
        found = FUNCTIONS[name].evaluate(arguments)
    except FunctionFailed as error:
        raise FunctionFailed(f"{name}: {error}") from None
    if isinstance(found, str) and len(found) > LONGEST_RESULT:
        raise FunctionFailed(f"{name}: its text has more than {LONGEST_RESULT} characters")
    return found


def check(name: str, arguments: Sequence[Any]) -> None:
    """Raises `FunctionFailed` for a function that is not there, or another number of arguments than it takes."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise FunctionFailed(f"there is no function {name}; known: {', '.join(FUNCTIONS)}")
    if len(arguments) < function.fewest or (function.most is not None and len(arguments) > function.most):
        raise FunctionFailed(f"{name} is written {function.usage}, and got {len(arguments)} arguments")


def _join(arguments: Sequence[Any]) -> str:
    separator, elements = arguments
    if not isinstance(elements, list):
        raise FunctionFailed(f"the second argument is {_kind(elements)}, not a list")
    texts = [_text(each, f"element {index}") for index, each in enumerate(elements)]
    return _text(separator, "the first argument").join(texts)


def _base64encode(arguments: Sequence[Any]) -> str:
    text = _text(arguments[0], "the argument")
    try:
        return base64.b64encode(text.encode()).decode()
    except UnicodeEncodeError:
        raise FunctionFailed("the text holds half of a surrogate pair") from None


def _base64decode(arguments: Sequence[Any]) -> str:
    text = _text(arguments[0], "the argument")
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        raise FunctionFailed("the argument is no base64 of a text") from None


def _jsonencode(arguments: Sequence[Any]) -> str:
    text = json.dumps(_plain(arguments[0]), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _jsondecode(arguments: Sequence[Any]) -> Any:
    text = _text(arguments[0], "the argument")
    try:
        return load_json(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise FunctionFailed("the argument is no JSON") from None


def _format(arguments: Sequence[Any]) -> str:
    text, values = _text(arguments[0], "the first argument"), list(arguments[1:])
    taken = iter(range(1, len(values) + 1))

    def verb(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if match[0] not in ("%s", "%d"):
            raise FunctionFailed("its text may have %s, %d and %% for a percent sign, and no other verbs")
        number = next(taken, None)
        if number is None:
            raise FunctionFailed(f"its text has more verbs than the {len(values)} values behind it")
        value, name = values[number - 1], f"value {number}"
        return _text(value, name) if match[0] == "%s" else _whole_number(value, name)

    made = _VERB.sub(verb, text)
    if (left := len(list(taken))) > 0:
        raise FunctionFailed(f"its text has no verb for the last {left} of its {len(values)} values")
    return made


def _text(value: Any, what: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format(Decimal(repr(_plain(value))), "f")
        case _:
            raise FunctionFailed(f"{what} is {_kind(value)}, not a text")


def _whole_number(value: Any, what: str) -> str:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return str(int(value)) if len(value) < _LONGEST_NUMBER else value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise FunctionFailed(f"{what} is {_kind(value)}, not a whole number")
    return str(int(value))


def _plain(value: Any) -> Any:
    """Writes 1.0 as 1: there is one kind of number in Terraform."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")
_VERB: Final = re.compile(r"%(?:[-+# 0-9.\[\]*]*[A-Za-z%]|$)|%")
_WHOLE: Final = re.compile(r"-?[0-9]+")
_LONGEST_NUMBER: Final = 300

FUNCTIONS: Final[dict[str, Function]] = {
    "join": Function(_join, 'join["SEPARATOR", ["ELEMENT", ...]]', 2, 2),
    "format": Function(_format, 'format["TEXT WITH %s", VALUE, ...]', 1, None),
    "base64encode": Function(_base64encode, 'base64encode["TEXT"]', 1, 1),
    "base64decode": Function(_base64decode, 'base64decode["BASE64"]', 1, 1),
    "jsonencode": Function(_jsonencode, "jsonencode[VALUE]", 1, 1),
    "jsondecode": Function(_jsondecode, 'jsondecode["JSON"]', 1, 1),
}

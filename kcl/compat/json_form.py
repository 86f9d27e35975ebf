"""Messages as JSON: names of fields as in the official definition, in answers snake_case.

A request may name them in lowerCamelCase too, leave out what is empty, and give numbers as texts, as protobuf's own
JSON does. Bytes are base64. What does not fit is refused with the path of the field: a field that is passed over
would look as if it were heeded.
"""

from __future__ import annotations

import base64
import binascii
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from kcl.records import fields, is_dataclass

_Message = TypeVar("_Message")
_MOST_BITS = 64


class BadMessage(ValueError):
    """What was sent is not the message that is meant; the text says where."""


def message(of: type[_Message], sent: object, where: str = "") -> _Message:
    """The message that was sent; raises `BadMessage`."""
    if not isinstance(sent, Mapping):
        raise BadMessage(f"{where or of.__name__} needs to be an object, got {_kind(sent)}")
    hints: dict[str, Any] = _hints(cast(Any, of))
    names = {**{_camel(name): name for name in hints}, **{name: name for name in hints}}
    given: dict[str, Any] = {}
    for key, value in sent.items():
        name = names.get(key)
        place = f"{where}.{key}" if where else str(key)
        if name is None:
            raise BadMessage(f"{of.__name__} has no field {place!r}; it has {', '.join(hints) or 'none'}")
        if name in given:
            raise BadMessage(f"{place} is given twice, in two spellings")
        if value is not None:
            given[name] = _value(hints[name], value, place)
    return of(**given)


def document(of: object) -> dict[str, Any]:
    """A message as an object for JSON, with all of its fields but those that hold no message."""
    found = {each.name: getattr(of, each.name) for each in fields(cast(Any, of))}
    return {name: _plain(value) for name, value in found.items() if value is not None}


def _plain(value: object) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case _ if is_dataclass(value):
            return document(value)
        case _:
            return value


@lru_cache(maxsize=256)
def _hints(of: Any) -> dict[str, Any]:
    hints = get_type_hints(of)
    return {each.name: hints[each.name] for each in fields(cast(Any, of))}


def _value(hint: Any, sent: object, where: str) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        if sent is None:
            return None
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is list:
        if not isinstance(sent, list):
            raise BadMessage(f"{where} needs to be a list, got {_kind(sent)}")
        return [_value(get_args(hint)[0], each, f"{where}[{at}]") for at, each in enumerate(sent)]
    if get_origin(hint) is dict:
        if not isinstance(sent, Mapping):
            raise BadMessage(f"{where} needs to be an object, got {_kind(sent)}")
        kinds = get_args(hint)
        return {_value(kinds[0], key, where): _value(kinds[1], each, f"{where}.{key}") for key, each in sent.items()}
    if is_dataclass(hint):
        return message(cast(Any, hint), sent, where)
    return _scalar(hint, sent, where)


def _scalar(hint: Any, sent: object, where: str) -> Any:
    if hint is int:
        return _integer(sent, where)
    if hint is bytes:
        if isinstance(sent, str):
            try:
                return base64.b64decode(sent, validate=True)
            except (binascii.Error, ValueError):
                raise BadMessage(f"{where} needs to be base64") from None
    elif type(sent) is hint:
        return sent
    elif hint is float and type(sent) is int:
        return float(sent)
    raise BadMessage(f"{where} needs to be {_NAMES[hint]}, got {_kind(sent)}")


def _integer(sent: object, where: str) -> int:
    if isinstance(sent, str) and len(sent) <= 20 and sent.lstrip("-").isascii() and sent.lstrip("-").isdigit():
        sent = int(sent)
    if isinstance(sent, bool) or not isinstance(sent, int) or sent.bit_length() > _MOST_BITS:
        raise BadMessage(f"{where} needs to be a whole number, got {_kind(sent)}")
    return sent


_NAMES = {str: "a text", bool: "true or false", bytes: "a text of base64", float: "a number"}


def _kind(sent: object) -> str:
    match sent:
        case None:
            return "null"
        case bool():
            return "true" if sent else "false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)

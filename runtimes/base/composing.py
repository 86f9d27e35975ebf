"""Texts with values in place of the references and functions in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from kcl.records import dataclass
from runtimes.base import functions
from runtimes.base.functions import FunctionFailed
from runtimes.base.references import (
    CALL_PREFIX,
    Call,
    Ids,
    InvalidReference,
    OutputReference,
    Part,
    Reference,
    escaped_references,
    may_refer,
    outputs_in,
    parts,
    references_in,
    refers,
)
from runtimes.base.unknown import UNKNOWN, PartlyUnknown, Unknown, unknown_paths


def replaced(body: Any, ids: Ids, value: Callable[[Reference], Any], *, again: bool = False) -> Any:
    """Returns a body with `value(reference)` in place of every reference; the same object where there is none.

    `again`: references are looked for in the result once more (see `composed`). Raises `InvalidReference`, also for a
    value in a text that can't be a part of one.
    """
    return _replaced(body, ids, value, again=again) if may_refer(body) else body


def _replaced(body: Any, ids: Ids, value: Callable[[Reference], Any], *, again: bool) -> Any:
    match body:
        case Mapping():
            changed = {key: _replaced(each, ids, value, again=again) for key, each in body.items()}
            return changed if any(changed[key] is not body[key] for key in body) else body
        case list() | tuple():
            items = [_replaced(each, ids, value, again=again) for each in body]
            return items if any(new is not old for new, old in zip(items, body, strict=True)) else body
        case str() if refers(body):
            return composed(parts(body, ids), value, again=again)
        case _:
            return body


def composed(
    found: tuple[Part, ...],
    value: Callable[[Reference], Any],
    *,
    again: bool = False,
    output: Callable[[OutputReference], Any] = lambda each: each,
) -> Any:
    """Returns the value of a reference or function alone, else a text with values in their place.

    A text with a value that is not known is `PartlyUnknown`; a `Reference` as a value stays the reference it is, and a
    function over one the function it is. `again`: the result will be read for references once more, so texts that look
    like one are escaped in it. `output` gives what other stacks have, by default the reference it is. Raises
    `InvalidReference` for a function that can't be evaluated, too.
    """
    values = _Values(value, output)
    if len(found) == 1 and not isinstance(found[0], str):
        only = _value(found[0], values)
        return only.text if isinstance(only, _STAYING) else _for_reading(only) if again else only
    made: list[str | Unknown] = []
    for each in found:
        if isinstance(each, str):
            made.append(escaped_references(each) if again else each)
        else:
            part = _value(each, values)
            made += _as_parts(each, _for_reading(part) if again else part)
    return PartlyUnknown(made) if UNKNOWN in made else "".join(map(str, made))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A function that can't be evaluated here, as a reference in it stays one."""

    text: str


_STAYING = (Reference, OutputReference, _Kept)


@dataclass(frozen=True, slots=True)
class _Values:
    reference: Callable[[Reference], Any]
    output: Callable[[OutputReference], Any]


def _value(part: Reference | Call | OutputReference, values: _Values) -> Any:
    match part:
        case Reference():
            return values.reference(part)
        case OutputReference():
            return values.output(part)
        case Call():
            return _called(part, values)
        case _:
            assert_never(part)


def _called(part: Call, values: _Values) -> Any:
    used = [*map(values.reference, references_in((part,))), *map(values.output, outputs_in((part,)))]
    if any(_is_open(each) for each in used):
        return UNKNOWN
    stays = any(isinstance(each, _STAYING) for each in used)
    arguments = _evaluated(part.arguments, values, again=stays)
    if stays:
        return _Kept(f"{CALL_PREFIX}{part.name}{json.dumps(arguments, ensure_ascii=False)}")
    try:
        return functions.evaluated(part.name, arguments)
    except FunctionFailed as error:
        raise InvalidReference(str(error)) from None


def _is_open(value: Any) -> bool:
    return any(True for _ in unknown_paths(value))


def _evaluated(argument: Any, values: _Values, *, again: bool) -> Any:
    match argument:
        case tuple():
            return _json(composed(argument, values.reference, again=again, output=values.output))
        case str():
            return escaped_references(argument) if again else argument
        case list():
            return [_evaluated(each, values, again=again) for each in argument]
        case dict():
            return {key: _evaluated(each, values, again=again) for key, each in argument.items()}
        case _:
            return argument


def _json(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _json(each) for key, each in value.items()}
        case list() | tuple():
            return [_json(each) for each in value]
        case _:
            return value


def _for_reading(value: Any) -> Any:
    match value:
        case PartlyUnknown():
            return PartlyUnknown(
                each if isinstance(each, Unknown) else escaped_references(each) for each in value.parts
            )
        case str():
            return escaped_references(value)
        case Mapping():
            return {key: _for_reading(each) for key, each in value.items()}
        case list() | tuple():
            return [_for_reading(each) for each in value]
        case _:
            return value


def _as_parts(part: Reference | Call | OutputReference, value: Any) -> tuple[str | Unknown, ...]:
    match value:
        case PartlyUnknown():
            return value.parts
        case str():
            return (value,)
        case bool() | int() | float():
            return (json.dumps(value),)
        case Reference() | OutputReference() | _Kept():
            return (value.text,)
        case Unknown() if isinstance(part, Reference):
            # how far the attribute goes is not known yet either
            rest = part.written[len(part.usual) :]
            return (value, rest) if rest else (value,)
        case Unknown():
            return (value,)
        case _:
            kind = "null" if value is None else "a list" if isinstance(value, list | tuple) else "a mapping"
            named = f"what {part.name} makes" if isinstance(part, Call) else part
            raise InvalidReference(f"{named} is {kind}, and cannot be a part of a text")

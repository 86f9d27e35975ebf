"""Library functions as the checker sees them: signatures in KCL's notation, read when a program first uses them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Protocol

from kcl.patterns import pattern
from kcl.records import dataclass, field
from kcl.semantic.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    MULTIPLIER,
    NONE,
    STR,
    VOID,
    DictType,
    FunctionType,
    ListType,
    Parameter,
    Type,
    UnionType,
)

_SIGNATURE: Final = pattern(r"\w+\((?P<params>.*)\)\s*->\s*(?P<result>[^()]+)", re.DOTALL)
_FUNCTION: Final = pattern(r"\((?P<params>.*?)\)\s*->\s*(?P<result>.+)", re.DOTALL)
_PARAMETER: Final = pattern(r"(?P<star>\*{0,2})(?P<name>\w+)(?P<optional>\?)?(?::\s*(?P<type>.+))?", re.DOTALL)
_NAMED: Final = {
    "": ANY,
    "any": ANY,
    "bool": BOOL,
    "float": FLOAT,
    "int": INT,
    "None": NONE,
    "number_multiplier": MULTIPLIER,
    "str": STR,
    "void": VOID,
}


class Members(Protocol):
    """What a system module offers. The first two answer None for a name that is not there."""

    def signature_of(self, name: str) -> str | None: ...

    def type_of_constant(self, name: str) -> str | None: ...

    def names(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class LibraryTypes:
    """Signatures by name. A module is looked up in `modules` only when a program imports it."""

    builtins: Mapping[str, str] = field(default_factory=dict)
    string_methods: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, Members] = field(default_factory=dict)
    decorators: Mapping[str, str] = field(default_factory=dict)

    def member(self, module: str, name: str) -> Type | None:
        """The type of a member of a system module, None where it has none of that name."""
        members = self.modules.get(module)
        if members is None:
            return None
        signature = members.signature_of(name)
        if signature is not None:
            return function_type(signature)
        constant = members.type_of_constant(name)
        return None if constant is None else written_type(constant)


@lru_cache(maxsize=1024)
def function_type(signature: str) -> FunctionType:
    """The type a signature such as `hex(number: int) -> str` describes. `*rest` makes it variadic."""
    match = _SIGNATURE.fullmatch(signature.strip())
    if match is None:
        raise ValueError(f"not a signature: {signature}")
    params: list[Parameter] = []
    variadic = False
    for part in _split(match["params"], ","):
        found = _PARAMETER.fullmatch(part)
        if found is None:
            raise ValueError(f"not a parameter: {part}")
        if found["star"]:
            variadic = True
        else:
            params.append(Parameter(found["name"], written_type(found["type"] or ""), bool(found["optional"])))
    return FunctionType(params, written_type(match["result"]), variadic=variadic)


def written_type(text: str) -> Type:
    """The type a text such as `[str] | {str:any}` stands for."""
    text = text.strip()
    members = _split(text, "|")
    if len(members) > 1:
        return UnionType([written_type(member) for member in members])
    function = _FUNCTION.fullmatch(text)
    if function is not None:
        params = [Parameter("", written_type(part), False) for part in _split(function["params"], ",")]
        return FunctionType(params, written_type(function["result"]))
    if text.startswith("["):
        return ListType(written_type(text[1:-1]))
    if text.startswith("{"):
        key, value = _split(text[1:-1] + " ", ":")
        return DictType(written_type(key), written_type(value))
    return _NAMED[text]


def _split(text: str, separator: str) -> list[str]:
    """`text` cut at `separator`, but not inside brackets; nothing for an empty text."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "[{(") - (char in "]})")
        if char == separator and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()] if current else parts

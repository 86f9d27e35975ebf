"""What JSON the fields of messages are written as, as types of KCL and functions that tell what types cannot.

Parsers of the mapping take more than printers write: numbers as texts, enumerations by number, bytes in both alphabets
of base64, null for what is not set. https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.tools.imports import literals, texts
from kcl.tools.imports.protobuf.descriptors import DescriptorSet, EnumType, Field, Kind
from kcl.tools.imports.types import ANY, Type

_LARGEST: Final = 2**63 - 1
_MOST_FLOAT: Final = "3.4028234663852886e+38"
_MOST_LITERALS: Final = 100
_DECIMAL: Final = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ESCAPE: Final = pattern(r"\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_SIMPLE_ESCAPES: Final = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8, "f": 12, "v": 11}
_DATE: Final = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
EXTENSION: Final = r"^\[[A-Za-z_][A-Za-z0-9_.]*\]$"
"""How the name of an extension is written in JSON."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """`function` is the name of one that tells whether a value is right, "" where the type says it all."""

    type: Type
    function: str = ""


def _up_to(largest: int) -> str:
    """A pattern for the decimal numbers from 0 to the largest, without zeros before them."""
    digits = str(largest)
    parts = ["0", f"[1-9][0-9]{{0,{len(digits) - 2}}}"]
    for at, digit in enumerate(digits):
        low = 1 if at == 0 else 0
        if int(digit) > low:
            rest = len(digits) - at - 1
            most = int(digit) - 1
            lower = f"[{low}-{most}]" if most > low else str(low)
            parts.append(digits[:at] + lower + (f"[0-9]{{{rest}}}" if rest else ""))
    return "|".join([*parts, digits])


def _whole(least: int, largest: int) -> str:
    """A pattern for the whole numbers of a range, as texts; those with an exponent are not held to the range."""
    negative, sign = (f"-0*({_up_to(-least)})", "-?") if least else ("-0+", "")
    return f"^({negative}|[+]?0*({_up_to(largest)})|{sign}[0-9]+[eE][+]?[0-9])$"


def _matching(text: str) -> str:
    return f'_regex_match(_it, r"{text}")'


def _is_whole(least: int, largest: int) -> str:
    """Its parameter is called as no attribute is: officially a function sees those of the schema that calls it."""
    bounds = [f"_it >= {least}"] if least > -(2**63) else []
    bounds += [f"_it <= {largest}"] if largest < _LARGEST else []
    number = f"({' and '.join(bounds)})" if bounds else "True"
    return f'{number} if _typeof(_it) == "int" else {_matching(_whole(least, largest))}'


def _is_decimal(limits: str) -> str:
    return f'{limits} if _typeof(_it) != "str" else {_matching(f"^(NaN|-?Infinity|{_DECIMAL})$")}'


_BASE64: Final = "[A-Za-z0-9+/_-]"
_RANGES: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_BODIES: Final[Mapping[str, str]] = {
    **{f"_is_{name}": _is_whole(*bounds) for name, bounds in _RANGES.items()},
    **{f"_is_key_of_{name}": _matching(_whole(*bounds)) for name, bounds in _RANGES.items()},
    "_is_key_of_bool": '_it in ["true", "false"]',
    "_is_float": _is_decimal(f"(_it >= -{_MOST_FLOAT} and _it <= {_MOST_FLOAT})"),
    "_is_double": _is_decimal("True"),
    "_is_bytes": _matching(f"^({_BASE64}{{4}})*({_BASE64}{{2}}(==)?|{_BASE64}{{3}}=?)?$"),
    "_is_timestamp": _matching(f"^{_DATE}T{_TIME}(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$"),
    "_is_duration": _matching(r"^-?[0-9]{1,12}(\.[0-9]{1,9})?s$"),
    "_is_empty": "_is_object(_it) and _len([True for _k, _v in _it if _v != Undefined]) == 0",
    "_is_enum": '(_it >= -2147483648 and _it <= 2147483647) if _typeof(_it) == "int" else True',
}
_WHOLE: Final = Type("int | str", frozenset({"int", "str"}))
_DECIMALS: Final = Type("float | str", frozenset({"int", "float", "str"}))
_TEXT: Final = Type("str", frozenset({"str"}))
_BOOL: Final = Type("bool", frozenset({"bool"}))
_SCALARS: Final[Mapping[Kind, Mapped]] = {
    **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32), Mapped(_WHOLE, "_is_int32")),
    **dict.fromkeys((Kind.UINT32, Kind.FIXED32), Mapped(_WHOLE, "_is_uint32")),
    **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64), Mapped(_WHOLE, "_is_int64")),
    **dict.fromkeys((Kind.UINT64, Kind.FIXED64), Mapped(_WHOLE, "_is_uint64")),
    Kind.DOUBLE: Mapped(_DECIMALS, "_is_double"),
    Kind.FLOAT: Mapped(_DECIMALS, "_is_float"),
    Kind.BOOL: Mapped(_BOOL),
    Kind.STRING: Mapped(_TEXT),
    Kind.BYTES: Mapped(_TEXT, "_is_bytes"),
}
_OBJECT: Final = Mapped(ANY, "_is_object")
WELL_KNOWN: Final[Mapping[str, Mapped]] = {
    ".google.protobuf.Timestamp": Mapped(_TEXT, "_is_timestamp"),
    ".google.protobuf.Duration": Mapped(_TEXT, "_is_duration"),
    ".google.protobuf.FieldMask": Mapped(_TEXT),
    ".google.protobuf.Empty": Mapped(ANY, "_is_empty"),
    ".google.protobuf.Struct": _OBJECT,
    ".google.protobuf.Any": _OBJECT,
    ".google.protobuf.Value": Mapped(ANY),
    ".google.protobuf.NullValue": Mapped(ANY),
    ".google.protobuf.ListValue": Mapped(Type("[any]", frozenset({"list"}), element=ANY)),
    ".google.protobuf.DoubleValue": _SCALARS[Kind.DOUBLE],
    ".google.protobuf.FloatValue": _SCALARS[Kind.FLOAT],
    ".google.protobuf.Int64Value": _SCALARS[Kind.INT64],
    ".google.protobuf.UInt64Value": _SCALARS[Kind.UINT64],
    ".google.protobuf.Int32Value": _SCALARS[Kind.INT32],
    ".google.protobuf.UInt32Value": _SCALARS[Kind.UINT32],
    ".google.protobuf.BoolValue": _SCALARS[Kind.BOOL],
    ".google.protobuf.StringValue": _SCALARS[Kind.STRING],
    ".google.protobuf.BytesValue": _SCALARS[Kind.BYTES],
}
"""Messages that have a JSON of their own, and NullValue."""
_MAY_BE_NONE: Final = frozenset((".google.protobuf.Value", ".google.protobuf.NullValue"))


class Functions:
    """The functions that the checks of one file call. `used` are the helpers that they call in turn."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self.used: set[str] = set()

    def call(self, name: str, value: str) -> str:
        if name == "_is_object":
            self.used.add(name)
        else:
            self.add(name, _BODIES.get(name, ""))
        return f"{name}({value})"

    def add(self, name: str, body: str) -> None:
        if name not in self._bodies:
            self._bodies[name] = body
            self.used |= {each for each in ("_regex_match", "_typeof", "_is_object", "_len") if f"{each}(" in body}

    @property
    def lines(self) -> list[str]:
        return [f"{name} = lambda _it: any -> bool {{ {body} }}" for name, body in sorted(self._bodies.items())]


def mapped(field: Field, of: DescriptorSet, functions: Functions, enum_name: str) -> Mapped | None:
    """The type of one value of a field; None for a message that has a schema."""
    if field.type_name in WELL_KNOWN:
        return WELL_KNOWN[field.type_name]
    if field.kind is Kind.ENUM:
        return _enum(of.enums[field.type_name], functions, enum_name)
    if field.type_name:
        return None if of.messages[field.type_name].fields else Mapped(ANY, "_is_empty")
    return _SCALARS[field.kind]


def may_be_none(field: Field) -> bool:
    """Whether None is a value of its own, in lists and maps too."""
    return field.type_name in _MAY_BE_NONE


def _enum(of: EnumType, functions: Functions, name: str) -> Mapped:
    """The names, and the numbers: those of a closed enumeration alone."""
    numbers = list(dict.fromkeys(of.values.values()))
    names = [texts.text_literal(each) for each in of.values]
    is_listed = len(names) <= _MOST_LITERALS
    if not of.is_closed and is_listed:
        return Mapped(Type(" | ".join([*names, "int"]), frozenset({"int", "str"}), holds_enum=True), "_is_enum")
    if of.is_closed and is_listed and min(numbers) >= 0:
        return Mapped(Type(" | ".join([*names, *map(str, numbers)]), frozenset({"int", "str"}), holds_enum=True))
    listed = f"_it in [{', '.join(names)}]"
    number = f"_it in {numbers}" if of.is_closed else functions.call("_is_enum", "_it")
    functions.add(f"_is_{name}", f'{number} if _typeof(_it) == "int" else {listed}')
    return Mapped(_WHOLE, f"_is_{name}")


def default_of(field: Field) -> str:
    """The default of a field, as KCL writes it; "" where there is none that can be told."""
    if field.default is None or field.is_repeated or field.oneof:
        return ""  # that of a oneof would set it
    text, kind = field.default, field.kind
    value: Any = text
    if _SCALARS.get(kind, Mapped(ANY)).type is _WHOLE:
        value = int(text) if re.fullmatch("-?[0-9]+", text) and abs(int(text)) <= _LARGEST else text
    elif kind in (Kind.DOUBLE, Kind.FLOAT):
        special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text)
        if special is None and re.fullmatch(_DECIMAL, text) is None:
            return ""
        value = special or float(text)
    elif kind is Kind.BOOL:
        value = text == "true"
    elif kind is Kind.BYTES:
        value = base64.b64encode(_unescaped(text)).decode()
    return literals.value(value)


def _unescaped(text: str) -> bytes:
    """Defaults of bytes are written as C writes texts."""

    def replaced(found: re.Match[str]) -> str:
        escape = found[0][1:]
        if escape[0] == "x":
            return chr(int(escape[1:], 16))
        if escape[0] in "01234567":
            return chr(int(escape, 8) & 0xFF)
        return chr(_SIMPLE_ESCAPES.get(escape, ord(escape)))

    return _ESCAPE.sub(replaced, text).encode("latin-1", "replace")

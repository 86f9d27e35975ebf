"""The methods of strings. The string itself comes first."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kcl.evaluator.operations import kind, to_str
from kcl.evaluator.sizes import text_of
from kcl.evaluator.value import KList, Value, ValueFailure
from kcl.patterns import pattern
from kcl.stdlib.declaration import Module

METHODS: Final = Module("str")
_LINE: Final = pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LETTERS: Final = pattern(r"[^\W\d_]+")


@METHODS.function("capitalize() -> str")
def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:].lower()


@METHODS.function("chars() -> [str]")
def chars(text: str) -> KList:
    return KList(text)


@METHODS.function("count(sub: str, start?: int, end?: int) -> int")
def count(text: str, sub: str, start: int | None = None, end: int | None = None) -> int:
    return text.count(sub, start, end)


@METHODS.function("endswith(val: str, start?: int, end?: int) -> bool")
def endswith(text: str, val: str, start: int | None = None, end: int | None = None) -> bool:
    return text.endswith(val, start, end)


@METHODS.function("startswith(val: str, start?: int, end?: int) -> bool")
def startswith(text: str, val: str, start: int | None = None, end: int | None = None) -> bool:
    return text.startswith(val, start, end)


def _place(
    of_text: Callable[..., int],
    of_bytes: Callable[..., int],
    text: str,
    sub: str,
    start: int | None,
    end: int | None,
) -> int:
    """Places are counted in bytes of UTF-8, as lengths are, though indexing counts characters: programs add them up."""
    if text.isascii():
        return of_text(text, sub, start, end)
    return of_bytes(text.encode(), sub.encode(), start, end)


@METHODS.function("find(sub: str, start?: int, end?: int) -> int")
def find(text: str, sub: str, start: int | None = None, end: int | None = None) -> int:
    return _place(str.find, bytes.find, text, sub, start, end)


@METHODS.function("rfind(sub: str, start?: int, end?: int) -> int")
def rfind(text: str, sub: str, start: int | None = None, end: int | None = None) -> int:
    return _place(str.rfind, bytes.rfind, text, sub, start, end)


@METHODS.function("index(sub: str, start?: int, end?: int) -> int")
def index(text: str, sub: str, start: int | None = None, end: int | None = None) -> int:
    return _found(find(text, sub, start, end))


@METHODS.function("rindex(sub: str, start?: int, end?: int) -> int")
def rindex(text: str, sub: str, start: int | None = None, end: int | None = None) -> int:
    return _found(rfind(text, sub, start, end))


def _found(place: int) -> int:
    if place < 0:
        raise ValueFailure("substring not found")
    return place


@METHODS.function("isalnum() -> bool")
def isalnum(text: str) -> bool:
    return text.isalnum()


@METHODS.function("isalpha() -> bool")
def isalpha(text: str) -> bool:
    return text.isalpha()


@METHODS.function("isdigit() -> bool")
def isdigit(text: str) -> bool:
    return text.isascii() and text.isdigit()


@METHODS.function("islower() -> bool")
def islower(text: str) -> bool:
    return text.islower()


@METHODS.function("isspace() -> bool")
def isspace(text: str) -> bool:
    return text.isspace()


@METHODS.function("istitle() -> bool")
def istitle(text: str) -> bool:
    return text.istitle()


@METHODS.function("isupper() -> bool")
def isupper(text: str) -> bool:
    return text.isupper()


@METHODS.function("join(iter: [any]) -> str")
def join(text: str, iter: Sequence[Value]) -> str:
    parts = [to_str(part) for part in iter]
    text_of(sum(map(len, parts)) + len(text) * len(parts))
    return text.join(parts)


@METHODS.function("lower() -> str")
def lower(text: str) -> str:
    return text.lower()


@METHODS.function("upper() -> str")
def upper(text: str) -> str:
    return text.upper()


@METHODS.function("title() -> str")
def title(text: str) -> str:
    """A letter after anything but a letter is upper case, all others lower."""
    return _LETTERS.sub(lambda word: capitalize(word.group()), text)


@METHODS.function("strip(chars?: str) -> str")
def strip(text: str, chars: str | None = None) -> str:
    return text.strip(chars)


@METHODS.function("lstrip(chars?: str) -> str")
def lstrip(text: str, chars: str | None = None) -> str:
    return text.lstrip(chars)


@METHODS.function("rstrip(chars?: str) -> str")
def rstrip(text: str, chars: str | None = None) -> str:
    return text.rstrip(chars)


@METHODS.function("replace(old: str, new: str, count?: int) -> str")
def replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        places = text.count(old)
        text_of(len(text) + (len(new) - len(old)) * (places if count < 0 else min(places, count)))
    return text.replace(old, new, count)


@METHODS.function("removeprefix(prefix: str) -> str")
def removeprefix(text: str, prefix: str) -> str:
    return text.removeprefix(prefix)


@METHODS.function("removesuffix(suffix: str) -> str")
def removesuffix(text: str, suffix: str) -> str:
    return text.removesuffix(suffix)


def _characters(text: str, maxsplit: int) -> list[str]:
    """`text` cut at the empty string, which is found before each character and at the end."""
    parts = ["", *text, ""]
    return parts if maxsplit < 0 else [*parts[:maxsplit], "".join(parts[maxsplit:])]


@METHODS.function("split(sep?: str, maxsplit?: int) -> [str]")
def split(text: str, sep: str | None = None, maxsplit: int = -1) -> KList:
    if sep == "":
        return KList(_characters(text, maxsplit))
    return KList(text.split(sep, maxsplit))


@METHODS.function("rsplit(sep?: str, maxsplit?: int) -> [str]")
def rsplit(text: str, sep: str | None = None, maxsplit: int = -1) -> KList:
    if sep == "":
        return KList(["", *text, ""])
    return KList(text.rsplit(sep, maxsplit))


@METHODS.function("splitlines(keepends?: bool) -> [str]")
def splitlines(text: str, keepends: bool = False) -> KList:
    """A line ends with a line feed, a carriage return, or both in this order; nothing else ends one."""
    lines = _LINE.findall(text)
    return KList(lines if keepends else [line.rstrip("\r\n") for line in lines])


_NUMBER: Final = pattern(r"[0-9]+")
_PRECISION: Final = pattern(r"\.[0-9]+(?=[bdoxX]?$)")
"""A precision of integers, and one of floats that says nothing of their form: officially neither counts."""
_UNKNOWN_OF_INTS: Final = frozenset("cgG")


class _Formatter(string.Formatter):
    """Python's format language over KCL values: fields reach into configs and lists, never into Python objects.

    What the official compiler makes of it is not all that Python does: of floats without a form the shortest text,
    forms for numbers and strings alone, numbered fields before those that are counted.
    """

    def parse(self, format_string: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
        counted = 0
        for literal, name, spec, conversion in super().parse(format_string):
            if name is not None and (not name or name[0] in ".["):
                name = f"{counted}{name}"
                counted += 1
            elif name and name[0].isdigit() and counted:
                raise ValueFailure("cannot switch from automatic field numbering to manual field specification")
            if spec and "{" in spec:
                raise ValueFailure("Invalid format specifier")
            yield literal, name, spec, conversion

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first = field_name
        for position, char in enumerate(field_name):
            if char in ".[":
                first = field_name[:position]
                break
        try:
            value = self.get_value(int(first) if first.isdigit() else first, args, kwargs)
        except IndexError:
            raise ValueFailure("argument tuple index out of range") from None
        except KeyError:
            raise ValueFailure(f"keyword argument '{first}' not found") from None
        rest = field_name[len(first) :].replace("]", "").replace("[", ".")
        for step in rest.split(".")[1:]:
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                raise ValueFailure(f"format field '{field_name}': nothing at '{step}' of a value of type {kind(value)}")
        return value, first

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value  # officially no conversion counts

    def format_field(self, value: Any, format_spec: str) -> str:
        for number in _NUMBER.findall(format_spec):
            text_of(int(number[:20]))
        form = format_spec[-1:]
        if type(value) is float:
            if form == "n":
                raise ValueFailure("Format code 'n' for object of type 'float' not implemented yet")
            return format(value, _PRECISION.sub("", format_spec)) if format_spec else repr(value)
        if type(value) is int:
            if form in _UNKNOWN_OF_INTS:
                raise ValueFailure(f"Unknown format code '{form}' for object of type 'int'")
            text = format(value, _PRECISION.sub("", format_spec))
            return text.replace("0X", "0x", 1) if "#" in format_spec else text
        if type(value) is str:
            if format_spec.startswith("0"):
                raise ValueFailure("'=' alignment not allowed in string format specifier")
            return format(value, format_spec)
        return to_str(value)


@METHODS.function("format(*values: any, **named: any) -> str")
def format_text(text: str, *values: Value, **named: Value) -> str:
    try:
        return _Formatter().vformat(text, values, named)
    except (ValueError, TypeError) as problem:
        raise ValueFailure(str(problem) if "format code" in str(problem) else f"format error: {problem}") from None

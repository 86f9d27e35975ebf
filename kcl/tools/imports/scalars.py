"""Conditions on texts and numbers."""

from __future__ import annotations

from typing import Final

from kcl.patterns import pattern as regular_expression
from kcl.stdlib.patterns import PatternError, compiled
from kcl.tools.imports import formats, literals, texts
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import CannotSay, Part, Place
from kcl.tools.imports.shapes import Shape

LARGEST: Final = 2**63 - 1
_SHORTHAND: Final = regular_expression(r"\\(?:(?P<class>[dw])|.)|(?P<open>\[\^?\]?)|(?P<close>\])", 0)


def text_parts(conditions: Conditions, shape: Shape) -> list[Part]:
    """Lengths and patterns."""

    def lengths(place: Place) -> list[str]:
        found = []
        if shape.least_length == 1:
            found.append(f"len({place.whole()}) >= 1")
        elif shape.least_length:
            conditions.used.add("_length")
            found.append(f"_length({place.whole()}) >= {shape.least_length}")
        if shape.most_length is not None and shape.most_length < LARGEST:
            conditions.used.add("_length")
            found.append(f"_length({place.whole()}) <= {shape.most_length}")
        return found

    def matches(place: Place) -> list[str]:
        if shape.pattern is None:
            return []
        return [matching(conditions, place, shape.pattern)]

    def has_format(place: Place) -> list[str]:
        return [of_format(conditions, place, shape.held_format)] if shape.held_format else []

    said = (shape.pattern, shape.least_length, shape.most_length)
    wanted = shape.held_format or any(each is not None for each in said)
    return [lengths, matches, has_format] if wanted else []


def of_format(conditions: Conditions, place: Place, name: str) -> str:
    """That a text has a format of `formats.FORMATS`."""
    helper = formats.HELPERS[name]
    conditions.used.add(helper)
    return f"{helper}({_as_text(place)})"


def matching(conditions: Conditions, place: Place, pattern: str) -> str:
    """That a text matches. Raises CannotSay for a pattern that KCL cannot read."""
    written = spelled_out(pattern)
    try:
        compiled(written)
    except PatternError as problem:
        raise CannotSay(f"the pattern {pattern} is not checked, since KCL cannot read it: {problem}") from None
    conditions.used.add("_regex_match")
    return f"_regex_match({_as_text(place)}, {texts.pattern_literal(written)})"


def _as_text(place: Place) -> str:
    return place.whole() if place.type.text == "str" else f"str({place.whole()})"


def number_parts(conditions: Conditions, shape: Shape, known: frozenset[str]) -> list[Part]:
    def parts(place: Place) -> list[str]:
        found = []
        bounds = ((shape.minimum, ">="), (shape.above, ">"), (shape.maximum, "<="), (shape.below, "<"))
        for bound, sign in bounds:
            if bound is None or (abs(bound) >= LARGEST and (bound > 0) == (sign in ("<", "<="))):
                continue  # no number of KCL is beyond 64 bits
            found.append(f"{place.whole()} {sign} {literals.number(bound)}")
        if shape.multiple_of:
            whole, unit = place.whole(), literals.number(shape.multiple_of)
            if isinstance(shape.multiple_of, int):
                found.append(f"{whole} % {unit} == 0")
            else:
                found.append(f"{whole} / {unit} == int({whole} / {unit})")
        return found

    said = (shape.minimum, shape.above, shape.maximum, shape.below, shape.multiple_of)
    return [parts] if any(each is not None for each in said) else []


def spelled_out(pattern: str) -> str:
    """The pattern with `\\d` and `\\w` as the ASCII that they mean to API servers and in JSON Schema."""
    inside = False
    written: list[str] = []
    end = 0
    for found in _SHORTHAND.finditer(pattern):
        written.append(pattern[end : found.start()])
        end = found.end()
        text = found[0]
        if found["class"]:
            characters = "0-9" if found["class"] == "d" else "A-Za-z0-9_"
            text = characters if inside else f"[{characters}]"
        elif found["open"]:
            inside = True
        elif found["close"]:
            inside = False
        written.append(text)
    return "".join(written) + pattern[end:]

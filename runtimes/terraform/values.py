"""Values as Terraform writes them, and the masks beside them that mark values as sensitive or unknown.

A mask has the shape of its value with `true` where it marks: `{"password": true, "rules": [false, {"key": true}]}`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kcl.secrecy.rules import BUILT_IN, is_secret_name
from runtimes.base import UNKNOWN, FieldPath
from runtimes.base.secret_texts import secret_texts

SHORTEST_PART: Final = 4
"""A secret of fewer characters is found where it is a whole text, not where it is a part of one."""


def marked(mask: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yields the paths that a mask marks."""
    match mask:
        case True:
            yield path
        case Mapping():
            for key, each in mask.items():
                yield from marked(each, (*path, key))
        case list():
            for index, each in enumerate(mask):
                yield from marked(each, (*path, index))


def plain(value: Any) -> Any:
    """Returns a value with whole numbers as ints and as new mappings and lists."""
    match value:
        case Mapping():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def composed(value: Any) -> Any:
    """Returns a value with keys and texts in normal form C, as Terraform has them.

    https://developer.hashicorp.com/terraform/language/expressions/strings says so of texts; keys are texts too.
    """
    match value:
        case str():
            return value if value.isascii() else unicodedata.normalize("NFC", value)
        case Mapping():
            return {composed(key): composed(each) for key, each in value.items()}
        case list() | tuple():
            return [composed(each) for each in value]
        case _:
            return value


def with_unknown(value: Any, mask: Any) -> Any:
    """Returns a value with `UNKNOWN` where `after_unknown` says so; what is absent in the value is added."""
    if not any(True for _ in marked(mask)):
        return value  # masks name what holds nothing unknown too
    match mask:
        case Mapping():
            found = value if isinstance(value, Mapping) else {}
            keys = dict.fromkeys((*found, *mask))
            changed = {key: with_unknown(found.get(key), mask.get(key)) for key in keys}
            return {key: each for key, each in changed.items() if each is not None or key in found}
        case list():
            items = value if isinstance(value, list) else []
            return [
                with_unknown(items[index] if index < len(items) else None, mask[index] if index < len(mask) else None)
                for index in range(max(len(items), len(mask)))
            ]
        case _:
            return UNKNOWN


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same to Terraform: null is absent, empty too, 1 is 1.0, "1" and 1 are one text."""
    match one, other:
        case Mapping(), Mapping():
            return all(same(one.get(key), other.get(key)) for key in {*one, *other})
        case list(), list():
            return len(one) == len(other) and all(same(each, its) for each, its in zip(one, other, strict=True))
        case (None, _) | (_, None):
            return is_empty(one) and is_empty(other)
        case _:
            return bool(one == other) or text_of(one) == text_of(other) is not None


def identical(one: Any, other: Any) -> bool:
    """Whether two values are one and the same, where Python takes 1 for true."""
    match one, other:
        case Mapping(), Mapping():
            return one.keys() == other.keys() and all(identical(each, other[key]) for key, each in one.items())
        case list(), list():
            return len(one) == len(other) and all(identical(each, its) for each, its in zip(one, other, strict=True))
        case _:
            return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def is_empty(value: Any) -> bool:
    """Whether a value says nothing: null, and lists and mappings without anything in them."""
    match value:
        case None:
            return True
        case Mapping():
            return all(is_empty(each) for each in value.values())
        case list():
            return all(is_empty(each) for each in value)
        case _:
            return False


def text_of(value: Any) -> str | None:
    """Returns what a primitive value becomes where a text is wanted; None for the others."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case str() | int() | float():
            return str(value)
        case _:
            return None


def holds_secret(value: str | float, secrets: frozenset[str]) -> bool:
    """Whether a text has a secret in it, wrapped in whatever, or a number is one."""
    if isinstance(value, str) and (value in secrets or any(len(e) >= SHORTEST_PART and e in value for e in secrets)):
        return True
    return secret_texts(secrets).hides(value)


def secret_paths(
    value: Any, secrets: frozenset[str], path: FieldPath = (), *, is_named: bool = False
) -> Iterator[FieldPath]:
    """Yields the paths whose texts hold a known secret, or whose names say that they are secret."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from secret_paths(each, secrets, (*path, key), is_named=is_secret_name(str(key)))
        case list():
            for index, each in enumerate(value):
                yield from secret_paths(each, secrets, (*path, index), is_named=is_named)
        case _ if is_named and is_secret_value(value):
            yield path
        case str() if holds_secret(value, secrets) or BUILT_IN.is_secret_text(value):
            yield path
        case int() | float() if holds_secret(value, secrets):
            yield path


def is_secret_value(value: Any) -> bool:
    """Whether a value under a name like `password` is one to hide: a text or a number, not a switch, nor nothing."""
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int | float) and not isinstance(value, bool))


def shortest(paths: Iterator[FieldPath] | list[FieldPath]) -> tuple[FieldPath, ...]:
    """Returns the paths in order, once each, without those below another one."""
    kept: dict[FieldPath, None] = {}
    for path in sorted(set(paths), key=len):
        if not any(path[:length] in kept for length in range(len(path) + 1)):
            kept[path] = None
    return tuple(sorted(kept, key=lambda path: [str(step) for step in path]))

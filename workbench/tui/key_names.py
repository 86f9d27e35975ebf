"""Names for keys: every binding of ours has one, by which a keymap file gives it other keys.

A name is a place and what the key does there: `browse.mark`. A screen that says something of its own about what all
screens can do (`r` compiles again on Spec) keeps the name that this has everywhere, so one line moves it everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from textual.binding import Binding, BindingType
from textual.keys import _character_to_key

from kcl.records import replace

_PLACES = {"Frame": "everywhere", "ResourceTable": "tables", "WorkbenchApp": "everywhere"}
SIGNS = {_character_to_key(each): each for each in map(chr, range(33, 127))}
"""What a key types, by its name: of some, such as slash, Textual does not know it."""
_DEFAULT_KEYS: dict[str, str] = {}
"""By the name of each binding of the classes that are loaded."""


def in_words(name: str, keymap: Mapping[str, str]) -> str:
    """Returns what a sentence calls the key that does something: the first of those that a keymap gives it, else of
    the default ones."""
    key = keymap.get(name, _DEFAULT_KEYS[name]).partition(",")[0]
    return SIGNS.get(key, key)


def is_ours(name: str) -> bool:
    """Whether a binding of ours has this name; Textual's own have others, or none."""
    return name in _DEFAULT_KEYS


class WithNames:
    """Comes before a class of Textual's, and names the bindings of each class below."""

    def __init_subclass__(cls, **given: Any) -> None:
        own = cls.__dict__.get("BINDINGS")
        if own is not None:
            inherited = {each.action: each.id for base in reversed(cls.__mro__[1:]) for each in named(base)}
            cls.BINDINGS = [*_named(own, place_name(cls), inherited)]  # type: ignore[attr-defined]
            _DEFAULT_KEYS.update((each.id, each.key) for each in named(cls) if each.id)
        super().__init_subclass__(**given)  # Textual reads the bindings there


def named(cls: type) -> tuple[Binding, ...]:
    """Returns the bindings that a class itself declares and that have a name."""
    if not issubclass(cls, WithNames):
        return ()
    return tuple(each for each in cls.__dict__.get("BINDINGS", ()) if isinstance(each, Binding) and each.id)


def place_name(cls: type) -> str:
    """Returns how a keymap file calls a screen or widget: `live-object` for LiveObjectScreen."""
    words = re.findall(r"[A-Z][a-z]*", cls.__name__.removesuffix("Screen"))
    return _PLACES.get(cls.__name__) or "-".join(each.lower() for each in words)


def _named(own: Iterable[BindingType], place: str, inherited: dict[str, str | None]) -> Iterable[Binding]:
    for each in own:
        assert isinstance(each, Binding) and each.description, "a key that does something says what"
        words = "-".join(re.findall(r"[a-z]+", each.description.lower()))
        yield replace(each, id=inherited.get(each.action) or f"{place}.{words}")

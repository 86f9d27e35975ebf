"""The keys that the user wants: `keymap.yaml` in the user's own configuration folder, checked as a whole.

A file with anything wrong in it counts for nothing, so that nobody presses a key that half of it moved. Nothing can be
put on a key that a person types as a phrase or a command: such acts have no binding.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from textual.binding import Binding
from textual.keys import Keys, _character_to_key, key_to_character

from kcl.records import dataclass
from workbench.project import BrokenFile
from workbench.project.yaml_file import place_of, read_mapping
from workbench.tui import commands, key_names, screens
from workbench.tui.frame import Frame
from workbench.tui.screens.whatif import Editor
from workbench.tui.user_files import KEYMAP_FILE, is_there
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

_ALIKE = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+j": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
}
_TAKEN = {"ctrl+c": "copies what the mouse marked", "g": "twice is the first row of a table"}
_MOVING = {"escape", "tab", "space", "backspace", "delete", "shift+tab"}
"""With the keys that move in tables: pressed without a thought, so nothing that changes anything may lie there."""
_CHANGING = {
    "approve",
    "ask",
    "drop",
    "force",
    "quit",
    "resume",
    "undo",
    "reveal",
    "revert",
    "roll_back",
    "stop",
    "write",
    "ask_to_quit",
}
_TYPED = {*commands.ACTS, "allow-writes", "apply", "destroy", "run", "rollback", "recover"}
_SPELLED = {each.value for each in Keys} | {f"ctrl+{each}" for each in "abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What keys do in a place. `name` is what a keymap file says; `default` are the keys where it says nothing."""

    name: str
    place: str
    does: str
    action: str
    default: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def is_changing(self) -> bool:
        """Whether it begins, stops or throws away something; `destroy` opens a plan, which asks for its phrase."""
        return self.action.rpartition(".")[2].partition("(")[0] in _CHANGING


def entries(keymap: Mapping[str, str] | None = None) -> tuple[KeyEntry, ...]:
    """Returns all that have a key, by the place where they have it, with the keys that a keymap gives them."""
    return tuple(_entry(cls, each, keymap or {}) for cls in _places() for each in key_names.named(cls))


def _entry(cls: type, binding: Binding, keymap: Mapping[str, str]) -> KeyEntry:
    assert binding.id is not None, "only named bindings come here"
    default = _normal(binding.key.split(","))
    keys = tuple(keymap[binding.id].split(",")) if binding.id in keymap else default
    return KeyEntry(binding.id, key_names.place_name(cls), binding.description, binding.action, default, keys)


def _places() -> Iterator[type]:
    """Yields the classes that have keys: the app, what all screens have, the widgets, then each screen."""
    from workbench.tui.app import WorkbenchApp

    for module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}."):
        importlib.import_module(module.name)
    yield from (WorkbenchApp, Frame, ResourceTable, Prompt, Editor)
    yield from _below(Frame)


def _below(cls: type) -> Iterator[type]:
    below: list[type] = sorted(cls.__subclasses__(), key=lambda found: found.__name__)
    for each in below:
        yield each
        yield from _below(each)


def read(folder: Path | None) -> dict[str, str]:
    """Returns the keys by name, as Textual's `App.set_keymap` takes them; empty where there is no file.

    Raises `BrokenFile` with file, line and column for a file that is wrong in anything.
    """
    if folder is None or not is_there(folder / KEYMAP_FILE):
        return {}
    file = (folder / KEYMAP_FILE).resolve()  # the user's own: a link to a folder of dotfiles is no way out of anything
    content = read_mapping(file)
    known = entries()
    found: dict[str, str] = {}
    lines: dict[str, str] = {}
    for name, value in content.items():
        where = place_of(file, name) if isinstance(name, str) else str(file)
        keys = ",".join(_keys(value, where))
        for each in _meant(name, known, where):
            if each in found:
                raise BrokenFile(f"{each} gets its keys twice", where=where, hint=f"see {lines[each]}")
            found[each], lines[each] = keys, where
    _check(entries(found), lines)
    return found


def free_keys(wanted: Mapping[str, str], keymap: Mapping[str, str], file: Path) -> dict[str, str]:
    """Returns the keys that commands of the user's own get, by their names; raises `BrokenFile` for one that is in use
    on any screen, and for one that is typed as a letter or pressed to move."""
    used = {key: each.name for each in reversed(entries(keymap)) for key in each.keys}
    found: dict[str, str] = {}
    for name, text in wanted.items():
        where = place_of(file.resolve(), name)
        keys = _keys(text, where)
        for key in keys:
            if owner := used.get(key) or (key in _MOVING and "pressed to move or to type"):
                raise BrokenFile(f"{key} is {owner}", where=where, hint="choose another key")
            used[key] = name
        found[name] = ",".join(keys)
    return found


def _meant(name: Any, known: Iterable[KeyEntry], where: str) -> tuple[str, ...]:
    """Returns the names that one means: itself, or without a place that of every place."""
    names = dict.fromkeys(each.name for each in known)
    if name in names:
        return (str(name),)
    if found := tuple(each for each in names if each.partition(".")[2] == name):
        return found
    if str(name).rpartition(".")[2] in _TYPED:
        raise BrokenFile(
            f"{name!r} can't be put on a key: it is typed, and confirmed by a phrase", where=where, hint="take it out"
        )
    near = get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]}?" if near else "`wb keys` lists the names"
    raise BrokenFile(f"nothing has the name {name!r}", where=where, hint=hint)


def _keys(value: Any, where: str) -> tuple[str, ...]:
    texts = (
        value if isinstance(value, list) else value.split(",") if isinstance(value, str) and value != "," else [value]
    )
    if not texts or not all(isinstance(each, str) and each.strip() for each in texts):
        raise BrokenFile(
            f"a key needs to be text, or a list of texts, got {value!r}", where=where, hint="put quotes around it"
        )
    keys = _normal(texts)
    for each in keys:
        _check_key(each, where)
    return tuple(dict.fromkeys(keys))


def _normal(texts: Iterable[str]) -> tuple[str, ...]:
    stripped = (each.strip() for each in texts)
    return tuple(_character_to_key(each) if len(each) == 1 else each for each in stripped)


def _check_key(key: str, where: str) -> None:
    if key in _ALIKE:
        raise BrokenFile(
            f"a terminal sends the same for {key} and {_ALIKE[key]}", where=where, hint="choose another key"
        )
    if key in _TAKEN:
        raise BrokenFile(f"{key} has a use already: it {_TAKEN[key]}", where=where, hint="choose another key")
    if key not in _SPELLED and _character(key) is None:
        near = get_close_matches(key, _SPELLED, n=1)
        hint = f"did you mean {near[0]}?" if near else "`wb keys --probe` shows how keys are called"
        raise BrokenFile(f"no key has the name {key!r}", where=where, hint=hint)


def _character(key: str) -> str | None:
    """Returns what a key types, None for one that moves or gives an order."""
    return key_names.SIGNS.get(key) or (None if key in _SPELLED else key_to_character(key))


def _check(wanted: tuple[KeyEntry, ...], lines: Mapping[str, str]) -> None:
    """Raises `BrokenFile` for the first key with two uses, or that is typed as a letter or pressed by accident."""
    moving = _MOVING | {key for each in wanted if each.place == "tables" for key in each.default + each.keys}
    for each in wanted:
        if each.name not in lines:
            continue
        if each.place in ("prompt", "editor") and (letters := [key for key in each.keys if _character(key)]):
            raise BrokenFile(
                f"{letters[0]} is a letter that is typed in the {each.place}",
                where=lines[each.name],
                hint="choose a key with ctrl",
            )
        if each.is_changing and (near := moving.intersection(each.keys)):
            raise BrokenFile(
                f"{each.name} would lie on {min(near)}, which is pressed to move or to type: nothing that changes"
                " something may",
                where=lines[each.name],
                hint="choose a key that nobody presses by accident",
            )
    for place in dict.fromkeys(each.place for each in wanted):
        _check_place(place, wanted, lines)


_ON_ALL_SCREENS = ("everywhere", "tables")


def _check_place(place: str, wanted: Iterable[KeyEntry], lines: Mapping[str, str]) -> None:
    """Raises for a key with two uses on one screen, of which the file changed one; what a screen overrides is none."""
    around = () if place in ("prompt", "editor") else _ON_ALL_SCREENS
    owners: dict[str, str] = {}
    for each in wanted:
        if each.place != place and each.place not in around:
            continue
        for key in each.keys:
            other = owners.setdefault(key, each.name)
            changed = [name for name in (each.name, other) if name in lines]
            if other != each.name and changed:
                raise BrokenFile(
                    f"{key} would be both {other} and {each.name}",
                    where=lines[changed[0]],
                    hint="give the other one a key of its own too",
                )

"""Reads the small YAML files of a repository, with the position of what is wrong in them."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from kcl.regular import read_regular_text
from runtimes.base.documents import DocumentError, check_yaml, load_yaml, read_text
from workbench.project.bounds import refuse_foreign
from workbench.project.errors import BrokenFile

_LARGEST_BYTES = 1_000_000
_SHORT = 1_000


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Returns the file's top-level mapping, empty for an empty file; raises `BrokenFile` with file, line and column.

    Raises `OutsideRepository` where the file is a link out of the repository.
    """
    if path.is_symlink():
        refuse_foreign(path, path.parent)
    try:
        text = read_regular_text(path, _LARGEST_BYTES + 1)
    except OSError as error:
        raise BrokenFile(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise BrokenFile(f"is not UTF-8 text (byte {error.start})", where=str(path)) from error
    if len(text) > _LARGEST_BYTES:
        raise BrokenFile(f"larger than {_LARGEST_BYTES} bytes", where=str(path))
    return mapping_of(text, path)


def refuse_empty(content: Mapping[str, Any], path: Path, least: str) -> None:
    """Raises `BrokenFile` for a file that says nothing, not even the `least` it may say: it may have been cut off."""
    if not content:
        hint = f"bring back what was there; `{least}` says that there is nothing else"
        raise BrokenFile("is empty, which may be what is left of it", where=str(path), hint=hint)


def is_named(path: Path) -> bool:
    """Whether there is something of this name: a link that leads nowhere is a file that can't be read, not none."""
    return path.exists() or path.is_symlink()


def mapping_of(text: str, path: Path) -> dict[str, Any]:
    """The same for the text of a file, as it is or is to be."""
    try:
        value = copy.deepcopy(_loaded(text)) if len(text) <= _SHORT else load_yaml(text)
    except DocumentError as error:
        message = f"is not valid YAML: {error.problem}"
        raise BrokenFile(message, where=error.place(str(path)), hint="correct the file") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BrokenFile(f"needs a mapping at the top, got {type(value).__name__}", where=str(path))
    return value


@lru_cache(maxsize=256)
def _loaded(text: str) -> Any:
    """What a short text says: those of stacks are often the same. Not to be changed."""
    return load_yaml(text)


def text_at(content: Mapping[str, Any], key: str, path: Path) -> str:
    """Returns a text value, empty where the key is missing; raises `BrokenFile` where it holds something else."""
    value = content.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BrokenFile(f"{key} needs to be text, got {value!r}", where=str(path))
    return value


def mapping_at(content: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = content.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BrokenFile(f"{key} needs to be a mapping, got {type(value).__name__}", where=str(path))
    return value


def texts_at(content: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = content.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BrokenFile(f"{key} needs to be a list of texts", where=str(path))
    return tuple(value)


def day_at(content: Mapping[str, Any], key: str, where: str) -> date:
    """Returns a day that is written as 2026-12-31; raises `BrokenFile` for anything else, as a moment is."""
    value = str(content.get(key))
    try:
        if len(value) != len("2026-12-31"):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        message = f"{key} needs to be a day such as 2026-12-31, got {content.get(key)!r}"
        raise BrokenFile(message, where=where) from None


@contextmanager
def located(where: str) -> Iterator[None]:
    """Says in which entry of the file something is wrong."""
    try:
        yield
    except BrokenFile as error:
        raise BrokenFile(error.message, where=where, hint=error.hint) from None


def only_keys(content: Mapping[Any, Any], known: Collection[str], where: str) -> None:
    """Raises `BrokenFile` for a key that nobody knows: a misspelt one would say nothing."""
    for key in content:
        if key not in known:
            raise BrokenFile(f"unknown key {key!r}; known: {', '.join(known)}", where=where)


def place_of(path: Path, *keys: str) -> str:
    """Returns `file:line:column` of a key inside mappings, or of the last one on the way that is there."""
    import yaml

    where = str(path)
    try:
        text = read_text(path)
        check_yaml(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return where
    for key in keys:
        found = [each for each in node.value if each[0].value == key] if isinstance(node, yaml.MappingNode) else []
        if not found:
            break
        mark, node = found[-1][0].start_mark, found[-1][1]
        where = f"{path}:{mark.line + 1}:{mark.column + 1}"
    return where

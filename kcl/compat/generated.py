"""Values in other notations: results of programs as TOML, data as KCL."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kcl.compat.messages import GenerateKclArgs
from kcl.compat.programs import ServiceError
from kcl.loader.toml_text import quoted
from kcl.tools.imports import data
from kcl.tools.imports.documents import documents
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.writer import header

_FORMATS: Final = ("json", "yaml", "toml")


def kcl_text(args: GenerateKclArgs) -> str:
    """The data as KCL that prints as it, all of its documents; the end of the name tells a format that is not named."""
    if args.format not in ("", *_FORMATS):
        raise ServiceError(f"format: there is {', '.join(_FORMATS)}, not {args.format!r}")
    name = args.filename or "data"
    stem, ending = os.path.splitext(os.path.basename(name))
    try:
        found = documents(args.source, name, stem, f".{args.format}" if args.format else ending.lower())
        return data.generate(found)[0].text.removeprefix(header()).lstrip("\n")
    except ImportFailure as problem:
        raise ServiceError(str(problem)) from None


def toml_text(value: object, *, sort_keys: bool) -> str:
    """A mapping as TOML: values first, then lists of tables, then tables. None is left out, as TOML has none."""
    if not isinstance(value, dict):
        raise ServiceError("TOML holds one table with names, and this program answers something else")
    return "\n".join(_table(value, (), sort_keys)).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], sort_keys: bool) -> Iterator[str]:
    names = [name for name, each in (sorted(table.items()) if sort_keys else table.items()) if each is not None]
    for name in names:
        if not isinstance(table[name], dict) and not _is_tables(table[name]):
            yield f"{quoted(name, as_key=True)} = {_inline(table[name], sort_keys)}"
    for name in names:
        if _is_tables(table[name]):
            for each in table[name]:
                yield from ("", f"[[{_header((*path, name))}]]", *_table(each, (*path, name), sort_keys))
    for name in names:
        if isinstance(table[name], dict):
            inner = list(_table(table[name], (*path, name), sort_keys))
            head = () if inner[:1] == [""] else ("", f"[{_header((*path, name))}]")  # tables inside imply it
            yield from (*head, *inner)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _header(path: tuple[str, ...]) -> str:
    return ".".join(quoted(each, as_key=True) for each in path)


def _inline(value: object, sort_keys: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case list():
            return f"[{', '.join(_inline(each, sort_keys) for each in value)}]"
        case dict():
            given = [(name, each) for name, each in value.items() if each is not None]
            found = sorted(given) if sort_keys else given
            inner = ", ".join(f"{quoted(name, as_key=True)} = {_inline(each, sort_keys)}" for name, each in found)
            return f"{{{inner}}}"
        case None:
            raise ServiceError("None stands in a list, and TOML has nothing to write for it")
        case _:
            return repr(value)

"""TOML with places: what the parser of the standard library does not tell about the text it read."""

from __future__ import annotations

import json
from typing import Any, Final

from kcl.bounds import MOST_DEPTH, check_depth, check_toml
from kcl.diagnostics import Code, KclError, Span, error
from kcl.patterns import pattern

_PLACE: Final = pattern(r"at line (\d+), column (\d+)")
_BARE_KEY: Final = pattern(r"[A-Za-z0-9_-]+")
_HEADER: Final = pattern(r"[ \t]*\[\[?(?P<name>[^\]\n]+)\]\]?[ \t]*(?:#.*)?")
_ENTRY: Final = pattern(r"""[ \t]*(?P<key>[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*[=.]""")


def parse_toml(path: str, text: str) -> dict[str, Any]:
    """Raises KclError with the place when `text` is not TOML."""
    import tomllib  # only repositories with a manifest pay for it

    try:
        check_toml(text)
        data = tomllib.loads(text)
        check_depth(data)
        return data
    except tomllib.TOMLDecodeError as problem:
        found = _PLACE.search(str(problem))
        offset = len(text)
        if found is not None:
            lines = text.splitlines(keepends=True)
            offset = sum(map(len, lines[: int(found[1]) - 1])) + int(found[2]) - 1
        span = Span(path, offset, offset)
        raise KclError((error(Code.INVALID_SETTINGS, f"not valid TOML: {problem}", span),)) from None
    except RecursionError:
        raise _unreadable(path, f"is nested deeper than the limit of {MOST_DEPTH} levels") from None
    except ValueError as problem:  # over a limit; also a number of more digits than Python reads
        raise _unreadable(path, str(problem)) from None


def _unreadable(path: str, why: str) -> KclError:
    return KclError((error(Code.INVALID_SETTINGS, f"{path} cannot be read: {why}", Span(path, 0, 0)),))


def quoted(text: str, *, as_key: bool = False) -> str:
    """`text` as a TOML string; a key without quotes where that is possible."""
    if as_key and _BARE_KEY.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def table_of_header(line: str) -> tuple[str, ...] | None:
    """The path of the table that a line such as `[dependencies.k8s]` opens, None for any other line."""
    match = _HEADER.fullmatch(line)
    return tuple(part.strip().strip("\"'") for part in match["name"].split(".")) if match is not None else None


def key_of_line(line: str) -> str | None:
    """The key that a line such as `k8s = "1.31"` gives a value, None for any other line."""
    match = _ENTRY.match(line)
    return match["key"].strip("\"'") if match is not None else None


def line_of_key(path: str, text: str, table: str, key: str) -> Span:
    """The line that gives `key` of `table` its value, the start of the text when it is not found."""
    offset = 0
    current: tuple[str, ...] = ()
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        current = table_of_header(bare) or current
        if current == (table, key) or (current == (table,) and key_of_line(bare) == key):
            return Span(path, offset + len(bare) - len(bare.lstrip()), offset + len(bare))
        offset += len(line)
    return Span(path, 0, 0)


def line_of_table(path: str, text: str, table: tuple[str, ...]) -> Span:
    """The line that opens `table`, the start of the text when it is not found."""
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if table_of_header(bare) == table:
            return Span(path, offset + len(bare) - len(bare.lstrip()), offset + len(bare))
        offset += len(line)
    return Span(path, 0, 0)

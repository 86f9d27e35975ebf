"""Regular expressions that are compiled when they are needed first.

Python compiles them in Python: those of the language's modules took a fifth of what it takes to import it, and most
runs need few of them. What they are compiled to is a list of numbers, which another process of the same Python can be
told (`learn`) instead of working it out again; Python checks such numbers before it uses them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

Code: TypeAlias = "tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]"
"""As `_sre.compile` takes it: all flags, the numbers, how many groups there are, their names and by number."""
Asked: TypeAlias = "tuple[str, int]"
"""The text of an expression and the flags that it was given."""

_learned: Final[dict[Asked, Code]] = {}
_compiled: Final[set[Asked]] = set()
"""Those that were compiled in this process, since nobody had told it of them."""


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later; a mistake in it shows when it is used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


def learn(codes: Mapping[Asked, Code]) -> None:
    """Lets be known what expressions were compiled to by a process of the same Python (`version`)."""
    _learned.update(codes)
    _compiled.difference_update(codes)


def version() -> tuple[int, int]:
    """What codes mean something to."""
    engine = import_module("_sre")
    return engine.MAGIC, engine.CODESIZE


def is_news() -> bool:
    """Whether one was compiled here of which nobody had told."""
    return bool(_compiled)


def codes() -> dict[Asked, Code]:
    """All codes that are known. Those that were compiled here are left out where this Python does not tell them."""
    try:
        learn({each: _code(*each) for each in sorted(_compiled)})
    except (ImportError, AttributeError, TypeError):
        _compiled.clear()
    return dict(_learned)


def _code(text: str, flags: int) -> Code:
    """As Python's own `re._compiler.compile` has it, which tells nobody."""
    parsed = import_module("re._parser").parse(text, flags)
    state = parsed.state
    names: list[str | None] = [None] * state.groups
    for name, number in state.groupdict.items():
        names[number] = name
    numbers = import_module("re._compiler")._code(parsed, flags)
    return int(flags | state.flags), [*map(int, numbers)], state.groups - 1, dict(state.groupdict), tuple(names)


def _made(text: str, flags: int) -> re.Pattern[str]:
    code = _learned.get((text, flags))
    if code is not None:
        try:
            return cast("re.Pattern[str]", import_module("_sre").compile(text, *code))
        except (ImportError, AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
            del _learned[text, flags]
    _compiled.add((text, flags))
    return re.compile(text, flags)


class _Pattern:
    """Has what the compiled pattern has, as attributes of its own once they were asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._asked = text, int(flags)
        self._pattern: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._pattern is None:
            self._pattern = _made(*self._asked)
        found = getattr(self._pattern, name)
        setattr(self, name, found)
        return found

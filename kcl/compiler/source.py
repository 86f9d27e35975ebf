"""Python source under construction: lines with their indentation, and the objects that they refer to by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, Final

from kcl.diagnostics import KclError
from kcl.evaluator.runtime import StartOver
from kcl.evaluator.value import ValueFailure

CodeOf = Callable[[str, str, str], CodeType]
"""As `compiled`."""

_FAILURES: Final = (KclError, ValueFailure, RecursionError, TypeError)

# A line, or what makes the line once everything is written; None for no line at all.
Line = str | Callable[[], str | None]


def compiled(text: str, package: str, of: str) -> CodeType:
    """The code of Python text that was generated for something (`of`) in a package."""
    return compile(text, f"<{package}: {of}>", "exec", dont_inherit=True)


class Source:
    """The body of one function. Expressions are written as *atoms*: names, or constants that cost nothing to repeat."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, Line]] = []
        self._depth = 1
        self._temporaries = 0
        self._constants: dict[int, str] = {}
        self.names: dict[str, Any] = {}
        """The globals of the function."""

    def line(self, text: Line) -> None:
        self._lines.append((self._depth, text))

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines written inside stand below `head`."""
        self.line(head)
        self._depth += 1
        before = len(self._lines)
        yield
        lines = [line for _, line in self._lines[before:]]
        if all(map(callable, lines)):
            self.line(lambda: None if any(line() for line in lines if callable(line)) else "pass")
        self._depth -= 1

    @contextmanager
    def tried(self) -> Iterator[None]:
        """The lines written inside start the evaluation over where they fail."""
        with self.block("try:"):
            yield
        with self.block(f"except {self.constant(_FAILURES)}:"):
            self.line(f"raise {self.constant(StartOver)} from None")

    def temporary(self, kind: str = "t") -> str:
        """A name nothing else uses."""
        self._temporaries += 1
        return f"{kind}{self._temporaries}"

    def assign(self, text: str) -> str:
        """A new name for what the expression `text` gives."""
        name = self.temporary()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: Any) -> str:
        """An atom for an object."""
        if value is None or value is True or value is False:
            return repr(value)
        if type(value) is int:
            return repr(value) if value >= 0 else f"({value!r})"
        if type(value) is str and len(value) < 1000:
            return repr(value)
        if value == () and type(value) is tuple:
            return "()"
        known = self._constants.get(id(value))
        if known is None:
            known = self._constants[id(value)] = f"k{len(self._constants)}"
            self.names[known] = value  # also keeps it alive, so that its identity stays its own
        return known

    def text(self, head: str) -> str:
        written = [head]
        for depth, line in self._lines:
            shown = line() if callable(line) else line
            if shown is not None:
                written.append(" " * depth + shown)
        return "\n".join(written) + "\n"

    def function(self, name: str, head: str, package: str, of: str, code_of: CodeOf) -> Callable[..., Any]:
        """The function `name`, whose first line is `head`, made for `of` in a package."""
        exec(code_of(self.text(head), package, of), self.names)
        made: Callable[..., Any] = self.names[name]
        return made

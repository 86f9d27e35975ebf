"""Reads YAML and JSON that others wrote, within limits.

The limits are those of the language, in `kcl.bounds`. What is over one is a finding with its line; every document from
outside passes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from kcl import bounds
from kcl.regular import read_regular


class DocumentError(ValueError):
    """A text that is not read: not what it should be, or over a limit. `line` and `column` count from 1; 0: unknown."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem + (f", line {line}" if line else ""))
        self.problem = problem
        self.line = line
        self.column = column

    def place(self, file: str) -> str:
        """`file:line:column`, as far as they are there."""
        return ":".join([file, *(str(each) for each in (self.line, self.column) if each)])


class OverLimit(DocumentError):
    """A text over a limit. The message quotes nothing of it, for it may hold a secret."""


def read_text(path: Path, *, takes_pipes: bool = False) -> str:
    """The text of a regular file that is not over the limit. Raises OSError, UnicodeDecodeError and DocumentError.

    What the user names may be a pipe of their shell (`<(...)`), which `takes_pipes`.
    """
    if takes_pipes:
        with path.open("rb") as file:
            content = file.read(bounds.MOST_BYTES + 1)
    else:
        content = read_regular(path, bounds.MOST_BYTES + 1)
    with _over_limit():
        bounds.check_size(content)
    return content.decode("utf-8")


def load_json(text: str | bytes, **hooks: Any) -> Any:
    """What `json.loads` reads. Raises ValueError: JSONDecodeError for what is no JSON, OverLimit."""
    with _over_limit():
        return bounds.load_json(text, **hooks)


def load_yaml(text: str | bytes, *, timestamps: bool = True) -> Any:
    """The one document of a text, None for an empty one. Raises DocumentError.

    Without `timestamps`, dates stay text, as in JSON.
    """
    documents = load_all_yaml(text, timestamps=timestamps)
    if len(documents) > 1:
        raise DocumentError("expected a single document in the stream")
    return documents[0] if documents else None


def load_all_yaml(text: str | bytes, *, timestamps: bool = True) -> list[Any]:
    """Every document of a text, in order. Raises DocumentError."""
    import yaml  # costs more than the rest of a start-up that may not need it

    try:
        check_yaml(text)
        documents = list(yaml.load_all(text, Loader=_loader(timestamps)))
    except DocumentError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = str(error.problem or "cannot be parsed")
        raise DocumentError(problem, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0) from None
    except yaml.YAMLError:
        raise DocumentError("cannot be parsed") from None
    except RecursionError:
        _find_limit(text)
        raise OverLimit(f"is nested deeper than the limit of {bounds.MOST_DEPTH} levels") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        # what the constructors of PyYAML raise for values that their tags do not allow: `!!int x`, a 13th month
        raise DocumentError("has a value that its tag does not allow") from None
    try:
        for each in documents:
            check_depth(each)
    except OverLimit:
        _find_limit(text)  # knows the line
        raise
    return documents


@cache
def _loader(timestamps: bool) -> Any:
    """The safe loader, of C where PyYAML was built with it: some ten times as fast."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("BoundedLoader", (base,), {})
    for form in ("int", "float"):
        tag = f"tag:yaml.org,2002:{form}"
        loader.add_constructor(tag, _number(base.yaml_constructors[tag]))
    if not timestamps:
        loader.yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }
    return loader


def _number(construct: Any) -> Any:
    def bounded(loader: Any, node: Any) -> Any:
        if len(node.value) > bounds.MOST_DIGITS:
            mark = node.start_mark
            raise OverLimit(f"has a number of more than {bounds.MOST_DIGITS} digits", mark.line + 1, mark.column + 1)
        return construct(loader, node)

    return bounded


def _find_limit(text: str | bytes) -> None:
    """Raises OverLimit with the line, where the text itself is over one."""
    with _over_limit():
        bounds.count_nodes(text)


def check_depth(value: Any) -> None:
    """Raises OverLimit for what is nested too deep to be worked with."""
    with _over_limit():
        bounds.check_depth(value)


def check_yaml(text: str | bytes) -> None:
    """Raises OverLimit for YAML that must not be built. What is no YAML is for the parser to say."""
    with _over_limit():
        bounds.check_yaml(text)


@contextmanager
def _over_limit() -> Iterator[None]:
    try:
        yield
    except bounds.LimitError as error:
        raise OverLimit(error.problem, error.line) from None

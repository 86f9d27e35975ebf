"""Reads YAML and JSON that others wrote, within limits.

The limits are those of the language, in `kcl.bounds`. What is over one is a finding with its line; every document from
outside passes here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

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


def load_yaml(text: str | bytes, *, as_kubernetes: bool = False) -> Any:
    """The one document of a text, None for an empty one. Raises DocumentError. `as_kubernetes`: see `load_all_yaml`."""
    documents = load_all_yaml(text, as_kubernetes=as_kubernetes)
    if len(documents) > 1:
        raise DocumentError("expected a single document in the stream")
    return documents[0] if documents else None


def load_all_yaml(text: str | bytes, *, as_kubernetes: bool = False) -> list[Any]:
    """Every document of a text, in order. Raises DocumentError.

    `as_kubernetes`: plain words mean what they mean to the server and to kubectl (sigs.k8s.io/yaml): `y` and `n` are
    booleans beside `yes`, `on` and `true`, `1e3` and `0o17` are numbers, `12:30` and dates are text, and numbers are
    those of JSON, where 2.0 is 2.
    """
    import yaml  # costs more than the rest of a start-up that may not need it

    try:
        check_yaml(text)
        documents = list(yaml.load_all(text, Loader=loader(as_kubernetes)))
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
def loader(as_kubernetes: bool) -> Any:
    """The safe loader, of C where PyYAML was built with it: some ten times as fast."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Any = type("BoundedLoader", (base,), {})
    for form in ("int", "float"):
        found.add_constructor(f"{_TAG}{form}", _number(base.yaml_constructors[f"{_TAG}{form}"]))
    if as_kubernetes:
        found.yaml_implicit_resolvers = {}
        for form, pattern, first in _PLAIN:
            found.add_implicit_resolver(f"{_TAG}{form}", re.compile(pattern), list(first))
        found.add_constructor(f"{_TAG}bool", lambda _, node: node.value.lower() in ("y", "yes", "true", "on"))
        found.add_constructor(f"{_TAG}int", _number(_int_of_go))
        found.add_constructor(f"{_TAG}float", _number(_float_of_go))
        found.add_constructor(f"{_TAG}merge", lambda _, node: node.value)
    return found


_TAG: Final = "tag:yaml.org,2002:"
_SIGNS: Final = "-+0123456789"
_PLAIN: Final = (
    ("bool", r"(?:y|Y|yes|Yes|YES|on|On|ON|true|True|TRUE)\Z", "yYoOtT"),
    ("bool", r"(?:n|N|no|No|NO|off|Off|OFF|false|False|FALSE)\Z", "nNoOfF"),
    ("null", r"(?:~|null|Null|NULL|)\Z", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|0[0-7_]*|[1-9][0-9_]*)\Z", _SIGNS),
    ("float", r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9_]+)?\Z", f"{_SIGNS}."),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z", "-+."),
    ("merge", r"<<\Z", "<"),
)  # fmt: skip
"""What plain words are to go-yaml 2 (resolve.go), by their first characters."""


def _int_of_go(_: Any, node: Any) -> int | float:
    """Its sign, then the prefix of its base, or a 0 for octal; underscores count for nothing."""
    text = node.value.replace("_", "").lower()
    digits = text.lstrip("+-")
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], 8 if digits.startswith("0") else 10)
    number = int(digits[2:] if digits[:2] in ("0x", "0b", "0o") else digits, base)
    return _as_json(-number if text.startswith("-") else number)


def _float_of_go(_: Any, node: Any) -> int | float | str:
    """What is too large for one is no number."""
    text = node.value.replace("_", "").lower()
    number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    return str(node.value) if math.isinf(number) and not text.endswith("inf") else _as_json(number)


def _as_json(number: float) -> int | float:
    """What a number is once it was written as JSON, which knows no difference between 2 and 2.0, and read again."""
    if -(2**63) <= number < 2**63:
        return int(number) if number == int(number) else number
    return float(number)


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

"""Reads YAML and JSON that others wrote, within limits.

A file of a few lines can stand for gigabytes (aliases of aliases), end the process (the parser of C recurses on nested
brackets) or loop for ever (an alias inside itself). Every document from outside passes here, so that each of these is
a finding instead. What is checked costs little for real files: a look at the bytes says whether the events of the
parser need to be counted before anything is built from them.

The language keeps the same rules in `kcl.loader.bounds`: neither may import the other.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

MOST_BYTES: Final = 16_000_000
"""Of one text. The largest definitions of custom resources have two million."""
MOST_DEPTH: Final = 200
"""Lists and mappings in one another: what is done with them later recurses, and Python ends at a thousand calls."""
MOST_NODES: Final = 1_000_000
"""Keys, values and collections of YAML, with every alias counted as what it stands for."""
MOST_DIGITS: Final = 400
"""Of a whole number of YAML. More digits than that no float can hold, and long numbers take quadratic time."""
_SAFE_NESTING: Final = 1_000  # of brackets or columns that the parser may recurse on before anybody counted
_CHARACTERS_OF_A_NODE: Final = 100  # a longer text counts as several nodes: aliases repeat it, too
_ANCHOR: Final = re.compile(rb"&[0-9A-Za-z_-]")
_ALIAS: Final = re.compile(rb"\*[0-9A-Za-z_-]")
_INDICATORS: Final = bytes.maketrans(b"\t-?:", b"    ")


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


def read_text(path: Path) -> str:
    """The text of a file that is not over the limit. Raises OSError, UnicodeDecodeError and DocumentError."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    check_size(content)
    return content.decode("utf-8")


def load_json(text: str | bytes, **hooks: Any) -> Any:
    """What `json.loads` reads. Raises ValueError: JSONDecodeError for what is no JSON, OverLimit."""
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise OverLimit(f"is nested deeper than the limit of {MOST_DEPTH} levels") from None
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if brackets > MOST_DEPTH:
        check_depth(value)
    return value


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
        _count(text)
        raise OverLimit(f"is nested deeper than the limit of {MOST_DEPTH} levels") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        # what the constructors of PyYAML raise for values that their tags do not allow: `!!int x`, a 13th month
        raise DocumentError("has a value that its tag does not allow") from None
    try:
        for each in documents:
            check_depth(each)
    except OverLimit:
        _count(text)  # knows the line
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
        if len(node.value) > MOST_DIGITS:
            mark = node.start_mark
            raise OverLimit(f"has a number of more than {MOST_DIGITS} digits", mark.line + 1, mark.column + 1)
        return construct(loader, node)

    return bounded


def check_size(text: str | bytes) -> None:
    """Raises OverLimit for a text that is too long to be read at all."""
    if len(text) > MOST_BYTES:
        raise OverLimit(f"is larger than the limit of {MOST_BYTES} bytes")


def check_depth(value: Any) -> None:
    """Raises OverLimit. Goes level by level: recursion is what has to be prevented."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list | tuple)
        ]
    if level:
        raise OverLimit(f"is nested deeper than the limit of {MOST_DEPTH} levels")


def check_yaml(text: str | bytes) -> None:
    """Raises OverLimit for YAML that must not be built. What is no YAML is for the parser to say."""
    check_size(text)
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if _may_be_harmful(raw):
        _count(text)


def _may_be_harmful(raw: bytes) -> bool:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True  # UTF-16, whose bytes tell nothing
    if b"&" in raw and b"*" in raw and _ANCHOR.search(raw) and _ALIAS.search(raw):
        return True
    if raw.count(b"[") + raw.count(b"{") > _SAFE_NESTING:
        return True
    if b" " * _SAFE_NESTING in raw.translate(_INDICATORS):  # nesting in blocks needs a column for each level
        return True
    if len(raw) <= MOST_NODES:
        return False
    return 2 * (len(raw) - len(raw.translate(None, b",:-?[{"))) > MOST_NODES


def _count(text: str | bytes) -> None:
    """Follows the events of the parser, which neither recurses nor builds anything."""
    import yaml

    total = 0
    weights: dict[str | None, int] = {}
    unfinished: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 0
        match event:
            case yaml.ScalarEvent():
                weight = 1 + len(event.value) // _CHARACTERS_OF_A_NODE
                total += weight
                if event.anchor:
                    weights[event.anchor] = weight
            case yaml.AliasEvent():
                if any(anchor == event.anchor for anchor, _ in unfinished):
                    raise OverLimit("has an alias inside of what it stands for", line)
                total += weights.get(event.anchor, 1)
            case yaml.CollectionStartEvent():
                unfinished.append((event.anchor, total))
                total += 1
                if len(unfinished) > MOST_DEPTH:
                    raise OverLimit(f"is nested deeper than the limit of {MOST_DEPTH} levels", line)
            case yaml.CollectionEndEvent():
                anchor, before = unfinished.pop()
                if anchor:
                    weights[anchor] = total - before
            case yaml.DocumentStartEvent():
                weights.clear()
        if total > MOST_NODES:
            raise OverLimit(
                f"stands for more than the limit of {MOST_NODES} nodes, aliases counted as written out", line
            )

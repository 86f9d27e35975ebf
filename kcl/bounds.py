"""Limits of the YAML, TOML and JSON that programs, repositories and clusters hand over.

A file of a few lines can stand for gigabytes (aliases of aliases), end the process (the parser of C recurses on nested
brackets) or loop for ever (an alias inside itself). Every document from outside passes here, so that each of these is
a finding instead. What is checked costs little for real files: a look at the bytes says whether the events of the
parser need to be counted before anything is built from them.

`runtimes.base.documents` reads what is not the language's own within the same limits.
"""

from __future__ import annotations

import gc
import re
import sys
from itertools import accumulate
from typing import Any, Final

MOST_BYTES: Final = 16_000_000
"""Of one text. The largest definitions of custom resources have two million."""
MOST_BYTES_OF_TOML: Final = 1_000_000
"""Of a manifest or a lock file, whose parser is slow."""
MOST_DEPTH: Final = 200
"""Lists and mappings in one another: what is done with them later recurses, and Python ends at a thousand calls."""
SAFE_NESTING: Final = 1_000
"""Of brackets or columns that a parser written in C may recurse on before anybody counted."""
MOST_NODES: Final = 1_000_000
"""Keys, values and collections of YAML, with every alias counted as what it stands for."""
MOST_DIGITS: Final = 400
"""Of a whole number of YAML. More digits than that no float can hold, and long numbers take quadratic time."""
_CHARACTERS_OF_A_NODE: Final = 100  # a longer text counts as several nodes: aliases repeat it, too
_ANCHOR: Final = re.compile(rb"&[0-9A-Za-z_-]")
_ALIAS: Final = re.compile(rb"\*[0-9A-Za-z_-]")
_JSON_STRING: Final = re.compile(rb'"[^"]*"?')
_STEPS: Final = bytes(1 if each in b"[{" else 255 if each in b"]}" else 0 for each in range(256))  # 255 is -1 if signed
_INDICATORS: Final = bytes.maketrans(b"\t-?:", b"    ")


class LimitError(ValueError):
    """A document over a limit. `line` counts from 1; 0 means unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem + (f" at line {line}" if line else ""))
        self.problem = problem
        self.line = line


def check_size(text: str | bytes) -> None:
    """Raises LimitError for a text that is too long to be read at all."""
    if len(text) > MOST_BYTES:
        raise LimitError(f"is larger than the limit of {MOST_BYTES} bytes")


def check_depth(value: Any) -> None:
    """Raises LimitError. Goes level by level: recursion is what has to be prevented."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list | tuple)
        ]
    if level:
        raise LimitError(f"is nested deeper than the limit of {MOST_DEPTH} levels")


def check_json(text: str | bytes) -> None:
    """Raises LimitError for JSON whose nesting would end the process that parses it. Costs nothing where none could.

    Python's parser recurses in C. While the usual limit of calls holds it ends with a RecursionError; evaluation
    allows more calls than the stack of another thread has room for.
    """
    if sys.getrecursionlimit() <= SAFE_NESTING:
        return
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    if raw.count(b"[") + raw.count(b"{") <= SAFE_NESTING:
        return
    import json  # most programs read none

    if json.detect_encoding(raw) not in ("utf-8", "utf-8-sig"):
        raw = raw.replace(b"\0", b"")
    bare = _JSON_STRING.sub(b"", raw.replace(b"\\\\", b"").replace(b'\\"', b""))
    if max(accumulate(memoryview(bare.translate(_STEPS)).cast("b")), default=0) > MOST_DEPTH:
        raise LimitError(f"is nested deeper than the limit of {MOST_DEPTH} levels")


def load_json(text: str | bytes, **hooks: Any) -> Any:
    """What `json.loads` reads. Raises LimitError, and JSONDecodeError for what is no JSON."""
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    check_json(text)
    import json

    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise LimitError(f"is nested deeper than the limit of {MOST_DEPTH} levels") from None
    if brackets > MOST_DEPTH and (hooks or not _is_shallow(value)):
        check_depth(value)
    return value


def _is_shallow(value: Any) -> bool:
    """Whether plain JSON is beyond doubt within the limit of depth.

    The collector of garbage knows what holds what, and steps over texts and numbers: a sixth of the time that it takes
    to look at each in Python. What is not tracked holds nothing that could hold anything further.
    """
    level: list[Any] = [value]
    for _ in range(MOST_DEPTH - 2):
        level = list(filter(gc.is_tracked, gc.get_referents(*level)))
        if not level:
            return True
    return False


def check_toml(text: str) -> None:
    """Raises LimitError. The parser of the standard library takes quadratic memory for the parts of a dotted key."""
    if len(text) > MOST_BYTES_OF_TOML:
        raise LimitError(f"is larger than the limit of {MOST_BYTES_OF_TOML} bytes")
    if text.count(".") <= MOST_DEPTH:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DEPTH:
            raise LimitError(f"has a line with more than the limit of {MOST_DEPTH} dots", number)


def check_yaml(text: str | bytes) -> None:
    """Raises LimitError for YAML that must not be built. What is no YAML is for the parser to say."""
    check_size(text)
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if _may_be_harmful(raw):
        count_nodes(text)


def _may_be_harmful(raw: bytes) -> bool:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True  # UTF-16, whose bytes tell nothing
    if b"&" in raw and b"*" in raw and _ANCHOR.search(raw) and _ALIAS.search(raw):
        return True
    if raw.count(b"[") + raw.count(b"{") > SAFE_NESTING:
        return True
    if b" " * SAFE_NESTING in raw.translate(_INDICATORS):  # nesting in blocks needs a column for each level
        return True
    if len(raw) <= MOST_NODES:
        return False
    return 2 * (len(raw) - len(raw.translate(None, b",:-?[{"))) > MOST_NODES


def count_nodes(text: str | bytes) -> None:
    """Follows the events of the parser, which neither recurses nor builds anything. Raises LimitError."""
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
                    raise LimitError("has an alias inside of what it stands for", line)
                total += weights.get(event.anchor, 1)
            case yaml.CollectionStartEvent():
                unfinished.append((event.anchor, total))
                total += 1
                if len(unfinished) > MOST_DEPTH:
                    raise LimitError(f"is nested deeper than the limit of {MOST_DEPTH} levels", line)
            case yaml.CollectionEndEvent():
                anchor, before = unfinished.pop()
                if anchor:
                    weights[anchor] = total - before
            case yaml.DocumentStartEvent():
                weights.clear()
        if total > MOST_NODES:
            raise LimitError(
                f"stands for more than the limit of {MOST_NODES} nodes, aliases counted as written out", line
            )

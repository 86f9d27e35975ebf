"""Bodies in YAML, read as the server reads them: into JSON, and with what came twice found by its line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from runtimes.base.documents import DocumentError, load_all_yaml, loader
from runtimes.sandbox.decode import DecodeError, parse_json, plain
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.limits import LARGEST_YAML, check_values, too_large

_BOOLEAN = "tag:yaml.org,2002:bool"


class NotJson(DocumentError):
    """YAML that no JSON says."""


def read(content: bytes) -> Any:
    """Plain data, keys as text and timestamps too, as in JSON. Raises DocumentError, and ApiError where it is too
    large.
    """
    if len(content) > LARGEST_YAML:
        if not content.lstrip().startswith(b"{"):
            raise too_large(f"limit is {LARGEST_YAML} for YAML")
        with suppress(DecodeError):  # as clients send large definitions
            return plain(parse_json(content))
        raise too_large(f"limit is {LARGEST_YAML} for YAML that is no JSON")
    documents = load_all_yaml(content, as_kubernetes=True)
    body = documents[0] if documents else None  # a server reads the first document and no further
    check_values(body)
    return _json(body)


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(name, inner): _json(inner) for name, inner in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else f"{'-' if value < 0 else '+'}Inf"
        raise NotJson(f"json: unsupported value: {shown}")
    return [_json(item) for item in value] if isinstance(value, list) else value


def _key(name: Any, inner: Any) -> Any:
    """`yes: x` names a member "true", `1: x` one "1"."""
    if isinstance(name, bool):
        return "true" if name else "false"
    if name is None:
        raise NotJson(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {json.dumps(inner)}")
    if isinstance(name, float) and not math.isfinite(name):
        return ".nan" if math.isnan(name) else f"{'-' if name < 0 else ''}.inf"
    return str(name) if isinstance(name, int | float) else name


def repeated(content: bytes) -> list[str]:
    """`line 6: key "x" already set in map` of each member that came before, the inner ones first."""
    import yaml  # loaded with the first YAML body anyway

    if len(content) > LARGEST_YAML:
        return []
    try:
        root = yaml.compose(content, Loader=loader(as_kubernetes=True))
    except yaml.YAMLError:
        return []
    return list(_repeated(root, set()))


def _repeated(node: Any, seen: set[int]) -> Iterator[str]:
    """Aliases lead back to nodes that were looked at, which a hostile body has many of."""
    if node is None or id(node) in seen or isinstance(node.value, str):
        return
    seen.add(id(node))
    names: set[str] = set()
    for each in node.value:
        if not isinstance(each, tuple):
            yield from _repeated(each, seen)
            continue
        key, value = each
        yield from _repeated(value, seen)
        if not isinstance(key.value, str):
            continue
        shown = _shown(key)
        if shown in names:
            yield f"line {value.start_mark.line + 1}: key {shown} already set in map"
        names.add(shown)


def _shown(key: Any) -> str:
    if key.tag == _BOOLEAN:
        return "true" if key.value.lower() in ("yes", "true", "on", "y") else "false"
    return f'"{key.value}"'


def message(error: DocumentError) -> str:
    """A mistake in YAML in the words of the server, whose parser counts lines from 0 and whose scanner from 1."""
    if isinstance(error, NotJson):
        return error.problem
    line = error.line - 1
    if line <= 0:
        return f"yaml: {error.problem}"
    is_parsers = error.problem.startswith("did not find expected")
    return f"yaml: line {line if is_parsers else line + 1}: {error.problem}"


def refuse_repeated(problems: list[str]) -> ApiError:
    """Of an apply under strict validation."""
    why = "\n  ".join(["yaml: unmarshal errors:", *problems])
    return ApiError(400, "BadRequest", f"error strict decoding YAML: error converting YAML to JSON: {why}")

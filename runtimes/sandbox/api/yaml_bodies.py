"""Bodies in YAML, read as the server reads them: into JSON, and with what came twice found by its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from runtimes.base.documents import DocumentError, load_yaml
from runtimes.sandbox.decode import DecodeError, parse_json, plain
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.limits import LARGEST_YAML, check_values, too_large

_BOOLEAN = "tag:yaml.org,2002:bool"


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
    body = load_yaml(content, timestamps=False)
    check_values(body)
    return _json(body)


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(name): _json(inner) for name, inner in value.items()}
    return [_json(item) for item in value] if isinstance(value, list) else value


def _key(name: Any) -> Any:
    """`yes: x` names a member "true", `1: x` one "1"."""
    if isinstance(name, bool):
        return "true" if name else "false"
    return str(name) if isinstance(name, int | float) else name


def repeated(content: bytes) -> list[str]:
    """`line 6: key "x" already set in map` of each member that came before, the inner ones first."""
    import yaml  # loaded with the first YAML body anyway

    if len(content) > LARGEST_YAML:
        return []
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(content, Loader=loader)
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
    line = error.line - 1
    if line <= 0:
        return error.problem
    is_parsers = error.problem.startswith("did not find expected")
    return f"line {line if is_parsers else line + 1}: {error.problem}"


def refuse_repeated(problems: list[str]) -> ApiError:
    """Of an apply under strict validation."""
    why = "\n  ".join(["yaml: unmarshal errors:", *problems])
    return ApiError(400, "BadRequest", f"error strict decoding YAML: error converting YAML to JSON: {why}")

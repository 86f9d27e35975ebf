"""From a patch in a request to the patched object as it is read back, with what is to be refused or warned about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from runtimes.sandbox import decode
from runtimes.sandbox.apply.typed import go_value
from runtimes.sandbox.decode import DecodeError, DecodeResult, Pairs
from runtimes.sandbox.limits import check_values
from runtimes.sandbox.patch.errors import PatchError
from runtimes.sandbox.patch.json_patch import json_patch
from runtimes.sandbox.patch.merge_patch import duplicates, merge_patch
from runtimes.sandbox.patch.strategic_merge import merged_in_place
from runtimes.sandbox.schema.registry import KindSchema, Registry

PatchType = Literal["json", "merge", "strategic"]
OPERATION_FIELDS = frozenset(("op", "path", "from", "value"))


def patched(kind: KindSchema, before: Mapping[str, Any], body: Any, patch_type: PatchType) -> DecodeResult:
    """The object after the patch, before defaults; `strict` has the problems of patch and result.

    `body` is parsed with `decode.parse_json`. Raises PatchError, and ApiError where the result is too large.
    """
    document = dict(before)
    match patch_type:
        case "json":
            made = json_patch(document, body)
            problems = [f"json patch {problem}" for problem in _operation_problems(body)]
        case "merge":
            made = merge_patch(document, body)
            problems = duplicates(body)
        case "strategic":
            problems, body = duplicates(body), decode.plain(body)
            made = merged_in_place(kind, decode.plain(document), body)
    check_values(made)
    shown = go_value(body) if patch_type == "strategic" else json.dumps(made, separators=(",", ":"), ensure_ascii=False)
    try:
        read = _restored(kind, made) if patch_type == "strategic" else _read(kind, _sorted(made))
    except DecodeError as error:
        raise unreadable(shown, str(error)) from error
    read.strict[:0] = problems
    read.source = shown
    return read


def unreadable(shown: str, why: str) -> PatchError:
    """A patched object that is none. `shown` is the text of what was read."""
    cause = {
        "reason": "FieldValueInvalid",
        "message": f"Invalid value: {json.dumps(shown, ensure_ascii=False)}: {why}",
        "field": "patch",
    }
    return PatchError(422, "Invalid", f' "" is invalid: patch: {cause["message"]}', {"causes": [cause]})


def _restored(kind: KindSchema, made: Any) -> DecodeResult:
    """What a strategic patch makes of kind and version is read, and means nothing."""
    read = decode.restore(kind, made)
    read.object |= {"apiVersion": kind.api_version, "kind": kind.kind}
    return read


def _sorted(value: Any) -> Any:
    """Members in the order in which the server writes a patched object, before it reads it again."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _read(kind: KindSchema, made: Any) -> DecodeResult:
    """Read as what the patched object says it is, which for custom resources is left to the caller to compare."""
    if not isinstance(made, dict):
        return decode.check(kind, made)
    if kind.is_custom:
        if not _said(made, "kind"):
            raise DecodeError(f"Object 'Kind' is missing in '{json.dumps(made, separators=(',', ':'))}'")
        return decode.check(kind, made)
    name, version = _said(made, "kind") or kind.kind, _said(made, "apiVersion")
    if (name, version) == (kind.kind, kind.api_version):
        return decode.check(kind, {**made, "kind": name})
    if not version and name == kind.kind:
        return _unversioned(kind, made)
    group, _, short = str(version).rpartition("/")
    try:
        other = Registry.load().kind(group, short, str(name))
    except KeyError as error:
        text = f'no kind "{name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:110"'
        raise DecodeError(text) from error
    decode.check(other, made)
    ours = kind.group.partition(".")[0] or "core"
    raise DecodeError(f"unable to decode {other.gvk_text} into *{ours}.{kind.kind}")


def _said(made: Mapping[str, Any], field: str) -> str:
    """The kind or version of a patched object, "" if it says none. Raises DecodeError."""
    for name in ("apiVersion", "kind"):
        if not isinstance(made.get(name), str | None):
            found = decode.json_kind(made[name])
            why = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
            raise DecodeError(f"couldn't get version/kind; json parse error: {why}")
    return made.get(field) or ""


def _unversioned(kind: KindSchema, made: Mapping[str, Any]) -> DecodeResult:
    """An object without a version is read into the server's own form of the kind, whose members have other names."""
    unknown = [f'unknown field "{name}"' for name in made if name not in ("apiVersion", "kind")]
    return DecodeResult({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}}, unknown)


def _operation_problems(operations: Any) -> list[str]:
    """Unknown and doubled members of a JSON patch's operations."""
    problems: list[str] = []
    for index, operation in enumerate(operations or ()):
        seen: set[str] = set()
        members = operation.pairs if isinstance(operation, Pairs) else (operation or {}).items()
        for name, _ in members:
            if name not in OPERATION_FIELDS:
                problems.append(f'unknown field "[{index}].{name}"')
            elif name in seen:
                problems.append(f'duplicate field "[{index}].{name}"')
            seen.add(name)
    return problems

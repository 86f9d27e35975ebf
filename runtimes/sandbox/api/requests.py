"""Reading requests: which object or collection a path addresses, the query's options, the body."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote

from kcl.records import dataclass, field
from runtimes.base.documents import DocumentError
from runtimes.sandbox.api import protobuf, yaml_bodies
from runtimes.sandbox.decode import DecodeError, YamlBody, check, json_kind, parse_json
from runtimes.sandbox.errors import ApiError, JsonObject, bad_request, invalid
from runtimes.sandbox.limits import check_values
from runtimes.sandbox.schema.registry import Registry

PATCH_TYPES: Mapping[str, str] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
LONGEST_MANAGER = 128
_LONGEST_SUMMARY = 30


@dataclass(frozen=True, slots=True)
class Address:
    """What a path below /api or /apis points at. `namespace` None: all of them, or a resource without namespaces.

    `is_legacy_watch` is the old path with `watch/` in front, which is a watch without any parameter.
    """

    group: str
    version: str
    plural: str = ""
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()
    is_legacy_watch: bool = False


def segments(raw_path: str) -> list[str] | None:
    """The path's parts without slashes at its end; None if one of them is empty, but that of `namespaces//pods`."""
    path = unquote(raw_path)
    parts = path.strip("/").split("/") if path.strip("/") else []
    empty = [index for index, part in enumerate(parts) if not part]
    is_of_all = len(empty) == 1 and parts[empty[0] - 1] == "namespaces"
    return None if path.startswith("//") or (empty and not is_of_all) else parts


def address(parts: Sequence[str]) -> Address | None:
    """For `api/v1/...` and `apis/GROUP/VERSION/...`; None for anything shorter or else."""
    if parts[0] == "api" and len(parts) >= 2:
        group, version, rest = "", parts[1], list(parts[2:])
    elif parts[0] == "apis" and len(parts) >= 3:
        group, version, rest = parts[1], parts[2], list(parts[3:])
    else:
        return None
    legacy = rest[:1] == ["watch"]
    if legacy:
        rest = rest[1:]
    namespace: str | None = None
    if rest[:1] == ["namespaces"] and len(rest) > 2 and not (rest[2] in ("status", "finalize") and len(rest) == 3):
        namespace, rest = rest[1] or None, rest[2:]  # `namespaces//pods` are those of all
    plural, name, subresource, *more = [*rest, "", "", ""][: max(3, len(rest))]
    return Address(group, version, plural, namespace, name, subresource, tuple(m for m in more if m), legacy)


class Query:
    """The parameters, each with all its values in order."""

    def __init__(self, text: str) -> None:
        self.values = parse_qs(text, keep_blank_values=True)

    def text(self, name: str) -> str:
        return self.values.get(name, [""])[0]

    def all(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def flag(self, name: str) -> bool:
        """As the server reads booleans: present and neither 0 nor false."""
        return name in self.values and self.text(name).lower() not in ("0", "false")

    def number(self, name: str) -> int | None:
        """None if absent or empty. Raises 400 if it is no number."""
        text = self.text(name)
        if not text:
            return None
        try:
            number = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
        except ValueError:  # more digits than Python reads
            number = 2**63
        if number is None or not -(2**63) <= number < 2**63:
            why = "invalid syntax" if number is None else "value out of range"
            raise bad_request(f'strconv.ParseInt: parsing "{text}": {why}')
        return number


_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def check_timeout(query: Query) -> None:
    """The time that a client gives a request has to be a duration, before all else. Raises 400."""
    text = query.text("timeout")
    problem = _wrong_with_duration(text) if text else ""
    if problem:
        raise bad_request(f"invalid timeout specified in the request URL - time: {problem}")


def _wrong_with_duration(text: str) -> str:
    """What Go says of it; "" if it is one: numbers with units, as in `1h30m`."""
    shown = json.dumps(text, ensure_ascii=False)
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return f"invalid duration {shown}"
    while rest:
        number = re.match(r"\d+\.?\d*|\.\d+", rest)
        if number is None:
            return f"invalid duration {shown}"
        rest = rest[number.end() :]
        unit = re.match(r"[^.\d]*", rest)
        assert unit is not None
        if not unit[0]:
            return f"missing unit in duration {shown}"
        if unit[0] not in _UNITS:
            return f"unknown unit {json.dumps(unit[0], ensure_ascii=False)} in duration {shown}"
        rest = rest[unit.end() :]
    return ""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    dry_run: bool
    manager: str
    field_validation: str
    force: bool = False


@dataclass(slots=True)
class _Causes:
    kind: str
    found: list[JsonObject] = field(default_factory=list)

    def note(self, reason: str, path: str, message: str) -> None:
        self.found.append({"reason": reason, "message": message, "field": path})

    def raise_any(self) -> None:
        if self.found:
            raise invalid("meta.k8s.io", self.kind, "", self.found)


def write_options(query: Query, kind: str, user_agent: str, patch_type: str | None = None) -> WriteOptions:
    """Raises 422 for values that the options of that kind (CreateOptions, ...) do not have."""
    causes = _Causes(kind)
    dry_run = _checked_dry_run(query.all("dryRun"), causes)
    manager, validation = query.text("fieldManager"), query.text("fieldValidation")
    force = query.flag("force")
    if kind == "PatchOptions":
        if patch_type == "apply":
            if not manager:
                causes.note("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
        elif "force" in query.values:
            causes.note("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")
    if len(manager.encode()) > LONGEST_MANAGER:
        causes.note("FieldValueTooLong", "fieldManager", f"Too long: may not be more than {LONGEST_MANAGER} bytes")
    for at, letter in enumerate(manager):
        if not letter.isprintable():
            shown = json.dumps(manager).replace("\\u00", "\\x")
            what = f"Invalid value: {shown}: invalid character U+{ord(letter):04X} (at position {at})"
            causes.note("FieldValueInvalid", "fieldManager", what)
    if validation not in _FIELD_VALIDATION:
        known = '"", "Ignore", "Strict", "Warn"'
        what = f'Unsupported value: "{validation}": supported values: {known}'
        causes.note("FieldValueNotSupported", "fieldValidation", what)
    causes.raise_any()
    return WriteOptions(dry_run, manager or manager_of(user_agent), validation or "Warn", force)


def _checked_dry_run(values: Sequence[str], causes: _Causes) -> bool:
    given = list(values)
    if any(value != "All" for value in given):
        shown = json.dumps(given, separators=(",", ":"))
        causes.note("FieldValueNotSupported", "dryRun", f'Unsupported value: {shown}: supported values: "All"')
    return bool(given)


def manager_of(user_agent: str) -> str:
    """The field manager of a client that names none: its User-Agent up to the first slash."""
    name = "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())
    return name.encode()[:LONGEST_MANAGER].decode(errors="ignore")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    uid: str | None
    resource_version: str | None
    grace_seconds: int | None
    propagation: str | None
    dry_run: bool


def delete_options(query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
    """From the body if there is one, else from the query, as the server does. Raises 422."""
    causes = _Causes("DeleteOptions")
    if body is not None:
        _check_kind(body)
        try:
            check(Registry.load().kind("", "v1", "DeleteOptions"), body)
        except DecodeError as error:
            raise ApiError(500, "", str(error)) from error
        preconditions = body.get("preconditions") or {}
        grace, propagation = body.get("gracePeriodSeconds"), body.get("propagationPolicy")
        orphan, dry_run = body.get("orphanDependents"), body.get("dryRun") or []
    else:
        preconditions = {name: query.text(name) or None for name in ("uid", "resourceVersion")}
        grace, propagation = query.number("gracePeriodSeconds"), query.text("propagationPolicy") or None
        orphan = query.flag("orphanDependents") if "orphanDependents" in query.values else None
        dry_run = query.all("dryRun")
    if orphan is not None and propagation is not None:
        what = f'Invalid value: "{propagation}": orphanDependents and deletionPropagation cannot be both set'
        causes.note("FieldValueInvalid", "propagationPolicy", what)
    elif propagation not in (None, "Foreground", "Background", "Orphan"):
        known = '"Foreground", "Background", "Orphan", "nil"'
        what = f'Unsupported value: "{propagation}": supported values: {known}'
        causes.note("FieldValueNotSupported", "propagationPolicy", what)
    is_dry_run = _checked_dry_run(dry_run, causes)
    causes.raise_any()
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    return DeleteOptions(preconditions.get("uid"), preconditions.get("resourceVersion"), grace, propagation, is_dry_run)


def _check_kind(body: Mapping[str, Any]) -> None:
    """Raises 500 for the body of another kind, as the server does."""
    kind, version = body.get("kind") or "DeleteOptions", body.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        text = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:110"'
        raise ApiError(500, "", text)


def media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def read_object(content: bytes, content_type: str, kind: str, needs_kind: bool = False) -> Any:
    """A body in JSON or YAML, duplicates still to be found. Raises 400 and 415 with the server's words.

    `needs_kind`: it must say what it is, as custom resources must.
    """
    body = _read(content, content_type, kind)
    if body is None:
        body = {}
    if not isinstance(body, dict):
        struct = (
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
        why = f"json parse error: json: cannot unmarshal {json_kind(body)} into Go value of type {struct}"
        raise _unrecognized(kind, f"{why} ({_summary(content)})")
    if media_type(content_type) != "application/vnd.kubernetes.protobuf":
        _check_said(body, content, kind)
        if not needs_kind:
            _check_version(body, content, kind)
    if needs_kind and not body.get("kind"):
        text = content.decode(errors="replace")
        why = f"Object 'Kind' is missing in '{text}' ({_summary(content)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}")
    if needs_kind and "apiVersion" not in body:
        body["apiVersion"] = ""
    return body


def _check_said(body: dict[str, Any], content: bytes, kind: str) -> None:
    """Kind and version are read before all else: 400 if they cannot be."""
    shown = f"({_summary(content)})"
    for name, value in body.items():
        if name in ("apiVersion", "kind") and value is not None and not isinstance(value, str):
            why = f"json: cannot unmarshal {json_kind(value)} into Go struct field .{name} of type string"
            raise _unrecognized(kind, f"json parse error: {why} {shown}")


def _check_version(body: dict[str, Any], content: bytes, kind: str) -> None:
    shown = f"({_summary(content)})"
    version = body.get("apiVersion") or ""
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version} {shown}"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}")
    if version.startswith("/"):
        body["apiVersion"] = version[1:]
    elif version.endswith("/"):
        text = content.decode(errors="replace")
        why = f"Object 'apiVersion' is missing in '{text}'"
        raise bad_request(f'{body.get("kind") or kind} in version "" cannot be handled as a {kind}: {why}')


def _summary(content: bytes) -> str:
    """The beginning of a body as messages show it: text if it may be JSON, else in hexadecimal."""
    shown = content[:_LONGEST_SUMMARY]
    text = shown.decode(errors="replace") if content[:1] == b"{" else shown.hex()
    return f"{text} ..." if len(content) > _LONGEST_SUMMARY else text


def _read(content: bytes, content_type: str, kind: str) -> Any:
    if any(part.strip() and "=" not in part for part in content_type.split(";")[1:]):
        raise unsupported_body()
    match media_type(content_type):
        case "" | "application/json":
            return _read_json(content, kind)
        case "application/yaml":
            return _read_yaml(content, kind)
        case "application/vnd.kubernetes.protobuf":
            return _read_protobuf(content, kind)
        case _:
            raise unsupported_body()


def unsupported_body(
    known: str = "application/json, application/yaml, application/vnd.kubernetes.protobuf",
) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {known}",
    )


def _unrecognized(kind: str, why: str) -> ApiError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why}"
    )


def _read_protobuf(content: bytes, kind: str) -> Any:
    try:
        body = protobuf.decode(content)
    except (protobuf.Malformed, UnicodeDecodeError) as error:
        why = f"{error} ({_summary(content)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}") from error
    check_values(body)
    return body


def _read_json(content: bytes, kind: str) -> Any:
    shown = f"({_summary(content)})"
    if not content.strip():
        raise _unrecognized(kind, "json parse error: unexpected end of JSON input (<empty>)")
    try:
        body = parse_json(content)
    except DecodeError as error:
        raise _unrecognized(kind, f"json parse error: {error} {shown}") from error
    return body


def read_applied(content: bytes, validation: str, warnings: list[str]) -> Any:
    """The body of an apply, in YAML or JSON. Raises 400."""
    try:
        body = yaml_bodies.read(content)
    except DocumentError as error:
        why = f"error converting YAML to JSON: {yaml_bodies.message(error)}"
        raise bad_request(f"error decoding YAML: {why}") from error
    if body is not None and not isinstance(body, dict):
        name = {list: "array", str: "string", bool: "bool"}.get(type(body), "number")
        target = "Go value of type map[string]interface {}"
        why = f"while decoding JSON: json: cannot unmarshal {name} into {target}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: {why}")
    problems = yaml_bodies.repeated(content) if validation != "Ignore" else []
    if problems and validation == "Strict":
        raise yaml_bodies.refuse_repeated(problems)
    warnings += problems
    return body


def _read_yaml(content: bytes, kind: str) -> Any:
    try:
        body = yaml_bodies.read(content)
    except DocumentError as error:
        why = f"{yaml_bodies.message(error)} ({_summary(content)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}") from error
    problems = yaml_bodies.repeated(content) if isinstance(body, dict) else []
    return YamlBody(body, problems) if problems else body

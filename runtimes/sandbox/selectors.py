"""Label and field selectors: their text forms, parsed with the server's refusals, and matching.

Label selectors: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`, joined by commas.
Field selectors: `path=value`, `path==value`, `path!=value`, joined by commas; which paths depends on the kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.errors import ApiError, bad_request
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object

_LABEL_TOKEN = re.compile(r"\s*(==|!=|!|=|>|<|\(|\)|,|[^\s!=<>(),]+)")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label. Operators: in, notin, exists, !, gt, lt (`=` is `in` with one value)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        present = self.key in labels
        match self.operator:
            case "in":
                return present and labels[self.key] in self.values
            case "notin":
                return not present or labels[self.key] not in self.values
            case "exists":
                return present
            case "!":
                return not present
            case _:
                try:
                    have, want = int(labels[self.key]), int(self.values[0])
                except (KeyError, ValueError):
                    return False
                return have > want if self.operator == "gt" else have < want


@dataclass(frozen=True, slots=True)
class LabelSelector:
    requirements: tuple[Requirement, ...] = ()

    def matches(self, object_: Object) -> bool:
        if not self.requirements:
            return True
        labels = object_["metadata"].get("labels") or {}
        return all(requirement.matches(labels) for requirement in self.requirements)


def parse_labels(text: str) -> LabelSelector:
    """Raises 400 with the real server's words."""
    try:
        return LabelSelector(tuple(_Parser(text).requirements()))
    except ValueError as error:
        raise bad_request(str(error)) from error


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            match = _LABEL_TOKEN.match(text, position)
            if not match:
                break
            self.tokens.append(match.group(1))
            position = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self.tokens:
            return found
        while True:
            if self.peek() not in ("!",) and not _is_word(self.peek()):
                raise ValueError(f"found '{self.peek()}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from error
            token = self.take()
            if token == "":
                return sorted(found, key=lambda each: each.key)
            if token != ",":
                raise ValueError(f"found '{token}', expected: ',' or 'end of string'")
            if self.peek() != "!" and not _is_word(self.peek()):
                raise ValueError(f"found '{self.peek()}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        negated = self.peek() == "!"
        if negated:
            self.take()
        key = self.take()
        if not _is_word(key):
            raise ValueError(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated:
            return Requirement(key, "!")
        if self.peek() in ("", ","):
            return Requirement(key, "exists")
        operator = self.take()
        match operator:
            case "=" | "==":
                return self.checked(key, "in", (self.value(),))
            case "!=":
                return self.checked(key, "notin", (self.value(),))
            case ">" | "<":
                value = self.value()
                if not re.fullmatch(r"[+-]?\d+", value):
                    raise ValueError(
                        f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
                    )
                return self.checked(key, "gt" if operator == ">" else "lt", (value,))
            case "in" | "notin":
                return self.checked(key, operator, self.values())
            case _:
                raise ValueError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def value(self) -> str:
        token = self.peek()
        if token in ("", ","):
            return ""
        if not _is_word(token):
            raise ValueError(f"found '{token}', expected: identifier")
        return self.take()

    def values(self) -> tuple[str, ...]:
        opening = self.take()
        if opening != "(":
            raise ValueError(f"found '{opening}' expected: '('")
        found: list[str] = []
        while True:
            token = self.take()
            if token == ")":
                return tuple(sorted({*found, ""} if found == [] else set(found)))
            if token == ",":
                if self.peek() in (",", ")"):
                    found.append("")
                continue
            if not _is_word(token):
                expected = "',' or ')'" if found else "',', ')' or identifier"
                raise ValueError(f"found '{token}', expected: {expected}")
            found.append(token)

    def checked(self, key: str, operator: str, values: tuple[str, ...]) -> Requirement:
        for index, value in enumerate(values):
            if value and (len(value) > 63 or not _NAME.fullmatch(value)):
                raise ValueError(_bad_value(f"values[{index}][{key}]", value))
        return Requirement(key, operator, values)


def _is_word(token: str) -> bool:
    return bool(token) and token not in ("==", "!=", "!", "=", ">", "<", "(", ")", ",")


_WORD = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_RULE = f"{_WORD} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME.pattern}')"
_VALUE_RULE = (
    f"a valid label must be an empty string or {_WORD.removeprefix('must ')} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({_NAME.pattern})?')"
)
_PREFIX_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)


def _bad_value(path: str, value: str) -> str:
    rule = "must be no more than 63 characters" if len(value) > 63 else _VALUE_RULE
    return f'{path}: Invalid value: "{value}": {rule}'


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        raise ValueError(f'<nil>: Invalid value: "{key}": a qualified name {_NAME_RULE} {optional}')
    if slash and not prefix:
        raise ValueError(f'<nil>: Invalid value: "{key}": prefix part must be non-empty')
    if slash and not _SUBDOMAIN.fullmatch(prefix):
        raise ValueError(f'<nil>: Invalid value: "{key}": prefix part {_PREFIX_RULE}')
    if not name:
        raise ValueError(f'<nil>: Invalid value: "{key}": name part must be non-empty')
    if len(name) > 63:
        raise ValueError(f'<nil>: Invalid value: "{key}": name part must be no more than 63 characters')
    if not _NAME.fullmatch(name):
        raise ValueError(f'<nil>: Invalid value: "{key}": name part {_NAME_RULE}')


def of_object(selector: Mapping[str, Any] | None) -> LabelSelector | None:
    """A `LabelSelector` object (matchLabels, matchExpressions). None selects nothing; an empty one everything."""
    if selector is None:
        return None
    requirements = [Requirement(key, "in", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    for each in selector.get("matchExpressions") or ():
        requirements.append(Requirement(each["key"], operators[each["operator"]], tuple(each.get("values") or ())))
    return LabelSelector(tuple(requirements))


def written(selector: Mapping[str, Any] | None) -> str:
    """A `LabelSelector` object as text, as Tables and Scale show it; `<none>` for an empty one."""
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return "<none>"
    parts: list[tuple[str, str]] = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(sorted(each.get("values") or ()))
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, forms[each["operator"]]))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


# --- Fields ---

Reader = Callable[[Object], str]


def _at(path: str, default: str = "") -> Reader:
    steps = path.split(".")

    def read(object_: Object) -> str:
        value: Any = object_
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return default
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    return read


def _first_pod_ip(pod: Object) -> str:
    ips = pod.get("status", {}).get("podIPs") or ()
    return str(ips[0].get("ip", "")) if ips else ""


def _event_source(event: Object) -> str:
    return str((event.get("source") or {}).get("component") or event.get("reportingComponent") or "")


def _paths(*paths: str, **others: Reader) -> dict[str, Reader]:
    return {**{path: _at(path) for path in paths}, **others}


_COMMON = _paths("metadata.name", "metadata.namespace")
_NEVER_IN_A_NAMESPACE = frozenset(
    {("", "nodes"), ("", "namespaces"), ("certificates.k8s.io", "certificatesigningrequests")}
)
"""Kinds that list the fields they are selected by themselves, without that one; other cluster-wide ones take it."""
_EVENT = _paths(
    *(f"involvedObject.{field}" for field in ("kind", "namespace", "name", "uid", "apiVersion")),
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "type",
    "reportingComponent",
    source=_event_source,
)
_REGARDING = {
    "reason": _at("reason"),
    "type": _at("type"),
    "reportingController": _at("reportingComponent"),
    **{f"regarding.{f}": _at(f"involvedObject.{f}") for f in ("kind", "namespace", "name", "uid", "apiVersion")},
    "regarding.resourceVersion": _at("involvedObject.resourceVersion"),
    "regarding.fieldPath": _at("involvedObject.fieldPath"),
}
_BY_RESOURCE: Mapping[tuple[str, str], Mapping[str, Reader]] = {
    ("", "pods"): {
        **_paths("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        **_paths("status.phase", "status.podIP", "status.nominatedNodeName"),
        "spec.host": _at("spec.nodeName"),
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "status.podIPs": _first_pod_ip,
    },
    ("", "nodes"): {"spec.unschedulable": _at("spec.unschedulable", "false")},
    ("", "events"): _EVENT,
    ("events.k8s.io", "events"): _REGARDING,
    ("", "namespaces"): _paths("status.phase"),
    ("", "secrets"): _paths("type"),
    ("", "services"): _paths("spec.clusterIP", "spec.type"),
    ("", "replicationcontrollers"): {"status.replicas": _at("status.replicas", "0")},
    ("batch", "jobs"): {"status.successful": _at("status.succeeded", "0")},
    ("certificates.k8s.io", "certificatesigningrequests"): _paths("spec.signerName"),
    ("resource.k8s.io", "resourceslices"): _paths("spec.nodeName", "spec.driver"),
}


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conditions `(reader, wanted value, negated)`; `name` is set when the selector asks for one name."""

    conditions: tuple[tuple[Reader, str, bool], ...] = ()
    name: str | None = None

    def matches(self, object_: Object) -> bool:
        return all((read(object_) == want) != negated for read, want, negated in self.conditions)


def parse_fields(text: str, resource: Resource) -> FieldSelector:
    """Raises 400 for bad syntax and, after that, for paths that the resource cannot be selected by."""
    terms = check_field_syntax(text)
    conditions: list[tuple[Reader, str, bool]] = []
    name: str | None = None
    for path, operator, value in terms:
        if not path and not value:
            continue  # it selects everything, as nothing does
        conditions.append((_reader(path, resource), value, operator == "!="))
        if path == "metadata.name" and operator != "!=":
            name = value
    return FieldSelector(tuple(conditions), name)


def check_field_syntax(text: str) -> list[tuple[str, str, str]]:
    """Path, operator and value of each term, whatever paths there are. Raises 400."""
    return [_term(term, text) for term in sorted(_split_terms(text)) if term]


def _split_terms(text: str) -> list[str]:
    """At commas; a backslash takes the next letter with it."""
    return ["".join(found) for found in _parted(re.findall(r"\\.|[^\\]|\\$", text, re.S))]


def _parted(pieces: list[str]) -> Iterator[list[str]]:
    term: list[str] = []
    for piece in pieces:
        if piece == ",":
            yield term
            term = []
        else:
            term.append(piece)
    yield term


def _term(term: str, text: str) -> tuple[str, str, str]:
    """Path, operator and value of one term."""
    match = re.search(r"!=|==|=", term)
    if not match:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    value = []
    for piece in re.findall(r"\\.|[^\\]|\\$", term[match.end() :], re.S):
        if piece[0] == "\\" and piece[1:] not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: {piece}")
        if piece == "=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(piece)}")
        value.append(piece[-1])
    return term[: match.start()], match[0], "".join(value)


def _reader(path: str, resource: Resource) -> Reader:
    if path == "metadata.namespace" and (resource.group, resource.plural) in _NEVER_IN_A_NAMESPACE:
        raise _unsupported(path, resource)
    if path in _COMMON:
        return _COMMON[path]
    if resource.definition is not None:
        return _custom_reader(path, resource)
    own = _BY_RESOURCE.get((resource.group, resource.plural))
    if own is None:
        raise bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')
    if path not in own:
        raise _unsupported(path, resource)
    return own[path]


def _unsupported(path: str, resource: Resource) -> ApiError:
    if (resource.group, resource.plural) == ("batch", "jobs"):
        return bad_request(f'field label "{path}" not supported for Job')
    if (resource.group, resource.plural) == ("resource.k8s.io", "resourceslices"):
        kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        return bad_request(f"field label not supported for {kind}: {path}")
    return bad_request(f"field label not supported: {path}")


def _custom_reader(path: str, resource: Resource) -> Reader:
    assert resource.definition is not None
    version = next(v for v in resource.definition["spec"]["versions"] if v["name"] == resource.version)
    if path in {each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()}:
        return _at(path)
    raise bad_request(f"field label not supported: {path}")

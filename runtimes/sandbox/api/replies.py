"""Answers: objects, lists, Tables and metadata in JSON or YAML, as the Accept header asks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from kcl.records import dataclass, field
from runtimes.sandbox.api import yaml_answers
from runtimes.sandbox.errors import ApiError, JsonObject
from runtimes.sandbox.strategies import TEMPLATE_GENERATION

JSON = "application/json"
_FORMATS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_SHAPES = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Representation:
    """The representation: a format, and `shape` "" for the object itself or what it is to be shown as."""

    format: str = JSON
    shape: str = ""
    version: str = "v1"


@dataclass(slots=True)
class Reply:
    status: int
    body: JsonObject
    warnings: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


def _clauses(accept: str) -> list[tuple[str, Mapping[str, str]]]:
    """Media types with parameters, best first."""
    found = []
    for order, clause in enumerate(accept.split(",")):
        type_, *parameters = [part.strip() for part in clause.split(";")]
        pairs = dict(part.split("=", 1) for part in parameters if "=" in part)
        try:
            weight = float(pairs.get("q", "1"))
        except ValueError:
            weight = 1.0
        found.append((-weight, order, type_.lower(), pairs))
    return [(type_, pairs) for _, _, type_, pairs in sorted(found, key=lambda each: each[:2])]


def accept_json_only(accept: str) -> None:
    """Raises 406 for whoever takes no JSON of a page that there is in nothing else."""
    if not any(type_ in (JSON, "application/*", "*/*") for type_, _ in _clauses(accept or "*/*")):
        raise ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {JSON}", {})


def negotiate(accept: str, lists_streams: bool = False, streams: bool = False) -> Representation:
    """Raises 406 if nothing that is accepted can be had. `lists_streams`: the refusal names watch formats too;
    `streams`: it has to be one of these.
    """
    found = _negotiate(accept, lists_streams)
    if streams and found.format != JSON:
        raise ApiError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(_STREAMS)}")
    return found


def _negotiate(accept: str, lists_streams: bool) -> Representation:
    known_type = False
    for type_, parameters in _clauses(accept or "*/*"):
        format_ = JSON if type_ == "*/*" else type_
        if format_ not in _FORMATS[:2]:
            known_type = known_type or format_ in _FORMATS
            continue
        known_type = True
        if parameters.get("charset", "utf-8").lower() != "utf-8" or parameters.get("stream", "watch") != "watch":
            continue
        if not parameters.keys() & {"as", "g", "v"}:
            return Representation(format_)
        shape = parameters.get("as", "")
        if shape in _SHAPES and parameters.get("g") == "meta.k8s.io" and parameters.get("v") in ("v1", "v1beta1"):
            return Representation(format_, shape, parameters["v"])
    if known_type:
        text = f"only the following media types are accepted: {', '.join(_FORMATS)}"
        raise ApiError(406, "NotAcceptable", text)
    shown = ", ".join((*_FORMATS, *_STREAMS) if lists_streams else _FORMATS)
    raise ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {shown}", {})


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


_MOST_OF_WARNINGS, _MOST_OF_WARNING = 4096, 256
"""Characters, of all and of one once they are too many."""


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """Long ones are cut short, and none is sent once many were, as the server does it."""
    headers, written = [], 0
    for text in dict.fromkeys(warnings):
        if written >= _MOST_OF_WARNINGS:
            break
        shown = text if written + len(text) <= _MOST_OF_WARNINGS else text[:_MOST_OF_WARNING]
        written += len(shown)
        headers.append(("Warning", f"299 - {_quoted(shown)}"))
    return headers


def _quoted(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'


def response(reply: Reply, format_: str = JSON) -> web.Response:
    if format_ == "application/yaml":
        content = yaml_answers.written(reply.body)
    else:
        content = encoded(reply.body) + b"\n"
    return written(reply.status, content, format_, reply.headers, reply.warnings)


def written(
    status: int, content: bytes, content_type: str, headers: Mapping[str, str] = {}, warnings: Iterable[str] = ()
) -> web.Response:
    answer = web.Response(status=status, body=content)
    answer.headers["Content-Type"] = content_type
    for name, value in headers.items():
        answer.headers[name] = value
    for name, value in warning_headers(warnings):
        answer.headers.add(name, value)
    return answer


def failure(error: ApiError, warnings: Iterable[str] = (), format_: str = JSON) -> web.Response:
    return response(Reply(error.code, error.status(), list(warnings), error.headers), format_)


def plain_not_found() -> web.Response:
    return text_response(404, "404 page not found\n")


def text_response(status: int, text: str) -> web.Response:
    answer = written(status, text.encode(), "text/plain; charset=utf-8")
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def in_version(body: JsonObject, version: str) -> JsonObject:
    """A Table or metadata, in the version of meta.k8s.io that was asked for."""
    if version == "v1" or not str(body.get("apiVersion", "")).startswith("meta.k8s.io/"):
        return body
    made = {**body, "apiVersion": f"meta.k8s.io/{version}"}
    if made.get("rows"):
        made["rows"] = [
            {**row, "object": in_version(row["object"], version)} if row.get("object") else row for row in made["rows"]
        ]
    if made.get("items"):
        made["items"] = [in_version(item, version) for item in made["items"]]
    return made


def partial_metadata(obj: JsonObject) -> JsonObject:
    """Made of the server's inner objects, where a DaemonSet's count of templates is no annotation."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    if obj.get("kind") == "DaemonSet" and TEMPLATE_GENERATION in annotations:
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        left = {key: value for key, value in annotations.items() if key != TEMPLATE_GENERATION}
        metadata |= {"annotations": left} if left else {}
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}

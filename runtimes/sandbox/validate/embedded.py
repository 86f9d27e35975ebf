"""Objects within custom resources (`x-kubernetes-embedded-resource`): they say what they are, and have metadata."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.pruning import EMBEDDED
from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.causes import Causes, Object


def embedded(causes: Causes, schema: Object, value: Any, path: str = "") -> None:
    """Check all objects that `schema` says are embedded, outer ones first."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            embedded(causes, schema["items"], item, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    if schema.get(EMBEDDED):
        _object(causes, value, path)
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in sorted(value):
        below = properties.get(name, additional if isinstance(additional, dict) else None)
        if isinstance(below, dict):
            embedded(causes, below, value[name], f"{path}.{name}" if path else name)


def _object(causes: Causes, value: Object, path: str) -> None:
    version, kind = value.get("apiVersion"), value.get("kind")
    if version is None:
        causes.required(f"{path}.apiVersion")
    if kind is None:
        causes.required(f"{path}.kind")
    elif kind == "":
        causes.invalid(f"{path}.kind", kind, "must not be empty")
    else:
        for problem in names.label_1035(kind.lower()):
            text = f"may have mixed case, but should otherwise match: {problem}"
            causes.invalid(f"{path}.kind", kind, text)
    if version == "":
        causes.invalid(f"{path}.apiVersion", version, "must not be empty")
    elif version is not None and version.count("/") > 1:
        causes.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    metadata = value.get("metadata") or {}
    if metadata.get("name"):  # a kind that nobody knows here may allow what a path allows
        causes.invalid_each(f"{path}.metadata.name", metadata["name"], names.path_segment(metadata["name"]))
    meta.labels(causes, f"{path}.metadata.labels", metadata.get("labels"))
    meta.annotation_map(causes, f"{path}.metadata.annotations", metadata.get("annotations"))

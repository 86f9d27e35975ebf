"""What a definition says beside names and schemas: conversion, columns, subresources, selectable fields.

The paths of what all versions share are those of the place where the server keeps it: at the spec itself.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from runtimes.sandbox.store import Object
from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.webhook_clients import client_config

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_REVIEWS = ("v1", "v1beta1")


def shared(versions: list[Object], part: str) -> bool:
    """Whether the server keeps this part of the versions once."""
    return bool(versions) and all(version.get(part) == versions[0].get(part) for version in versions)


# --- Groups that are protected --------------------------------------------------------------------------------------


def approved(causes: Causes, definition: Object) -> None:
    group = definition["spec"].get("group") or ""
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return
    value = (definition["metadata"].get("annotations") or {}).get(_APPROVAL)
    where, see = f"metadata.annotations[{_APPROVAL}]", "https://github.com/kubernetes/enhancements/pull/1111"
    if not value:
        text = f'protected groups must have approval annotation "{_APPROVAL}", see {see}'
        causes.required(where, text)
    elif not value.startswith("unapproved") and not urllib.parse.urlsplit(value).netloc:
        text = f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or a reason'
        causes.invalid(where, value, f'{text} starting with "unapproved", see {see}')


# --- Conversion ------------------------------------------------------------------------------------------------------


def conversion(causes: Causes, given: Object | None, *, keeps_all: bool) -> None:
    if given is None:
        return
    if keeps_all and given.get("strategy") == "Webhook":
        text = "must be None if spec.preserveUnknownFields is true"
        causes.invalid("spec.conversion.strategy", "Webhook", text)
    strategy, webhook = given.get("strategy") or "", given.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    at_client, at_reviews = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy == "Webhook":
        if client is None:
            causes.required(at_client, "required when strategy is set to Webhook")
        else:
            client_config(causes, client, at_client)
        _reviews(causes, reviews, at_reviews)
        return
    if not strategy:
        causes.required("spec.conversion.strategy")
    elif strategy != "None":
        causes.not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    for value, where in ((client, at_client), (reviews, at_reviews)):
        if value:
            causes.forbidden(where, "should not be set when strategy is not set to Webhook")


def _reviews(causes: Causes, versions: list[str], path: str) -> None:
    if not versions:
        causes.required(path)
        return
    seen: set[str] = set()
    wrong = False
    for index, version in enumerate(versions):
        problems = ["duplicate version"] if version in seen else names.label_1035(version)
        wrong = wrong or bool(problems)
        causes.invalid_each(f"{path}[{index}]", version, problems)
        seen.add(version)
    if not wrong and not seen & set(_REVIEWS):
        causes.invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")


# --- Versions --------------------------------------------------------------------------------------------------------


def deprecation(causes: Causes, version: Object, path: str) -> None:
    warning, where = version.get("deprecationWarning"), f"{path}.deprecationWarning"
    if warning is None:
        return
    if not version.get("deprecated"):
        causes.invalid(where, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        causes.invalid(where, warning, "must be <= 256 characters long")
    if not warning:
        causes.invalid(where, warning, "must not be an empty string")
    at = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if at is not None:
        text = "must only contain printable UTF-8 characters; non-printable character found at index"
        causes.invalid(where, warning, f"{text} {len(warning[:at].encode())}")


def columns(causes: Causes, given: list[Object], path: str) -> None:
    for index, column in enumerate(given):
        here = f"{path}[{index}]"
        if not column.get("name"):
            causes.required(f"{here}.name")
        kind, form, one_of = column.get("type") or "", column.get("format") or "", "must be one of"
        if not kind:
            causes.required(f"{here}.type", f"{one_of} {','.join(_COLUMN_TYPES)}")
        elif kind not in _COLUMN_TYPES:
            causes.invalid(f"{here}.type", kind, f"{one_of} {','.join(_COLUMN_TYPES)}")
        if form and form not in _COLUMN_FORMATS:
            causes.invalid(f"{here}.format", form, f"{one_of} {','.join(_COLUMN_FORMATS)}")
        where = column.get("jsonPath") or ""
        if not where:
            causes.required(f"{here}.JSONPath")
        else:
            _simple(causes, where, f"{here}.JSONPath")


def _simple(causes: Causes, value: str, path: str) -> bool:
    if value.startswith("."):
        return True
    causes.invalid(path, value, "must be a simple json path starting with .")
    return False


def subresources(causes: Causes, given: Mapping[str, Any] | None, path: str) -> None:
    scale = (given or {}).get("scale")
    if scale is None:
        return
    for field, roots, under in (
        ("specReplicasPath", (".spec",), ".spec"),
        ("statusReplicasPath", (".status",), ".status"),
        ("labelSelectorPath", (".status", ".spec"), "either .spec or .status"),
    ):
        value, where = scale.get(field) or "", f"{path}.scale.{field}"
        if not value:
            if field != "labelSelectorPath":
                causes.required(where)
        elif _simple(causes, value, where) and not value.startswith(tuple(f"{root}." for root in roots)):
            causes.invalid(where, value, f"should be a json path under {under}")


_MOST_SELECTABLE = 8


def selectable(causes: Causes, given: list[Object], schema: Object | None, path: str) -> None:
    seen: set[str] = set()
    for index, each in enumerate(given):
        value, where = each.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not value:
            causes.required(where)
            continue
        problem = _wrong_with_path(value, schema or {})
        if problem:
            causes.invalid(where, value, problem)
        elif value in seen:
            causes.duplicate(where, value)
        else:
            seen.add(value)
    if len(seen) > _MOST_SELECTABLE:
        causes.too_many(path, len(seen), _MOST_SELECTABLE)


def _wrong_with_path(value: str, schema: Object) -> str:
    """What keeps a path from leading to a field that can be selected by; "" if nothing does."""
    invalid = "is an invalid path: "
    if not value.startswith((".", "[")):
        return f"{invalid}expected [ or . but got: {re.split(r'[.[]', value)[0]}"
    if "[" in value:
        return f"{invalid}array notation is not allowed"
    if value.endswith("."):
        return f"{invalid}unexpected end of JSON path"
    found: Any = schema
    for name in value[1:].split("."):
        inner = (found.get("properties") or {}).get(name)
        values = found.get("additionalProperties")
        found = inner if inner is not None else values
        if not isinstance(found, dict):
            return f"{invalid}does not refer to a valid field"
    if found.get("type") not in ("string", "boolean", "integer"):
        text = "must point to a field of type string, boolean or integer."
        return f"{text} Enum string fields and strings with formats are allowed."
    return ""

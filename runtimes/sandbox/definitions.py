"""Which custom resource definitions may be stored: their names, versions, and schemas that are structural.

Rules in CEL (`x-kubernetes-validations`) are compiled with the schema (`cel/`).
"""

from __future__ import annotations

import re

from runtimes.sandbox import definition_parts as parts
from runtimes.sandbox import open_schemas
from runtimes.sandbox.store import Object
from runtimes.sandbox.validate.causes import Cause, Causes

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL.pattern}')"
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)
_HOISTED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def create(definition: Object) -> list[Cause]:
    """Beside what holds for any object's metadata."""
    causes = Causes()
    spec, names = definition["spec"], definition["spec"].get("names") or {}
    required = f"{names.get('plural', '')}.{spec.get('group', '')}"
    name = definition["metadata"].get("name")
    if name and name != required:
        causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    _spec(causes, spec)
    _stored_versions(causes, definition)
    parts.approved(causes, definition)
    return causes


def update(new: Object, old: Object) -> list[Cause]:
    causes = Causes()
    spec, before = new["spec"], old["spec"]
    _spec(causes, spec)
    established = any(
        each["type"] == "Established" and each["status"] == "True"
        for each in (old.get("status") or {}).get("conditions") or ()
    )
    if established:
        causes.immutable("spec.scope", spec.get("scope"), before.get("scope"))
        causes.immutable("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
    causes.immutable("spec.group", spec.get("group"), before.get("group"))
    causes.immutable("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural"))
    _stored_versions(causes, new)
    return causes


def _spec(causes: Causes, spec: Object) -> None:
    _group(causes, spec.get("group") or "")
    if not spec.get("scope"):
        causes.required("spec.scope")
    elif spec["scope"] not in ("Cluster", "Namespaced"):
        causes.not_supported("spec.scope", spec["scope"], ("Cluster", "Namespaced"))
    versions: list[Object] = spec.get("versions") or []
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        if not _LABEL.fullmatch(name):
            causes.invalid(f"spec.versions[{index}].name", name, _LABEL_RULE)
        parts.deprecation(causes, version, f"spec.versions[{index}]")
        _version(causes, versions, version, f"spec.versions[{index}]")
    if len({version.get("name") or "" for version in versions}) != len(versions):
        causes.invalid("spec.versions", _go_versions(versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        causes.invalid("spec.versions", None if spec.get("versions") is None else _go_versions(versions), text)
    if versions and (first := versions[0].get("name")) and not _LABEL.fullmatch(first):
        causes.invalid("spec.version", first, _LABEL_RULE)
    _names(causes, spec.get("names") or {})
    _shared(causes, versions)
    keeps_all = bool(spec.get("preserveUnknownFields"))
    if keeps_all and any(_has_default((each.get("schema") or {}).get("openAPIV3Schema")) for each in versions):
        text = "must be false in order to use defaults in the schema"
        causes.invalid("spec.preserveUnknownFields", True, text)
    parts.conversion(causes, spec.get("conversion"), keeps_all=keeps_all)
    if keeps_all:
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        causes.invalid("spec.preserveUnknownFields", True, text)


def _version(causes: Causes, versions: list[Object], version: Object, path: str) -> None:
    """What the versions do not have in common. What they have, the server keeps once, and looks at later."""
    own = {part: version.get(part) for part in _HOISTED if not parts.shared(versions, part)}
    subresources = versions[0].get("subresources") if parts.shared(versions, "subresources") else own["subresources"]
    _parts_of(causes, own, path, f"{path}.schema.openAPIV3Schema", has_status=_has_status(subresources))


def _shared(causes: Causes, versions: list[Object]) -> None:
    own = {part: versions[0].get(part) for part in _HOISTED if parts.shared(versions, part)}
    has_status = any(_has_status(version.get("subresources")) for version in versions)
    _parts_of(causes, own, "spec", "spec.validation.openAPIV3Schema", has_status=has_status)


def _has_status(subresources: Object | None) -> bool:
    return (subresources or {}).get("status") is not None


def _parts_of(causes: Causes, own: Object, path: str, schema_path: str, *, has_status: bool) -> None:
    schema = (own.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        open_schemas.check(causes, schema, schema_path, has_status=has_status)
    if own.get("subresources") is not None:
        parts.subresources(causes, own["subresources"], f"{path}.subresources")
    parts.columns(causes, own.get("additionalPrinterColumns") or [], f"{path}.additionalPrinterColumns")
    if own.get("selectableFields"):
        parts.selectable(causes, own["selectableFields"], schema, f"{path}.selectableFields")


def _group(causes: Causes, group: str) -> None:
    if not group:
        causes.required("spec.group")
    elif not _SUBDOMAIN.fullmatch(group):
        causes.invalid("spec.group", group, _SUBDOMAIN_RULE)
    elif "." not in group:
        causes.invalid("spec.group", group, "should be a domain with at least one dot")


def _names(causes: Causes, names: Object) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            causes.required(f"spec.names.{field}")
    for field in ("plural", "singular", "kind", "listKind"):
        value, mixed = names.get(field) or "", field in ("kind", "listKind")
        if value and not _LABEL.fullmatch(value.lower() if mixed else value):
            rule = f"may have mixed case, but should otherwise match: {_LABEL_RULE}" if mixed else _LABEL_RULE
            causes.invalid(f"spec.names.{field}", value, rule)
    _short(causes, names, "shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        causes.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    _short(causes, names, "categories")


def _short(causes: Causes, names: Object, field: str) -> None:
    for index, value in enumerate(names.get(field) or ()):
        if not _LABEL.fullmatch(value):
            causes.invalid(f"spec.names.{field}[{index}]", value, _LABEL_RULE)


def _go_versions(versions: list[Object]) -> list[Object]:
    """The versions as messages show them. What they have in common the server keeps elsewhere, so it is null here."""
    return [
        {
            "Name": version.get("name", ""),
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": None,
            "Subresources": None,
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for version in versions
    ]


def _stored_versions(causes: Causes, definition: Object) -> None:
    stored = (definition.get("status") or {}).get("storedVersions") or []
    versions = definition["spec"].get("versions") or []
    if not stored:
        causes.invalid("status.storedVersions", None, "must have at least one stored version")
        return
    left = {name: index for index, name in enumerate(stored)}
    for version in versions:
        name = version.get("name") or ""
        if version.get("storage") and name not in left:
            causes.invalid("status.storedVersions", stored, f"must have the storage version {name}")
        left.pop(name, None)
    for name, index in left.items():
        until = f"until a storage migration ensures no data remains persisted in {name} and removes {name} from"
        text = f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
        causes.invalid(f"status.storedVersions[{index}]", name, f"{text} {until} status.storedVersions")


def _has_default(schema: object) -> bool:
    """Whether there is a default anywhere in it."""
    if isinstance(schema, list):
        return any(map(_has_default, schema))
    if not isinstance(schema, dict):
        return False
    properties = schema.get("properties")
    inner = [*properties.values()] if isinstance(properties, dict) else []
    inner += [each for name, each in schema.items() if name not in ("properties", "default", "enum", "example")]
    return schema.get("default") is not None or any(map(_has_default, inner))

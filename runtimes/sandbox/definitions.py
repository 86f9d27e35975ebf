"""Which custom resource definitions may be stored: their names, versions, and schemas that are structural.

Rules in CEL (`x-kubernetes-validations`) are compiled with the schema (`cel/`).
"""

from __future__ import annotations

import re

from runtimes.sandbox import definition_parts as parts
from runtimes.sandbox import structural
from runtimes.sandbox.store import Object
from runtimes.sandbox.validate.causes import Cause, Causes
from runtimes.sandbox.validate.rules import compile_rules

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
    parts.approved(causes, definition)
    _stored_versions(causes, definition)
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
    seen: set[str] = set()
    unique = True
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        unique = unique and name not in seen
        seen.add(name)
        if not _LABEL.fullmatch(name):
            causes.invalid(f"spec.versions[{index}].name", name, _LABEL_RULE)
        parts.deprecation(causes, version, f"spec.versions[{index}]")
    if not unique:
        causes.invalid("spec.versions", _go_versions(versions), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        causes.invalid(
            "spec.versions", _go_versions(versions), "must have exactly one version marked as storage version"
        )
    if versions and not _LABEL.fullmatch(versions[0].get("name") or ""):
        causes.invalid("spec.version", versions[0].get("name") or "", _LABEL_RULE)
    _names(causes, spec.get("names") or {})
    _schemas(causes, versions)
    _beside_schemas(causes, versions)
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        causes.invalid("spec.preserveUnknownFields", True, text)
    parts.conversion(causes, spec.get("conversion"))


def _beside_schemas(causes: Causes, versions: list[Object]) -> None:
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")

        def place(part: str, index: int = index) -> str | None:
            if parts.shared(versions, part):
                return f"spec.{part}" if index == 0 else None
            return f"spec.versions[{index}].{part}"

        if (path := place("selectableFields")) is not None:
            parts.selectable(causes, version.get("selectableFields") or [], schema, path)
        if (path := place("subresources")) is not None:
            parts.subresources(causes, version.get("subresources"), path)
        if (path := place("additionalPrinterColumns")) is not None:
            parts.columns(causes, version.get("additionalPrinterColumns") or [], path)


def _group(causes: Causes, group: str) -> None:
    if not group:
        causes.required("spec.group")
    elif not _SUBDOMAIN.fullmatch(group):
        causes.invalid("spec.group", group, _SUBDOMAIN_RULE)
    elif "." not in group:
        causes.invalid("spec.group", group, "should be a domain with at least one dot")


def _names(causes: Causes, names: Object) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field) or ""
        if not value:
            causes.required(f"spec.names.{field}")
            continue
        mixed = field in ("kind", "listKind")
        if not _LABEL.fullmatch(value.lower() if mixed else value):
            rule = f"may have mixed case, but should otherwise match: {_LABEL_RULE}" if mixed else _LABEL_RULE
            causes.invalid(f"spec.names.{field}", value, rule)
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            if not _LABEL.fullmatch(value):
                causes.invalid(f"spec.names.{field}[{index}]", value, _LABEL_RULE)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        causes.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


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
    names = {version.get("name") for version in versions}
    storage = [version.get("name") for version in versions if version.get("storage")]
    for index, name in enumerate(stored):
        if name not in names:
            until = f"until a storage migration ensures no data remains persisted in {name} and removes {name} from"
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
            )
            causes.invalid(f"status.storedVersions[{index}]", name, f"{text} {until} status.storedVersions")
    if storage and storage[-1] not in stored:
        causes.invalid("status.storedVersions", stored, f"must have the storage version {storage[-1]}")


# --- Schemas ---


def _schemas(causes: Causes, versions: list[Object]) -> None:
    """A schema that all versions share is named by the place where the server keeps it."""
    shared = len(versions) > 0 and all(version.get(k) == versions[0].get(k) for version in versions for k in _HOISTED)
    for index, version in enumerate(versions[:1] if shared else versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            for at, _ in enumerate(versions) if shared else ((index, None),):
                causes.required(f"spec.versions[{at}].schema.openAPIV3Schema")
            continue
        path = "spec.validation.openAPIV3Schema" if shared else f"spec.versions[{index}].schema.openAPIV3Schema"
        if "status" in (version.get("subresources") or {}) and schema.get("type") not in ("object", None):
            causes.invalid(
                f"{path}.type",
                schema["type"],
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
            )
        structural.check(causes, schema, path)
        if not causes:
            compile_rules(causes, schema, path)

"""`metadata.managedFields`: who owns which fields, read from an object and written back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from kcl.records import dataclass, field
from runtimes.sandbox.apply.fieldset import FieldSet

Object = dict[str, Any]

# Update entries beyond this many are gathered under one name, oldest first.
MAX_UPDATE_ENTRIES = 10
ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """Who owns: `api_version` is "" for appliers, whose entry keeps its identity when they change versions."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def identifier(self) -> str:
        """The text that managers are sorted by in messages."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return json.dumps({name: value for name, value in parts.items() if value}, separators=(",", ":"))

    def text(self) -> str:
        """As a conflict names it."""
        text = json.dumps(self.name, ensure_ascii=False)
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            text += f" using {self.api_version}"
        return text


@dataclass(slots=True)
class Owned:
    """The fields of one manager, as of `api_version`."""

    fields: FieldSet
    api_version: str
    applied: bool


@dataclass(slots=True)
class Managed:
    """All owners of an object, and when each last changed it (no entry: never told)."""

    owners: dict[Manager, Owned] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)

    def copied(self) -> Managed:
        return Managed(dict(self.owners), dict(self.times))

    def set_fields(self, manager: Manager, fields: FieldSet) -> None:
        """Replace a manager's fields; without any it is forgotten."""
        if fields:
            held = self.owners[manager]
            self.owners[manager] = Owned(fields, held.api_version, held.applied)
        else:
            self.owners.pop(manager, None)


def of(manager: str, operation: str, api_version: str, subresource: str) -> Manager:
    return Manager(manager or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def decode(entries: Iterable[Any] | None) -> Managed:
    """Raises ValueError if an entry is not one."""
    managed = Managed()
    for index, entry in enumerate(entries or ()):
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in ("Apply", "Update"):
            raise ValueError("operation must be `Apply` or `Update`")
        if not version:
            raise ValueError("apiVersion must not be empty")
        if entry.get("fieldsType", "") != "FieldsV1":
            raise ValueError(f"invalid fieldsType in managed fields entry {index}")
        name = entry.get("manager", "")
        manager = Manager(name, operation, "" if operation == "Apply" else version, entry.get("subresource", ""))
        fields = FieldSet.decode(entry.get("fieldsV1") or {})
        managed.owners[manager] = Owned(fields, version, operation == "Apply")
        if entry.get("time"):
            managed.times[manager] = entry["time"]
    return managed


def encode(managed: Managed) -> list[Object]:
    """Entries in the server's order: appliers first, then by time, name, version and subresource."""
    entries: list[Object] = []
    for manager, owned in managed.owners.items():
        entry: Object = {"manager": manager.name} if manager.name else {}
        entry |= {"operation": "Apply" if owned.applied else manager.operation, "apiVersion": owned.api_version}
        if manager in managed.times:
            entry["time"] = managed.times[manager]
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": owned.fields.encode()}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    entries.sort(
        key=lambda entry: (
            entry["operation"],
            entry.get("time", ""),
            entry.get("manager", ""),
            entry["apiVersion"],
            entry.get("subresource", ""),
        )
    )
    return entries


def store(obj: Object, managed: Managed) -> None:
    """Write the owners into `obj`; none leaves no managedFields."""
    entries = encode(managed)
    if entries:
        obj.setdefault("metadata", {})["managedFields"] = entries
    else:
        (obj.get("metadata") or {}).pop("managedFields", None)


def gather_oldest(managed: Managed) -> None:
    """Keep the number of Update entries bounded: the oldest of a version are merged under one name."""
    updaters = [manager for manager, owned in managed.owners.items() if not owned.applied]
    count = len(updaters)
    updaters.sort(key=lambda manager: (managed.times.get(manager, ""), manager.identifier()))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if count <= MAX_UPDATE_ENTRIES:
            return
        owned = managed.owners[manager]
        bucket = Manager(ANCIENT, "Update", owned.api_version, "")
        if owned.api_version not in first_of:
            first_of[owned.api_version] = manager
            continue
        if bucket not in managed.owners:
            managed.owners[bucket] = managed.owners.pop(first_of[owned.api_version])
        together = owned.fields.union(managed.owners[bucket].fields)
        managed.owners[bucket] = Owned(together, owned.api_version, owned.applied)
        del managed.owners[manager]
        count -= 1
        if manager in managed.times:
            managed.times[bucket] = managed.times[manager]

"""What terraform tells while it works: lines of JSON, `-json`, of its format 1.2.

https://developer.hashicorp.com/terraform/internals/machine-readable-ui. Lines of a type that is not needed here, or
that a newer version adds, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from runtimes.base.documents import load_json


class Phase(StrEnum):
    STARTED = "apply_start"
    PROGRESS = "apply_progress"
    COMPLETED = "apply_complete"
    ERRORED = "apply_errored"


@dataclass(frozen=True, slots=True)
class ApplyHook:
    """`action` is create, update, delete, read or noop; a replacement tells of a delete and a create. `when` is
    RFC 3339. `id_value` is what the infrastructure calls it, once it is known."""

    phase: Phase
    address: str
    action: str
    when: str
    seconds: float = 0.0
    id_value: str = ""


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A line that a provisioner wrote."""

    address: str
    output: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """`is_drift`: it was found, not planned."""

    address: str
    action: str
    is_drift: bool


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """`content` is the diagnostic as it came, which may quote secrets. `address` is empty where it names none."""

    content: Mapping[str, Any] = field(repr=False)

    @property
    def is_error(self) -> bool:
        return self.content.get("severity") == "error"

    @property
    def summary(self) -> str:
        return str(self.content.get("summary") or "")

    @property
    def address(self) -> str:
        return str(self.content.get("address") or "")


@dataclass(frozen=True, slots=True)
class Summed:
    """The end of an operation that went well: plan, apply or destroy."""

    operation: str


Event = ApplyHook | Provisioned | PlannedChange | Diagnosed | Summed


def parse(line: bytes) -> Event | None:
    """Returns None for a line that tells nothing needed here, or is no event."""
    try:
        content = load_json(line)
    except ValueError:
        return None
    if not isinstance(content, Mapping):
        return None
    hook = _mapping(content.get("hook"))
    match content.get("type"):
        case "apply_start" | "apply_progress" | "apply_complete" | "apply_errored" as phase:
            return ApplyHook(
                Phase(phase),
                _address(hook),
                str(hook.get("action") or ""),
                str(content.get("@timestamp") or ""),
                _seconds(hook.get("elapsed_seconds")),
                str(hook.get("id_value") or ""),
            )
        case "provision_progress":
            return Provisioned(_address(hook), str(hook.get("output") or ""))
        case "planned_change" | "resource_drift" as type_:
            change = _mapping(content.get("change"))
            return PlannedChange(_address(change), str(change.get("action") or ""), type_ == "resource_drift")
        case "diagnostic":
            return Diagnosed(_mapping(content.get("diagnostic")))
        case "change_summary":
            return Summed(str(_mapping(content.get("changes")).get("operation") or ""))
        case _:
            return None


class Follower:
    """Reads a file of events as it grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._rest = path, 0, b""

    @property
    def offset(self) -> int:
        """How much was read, in bytes: grows as long as terraform tells anything, needed here or not."""
        return self._offset

    def read(self) -> Iterator[Event]:
        """Yields what is new; a line that is not whole yet waits for its end. Nothing while there is no file."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
        except FileNotFoundError:
            return
        self._offset += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            if (event := parse(line)) is not None:
                yield event


def read(path: Path) -> tuple[Event, ...]:
    """Returns every event in a file, none where there is no file."""
    return tuple(Follower(path).read())


def _address(content: Mapping[str, Any]) -> str:
    return str(_mapping(content.get("resource")).get("addr") or "")


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

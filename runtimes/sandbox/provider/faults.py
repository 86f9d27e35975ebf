"""What goes wrong in a world because its file says so: waiting, errors, crashes.

Each entry of `faults` may have

    operation          create, read, update, delete or import; a pattern with * and ?; all of them without it
    type, id           patterns too: "sandbox_database", "orders-*"; the id is the name while there is no id yet
    times              how often it happens before it is used up; for ever without it
    latency_seconds    waits so long: half before the change is made, half after
    error              fails with this sentence, and nothing is changed
    attribute          the attribute that the error is about
    crash              "before" or "after": the provider dies before the change is made, or after it and untold

Entries that fit are taken in order: their waits add up, the first error or crash counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from kcl.records import dataclass
from runtimes.sandbox.provider.cloud import CloudBroken, Content

_KEYS: Final = frozenset({"operation", "type", "id", "times", "latency_seconds", "error", "attribute", "crash"})


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one operation. `error` and `attribute` are empty where it does not fail, `crash` where not."""

    latency_seconds: float = 0.0
    error: str = ""
    attribute: str = ""
    crash: str = ""


def strike(content: Content, operation: str, type_: str, id_: str) -> Fault:
    """Returns what happens, and uses up the entries that are counted; raises `CloudBroken` for a wrong entry."""
    latency, error, attribute, crash = 0.0, "", "", ""
    for index, entry in enumerate(content.faults):
        _check(entry, index)
        if not _fits(entry, operation, type_, id_) or entry.get("times", 1) < 1:
            continue
        if error or crash:
            break
        if "times" in entry:
            entry["times"] -= 1
        latency += float(entry.get("latency_seconds", 0))
        error, attribute, crash = entry.get("error", ""), entry.get("attribute", ""), entry.get("crash", "")
    return Fault(latency, error, attribute, crash)


def _fits(entry: Mapping[str, Any], operation: str, type_: str, id_: str) -> bool:
    values = {"operation": operation, "type": type_, "id": id_}
    return all(fnmatchcase(value, entry.get(name, "*")) for name, value in values.items())


def _check(entry: Any, index: int) -> None:
    wrong = _wrong(entry)
    if wrong:
        raise CloudBroken(f"faults[{index}] of the world: {wrong}")


def _wrong(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "an object is expected"
    if unknown := sorted(entry.keys() - _KEYS):
        return f"{unknown[0]} means nothing; there are {', '.join(sorted(_KEYS))}"
    for name in ("operation", "type", "id", "error", "attribute"):
        if not isinstance(entry.get(name, ""), str):
            return f"{name} has to be a text"
    if entry.get("crash", "before") not in ("before", "after"):
        return 'crash has to be "before" or "after"'
    times, latency = entry.get("times", 1), entry.get("latency_seconds", 0)
    if not isinstance(times, int) or isinstance(times, bool):
        return "times has to be a whole number"
    if not isinstance(latency, int | float) or isinstance(latency, bool) or latency < 0:
        return "latency_seconds has to be a number, 0 or more"
    return ""

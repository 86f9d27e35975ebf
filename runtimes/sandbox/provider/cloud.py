"""The world of the practice provider: a JSON file that many processes change at once.

    {
      "serial": 7,                                how often it was changed
      "objects": {"sandbox_bucket": {"invoices": {"name": "invoices", ...}}},       by type, then by id
      "quotas": {"sandbox_database": {"count": 10, "size_gb": 500}},                see `kinds`
      "faults": [{"operation": "create", "type": "sandbox_*", "latency_seconds": 2}],       see `faults`
      "log": [{"serial": 7, "operation": "create", "type": "sandbox_bucket", "id": "invoices"}]
    }

Every key may be missing. Writers hold a lock beside the file and put a whole new file in its place: a reader never sees
half of a change, and a writer that is killed leaves the old file or the new one. A password is kept as salted digest
and length only.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kcl import bounds, whole_file
from kcl.records import dataclass, field

CLOUD_VARIABLE: Final = "KONFIG_PRACTICE_WORLD"
"""Environment variable: the file, where the provider's configuration names none."""

LOG_LENGTH: Final = 2000
_KEYS: Final = frozenset({"serial", "objects", "quotas", "faults", "log"})

Attributes = dict[str, Any]


class CloudBroken(Exception):
    """The file is not one of a world, or can't be read or written. The message says which and why."""


@dataclass(slots=True)
class Content:
    """What the file holds. Mutable: changed inside `Cloud.change`."""

    serial: int = 0
    objects: dict[str, dict[str, Attributes]] = field(default_factory=dict)
    quotas: dict[str, dict[str, float]] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)

    def of(self, type_: str) -> dict[str, Attributes]:
        return self.objects.setdefault(type_, {})

    def note(self, operation: str, type_: str, id_: str) -> None:
        """Adds a line to the log; the oldest fall out."""
        self.log.append({"serial": self.serial + 1, "operation": operation, "type": type_, "id": id_})
        del self.log[:-LOG_LENGTH]


class Cloud:
    """`path` need not exist: it is then an empty world, and the first change makes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def content(self) -> Content:
        """Reads the file; raises `CloudBroken`."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Content()
        except (OSError, UnicodeDecodeError) as error:
            raise CloudBroken(f"{self.path} can't be read: {error}") from error
        return _parsed(text, self.path)

    @contextmanager
    def change(self) -> Iterator[Content]:
        """Yields what the file holds, alone; writes it at the end if it is another then. Raises `CloudBroken`."""
        with self._locked():
            content = self.content()
            before = _written(content)
            yield content
            if _written(content) != before:
                content.serial += 1
                self._replace(_written(content))

    def objects(self, type_: str) -> Mapping[str, Attributes]:
        return self.content().of(type_)

    def _replace(self, text: str) -> None:
        try:
            whole_file.remove_unfinished(self.path.parent, self.path.name)
            # not durable: a practice cloud may end with the machine, and terraform waits for each of its changes
            whole_file.write(self.path, text.encode(), durable=False)
        except OSError as error:
            raise CloudBroken(f"{self.path} can't be written: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CloudBroken(f"{lock} can't be made: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # the lock goes with it


def _written(content: Content) -> str:
    return json.dumps(
        {name: getattr(content, name) for name in ("serial", "objects", "quotas", "faults", "log")}, indent=1
    )


def _parsed(text: str, path: Path) -> Content:
    try:
        document = bounds.load_json(text)
    except ValueError as error:
        raise CloudBroken(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CloudBroken(f"{path} is not the file of a world: an object is expected")
    if unknown := sorted(document.keys() - _KEYS):
        raise CloudBroken(f"{path} has a key that no world has: {unknown[0]}; there are {', '.join(sorted(_KEYS))}")
    content = Content(**document)
    wrong = next((name for name, form in _FORMS.items() if not isinstance(getattr(content, name), form)), None)
    if wrong is not None:
        raise CloudBroken(f"{path}: {wrong} is not of the form of a world's")
    for type_, objects in content.objects.items():
        if not isinstance(objects, dict) or not all(isinstance(each, dict) for each in objects.values()):
            raise CloudBroken(f"{path}: objects.{type_} has to map ids to objects")
    return content


_FORMS: Final[Mapping[str, type]] = {"serial": int, "objects": dict, "quotas": dict, "faults": list, "log": list}

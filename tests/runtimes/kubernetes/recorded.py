"""Timelines recorded from a real control plane, folded to the objects of a moment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from runtimes.kubernetes.objects import Objects

START = datetime(2025, 1, 1, tzinfo=UTC)
FOLDER = (
    Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", Path(__file__).parents[4] / "shared" / "conformance"))
    / "kube-behaviour-1.34"
)
OWN = Path(__file__).parent / "recordings"
_TIME = re.compile(r"T\+(\d+)s")
_CLUSTER_WIDE = frozenset(
    ["Namespace", "Node", "PersistentVolume", "CustomResourceDefinition", "APIService", "ClusterRole"]
)


def files() -> list[Path]:
    """Those of the project, and beside them those of the conformance data where it is there."""
    return sorted(OWN.glob("*/*.yaml")) + sorted(FOLDER.glob("*/*.yaml"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}" + (" of the project" if path.is_relative_to(OWN) else "")


@lru_cache(maxsize=8)
def scenario(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)
    return data


@dataclass
class Moment:
    """The state after some entries of a timeline."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def feed(self, entry: dict[str, Any]) -> None:
        live = _dated(entry["object"])
        if entry["kind"] == "Event":
            about = live.get("involvedObject") or {}
            about.setdefault("namespace", "" if about.get("kind") in _CLUSTER_WIDE else "demo")
            self.events.append(live)
        elif entry["type"] == "DELETED":
            self.objects.pop((entry["kind"], entry["name"]), None)
        else:
            self.objects[entry["kind"], entry["name"]] = live

    def indexed(self) -> Objects:
        return Objects(self.objects.values(), self.events)

    def get(self, ref: str) -> dict[str, Any] | None:
        kind, _, name = ref.partition("/")
        return self.objects.get((kind, name))


def moment(data: dict[str, Any], n: int) -> Moment:
    state = Moment()
    for entry in data["timeline"]:
        if entry["n"] <= n:
            state.feed(entry)
    return state


def at(after_ms: float) -> datetime:
    return START + timedelta(milliseconds=after_ms)


def labels() -> Iterator[tuple[Path, int]]:
    for path in files():
        for index, _ in enumerate(scenario(path)["labels"]):
            yield path, index


def _dated(value: Any) -> Any:
    match value:
        case dict():
            return {key: _dated(below) for key, below in value.items()}
        case list():
            return [_dated(below) for below in value]
        case str() if found := _TIME.fullmatch(value):
            return (START + timedelta(seconds=int(found[1]))).isoformat().replace("+00:00", "Z")
    return value

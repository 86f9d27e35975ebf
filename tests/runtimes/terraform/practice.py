"""A workspace to try things in: the real terraform, the practice provider and a world of its own."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    LiveResource,
    PlannedAction,
    Report,
    Resource,
    ResourceId,
    RuntimeType,
    TerraformId,
    WorkspacePlan,
    WorkspacePlanRequest,
)
from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud
from runtimes.terraform.folder import Folder
from runtimes.terraform.runtime import TerraformRuntime

TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
needs_terraform = pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH")

PROVIDER = "workbench.local/sandbox/sandbox/0.1.0"
PASSWORD = "canary-0123456789"


def resource(kind: str, name: str, *, extensions: Mapping[str, Any] | None = None, **attributes: Any) -> Resource:
    id_ = TerraformId("sandbox", "sandbox", f"sandbox_{kind}", name)
    said = {"provider": PROVIDER, "resourceType": id_.resource_type, **(extensions or {})}
    return Resource(id_, RuntimeType.TERRAFORM, {"name": name, **attributes}, extensions=said)


def bucket(name: str, **attributes: Any) -> Resource:
    return resource("bucket", name, **attributes)


def network(name: str, **attributes: Any) -> Resource:
    return resource("network", name, **{"cidr": "10.0.0.0/16", "region": "east", **attributes})


def database(name: str, network_name: str, **attributes: Any) -> Resource:
    said = {
        "engine": "postgres",
        "size_gb": 20,
        "network_id": f"$kusion_path.sandbox:sandbox:sandbox_network:{network_name}.id",
        "username": "shop",
        "password": PASSWORD,
    }
    return resource("database", name, **{**said, **attributes})


def record(name: str, **attributes: Any) -> Resource:
    return resource("dns_record", name, **{"zone": "shop.example", "type": "A", "values": ["10.0.0.1"], **attributes})


def anything(_: WorkspacePlan) -> None:
    """Accepts every plan."""


@dataclass(frozen=True, slots=True)
class Place:
    """`settings` connect another runtime to the same folder."""

    runtime: TerraformRuntime
    world: Cloud
    folder: Folder
    settings: Mapping[str, Any]

    def another(self, **settings: Any) -> TerraformRuntime:
        return TerraformRuntime.connect(**{**self.settings, **settings})

    async def plan(self, *resources: Resource, **request: Any) -> WorkspacePlan:
        return await self.runtime.survey(WorkspacePlanRequest(resources, **request))

    async def apply(
        self, *resources: Resource, **request: Any
    ) -> tuple[list[Report], Mapping[ResourceId, LiveResource]]:
        """Applies, whatever the plan says, and returns what was told and what is known then."""
        async with self.runtime.apply_all(WorkspacePlanRequest(resources, **request), anything) as run:
            reports = [report async for report in run]
            return reports, await run.outcome()

    def recorded(self) -> set[str]:
        """Returns the addresses in the state file."""
        if not self.folder.state.exists():
            return set()
        document = json.loads(self.folder.state.read_bytes())
        return {f"{each['type']}.{each['name']}" for each in document["resources"] if each["instances"]}

    def order(self, *faults: Mapping[str, Any]) -> None:
        """Sets what goes wrong in the world from now on."""
        with self.world.change() as content:
            content.faults = [dict(each) for each in faults]

    def has(self, kind: str) -> set[str]:
        """Returns the names of what is in the world."""
        return {str(each["name"]) for each in self.world.objects(f"sandbox_{kind}").values()}


def actions(plan: WorkspacePlan) -> dict[str, PlannedAction]:
    """Returns the planned action by the name of the resource."""
    return {each.id.name: each.action for each in plan.resources if isinstance(each.id, TerraformId)}


def place(root: Path, mirror: Path) -> Place:
    world = Cloud(root / "world.json")
    settings: dict[str, Any] = {
        "folder": root / "folder",
        "mirrors": (mirror,),
        "environment": {CLOUD_VARIABLE: str(world.path)},
        "lock_timeout_seconds": 2.0,
    }
    return Place(TerraformRuntime.connect(**settings), world, Folder(root / "folder"), settings)


def lay_initialised(done: Path, folder: Path) -> None:
    """Makes a folder one that Terraform was initialised in, as another was; initialising takes half of a short test."""
    folder.mkdir(parents=True)
    shutil.copytree(done / ".terraform", folder / ".terraform", symlinks=True)
    for name in (".terraform.lock.hcl", "cli.tfrc", "initialised.json", "schemas.json"):
        shutil.copy2(done / name, folder / name)


async def until(happened: Callable[[], object], what: str = "it", seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"{what} did not happen"
        await asyncio.sleep(0.01)


def texts_in(folder: Path, needles: Iterable[str], *, but: Iterable[str] = ()) -> list[str]:
    """Returns which files below a folder hold one of the texts, apart from those of the names in `but`."""
    excluded = set(but)
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in excluded
        for content in [path.read_bytes()]
        if any(needle.encode() in content for needle in needles)
    ]

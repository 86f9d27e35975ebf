"""A plan that finds nothing to do, of 50 Terraform resources: ours beside `terraform plan` in the same folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtimes.base import PlannedAction, Resource, RuntimeType, TerraformId, WorkspacePlanRequest
from runtimes.sandbox.provider import CLOUD_VARIABLE, SOURCE, VERSION
from runtimes.sandbox.provider.mirror import install
from runtimes.terraform.runtime import TerraformRuntime
from tests.benchmarks.measuring import AtMost, Group, Planned, Variant


def resources() -> tuple[Resource, ...]:
    """Returns 5 networks, 15 databases in them, 15 buckets and 15 records of the databases."""
    found: list[Resource] = []

    def add(kind: str, name: str, **attributes: object) -> str:
        id_ = TerraformId("sandbox", "sandbox", f"sandbox_{kind}", name)
        extensions = {"provider": f"{SOURCE}/{VERSION}", "resourceType": f"sandbox_{kind}"}
        found.append(Resource(id_, RuntimeType.TERRAFORM, {"name": name, **attributes}, extensions=extensions))
        return f"$kusion_path.{id_}"

    networks = [add("network", f"network-{i}", cidr=f"10.{i}.0.0/16", region="east") for i in range(5)]
    for i in range(15):
        body = {"engine": "postgres", "size_gb": 20, "username": "shop", "password": f"not-a-secret-{i:04}"}
        database = add("database", f"database-{i}", network_id=f"{networks[i % 5]}.id", **body)
        add("bucket", f"bucket-{i}", versioning=True, tags={"owner": "bench"})
        add("dns_record", f"record-{i}", zone="bench.example", type="CNAME", values=[f"{database}.address"])
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Bench:
    """`ours` and `peers` plan once. `calls` gives the arguments of every terraform started since it was last asked."""

    ours: Callable[[], object]
    peers: Callable[[], object]
    folder: Path
    calls: Callable[[], list[list[str]]]


_NOTING = """#!/bin/sh
echo "$*" >> {calls}
env | grep '^TF_VAR_' > {variables}
exec {terraform} "$@"
"""


@contextmanager
def bench(home: Path, terraform: str) -> Iterator[Bench]:
    """Applies them, and yields the two plans. Raises `RuntimeFailure` where the practice provider can't run.

    terraform is started by a script, for both alike, that notes its arguments and its variables: the configuration
    holds no secret, so whoever plans in the folder has to give them.
    """
    home.mkdir(parents=True, exist_ok=True)
    install(home / "mirror")
    folder, calls, variables = home / "folder", home / "calls", home / "variables"
    binary = home / "terraform"
    binary.write_text(_NOTING.format(calls=calls, variables=variables, terraform=terraform))
    binary.chmod(0o755)
    world = {CLOUD_VARIABLE: str(home / "world.json")}
    settings: dict[str, Any] = {
        "folder": folder,
        "binary": str(binary),
        "mirrors": (home / "mirror",),
        "environment": world,
    }
    request = WorkspacePlanRequest(resources())

    async def apply() -> None:
        runtime = TerraformRuntime.connect(**settings)
        async with runtime.apply_all(request, lambda _: None) as run:
            async for _ in run:
                pass
            await run.outcome()

    def ours() -> None:
        plan = asyncio.run(TerraformRuntime.connect(**settings).survey(request))
        assert [each.action for each in plan.resources] == [PlannedAction.NONE] * 50 and not plan.findings

    asyncio.run(apply())
    ours()
    passed = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    needed = dict(line.split("=", 1) for line in variables.read_text().splitlines())
    environment = {
        **passed,
        **world,
        **needed,
        "TF_CLI_CONFIG_FILE": str(folder / "cli.tfrc"),
        "CHECKPOINT_DISABLE": "1",
    }

    def peers() -> None:
        command = [str(binary), f"-chdir={folder}", "plan", "-input=false", "-no-color", "-detailed-exitcode"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)

    def told() -> list[list[str]]:
        found = [line.split() for line in calls.read_text().splitlines()]
        calls.write_text("")
        return found

    told()
    yield Bench(ours, peers, folder, told)


def rows(home: Path) -> tuple[Planned, ...]:
    """The row of the table; none where there is no terraform. What it needs lies in `home`."""
    terraform = shutil.which("terraform") or shutil.which("tofu")
    if terraform is None:
        return ()

    def make() -> Group:
        with bench(home, terraform) as made:
            return Group((Variant(AtMost(1.2), made.ours),), made.peers)

    return (Planned(("a plan without changes of 50 Terraform resources, beside terraform plan",), make),)

"""What the scenarios with Terraform share: the stack `orders/dev`, its world and its cluster, and `wb` as a process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtimes.base import Address, TerraformId
from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud
from runtimes.sandbox.server import Sandbox
from runtimes.terraform.folder import Folder
from tests.runtimes.terraform.practice import lay_initialised
from tests.scenarios import in_process
from tests.workbench.cli.command import Ended
from workbench.engine.changes import Change
from workbench.engine.events import ApplyFinished, Event, Outcome
from workbench.engine.plan import Plan
from workbench.project import Stack, StackPath
from workbench.release.store import ReleaseStore
from workbench.session import Session
from workbench.settings import Settings

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
STACK = "orders/dev"
NAMESPACE = "orders-dev"
PASSWORD = "orchard-development-orders-password"
HANGZHOU = 0
PATIENCE_SECONDS = 180.0

IN_TERRAFORM = frozenset(
    TerraformId("sandbox", "sandbox", f"sandbox_{kind}", name)
    for kind, name in (
        ("network", "orders"),
        ("database", "orders"),
        ("database", "reports"),
        ("bucket", "invoices"),
        ("dns_record", "orders-public"),
        ("dns_record", "reports-database"),
    )
)
IN_KUBERNETES = frozenset(
    (
        ("namespaces", "", NAMESPACE),
        ("serviceaccounts", NAMESPACE, "orders-api"),
        ("configmaps", NAMESPACE, "orders-api-config"),
        ("secrets", NAMESPACE, "orders-api-secrets"),
        ("services", NAMESPACE, "orders-api"),
        ("services", NAMESPACE, "orders-database"),
        ("deployments.apps", NAMESPACE, "orders-api"),
        ("ingresses.networking.k8s.io", NAMESPACE, "orders-api"),
    )
)


def in_terraform(kind: str, name: str) -> Address:
    return Address("terraform", TerraformId("sandbox", "sandbox", f"sandbox_{kind}", name))


@dataclass
class Orders:
    """`root` is a copy of the sample repository that a scenario may edit; `home` holds all that is written."""

    root: Path
    home: Path
    mirror: Path
    sandbox: Sandbox
    cache: Path
    world_path: Path | None = None
    opened: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sandbox.write_kubeconfig(self.kubeconfig)

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def state_dir(self) -> Path:
        return self.home / "state"

    @property
    def world(self) -> Cloud:
        return Cloud(self.world_path or self.home / "world.json")

    @property
    def folder(self) -> Folder:
        """The working folder of the stack; there is one once it was planned."""
        (found,) = (each.parent for each in self.state_dir.glob("terraform/**/orders/dev/main.tf.json"))
        return Folder(found)

    @property
    def has_folder(self) -> bool:
        return any(self.state_dir.glob("terraform/**/orders/dev/main.tf.json"))

    def initialise(self, done: Path) -> None:
        """Makes the folder of the stack one that Terraform was initialised in, as another was for the same cache."""
        lay_initialised(done, ReleaseStore(self.state_dir, self.root).workspace_folder(StackPath.parse(STACK)))

    # Through the library

    def session(self, **settings: Any) -> Session:
        found = Settings(
            self.state_dir,
            self.cache,
            **{
                "kubeconfig": str(self.kubeconfig),
                "user": "ann",
                "host": socket.gethostname(),
                "terraform_mirrors": (self.mirror,),
                "terraform_environment": {CLOUD_VARIABLE: str(self.world.path)},
                **settings,
            },
        )
        self.opened.append(Session.open(self.root, settings=found))
        return self.opened[-1]

    async def close(self) -> None:
        for each in self.opened:
            await each.__aexit__(None, None, None)
        self.opened.clear()

    # Through the command line

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WB_", "TF_", "KUBECONFIG"))}
        return {
            **kept,
            "WB_STATE_DIR": str(self.state_dir),
            "WB_CACHE_DIR": str(self.cache),
            "WB_TERRAFORM_MIRROR": str(self.mirror),
            CLOUD_VARIABLE: str(self.world.path),
            "KUBECONFIG": str(self.kubeconfig),
            "USER": "ann",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
            **more,
        }

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "workbench",
            *arguments,
            cwd=self.root,
            env=self.environment(PYTHONPATH=str(SAMPLE.parent), **environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def wb(self, *arguments: str, **environment: str) -> Ended:
        return await in_process.wb(*arguments, folder=self.root, environment=self.environment(**environment))

    # What is there

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / "storefront/orders" / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file} says {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new))

    def place(self, file: str, text: str) -> str:
        """Returns `file:line` of the only line of the project that holds the text."""
        lines = (self.root / "storefront/orders" / file).read_text().splitlines()
        (number,) = [index for index, line in enumerate(lines, 1) if text in line]
        return f"storefront/orders/{file}:{number}"

    def order(self, *faults: Mapping[str, Any]) -> None:
        """Sets what goes wrong in the world from now on."""
        with self.world.change() as content:
            content.faults = [dict(each) for each in faults]

    def existing(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """Returns what the world has of a kind, by id."""
        return self.world.objects(f"sandbox_{kind}")

    def one(self, kind: str, name: str) -> Mapping[str, Any]:
        (found,) = [each for each in self.existing(kind).values() if each["name"] == name]
        return found

    def live(self, resource: str, namespace: str, name: str) -> Any:
        return self.sandbox.clusters[HANGZHOU].get(resource, namespace, name)

    def absent(self) -> set[tuple[str, str, str]]:
        """Returns which of the stack's Kubernetes objects are not in the cluster."""
        find = self.sandbox.clusters[HANGZHOU].find
        return {each for each in IN_KUBERNETES if find(*each) is None}

    def recorded(self) -> set[str]:
        """Returns the addresses in Terraform's state."""
        try:
            document = json.loads(self.folder.state.read_bytes())
        except (ValueError, FileNotFoundError):
            return set()
        return {f"{each['type']}.{each['name']}" for each in document["resources"] if each["instances"]}

    def counts(self) -> dict[str, int]:
        """Returns how many objects of each type the world has."""
        return {type_: len(objects) for type_, objects in self.world.content().objects.items() if objects}


ALL_THERE = {"sandbox_network": 1, "sandbox_database": 2, "sandbox_bucket": 1, "sandbox_dns_record": 2}


async def ended(process: asyncio.subprocess.Process) -> Ended:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def apply(session: Session, plan: Plan) -> list[Event]:
    async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
        return [each async for each in events]


async def release(session: Session, stack: Stack) -> Plan:
    """Plans and applies; everything has to succeed."""
    plan = await session.plan(stack)
    assert not plan.is_refused, [*plan.problems, *plan.guards]
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end
    return plan


def change(plan: Plan, address: Address) -> Change:
    (found,) = [each for each in plan.changes if each.address == address]
    return found


def in_place(changes: Sequence[Change], place: str) -> list[Change]:
    return [each for each in changes if each.address.cluster == place]

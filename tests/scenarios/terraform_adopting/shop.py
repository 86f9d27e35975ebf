"""A small stack of Terraform resources only, `shop/dev`, whose KCL a scenario writes line by line."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtimes.base import Address, TerraformId
from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud
from runtimes.terraform.folder import Folder
from tests.scenarios import in_process
from tests.workbench.cli.command import Ended
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings

HERE = Path(__file__).parents[3]
STACK = "shop/dev"
FILE = "shop/dev/main.k"
PASSWORD = "canary-4711-password"
OTHER_PASSWORD = "canary-0815-password"

SCHEMAS = """\
import manifests

schema Resource:
    id: str
    $type: str = "Terraform"
    attributes: {str:any}
    extensions: {str:any}
    dependsOn?: [str]

_provider = {provider = "workbench.local/sandbox/sandbox/0.1.0"}

_resource = lambda kind: str, name: str, attributes: {str:any}, extensions: {str:any} {
    Resource {
        id = "sandbox:sandbox:sandbox_${kind}:${name}"
        attributes = {name = name} | attributes
        extensions = _provider | extensions
    }
}
"""

NETWORK = """\
network = _resource("network", "shop", {
    cidr = "10.0.0.0/16"
    region = "east"
}, {})
"""


def database(*lines: str, name: str = "orders", extensions: str = "{}", password: str = PASSWORD) -> str:
    more = "".join(f"    {each}\n" for each in lines)
    return f"""\
{name.replace("-", "_")} = _resource("database", "{name}", {{
    engine = "postgres"
    size_gb = 20
    network_id = "$kusion_path.sandbox:sandbox:sandbox_network:shop.id"
    username = "shop"
    password = "{password}"
{more}}}, {extensions})
"""


def bucket(*lines: str, name: str = "files", extensions: str = "{}") -> str:
    more = "".join(f"    {each}\n" for each in lines)
    return f"""\
{name.replace("-", "_")} = _resource("bucket", "{name}", {{
{more}}}, {extensions})
"""


def at(kind: str, name: str) -> Address:
    return Address("terraform", TerraformId("sandbox", "sandbox", f"sandbox_{kind}", name))


@dataclass
class Shop:
    root: Path
    home: Path
    mirror: Path
    cache: Path
    opened: list[Session] = field(default_factory=list)
    kubeconfig: Path | None = None

    def __post_init__(self) -> None:
        stack = self.root / "shop" / "dev"
        stack.mkdir(parents=True)
        (self.root / "kcl.mod").write_text('[package]\nname = "shop"\nversion = "1.0.0"\n')
        (self.root / "shop" / "project.yaml").write_text("name: shop\n")
        (stack / "stack.yaml").write_text("name: dev\n")

    def write(self, *parts: str, file: str = FILE) -> None:
        """Makes the parts, each of which assigns one resource, the configuration."""
        names = [part.partition(" =")[0] for part in parts]
        ending = f"manifests.yaml_stream([{', '.join(names)}])\n"
        (self.root / file).write_text("\n".join((SCHEMAS, *parts, ending)))

    def place(self, text: str, file: str = FILE) -> str:
        """Returns `file:line` of the only line that holds the text."""
        lines = (self.root / file).read_text().splitlines()
        (number,) = [index for index, line in enumerate(lines, 1) if text in line]
        return f"{file}:{number}"

    def say(self, text: str, file: str = "stack.yaml") -> None:
        """Replaces stack.yaml, or another file of the stack."""
        (self.root / "shop" / "dev" / file).write_text(text)

    # Through the library

    def session(self, **settings: Any) -> Session:
        found = Settings(
            self.home / "state",
            self.cache,
            **{
                "kubeconfig": str(self.kubeconfig or self.home / "none"),
                "user": "ann",
                "host": socket.gethostname(),
                "terraform_mirrors": (self.mirror,),
                "terraform_environment": {CLOUD_VARIABLE: str(self.world.path)},
                **settings,
            },
        )
        self.opened.append(Session.open(self.root, settings=found))
        return self.opened[-1]

    def select(self, **settings: Any) -> tuple[Session, Stack]:
        session = self.session(**settings)
        return session, session.select(STACK)

    async def close(self) -> None:
        for each in self.opened:
            await each.__aexit__(None, None, None)
        self.opened.clear()

    # Through the command line

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WB_", "TF_", "KUBECONFIG"))}
        return {
            **kept,
            "WB_STATE_DIR": str(self.home / "state"),
            "WB_CACHE_DIR": str(self.cache),
            "WB_TERRAFORM_MIRROR": str(self.mirror),
            CLOUD_VARIABLE: str(self.world.path),
            "KUBECONFIG": str(self.kubeconfig or self.home / "none"),
            "USER": "ann",
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(HERE),
            **more,
        }

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "workbench",
            *arguments,
            cwd=self.root,
            env=self.environment(**environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def wb(self, *arguments: str, **environment: str) -> Ended:
        return await in_process.wb(*arguments, folder=self.root, environment=self.environment(**environment))

    # What is there

    @property
    def world(self) -> Cloud:
        return Cloud(self.home / "world.json")

    @property
    def folder(self) -> Folder:
        (found,) = (each.parent for each in (self.home / "state").glob("terraform/**/shop/dev/main.tf.json"))
        return Folder(found)

    def recorded(self) -> set[str]:
        document = json.loads(self.folder.state.read_bytes())
        return {f"{each['type']}.{each['name']}" for each in document["resources"] if each["instances"]}

    def existing(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        return self.world.objects(f"sandbox_{kind}")

    def done(self) -> list[tuple[str, str]]:
        """Returns what was done in the world: operation and id, reading left out."""
        return [(each["operation"], each["id"]) for each in self.world.content().log if each["operation"] != "read"]

    def put(self, kind: str, id_: str, **attributes: Any) -> None:
        """Makes an object, or changes one, behind terraform's back."""
        with self.world.change() as content:
            content.of(f"sandbox_{kind}").setdefault(id_, {}).update(attributes)

"""A folder with a configuration for the practice provider, and the real terraform (or tofu) to run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.provider import SOURCE, WORLD_VARIABLE, World
from runtimes.sandbox.provider.mirror import install, missing

NOWHERE = "http://127.0.0.1:9"
"""A proxy that nothing listens at: whoever tries the network fails."""

NETWORK: dict[str, Any] = {"name": "main", "cidr": "10.0.0.0/16", "region": "east"}
DATABASE: dict[str, Any] = {
    "name": "orders",
    "engine": "postgres",
    "size_gb": 20,
    "network_id": "${sandbox_network.main.id}",
    "username": "orders",
    "password": "not-a-real-password-1",
}
BUCKET: dict[str, Any] = {"name": "invoices", "tags": {"owner": "ann"}}
RECORD: dict[str, Any] = {
    "zone": "orchard.example",
    "name": "db",
    "type": "CNAME",
    "values": ["${sandbox_database.main.address}"],
}


def everything(**changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns one resource of each type, called main, with changed attributes by type without its prefix."""
    bodies: dict[str, dict[str, Any]] = {
        "network": NETWORK,
        "database": DATABASE,
        "bucket": BUCKET,
        "dns_record": RECORD,
    }
    return {f"sandbox_{name}": {"main": {**body, **changes.get(name, {})}} for name, body in bodies.items()}


@dataclass
class Ran:
    """`events` are the JSON lines that terraform wrote."""

    code: int
    events: list[dict[str, Any]]

    def of(self, type_: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["type"] == type_]

    @property
    def actions(self) -> dict[str, str]:
        changes = (each["change"] for each in self.of("planned_change"))
        return {each["resource"]["addr"]: each["action"] for each in changes}

    @property
    def errors(self) -> list[dict[str, Any]]:
        found = (each["diagnostic"] for each in self.of("diagnostic"))
        return [each for each in found if each["severity"] == "error"]


@dataclass
class Folder:
    program: str
    path: Path
    mirror: Path
    world: World
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, resources: dict[str, dict[str, Any]], **more: Any) -> None:
        required = {"required_providers": {"sandbox": {"source": SOURCE}}}
        document = {"terraform": required, "provider": {"sandbox": {}}, "resource": resources, **more}
        (self.path / "main.tf.json").write_text(json.dumps({key: each for key, each in document.items() if each}))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *arguments],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> Ran:
        with self.start(*arguments, "-json", "-no-color") as process:
            said, _ = process.communicate(timeout=120)
        return Ran(process.returncode, [json.loads(line) for line in said.splitlines() if line.startswith("{")])

    def said(self, *arguments: str) -> str:
        with self.start(*arguments, "-no-color") as process:
            said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        return said

    def plan(self) -> Ran:
        return self.run("plan", "-input=false")

    def apply(self) -> Ran:
        return self.run("apply", "-auto-approve", "-input=false")

    def state(self) -> dict[str, dict[str, Any]]:
        """Returns the attributes by address."""
        shown = json.loads(self.said("show", "-json"))
        resources = shown.get("values", {}).get("root_module", {}).get("resources", [])
        return {each["address"]: each["values"] for each in resources}


@pytest.fixture(scope="session")
def program() -> str:
    found = shutil.which("terraform") or shutil.which("tofu")
    if found is None:
        pytest.skip("neither terraform nor tofu is on the PATH")
    if absent := missing():
        pytest.skip(f"the practice provider can't run: no module {', '.join(absent)}")
    return found


@pytest.fixture(scope="session")
def mirror(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    install(folder)
    return folder


@pytest.fixture
def folder(program: str, mirror: Path, tmp_path: Path) -> Folder:
    """Initialised, without a network."""
    path = tmp_path / "stack"
    path.mkdir()
    config = tmp_path / "cli.tfrc"
    config.write_text(
        f"provider_installation {{\n  filesystem_mirror {{\n    path = {json.dumps(str(mirror))}\n  }}\n}}\n"
    )
    world = World(tmp_path / "world.json")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    ours = {"TF_CLI_CONFIG_FILE": str(config), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    made = Folder(program, path, mirror, world, {**kept, **proxies, **ours, WORLD_VARIABLE: str(world.path)})
    made.write({})
    made.said("init", "-input=false")
    return made

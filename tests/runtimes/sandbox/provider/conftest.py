"""A folder with a configuration for the practice provider, and the real terraform (or tofu) to run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.provider import CLOUD_VARIABLE, SOURCE, Cloud
from runtimes.sandbox.provider.mirror import install, missing
from tests.runtimes.terraform.forked import forking

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
    world: Cloud
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


@dataclass(frozen=True)
class Initialised:
    """A folder after `terraform init`, without a network, for the mirror that its providers are from."""

    program: str
    path: Path
    mirror: Path
    config: Path

    def laid(self, root: Path) -> Folder:
        """Returns a folder below `root` as this one is, with a world of its own: initialising takes half of a test."""
        path = root / "stack"
        shutil.copytree(self.path, path, symlinks=True)
        return self._folder(path, Cloud(root / "world.json"))

    def made(self) -> Initialised:
        self.config.write_text(
            f"provider_installation {{\n  filesystem_mirror {{\n    path = {json.dumps(str(self.mirror))}\n  }}\n}}\n"
        )
        folder = self._folder(self.path, Cloud(self.path.parent / "world.json"))
        folder.write({})
        folder.said("init", "-input=false")
        return self

    def _folder(self, path: Path, world: Cloud) -> Folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
        ours = {"TF_CLI_CONFIG_FILE": str(self.config), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
        environment = {**kept, **proxies, **ours, CLOUD_VARIABLE: str(world.path)}
        return Folder(self.program, path, self.mirror, world, environment)


def _initialised(program: str, root: Path, mirror: Path) -> Initialised:
    path = root / "initialised"
    path.mkdir()
    return Initialised(program, path, mirror, root / "cli.tfrc").made()


@pytest.fixture(scope="session")
def initialised(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Initialised]:
    mirror = tmp_path_factory.mktemp("mirror")
    with forking(mirror):
        yield _initialised(program, tmp_path_factory.mktemp("forked"), mirror)


@pytest.fixture(scope="session")
def initialised_as_installed(program: str, tmp_path_factory: pytest.TempPathFactory) -> Initialised:
    mirror = tmp_path_factory.mktemp("installed-mirror")
    install(mirror)
    return _initialised(program, tmp_path_factory.mktemp("installed"), mirror)


@pytest.fixture
def folder(initialised: Initialised, tmp_path: Path) -> Folder:
    """Initialised, without a network. The provider is forked from a process that has imported it."""
    return initialised.laid(tmp_path)


@pytest.fixture
def installed(initialised_as_installed: Initialised, tmp_path: Path) -> Folder:
    """The same with the provider as it is installed, for what its process is asked."""
    return initialised_as_installed.laid(tmp_path)

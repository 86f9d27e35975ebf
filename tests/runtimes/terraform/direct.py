"""The real terraform with nothing of ours around it: what the pure parts are held against."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Resource, RuntimeType, TerraformId, WorkspacePlan
from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud
from runtimes.terraform import configuration, plan, schema, state
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import NewState, PriorState
from tests.runtimes.terraform.practice import TERRAFORM


def data(name: str, *, extensions: Mapping[str, Any] | None = None, **attributes: Any) -> Resource:
    """A resource of terraform's own type, which needs no provider."""
    id_ = TerraformId("builtin", "terraform", "terraform_data", name)
    return Resource(id_, RuntimeType.TERRAFORM, attributes, extensions=extensions or {})


@dataclass(frozen=True, slots=True)
class Direct:
    folder: Path
    world: Cloud

    def write(self, *resources: Resource, **options: Any) -> Configuration:
        """Writes a configuration and initialises for it where its digest says that it is needed."""
        written = configuration.build(resources, state=self.state(), **options)
        (self.folder / "main.tf.json").write_text(written.text)
        stamp = self.folder / "stamp"
        if not stamp.exists() or stamp.read_text() != written.provider_digest:
            self.run("init", "-input=false", configuration=written)
            stamp.write_text(written.provider_digest)
        return written

    def plan(self, *resources: Resource, only: Iterable[TerraformId] | None = None, **options: Any) -> WorkspacePlan:
        """Plans, and leaves the plan for `apply`."""
        schemas: Schemas | None = options.get("schemas")
        recorded = self.state()
        written = self.write(*resources, **options)
        shown = self.shown(written, only=only)
        return plan.read(shown, written, schemas=schemas, recorded=recorded)

    def shown(self, written: Configuration, only: Iterable[TerraformId] | None = None) -> dict[str, Any]:
        targets = [f"-target={address}" for address in written.targets(only)] if only is not None else []
        self.run("plan", "-input=false", "-out=plan", *targets, configuration=written)
        document: dict[str, Any] = json.loads(self.run("show", "-json", "plan", configuration=written))
        return document

    def apply(self, *resources: Resource, **options: Any) -> NewState:
        written = self.write(*resources, **options)
        self.run("apply", "-input=false", "-auto-approve", configuration=written)
        return state.read_new((self.folder / "terraform.tfstate").read_bytes())

    def diagnostics(self, written: Configuration, command: str = "plan") -> list[dict[str, Any]]:
        options = ["-auto-approve"] if command == "apply" else []
        said = self.run(command, "-input=false", "-json", *options, configuration=written, fails=True)
        events = [json.loads(line) for line in said.splitlines()]
        return [event["diagnostic"] for event in events if event["type"] == "diagnostic"]

    def schemas(self, written: Configuration) -> Schemas:
        return schema.read(self.run("providers", "schema", "-json", configuration=written))

    def state(self) -> PriorState:
        path = self.folder / "terraform.tfstate"
        return state.read_prior(path.read_bytes() if path.exists() else "")

    def run(self, *arguments: str, configuration: Configuration, fails: bool = False) -> str:
        assert TERRAFORM is not None
        known = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        done = subprocess.run(
            [TERRAFORM, f"-chdir={self.folder}", *arguments],
            env={
                **known,
                **configuration.environment,
                "TF_CLI_CONFIG_FILE": str(self.folder / "cli.tfrc"),
                "CHECKPOINT_DISABLE": "1",
                "TF_IN_AUTOMATION": "1",
                CLOUD_VARIABLE: str(self.world.path),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not fails and done.returncode:
            pytest.fail(f"terraform {arguments[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout


def made(folder: Path, mirror: Path | None) -> Direct:
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    installation = f'provider_installation {{\n filesystem_mirror {{\n path = "{mirror}"\n }}\n}}\n' if mirror else ""
    (folder / "cli.tfrc").write_text(f"disable_checkpoint = true\n{installation}")
    return Direct(folder, Cloud(folder / "world.json"))

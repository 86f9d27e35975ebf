"""A repository that means harm, with the real terraform and no network: what it gets done on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.session import Session
from workbench.settings import Settings

TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
STACK = "shop/dev"
SOURCES = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    code: int
    text: str


@dataclass(frozen=True)
class HostileStack:
    """`home` holds the repository, and beside it what the user has and the repository must not touch."""

    home: Path

    @property
    def root(self) -> Path:
        return self.home / "repository"

    @property
    def loot(self) -> Path:
        """What is there once a command of the repository ran."""
        return self.home / "loot"

    def write(self, resource: Mapping[str, Any], *, terraform: Mapping[str, Any] | None = None) -> None:
        """Writes a repository of one stack, whose only resource this is, on line 4 of main.k and those below."""
        files = {
            "kcl.mod": '[package]\nname = "shop"\n',
            "shop/project.yaml": "name: shop\n",
            "shop/dev/stack.yaml": "name: dev\n" + (f"terraform: {json.dumps(terraform)}\n" if terraform else ""),
            "shop/dev/main.k": f"import manifests\n\nmanifests.yaml_stream([\n{_kcl(resource)}\n])\n",
        }
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def session(self, **settings: Any) -> Session:
        made = Settings(self.home / "state", self.home / "cache", user="ann", host="box", **settings)
        return Session.open(self.root, settings=made)

    def wb(self, *arguments: str, **environment: str) -> Ended:
        own = {name: each for name, each in os.environ.items() if not name.startswith(("WB_", "TF_", "KUBECONFIG"))}
        own |= {
            "WB_STATE_DIR": str(self.home / "state"),
            "WB_CACHE_DIR": str(self.home / "cache"),
            "KUBECONFIG": str(self.home / "kubeconfig"),
            "PYTHONPATH": str(SOURCES),
            "NO_COLOR": "1",
            "COLUMNS": "1000",
            **environment,
        }
        done = subprocess.run(
            [sys.executable, "-m", "workbench", *arguments],
            cwd=self.root,
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Ended(done.returncode, done.stdout + done.stderr)


def data(*, attributes: Mapping[str, Any] | None = None, **extensions: Any) -> dict[str, Any]:
    """A resource of terraform's own type, which needs no provider."""
    made: dict[str, Any] = {"id": "builtin:terraform:terraform_data:x", "type": "Terraform"}
    made |= {"attributes": {"input": "x", **(attributes or {})}}
    return {**made, "extensions": extensions} if extensions else made


def _kcl(value: Any, indent: str = "    ") -> str:
    """Writes one key a line; texts are raw, so that `${...}` is not KCL's."""
    match value:
        case Mapping():
            inner = "".join(
                f"{indent}    {_text(key)} = {_kcl(each, indent + '    ').lstrip()}\n" for key, each in value.items()
            )
            return f"{indent}{{\n{inner}{indent}}}"
        case list():
            return f"{indent}[" + ", ".join(_kcl(each, indent).lstrip() for each in value) + "]"
        case str():
            return indent + _text(value)
        case _:
            return f"{indent}{value}"


def _text(value: str) -> str:
    return json.dumps(value).replace("${", "$\\x7b")

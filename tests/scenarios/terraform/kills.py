"""A stack that changes at random while whoever applies it is killed, and its state damaged: what random kills run on.

Three providers: the practice one, whose world tells what exists; terraform's own `terraform_data`, which exists in the
state alone; and, where there is one, hashicorp/local, a published provider, whose files tell.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtimes.sandbox.provider import CLOUD_VARIABLE, SOURCE, VERSION, Cloud
from runtimes.terraform import last_state, record
from runtimes.terraform.folder import Folder

STACK = "cloud/dev"
ROOT = Path(__file__).parents[3]
LOCAL, LOCAL_VERSION = "registry.terraform.io/hashicorp/local", "1.4.0"
_PATIENCE_SECONDS = 240.0
_POLL_SECONDS = 0.02
_NAMES = ("alpha", "beta", "gamma", "delta")

Resource = dict[str, Any]


@dataclass
class Stack:
    """`home` holds all that is written. `wanted` is what the configuration says now, by Terraform address."""

    home: Path
    mirror: Path
    rng: random.Random
    has_local: bool
    wanted: dict[str, Resource] = field(default_factory=dict)
    older: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        (self.home / "out").mkdir(parents=True)
        stack = self.home / "konfig/cloud/dev"
        stack.mkdir(parents=True)
        (self.home / "konfig/kcl.mod").write_text('[package]\nname = "kills"\n')
        (self.home / "konfig/clusters.yaml").write_text("clusters: {}\nplacements: []\n")
        (stack.parent / "project.yaml").write_text("name: cloud\n")
        (stack / "stack.yaml").write_text("name: dev\n")
        with self.world.change() as content:
            content.faults = [{"operation": each, "latency_seconds": 0.1} for each in ("create", "update", "delete")]

    @property
    def world(self) -> Cloud:
        return Cloud(self.home / "world.json")

    @property
    def folder(self) -> Folder:
        found = [*self.home.glob("state/terraform/*/cloud/dev")]
        return Folder(found[0] if found else self.home / "none")

    # What is wanted

    def change(self) -> None:
        """Writes another configuration: things come, go, change in place and are replaced."""
        made: dict[str, Resource] = {}
        for name in _NAMES:
            for make in (self._bucket, self._record, self._data, *((self._file,) if self.has_local else ())):
                if self.rng.random() < 0.75:
                    resource = make(name)
                    made[_address(resource)] = resource
        self.wanted = made
        text = json.dumps([*made.values()], indent=2)
        (self.home / "konfig/cloud/dev/main.k").write_text(f"resources = {text}\n")

    def _resource(self, provider: str, type_: str, name: str, attributes: Resource) -> Resource:
        namespace, source = provider.split("/")[1:3]
        id_ = f"{namespace}:{source}:{type_}:{name}"
        extensions = {"provider": provider, "resourceType": type_}
        return {"id": id_, "type": "Terraform", "attributes": attributes, "extensions": extensions}

    def _bucket(self, name: str) -> Resource:
        region = self.rng.choice(("east", "east", "west"))
        tags = {"round": str(self.rng.randrange(5))}
        return self._resource(f"{SOURCE}/{VERSION}", "sandbox_network", name, {
            "name": name, "cidr": f"10.{self.rng.choice((1, 1, 2))}.0.0/16", "region": region,
        }) if name == "alpha" else self._resource(
            f"{SOURCE}/{VERSION}", "sandbox_bucket", name, {"name": name, "tags": tags}
        )  # fmt: skip

    def _record(self, name: str) -> Resource:
        values = [f"10.0.0.{self.rng.randrange(1, 4)}"]
        said = {"name": name, "zone": "kills.example", "type": "A", "values": values}
        return self._resource(f"{SOURCE}/{VERSION}", "sandbox_dns_record", name, said)

    def _data(self, name: str) -> Resource:
        said = {"input": str(self.rng.randrange(3)), "triggers_replace": str(self.rng.choice((1, 1, 1, 2)))}
        return self._resource("terraform.io/builtin/terraform/1.0.0", "terraform_data", name, said)

    def _file(self, name: str) -> Resource:
        said = {"content": f"{name} {self.rng.randrange(3)}", "filename": str(self.home / "out" / name)}
        return self._resource(f"{LOCAL}/{LOCAL_VERSION}", "local_file", name, said)

    # wb, and its end

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("WB_", "TF_"))}
        environment = {
            **inherited,
            "WB_STATE_DIR": str(self.home / "state"),
            "WB_CACHE_DIR": str(self.home / "cache"),
            "WB_TERRAFORM_MIRROR": str(self.mirror),
            CLOUD_VARIABLE: str(self.world.path),
            "KUBECONFIG": str(self.home / "no-kubeconfig"),
            "PYTHONPATH": str(ROOT),
            "USER": "ann",
            "NO_COLOR": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "workbench", *arguments],
            cwd=self.home / "konfig",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wb(self, *arguments: str, code: int = 0) -> str:
        with self.start(*arguments) as process:
            said, _ = process.communicate(timeout=_PATIENCE_SECONDS)
        assert process.returncode == code, f"wb {' '.join(arguments)} ended with {process.returncode}:\n{said}"
        return said

    def apply(self) -> str:
        return self.wb("apply", STACK, "--yes", "--confirm", STACK, "--no-watch")

    def kill(self) -> bool:
        """Applies and kills a random process at a random moment; False where it was over before."""
        whom = self.rng.choice(("terraform", "terraform", "wb", "both", "both"))
        is_applying, wait = self.rng.random() < 0.75, self.rng.random()
        with self.start("apply", STACK, "--yes", "--confirm", STACK, "--no-watch") as process:
            self._wait_until(process, self._applies if is_applying else self._works)
            time.sleep(wait * 0.8)
            victims = [*([process.pid] if whom != "terraform" else []), *(self._terraforms() if whom != "wb" else [])]
            is_alive = process.poll() is None and bool(victims)
            for pid in victims if is_alive else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            said, _ = process.communicate(timeout=_PATIENCE_SECONDS)
        assert "Traceback" not in said, said
        if is_alive:
            self.counts[f"{whom} killed while it {'applied' if is_applying else 'worked'}"] += 1
        return is_alive

    def _wait_until(self, process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while process.poll() is None and not happened():
            assert time.monotonic() < end
            time.sleep(_POLL_SECONDS)

    def _applies(self) -> bool:
        with contextlib.suppress(OSError):
            return b'"type":"apply_start"' in self.folder.apply_events.read_bytes()
        return False

    def _works(self) -> bool:
        return bool(self._terraforms())

    def _terraforms(self) -> list[int]:
        return [pid for pid, name in self.processes().items() if name in ("terraform", "tofu")]

    def processes(self) -> dict[int, str]:
        """Returns what runs for this stack, terraform and providers alike: told by the world in the environment."""
        mark = f"{CLOUD_VARIABLE}={self.world.path}".encode()
        found = {}
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (each / "environ").read_bytes().split(b"\0"):
                    name = (each / "comm").read_text().strip()
                    if not name.startswith(("python", "wb")) or "provider" in (each / "cmdline").read_text():
                        found[int(each.name)] = name
        return found

    # Damage

    def damage(self) -> None:
        """Damages the state in one of four ways, once no terraform writes it any more."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while self._terraforms():
            assert time.monotonic() < end, "terraform does not end"
            time.sleep(_POLL_SECONDS)
        state = self.folder.state
        if not state.exists() or not state.read_bytes().strip():
            return
        content = state.read_bytes()
        way = self.rng.choice(("torn", "emptied", "missing", "older"))
        match way:
            case "torn":
                state.write_bytes(content[: self.rng.randrange(1, len(content) - 2)])
            case "emptied":
                state.write_bytes(b"")
            case "missing":
                state.unlink()
            case "older":
                if not self.older:
                    return
                state.write_bytes(self.rng.choice(self.older))
        self.counts[f"state {way}"] += 1

    # What must be so

    def check(self) -> None:
        """After an apply that ended well: the world, the files and the state are what is wanted, each thing once.

        The state may still have what a killed apply deleted: terraform takes it out at the next change of anything.
        """
        identities = self._recorded()
        assert identities.keys() >= self.wanted.keys(), f"lost: {self.wanted.keys() - identities.keys()}"
        stale = identities.keys() - self.wanted.keys()
        assert not [each for each in stale if each.startswith("terraform_data.")], "what only the state has is deleted"
        there = {
            f"{type_}.{each['name']}": (id_, each)
            for type_, objects in self.world.content().objects.items()
            for id_, each in objects.items()
        }
        count = sum(len(objects) for objects in self.world.content().objects.values())
        assert count == len(there), f"something exists twice: {self.world.content().objects}"
        wanted = {address for address in self.wanted if address.startswith("sandbox_")}
        assert there.keys() == wanted, "nothing is lost in the world, nothing is missing"
        for address in wanted:
            id_, found = there[address]
            assert identities[address] == id_, f"{address}: the state has {identities[address]}, the world {id_}"
            said = self.wanted[address]["attributes"]
            assert {key: found.get(key) for key in said} == said
        files = {each.name: each.read_text() for each in (self.home / "out").iterdir()}
        assert files == {
            Path(each["attributes"]["filename"]).name: each["attributes"]["content"]
            for address, each in self.wanted.items()
            if address.startswith("local_file.")
        }
        assert not self.processes(), f"left running: {self.processes()}"
        left = record.load(self.folder)
        assert not left.is_open and not left.doubts
        noted = last_state.load(self.folder)
        assert noted is not None and not noted.missing
        self.older = [*self.older[-4:], self.folder.state.read_bytes()]

    def data_ids(self) -> Mapping[str, tuple[str, str]]:
        """Returns the ids of what exists in the state alone, with what replaces it: lost there, it is lost."""
        return {
            address: (id_, self.wanted[address]["attributes"]["triggers_replace"])
            for address, id_ in self._recorded().items()
            if address.startswith("terraform_data.") and address in self.wanted
        }

    def _recorded(self) -> dict[str, str]:
        document = json.loads(self.folder.state.read_bytes())
        return {
            f"{each['type']}.{each['name']}": str(instance["attributes"].get("id"))
            for each in document["resources"]
            for instance in each["instances"]
        }


def _address(resource: Resource) -> str:
    type_, name = resource["id"].split(":")[2:]
    return f"{type_}.{name}"


def with_published(mirror: Path, published: Path) -> None:
    """Puts the published provider into the mirror that has the practice one."""
    shutil.copytree(published / LOCAL, mirror / LOCAL, dirs_exist_ok=True)


def build_published(into: Path) -> None:
    """Builds hashicorp/local from its Go module; raises `CalledProcessError` where that can't be, without a network."""
    platform = "_".join(subprocess.check_output(["go", "env", "GOOS", "GOARCH"], text=True).split())
    folder = into / LOCAL / LOCAL_VERSION / platform
    work = into / "build"
    work.mkdir(parents=True)
    # the module of this version names itself by its former address
    module, published = (f"github.com/{each}/terraform-provider-local" for each in ("terraform-providers", "hashicorp"))
    (work / "go.mod").write_text(
        f"module build\n\ngo 1.21\n\nrequire {module} v{LOCAL_VERSION}\n"
        f"replace {module} => {published} v{LOCAL_VERSION}\n"
    )
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false -mod=mod"}
    subprocess.run(["go", "build", "-o", "program", module], cwd=work, env=environment, check=True, timeout=1800)
    folder.mkdir(parents=True)
    (work / "program").rename(folder / f"terraform-provider-local_v{LOCAL_VERSION}_x5")
    shutil.rmtree(work)

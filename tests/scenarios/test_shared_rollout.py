"""Two machines, two checkouts, the same clusters: one carries a rollout out and is killed, or loses the cluster of its
record; the other one sees how it stands, is kept out for as long as it has to be, and goes on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from asyncio import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.black_hole import in_front_of
from tests.scenarios import in_process
from tests.workbench.fleet import FleetRepository

pytestmark = pytest.mark.slow

NAMES = ("app-0", "app-1", "app-2")
STAGES = """\
stages:
  - {name: east, stacks: ["*/prod"], clusters: [east], batches: [1, 100%]}
  - {name: west, stacks: ["*/prod"]}
"""


@dataclass
class Machine:
    """`wb` in processes of its own, with a home and a checkout of its own."""

    home: Path
    repository: FleetRepository
    user: str

    @classmethod
    def make(cls, folder: Path, user: str, sandbox: Sandbox) -> Machine:
        home = folder / user
        contexts = dict(zip(("east", "west"), sandbox.names, strict=True))
        repository = FleetRepository.make(home / "repo", NAMES, contexts, STAGES)
        sandbox.write_kubeconfig(home / "kubeconfig")
        return cls(home, repository, user)

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.home),
            "USER": self.user,
            "LOGNAME": self.user,
            "KUBECONFIG": str(self.home / "kubeconfig"),
            "WB_STATE_DIR": str(self.home / "state"),
            "WB_CACHE_DIR": str(self.home / "cache"),
            "WB_REPOSITORY": "git.example.org/fleet",
        }

    async def start(self, *arguments: str) -> subprocess.Process:
        return await subprocess.create_subprocess_exec(
            *(sys.executable, "-m", "workbench", *arguments),
            cwd=self.repository.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    async def __call__(self, *arguments: str) -> tuple[int, str]:
        """Returns the exit code and all that it said; it runs in this process."""
        ended = await in_process.wb(*arguments, folder=self.repository.root, environment=self._environment)
        return ended.code, ended.text

    async def until(self, *arguments: str, line: str, then: Callable[[int], None]) -> tuple[int, str]:
        """Does something, with the id of the process, when the first line has that text; returns how it ended."""
        process = await self.start(*arguments)
        assert process.stdout is not None
        said, is_done = "", False
        async for each in process.stdout:
            said += each.decode()
            if not is_done and line in each.decode():
                is_done = True
                then(process.pid)
        assert is_done, said
        return await process.wait(), said

    async def status(self, id_: str) -> Any:
        code, text = await self("rollout", "status", id_, "-o", "json")
        assert code == 0, text
        return json.loads(text)


def kill(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(names=("a", "b"), clusters=2, seed=1) as sandbox:
        yield sandbox


@pytest.fixture
async def machines(tmp_path: Path, sandbox: Sandbox) -> tuple[Machine, Machine]:
    ann, ben = (Machine.make(tmp_path, each, sandbox) for each in ("ann", "ben"))
    code, text = await ann("apply", "fleet/prod", "--yes")
    assert code == 0, text
    ann.repository.write("2")
    ben.repository.write("2")
    return ann, ben


def versions(sandbox: Sandbox) -> list[list[str]]:
    """Returns the components of each cluster that have the second version."""
    return [
        sorted(
            each["metadata"]["name"]
            for each in cluster.list("deployments.apps").items
            if each["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":2")
        )
        for cluster in sandbox.clusters
    ]


async def taken_from_the_dead(machine: Machine, id_: str) -> None:
    """Does not wait for the locks to end, as somebody who knows that the process is gone."""
    for command in (("rollout", "unlock", id_), ("release", "unlock", "fleet/prod")):
        code, text = await machine(*command)
        assert code == 0, text
        if found := re.search(r"(?:carried out|held) by (.+)", text):
            code, text = await machine(*command, "--holder", found[1].strip())
            assert code == 0 and "taken from" in text, text


async def test_what_was_killed_on_one_machine_goes_on_on_another(
    machines: tuple[Machine, Machine], sandbox: Sandbox
) -> None:
    ann, ben = machines
    code, text = await ann.until("rollout", "start", "--yes", line="update Deployment fleet/app-1", then=kill)
    assert code == -signal.SIGKILL, text
    found = re.search(r"r-[0-9a-f]{8}", text)
    assert found is not None
    id_ = found[0]

    # the other machine sees it, and that somebody was heard a moment ago
    code, text = await ben("rollout", "list")
    assert code == 0 and id_ in text and "ann@" in text, text
    assert re.search(r"last heard \d+s ago", text), text
    at = await ben.status(id_)
    assert (at["state"], at["running"], at["ready"], at["recordedIn"]) == ("open", True, 1, "east")
    assert at["runner"]["who"].startswith("ann@") and at["runner"]["secondsAgo"] < 45

    # for as long as it may still be at work nobody else carries it out, begins another, or is told that all is well
    code, text = await ben("rollout", "resume", id_)
    assert code == 7 and "carried out now by ann@" in text, text
    code, text = await ben("rollout", "start", "--yes")
    assert code == 4 and f"rollout {id_} of fleet/prod has not ended" in text, text
    code, text = await ben("plan", "fleet/prod")
    assert f"rollout {id_} of this stack is open, carried out by ann@" in text, text

    await taken_from_the_dead(ben, id_)
    assert not (await ben.status(id_))["running"]
    code, text = await ben("rollout", "resume", id_)
    assert code == 0, text
    assert versions(sandbox) == [list(NAMES), list(NAMES)]
    code, text = await ann("rollout", "list")
    assert code == 0 and "finished" in text, text
    code, text = await ann("plan", "fleet/prod")
    assert code == 0 and "rollout" not in text, text


async def test_a_pause_from_another_machine_is_heard_before_the_next_batch(
    machines: tuple[Machine, Machine], sandbox: Sandbox
) -> None:
    ann, ben = machines
    for each in machines:  # so long it holds before the other cluster, for the pause to come in between
        (each.repository.root / "rollout.yaml").write_text(STAGES.replace("100%]}", "100%], ready_for: 8s}", 1))
    process = await ann.start("rollout", "start", "--yes")
    assert process.stdout is not None
    said = ""
    async for line in process.stdout:
        said += line.decode()
        if "east: batch 2 of 2 is ready" in line.decode():
            code, text = await ben("rollout", "pause")
            assert code == 0 and "it stops after the batch that it is in" in text, text
    assert await process.wait() == 6 and "paused" in said, said
    assert versions(sandbox) == [list(NAMES), []]
    code, text = await ben("rollout", "resume")
    assert code == 0, text
    assert versions(sandbox) == [list(NAMES), list(NAMES)]


async def test_the_cluster_of_its_record_goes_away_and_comes_back(
    machines: tuple[Machine, Machine], sandbox: Sandbox
) -> None:
    ann, ben = machines
    async with in_front_of(ann.home / "kubeconfig") as proxy:
        code, text = await ann.until(
            "rollout", "start", "--yes", line="east: batch 1 of 2 is ready", then=lambda pid: proxy.swallow()
        )
        assert code == 1 and "the record of the rollout can't be reached, so nothing more is begun" in text, text
        assert "finished" not in text and versions(sandbox)[1] == []
        code, text = await ann("rollout", "list")
        assert code == 1 and "east: which rollouts it has is not known" in text, text
        assert "there is no rollout" not in text
        code, text = await ann("rollout", "status")
        assert code == 1 and "which rollouts there are is not known" in text, text
    id_ = re.search(r"r-[0-9a-f]{8}", (await ben("rollout", "list"))[1])
    assert id_ is not None
    at = await ben.status(id_[0])
    assert at["state"] in ("open", "halted") and at["ready"] >= 1
    await taken_from_the_dead(ben, id_[0])
    code, text = await ben("rollout", "resume", id_[0])
    assert code == 0, text
    assert versions(sandbox) == [list(NAMES), list(NAMES)]

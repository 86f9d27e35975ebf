"""One plan over a whole company on three clusters: from nothing, killed, halted by a fault, resumed, and taken back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.processes import Command, settings
from tests.sizes import size
from tests.workbench.cli.command import Wb
from tests.workbench.company import Company
from workbench.exit_codes import ExitCode
from workbench.session import Session
from workbench.settings import Settings

pytestmark = pytest.mark.slow

STACKS = int(os.environ.get("KONFIG_WORKBENCH_FLEET_STACKS") or size(6, 100))
CLUSTERS = ("east", "west", "north")


@dataclass
class World:
    company: Company
    sandbox: Sandbox
    home: Path
    here: Wb

    async def wb(self, *arguments: str) -> tuple[int, str]:
        """Runs it in this process, which spares most of the time."""
        ended = await self.here.meanwhile(*arguments)
        return ended.code, ended.text

    def live(self) -> dict[str, dict[str, Any]]:
        """Returns by stack and cluster what its ConfigMap says, and the image of its Deployment."""
        found: dict[str, dict[str, Any]] = {}
        for cluster in self.sandbox.clusters:
            for each in cluster.list("configmaps").items:
                name = each["metadata"]["namespace"]
                if name in self.company.reads and each["metadata"]["name"] == "own":
                    (container,) = cluster.get("deployments.apps", name, "main")["spec"]["template"]["spec"][
                        "containers"
                    ]
                    found.setdefault(name, {})[cluster.name] = (*sorted(each["data"].items()), container["image"])
        return found

    def versions(self) -> dict[str, str]:
        """Returns by stack the versions that it has, over its clusters."""
        return {
            name: " ".join({image.rpartition(":")[2] for *_, image in clusters.values()})
            for name, clusters in self.live().items()
        }

    async def releases(self) -> dict[str, list[tuple[int, str, str]]]:
        """Returns the releases of each stack, oldest first: revision, how it ended, the run that it is part of."""
        state = self.home / "state"
        found = Settings(state, state, kubeconfig=str(self.home / "kubeconfig"), user="ops", host="box")
        async with Session.open(self.company.root, settings=found) as session:
            return {
                stack: [
                    (each.revision, each.phase.value, each.rollout)
                    for each in reversed((await session.history(session.select(stack))).releases())
                ]
                for stack in self.company.stacks
            }


@pytest.fixture
async def world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with Sandbox(names=("a", "b", "c"), clusters=3, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        contexts = dict(zip(CLUSTERS, sandbox.names, strict=True))
        company = Company.make(tmp_path / "repo", STACKS, contexts)
        for name, value in settings(tmp_path).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(company.root)
        yield World(company, sandbox, tmp_path, Wb(capsys))


async def planned(world: World, *arguments: str) -> Any:
    ended = await world.here.meanwhile("plan", *arguments, "-o", "json")
    assert ended.code == ExitCode.OK, ended.text
    return ended.json()


async def test_a_company_is_planned_applied_killed_halted_resumed_and_taken_back(world: World) -> None:
    wb, company = world.wb, world.company
    every, apps = len(company.stacks), [each for each in company.names if each.startswith("app-")]

    # from nothing: what reads outputs is planned on the way
    plan = await planned(world, "*/prod")
    assert [len(each) for each in plan["stages"]] == [1, 2, len(apps), 1]
    assert plan["blastRadius"] == {
        "stacks": every, "places": list(CLUSTERS), "resources": 9, "restarts": 0, "deletions": 0,
        "notKnownYet": every - 1,
    }  # fmt: skip
    phrase = plan["confirmation"]["phrase"]
    assert phrase == f"apply 9 resources of {every} stacks"
    code, text = await wb("apply", "*/prod", "--yes")
    assert code == ExitCode.REFUSED and world.live() == {}, text
    code, text = await wb("apply", "*/prod", "--confirm", phrase)
    assert code == ExitCode.OK, text
    assert f"{every} ready, 0 halted, 0 left" in text
    assert world.versions() == dict.fromkeys(company.names, "1")
    code, text = await wb("plan", "*/prod", "--detailed-exitcode")
    assert code == ExitCode.OK, text
    before = world.live()

    # a change of all of it is saved, and whoever carries it out is killed when the first base is ready
    company.write("2")
    world.sandbox.faults[_cluster_of(world, apps[0])].fail_image(f"{apps[0]}:2", "missing")
    plan = await planned(world, "*/prod", "--out", str(world.home / "change.plan"))
    run = plan["run"]
    assert plan["blastRadius"]["stacks"] == every
    assert plan["blastRadius"]["restarts"] == every + 2  # the platform is in three clusters
    text = await Command(company.root, world.home).killed(
        "apply", "../change.plan", "--yes", when=lambda line: "payments-base/prod: 2 done" in line
    )
    killed = world.versions()
    assert (killed["platform"], killed["payments-base"], killed["edge"]) == ("2", "2", "1")

    # it goes on from its file, and halts where a stack is not ready; what reads that one is not begun
    code, text = await wb("apply", "../change.plan", "--yes")
    assert code == ExitCode.NOT_READY, text
    assert f"{apps[0]}/prod not ready: WHY" in text and "ImagePull" in text, text
    assert f"edge/prod left: reads {apps[0]}/prod, which is not ready" in text
    assert "platform/prod: nothing to do, everything is ready" in text
    halted = world.versions()
    assert (halted[apps[0]], halted["edge"]) == ("2", "1")

    # again, when it is put right
    world.sandbox.faults[_cluster_of(world, apps[0])].clear()
    code, text = await wb("apply", "../change.plan", "--yes")
    assert code == ExitCode.OK, text
    assert world.versions() == dict.fromkeys(company.names, "2")
    assert world.live()["edge"] == dict.fromkeys(before["edge"], (("read", "2"), ("version", "2"), "edge:2"))
    done = await world.releases()
    # nothing was done twice: a second release of the run is only there where the kill left the first one half-done
    for stack, own in done.items():
        assert own[0][1] == own[-1][1] == "succeeded" and {each[2] for each in own[1:]} == {run}, (stack, own)
        assert [each[1] for each in own[1:]].count("succeeded") == 1, (stack, own)

    # all of it back
    code, text = await wb("rollback", "--of", run, "--yes")
    assert code == ExitCode.OK, text
    assert world.live() == before
    code, text = await wb("rollback", "--of", run, "--yes")
    assert code == ExitCode.ERROR and "no stack has a release of the run" in text


def _cluster_of(world: World, name: str) -> int:
    """Returns which of the sandbox's clusters an application goes to."""
    return world.company.names.index(name) % len(CLUSTERS)

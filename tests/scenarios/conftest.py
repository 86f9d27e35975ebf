"""The sample repository over two sandbox clusters, reached over HTTP by the client that real clusters get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.recovering import Ground, two_clusters
from workbench.engine.compiled import CompileInputs
from workbench.engine.events import ApplyFinished, Event
from workbench.engine.plan import Plan
from workbench.engine.status import StatusTree
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
HANGZHOU, SHANGHAI = 0, 1


@dataclass
class Practice:
    """`root` is a copy of the sample repository that a scenario may edit."""

    root: Path
    sandbox: Sandbox
    home: Path
    opened: list[Session] = field(default_factory=list)

    def session(self, *, user: str = "admin", **settings: Any) -> Session:
        kubeconfig = self.home / f"{user}.kubeconfig"
        self.sandbox.write_kubeconfig(kubeconfig, user)
        state = self.home / "state"
        found = Settings(state, state, kubeconfig=str(kubeconfig), user=user, host="box", **settings)
        self.opened.append(Session.open(self.root, settings=found))
        return self.opened[-1]

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text()
        assert old in text, f"{file} no longer says {old!r}"
        path.write_text(text.replace(old, new))

    def place(self, file: str, text: str) -> str:
        """Returns `file:line` of the only line that holds the text."""
        lines = (self.root / file).read_text().splitlines()
        (number,) = [index for index, line in enumerate(lines, 1) if text in line]
        return f"{file}:{number}"

    def live(self, cluster: int, resource: str, namespace: str, name: str) -> Any:
        return self.sandbox.clusters[cluster].get(resource, namespace, name)

    def change(
        self, cluster: int, resource: str, namespace: str, name: str, patch: Any, manager: str = "kubectl-edit"
    ) -> None:
        """Changes a live object by a merge patch, as somebody else."""
        self.sandbox.clusters[cluster].patch(resource, namespace, name, patch, "merge", manager=manager)


@pytest.fixture
async def practice(sample_konfig: Path, tmp_path: Path) -> AsyncIterator[Practice]:
    root = sample_konfig
    tokens = {"admin": "token-of-admin", "viewer": "token-of-viewer"}
    async with Sandbox(clusters=2, tokens=tokens, seed=1) as sandbox:
        practice = Practice(root, sandbox, tmp_path)
        yield practice
        for each in practice.opened:
            await each.__aexit__(None, None, None)


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with two_clusters(tmp_path) as made:
        yield made


async def apply(session: Session, plan: Plan) -> list[Event]:
    async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
        return [each async for each in events]


async def release(session: Session, stack: Stack, inputs: CompileInputs | None = None, *, force: bool = False) -> Plan:
    """Plans and applies; everything has to succeed."""
    plan = await session.plan(stack, inputs, force=force)
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome == "succeeded", end
    return plan


async def settle(
    session: Session, stack: Stack, inputs: CompileInputs | None = None, *, seconds: float = 30
) -> StatusTree:
    """Waits until everything is ready, or something failed, or the time is up."""
    async with session.watch(stack, inputs, until_settled=True, timeout_seconds=seconds) as trees:
        return [each async for each in trees][-1]

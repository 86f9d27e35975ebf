"""Several machines that work on one repository: a checkout, a state folder and a user each, the same clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtimes.sandbox.server import Sandbox
from tests.workbench.session.shop import shop
from workbench.engine.events import ApplyFinished, Event, Outcome
from workbench.engine.plan import Plan
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings

REPOSITORY = "git.example.org/shop/config"
NAMESPACE = "konfig-workbench"
CLUSTERS = """\
clusters: {hz: {context: sandbox-1}, sh: {context: sandbox-2}}
placements:
  - {stacks: ["*/prod"], clusters: [hz, sh]}
  - {stacks: ["*/dev"], clusters: [hz]}
"""


@dataclass
class Machines:
    sandbox: Sandbox
    home: Path
    opened: list[Session] = field(default_factory=list)

    def root(self, name: str) -> Path:
        """The checkout of a machine, made when it is first asked for."""
        root = self.home / name / "shop"
        return root if root.is_dir() else shop(root, {"clusters.yaml": CLUSTERS})

    def session(self, name: str, *, user: str = "admin", repository: str = REPOSITORY, **settings: Any) -> Session:
        kubeconfig = self.home / f"{user}.kubeconfig"
        self.sandbox.write_kubeconfig(kubeconfig, user)
        return self.at(name, kubeconfig, repository=repository, **settings)

    def at(self, name: str, kubeconfig: Path, *, repository: str = REPOSITORY, **settings: Any) -> Session:
        state = self.home / name / "state"
        found = Settings(
            state,
            state,
            kubeconfig=str(kubeconfig),
            user=name,
            host=f"host-of-{name}",
            repository=repository,
            **settings,
        )
        self.opened.append(Session.open(self.root(name), settings=found))
        return self.opened[-1]

    def edit(self, name: str, file: str, old: str, new: str) -> None:
        path = self.root(name) / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def secrets(self, cluster: int = 0) -> list[dict[str, Any]]:
        return list(self.sandbox.clusters[cluster].list("secrets", NAMESPACE).items)

    def lease(self, cluster: int = 0) -> dict[str, Any]:
        (lease,) = self.sandbox.clusters[cluster].list("leases.coordination.k8s.io", NAMESPACE).items
        return dict(lease)


@asynccontextmanager
async def machines(home: Path, clusters: int = 2) -> AsyncIterator[Machines]:
    tokens = {"admin": "token-of-admin", "deployer": "token-of-deployer"}
    async with Sandbox(clusters=clusters, tokens=tokens, seed=1) as sandbox:
        found = Machines(sandbox, home)
        yield found
        for each in found.opened:
            await each.__aexit__(None, None, None)


async def apply(session: Session, plan: Plan) -> list[Event]:
    async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
        return [each async for each in events]


async def released(session: Session, stack: Stack, **how: Any) -> Plan:
    plan = await session.plan(stack, **how)
    assert not plan.is_refused, plan.guards
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end
    return plan

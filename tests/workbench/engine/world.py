"""Short ways to say: a stack with these objects, on these clusters; plan it, apply it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from runtimes.base import Address, RuntimeFailure
from tests.workbench.engine.fake_cluster import EPOCH, FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace
from workbench.engine import release
from workbench.engine.approval import approve
from workbench.engine.changes import StackDiff
from workbench.engine.choice import Choice
from workbench.engine.compiled import CompileInputs
from workbench.engine.events import Event
from workbench.engine.execute import check, execute
from workbench.engine.masking import Seal
from workbench.engine.placement import ownership, place
from workbench.engine.places import ClusterPlace, Place, WorkspacePlace
from workbench.engine.places.surveying import Seals
from workbench.engine.plan import Plan
from workbench.engine.planning import make_plan
from workbench.engine.release import Release
from workbench.engine.spec import SourceSite, Spec, build
from workbench.engine.survey import survey
from workbench.project import Placement, ProjectName, Stack, StackName, StackPath

STACK = StackPath(ProjectName("shop"), StackName("prod"))
SALT = b"salt of the test" * 2


def namespace(name: str = "shop") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config_map(name: str, data: Mapping[str, str], namespace: str = "shop") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data),
    }


def secret(name: str, data: Mapping[str, str], namespace: str = "shop") -> dict[str, Any]:
    return {**config_map(name, data, namespace), "kind": "Secret"}


def deployment(name: str, *, image: str = "web:1", replicas: int | None = None, **container: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": image, **container}]},
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": spec,
    }


def resource(name: str, **attributes: Any) -> dict[str, Any]:
    """A Terraform resource of the fake workspace's one type."""
    return {"id": f"acme:cloud:thing:{name}", "type": "Terraform", "attributes": {"name": name, **attributes}}


def spec_of(*bodies: Any) -> Spec:
    """A Spec whose every field says it was written on line 1 + its depth of `main.k`."""
    documents = copy.deepcopy(list(bodies))
    return build(
        documents,
        stack=str(STACK),
        lookup=lambda document, path: (SourceSite(Path("/repo/main.k"), 1 + len(path), 1, "literal"),),
    )


class Recorded:
    """A journal that keeps the release in memory; `fail_at` makes the n-th record fail."""

    def __init__(self, intent: Release) -> None:
        self.release = intent
        self.events: list[Event] = []
        self.fail_at: int | None = None

    def record(self, event: Event) -> None:
        from workbench.engine.errors import ReleaseFailure

        self.events.append(event)
        if self.fail_at is not None and len(self.events) >= self.fail_at:
            raise ReleaseFailure("No space left on device", where="/state")
        self.release = release.fold(self.release, event)


@dataclass
class World:
    """Clusters, the last release, and a clock that moves a second at each look."""

    clusters: dict[str, FakeCluster | RuntimeFailure] = field(default_factory=lambda: {"hz": FakeCluster("hz")})
    workspace: FakeWorkspace | RuntimeFailure | None = None
    prior: Release | None = None
    protected: bool = False
    seals: Seals = field(default_factory=lambda: Seals(Seal.random(), Seal.random(), Seal(SALT)))
    _now: datetime = EPOCH

    @property
    def hz(self) -> FakeCluster:
        cluster = self.clusters["hz"]
        assert isinstance(cluster, FakeCluster)
        return cluster

    @property
    def stack(self) -> Stack:
        folder = Path("/repo/shop/prod")
        return Stack(STACK, folder, folder.parent, Placement(("*",), tuple(self.clusters), protected=self.protected))

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def places(self) -> list[Place]:
        clusters = [ClusterPlace(name, each) for name, each in self.clusters.items()]
        if self.workspace is None:
            return [*clusters]
        return [*clusters, WorkspacePlace("terraform", self.workspace, self.clusters)]

    async def diff(
        self,
        *bodies: Any,
        prune: bool = True,
        adopts: bool = False,
        stack: StackPath = STACK,
        replaces: frozenset[Address] = frozenset(),
    ) -> StackDiff:
        placed = place(spec_of(*bodies), stack, None)
        return await survey(
            placed,
            self.places(),
            prior=self.prior,
            labels=ownership(stack),
            prune=prune,
            adopts=adopts,
            seals=self.seals,
            at=self._now,
            replaces=replaces,
        )

    async def plan(
        self,
        *bodies: Any,
        force: bool = False,
        prune: bool = True,
        destroys: bool = False,
        only: Sequence[str] = (),
        skip: Sequence[str] = (),
        replaces: frozenset[Address] = frozenset(),
    ) -> Plan:
        return make_plan(
            await self.diff(*bodies, prune=prune, replaces=replaces),
            self.stack,
            prior=self.prior,
            revision=self.prior.revision + 1 if self.prior else 1,
            inputs=CompileInputs(),
            force=force,
            prune=prune,
            read_only="",
            salt=SALT,
            now=self.now(),
            destroys=destroys,
            choice=Choice.of(only, skip),
        )

    def begin(self, plan: Plan) -> Recorded:
        return Recorded(
            release.begin(
                plan.changes,
                self.prior,
                stack=plan.stack,
                revision=plan.revision,
                plan=plan.id,
                pruned=plan.prune and not plan.is_part,
                user="ann",
                host="box",
                now=self.now(),
                seal=self.seals.record.knowing(plan.spec.secrets),
            )
        )

    async def apply(self, plan: Plan, tweak: Callable[[Recorded], None] = lambda journal: None) -> list[Event]:
        """Applies with the right confirmation and keeps the release."""
        approve(plan, plan.confirmation.phrase)
        checked = await check(plan, self.places())
        journal = self.begin(plan)
        tweak(journal)
        async with execute(plan, checked, journal, self.now) as events:
            found = [event async for event in events]
        self.prior = journal.release
        return found

    async def release(self, *bodies: Any, force: bool = False) -> list[Event]:
        """Plans and applies."""
        return await self.apply(await self.plan(*bodies, force=force))


def names(events: Sequence[Event]) -> list[str]:
    """Each event as one line: what, and about which resource."""
    lines = []
    for each in events:
        address = getattr(each, "address", None)
        lines.append(f"{type(each).__name__} {address.id.name}" if address else type(each).__name__)
    return lines

"""One apply of a plan: alone on its stack, on the clusters it was made for; in a release and the audit trail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from types import MappingProxyType

from kcl.records import replace
from runtimes.base import Runtime, Workspace
from workbench.audit import Actor, AuditTrail
from workbench.audit.runs import AuditedApply
from workbench.engine import release
from workbench.engine.errors import MovedObject, StalePlan
from workbench.engine.execute import Applying, check, execute
from workbench.engine.identities import check_clusters, follow
from workbench.engine.places import ClusterPlace, Place, WorkspacePlace
from workbench.engine.plan import Plan
from workbench.engine.scrubbing import scrubbed
from workbench.release.contract import HeldLock
from workbench.release.lock import renewing
from workbench.release.shared import ReleasePlaces, Releases
from workbench.words import bounded


@asynccontextmanager
async def applying(
    plan: Plan,
    releases: Releases,
    goes: ReleasePlaces,
    connect: Callable[[str], Awaitable[Runtime]],
    open_workspace: Callable[[], Awaitable[Workspace]],
    trail: AuditTrail,
    actor: Actor,
    now: Callable[[], datetime],
    *,
    confirm: str,
    reason: str,
    rollout: str = "",
    held: Mapping[str, HeldLock] = MappingProxyType({}),
) -> AsyncIterator[Applying]:
    """Executes an approved plan. Before any write it raises as `Session.apply` says."""
    async with releases.working(
        goes, user=actor.user, host=actor.host, clusters=plan.identities, asked=plan.clusters, also=held
    ) as work:
        prior = work.history.latest
        if (prior.revision if prior else 0) != plan.prior or work.history.next_revision != plan.revision:
            moved = MovedObject(None, _since(work.history.next_revision - 1, plan.revision - 1))
            raise StalePlan([moved], where=plan.stack)
        runtimes = {cluster: await connect(cluster) for cluster in plan.clusters}
        clusters = await check_clusters(plan.stack, plan.identities, runtimes)
        prior = follow(prior, clusters).release
        places: list[Place] = [ClusterPlace(name, each) for name, each in runtimes.items()]
        if plan.workspace:
            places.append(WorkspacePlace(plan.workspace, await open_workspace(), runtimes))
        checked = await check(plan, places)
        salt = work.salt()
        intent = release.begin(
            plan.changes,
            prior,
            stack=plan.stack,
            revision=plan.revision,
            plan=plan.id,
            pruned=plan.prune and not plan.is_part,
            user=actor.user,
            host=actor.host,
            now=now(),
            seal=work.seal(salt).knowing(plan.spec.secrets, plan.spec.rules),
            clusters=clusters,
            # what was left out of it was not given again
            rolled_back_to=0 if plan.left_out else plan.rolls_back_to,
            reason=scrubbed(reason, plan.spec.secrets, plan.spec.rules),
            rollout=rollout,
            gaps=scrubbed(bounded([*map(str, plan.gaps)]), plan.spec.secrets, plan.spec.rules),
            part=scrubbed(plan.part.said, plan.spec.secrets, plan.spec.rules) if plan.left_out and plan.part else "",
        )
        with AuditedApply(trail, actor, now, plan, confirm=confirm, reason=reason) as audited:
            journal = audited.into(await work.begin(replace(intent, audit=audited.anchor, salt=salt)))
            async with renewing(work.lock), execute(plan, checked, journal, now) as events:
                yield events


def _since(newest: int, planned: int) -> str:
    if newest > planned:
        return f"release {newest} was made since"
    if newest < planned:
        now = f"the newest is {newest}" if newest else "there is none"
        return f"release {planned} is not there any more, {now}: the cluster may have been restored from a backup"
    return f"what counts of release {newest} is another now"

"""StackDiff → Plan: order, guards, and what has to be confirmed. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from runtimes.base import Address, KubernetesId, Resource, ResourceId, RuntimeType
from workbench.engine.changes import Change, Problem, StackDiff, Summary
from workbench.engine.compile import CompileInputs
from workbench.engine.events import Action
from workbench.engine.graph import dependencies, reverse, waves
from workbench.engine.plan import Confirmation, Guard, Level, Plan
from workbench.engine.release import Phase, Release
from workbench.project import Stack

MOST_DELETIONS = 10
LARGEST_DELETED_SHARE = 0.2
_HOLDS_OTHERS = frozenset({"Namespace", "CustomResourceDefinition", "PersistentVolumeClaim", "PersistentVolume"})


def make_plan(
    diff: StackDiff,
    stack: Stack,
    *,
    prior: Release | None,
    revision: int,
    inputs: CompileInputs,
    force: bool,
    prune: bool,
    is_read_only: bool,
    salt: bytes,
    now: datetime,
) -> Plan:
    """Decides what is to be done about a difference. `revision` is the number its release will have."""
    steps = {each.address: each for each in diff.changes if each.action is not Action.NONE}
    needs = _needs(diff, steps, prior)
    order = [each.address for each in diff.changes if each.address in steps]
    return Plan(
        id=_identity(diff, force=force, prune=prune, salt=salt),
        stack=diff.stack,
        spec=diff.spec,
        clusters=diff.clusters,
        changes=diff.changes,
        waves=waves(needs, order),
        needs=needs,
        guards=_guards(diff, force=force, is_read_only=is_read_only),
        confirmation=_confirmation(diff, stack, prior, force=force),
        prior=prior.revision if prior else 0,
        revision=revision,
        force=force,
        prune=prune,
        made_at=now,
        inputs=inputs,
        salt=salt,
        problems=diff.problems,
        warnings=(*(prior.warnings if prior else ()), *diff.warnings, *_left_behind(diff, prior)),
        notes=tuple(_notes(diff, prior)),
    )


def _identity(diff: StackDiff, *, force: bool, prune: bool, salt: bytes) -> str:
    """The same for the same Spec over the same live objects, however often their status was written meanwhile."""
    content = [
        diff.spec.digest(salt),
        [
            [str(each.address), each.action, each.identity.uid if each.identity else "", each.state]
            for each in diff.changes
        ],
        sorted(diff.clusters),
        [force, prune],
    ]
    return "p-" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _needs(
    diff: StackDiff, steps: Mapping[Address, Change], prior: Release | None
) -> dict[Address, frozenset[Address]]:
    """Returns for each step the steps before it. What is deleted goes last, dependents before what they need."""
    wanted = dependencies(diff.spec.resources)
    needs: dict[Address, frozenset[Address]] = {}
    for cluster in diff.clusters:
        applied = {each for each in steps if each.cluster == cluster and steps[each].action is not Action.DELETE}
        ids = {each.id for each in applied}
        deleted = {each for each in steps if each.cluster == cluster and steps[each].action is Action.DELETE}
        for address in applied:
            needs[address] = frozenset(Address(cluster, each) for each in _nearest(wanted, address.id, ids))
        order = reverse(dependencies(_former(deleted, steps, prior)))
        for address in deleted:
            later = {Address(cluster, each) for each in order.get(address.id, frozenset())} & deleted
            needs[address] = frozenset(applied | later)
    return needs


def _nearest(
    graph: Mapping[ResourceId, Iterable[ResourceId]], start: ResourceId, steps: set[ResourceId]
) -> set[ResourceId]:
    """Returns the steps that come before one, also those behind resources that need no step."""
    found: set[ResourceId] = set()
    todo, seen = list(graph[start]), {start}
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        if each in steps:
            found.add(each)
        else:
            todo += graph[each]
    return found


def _former(deleted: set[Address], steps: Mapping[Address, Change], prior: Release | None) -> list[Resource]:
    """Rebuilds what is deleted as the last release had it, for its dependencies."""
    known = prior.resources if prior else {}
    present = {each.id for each in deleted}
    resources = []
    for address in sorted(deleted):
        released, before = known.get(address), steps[address].before or {}
        if released is None:
            resources.append(Resource(address.id, RuntimeType.KUBERNETES, before))
        else:
            depends_on = tuple(each for each in released.depends_on if each in present)
            resources.append(Resource(address.id, released.type, before, depends_on))
    return resources


def _guards(diff: StackDiff, *, force: bool, is_read_only: bool) -> tuple[Guard, ...]:
    away = [each for each in diff.problems if each.address is None]
    refused = [each for each in diff.problems if each.address is not None]
    conflicts = [each for each in diff.changes if each.conflicts]
    return (
        Guard("clusters answer", not away, _lines(away)),
        Guard("dry run accepted", not refused, _lines(refused)),
        Guard(
            "no conflicts",
            not conflicts or force,
            "; ".join(f"{each.address}: fields are owned by {_managers(each)}" for each in conflicts)
            + (" (taken over, as the plan is forced)" if conflicts and force else ""),
        ),
        Guard("writing allowed", not is_read_only, "this session is read-only (WB_READONLY)" if is_read_only else ""),
    )


def _lines(problems: Iterable[Problem]) -> str:
    return "; ".join(f"{each.address or each.cluster}: {each.message}" for each in problems)


def _managers(change: Change) -> str:
    return ", ".join(dict.fromkeys(each.manager for each in change.conflicts))


def _confirmation(diff: StackDiff, stack: Stack, prior: Release | None, *, force: bool) -> Confirmation:
    summary = Summary.of(diff.changes)
    if not summary.changes:
        return Confirmation(Level.NOTHING)
    reasons = [*_deletion_reasons(diff, prior)]
    if stack.placement is not None and stack.placement.protected:
        reasons.append("the stack is protected")
    if force and any(each.conflicts for each in diff.changes):
        reasons.append("fields are taken over from other managers")
    if reasons:
        return Confirmation(Level.PHRASE, str(stack.path), tuple(reasons))
    return Confirmation(Level.YES, "yes", (f"{summary.changes} change" + ("s" if summary.changes > 1 else ""),))


def _deletion_reasons(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    gone = [each for each in diff.changes if each.action in (Action.DELETE, Action.REPLACE)]
    pruned = [each for each in gone if each.action is Action.DELETE]
    owned = [each for each in prior.resources if each.cluster in diff.clusters] if prior else []
    for each in gone:
        if isinstance(each.address.id, KubernetesId) and each.address.id.kind in _HOLDS_OTHERS:
            yield f"{each.address} is deleted with everything in it"
    if pruned and len(pruned) >= len(owned):
        yield f"everything the stack has is deleted ({len(pruned)} resources)"
    elif len(pruned) > MOST_DELETIONS:
        yield f"{len(pruned)} resources are deleted"
    elif pruned and len(pruned) > LARGEST_DELETED_SHARE * len(owned):
        yield f"{len(pruned)} of {len(owned)} resources are deleted"


def _left_behind(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    """Names clusters that the last release wrote to and the stack no longer goes to: nothing there is looked at."""
    away = {each.cluster for each in prior.resources} - set(diff.clusters) if prior else set()
    for cluster in sorted(away):
        yield f"the last release also has resources in {cluster}, which this plan does not look at"


def _notes(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    if prior is not None and prior.phase in (Phase.APPLYING, Phase.INTERRUPTED):
        yield f"release {prior.revision} was not finished; this plan continues it"
    for each in diff.changes:
        if each.action is Action.REPLACE:
            yield f"{each.address}: is deleted and made anew, as {each.because}"
        elif each.restarts:
            yield f"{each.address}: its pods are replaced"

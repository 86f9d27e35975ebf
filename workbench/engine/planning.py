"""StackDiff → Plan: order, guards, and what has to be confirmed. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime

from kcl.records import replace
from runtimes.base import Address, Body, KubernetesId, PlainPath, Resource, ResourceId, unknown_paths
from workbench.engine.changes import Change, Problem, StackDiff, Summary
from workbench.engine.choice import EVERYTHING, Choice, Part, Subject
from workbench.engine.compiled import CompileInputs
from workbench.engine.events import Action
from workbench.engine.fields import find
from workbench.engine.graph import dependencies, found_references, reverse, waves
from workbench.engine.masking import Seal
from workbench.engine.place_kinds import CLUSTER, KINDS, PlaceKind, kind_called, kind_of
from workbench.engine.placement import ownership
from workbench.engine.plan import VALUE_PATIENCE_SECONDS, Confirmation, Guard, Level, Plan
from workbench.engine.pod_updates import stays
from workbench.engine.pruning import labels_of
from workbench.engine.release import Phase, Release, in_workspace, type_of
from workbench.engine.secret_marks import stale_pods
from workbench.project import Stack
from workbench.words import counted

MOST_DELETIONS = 10
LARGEST_DELETED_SHARE = 0.2
_AWAY = frozenset({Action.DELETE, Action.FORGET})
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
    read_only: str,
    salt: bytes,
    now: datetime,
    destroys: bool = False,
    adopts: bool = False,
    only: tuple[str, ...] = (),
    accept_lost: bool = False,
    dry_run_all: bool = False,
    takes_away: bool = False,
    elsewhere: tuple[str, ...] = (),
    rolls_back_to: int = 0,
    choice: Choice = EVERYTHING,
    replaces: tuple[str, ...] = (),
) -> Plan:
    """Decides what is to be done about a difference. `revision` is the number its release will have.

    `read_only` says why nothing may be written, empty where it may.

    `destroys`: the Spec is empty as everything is to go, not by mistake. `only` are the places asked for by name.
    `adopts` was said of what labels alone know. `elsewhere` are sentences about records of the stack that this checkout
    does not work with. Raises `BadChoice` where `choice` names what there is not. `replaces` names what
    `diff.replaced` has.
    """
    part = _part(diff, prior, choice) if choice else None
    diff = _narrowed(diff, part) if part is not None else diff
    steps = {each.address: each for each in diff.changes if each.action is not Action.NONE}
    needs = _needs(diff, steps, prior)
    order = [each.address for each in diff.changes if each.address in steps]
    confirmation = _confirmation(diff, stack, prior, elsewhere, force=force, destroys=destroys)
    warnings = (*(prior.warnings if prior else ()), *diff.warnings, *_not_asked(diff, prior))
    return Plan(
        id=_identity(
            diff,
            force=force,
            prune=prune,
            accept_lost=accept_lost,
            adopts=adopts,
            salt=salt,
            rolls_back_to=rolls_back_to,
            part=part,
        ),
        stack=diff.stack,
        spec=diff.spec,
        clusters=diff.clusters,
        changes=diff.changes,
        waves=waves(needs, order),
        needs=needs,
        guards=_guards(diff, stack, force=force, read_only=read_only, destroys=destroys),
        confirmation=confirmation,
        prior=prior.revision if prior else 0,
        revision=revision,
        force=force,
        prune=prune,
        made_at=now,
        inputs=inputs,
        salt=salt,
        problems=diff.problems,
        warnings=tuple(each for each in warnings if each not in confirmation.reasons),
        notes=(*diff.notes, *_along(part), *_notes(diff, prior)),
        workspace=diff.workspace,
        destroys=destroys,
        adopts=adopts,
        only=only,
        gaps=diff.gaps,
        accept_lost=accept_lost,
        dry_run_all=dry_run_all,
        takes_away=takes_away,
        released=in_workspace(prior),
        continues=prior is not None and prior.phase is not Phase.SUCCEEDED,
        identities=diff.identities,
        rolls_back_to=rolls_back_to,
        is_part=part is not None and bool(part.left_out),
        part=part,
        replaces=replaces,
        replaced=diff.replaced,
        forgets=diff.forgets,
    )


def _part(diff: StackDiff, prior: Release | None, choice: Choice) -> Part:
    """Returns what was chosen of a difference: of what is to be changed, and of what was refused."""
    refused = {each.address: "refused" for each in diff.problems if each.address is not None}
    changed = {each.address: each.action.value for each in diff.changes if each.action is not Action.NONE}
    concerned = {**changed, **refused}
    steps = {each.address: each for each in diff.changes if each.address in changed}
    needs = _required(diff, concerned, steps, prior)
    if prior is None:
        # nobody knows then what used what is deleted
        for each, change in steps.items():
            if change.action in _AWAY:
                needs[each] |= {one for one in concerned if one.cluster == each.cluster and not _goes(one, steps)}
    bodies: dict[Address, Body] = {each: {} for each in refused}
    for change in diff.changes:
        bodies[change.address] = change.resource.attributes if change.resource is not None else change.before or {}
    configured = {each.id: each.attributes for each in diff.spec}
    subjects = [Subject(each, body or configured.get(each.id, {})) for each, body in bodies.items()]
    return choice.of_plan(subjects, concerned, needs)


def _narrowed(diff: StackDiff, part: Part) -> StackDiff:
    """Leaves out what was not chosen, with what is wrong with it; a place that does not answer stays a problem."""
    out = {each.address for each in part.left_out}
    return replace(
        diff,
        changes=tuple(each for each in diff.changes if each.address not in out),
        problems=tuple(each for each in diff.problems if each.address is None or each.address not in out),
    )


def _along(part: Part | None) -> Iterable[str]:
    for each, because in sorted(part.along.items()) if part is not None else ():
        yield f"{each} comes along: {because} needs it"


def _identity(
    diff: StackDiff,
    *,
    force: bool,
    prune: bool,
    accept_lost: bool,
    adopts: bool,
    salt: bytes,
    rolls_back_to: int,
    part: Part | None,
) -> str:
    """The same for the same Spec over the same live objects, however often their status was written meanwhile.

    What a workspace would make of a resource is part of it, as only its provider knows what follows from a change.
    """
    seal = Seal(salt)
    content = [
        diff.spec.digest(salt),
        [
            [str(each.address), each.action, each.identity.uid if each.identity else "", each.state]
            + ([seal.digest(each.planned)] if each.planned is not None else [])
            + sorted(seal.digest(str(path)) for path in each.takes_away)
            for each in diff.changes
        ],
        sorted(diff.clusters),
        [
            force,
            prune,
            *(["accept lost"] if accept_lost else []),
            *(["adopts"] if adopts else []),
            *([f"rolls back to {rolls_back_to}"] if rolls_back_to else []),
            *([part.said] if part is not None else []),
            *(["forgets"] if diff.forgets else []),
        ],
    ]
    return "p-" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _needs(
    diff: StackDiff, steps: Mapping[Address, Change], prior: Release | None
) -> dict[Address, frozenset[Address]]:
    """Returns for each step the steps before it, in whichever place. Dependents are deleted before what they need.

    Where deletions do not go last (see `PlaceKind`), one goes as soon as nothing elsewhere reads what is deleted, so
    that one run of a workspace is enough where that can be.
    """
    needs = _required(diff, steps, steps, prior)
    applied = {each for each in steps if not _goes(each, steps)}
    for address in steps.keys() - applied:
        if kind_of(address.id).deletes_last:
            needs[address] |= {each for each in applied if each.cluster == address.cluster}
        elif prior is None:
            # without a release nobody knows what reads it: whatever is done elsewhere comes first
            needs[address] |= {each for each in steps if each.cluster != address.cluster}
    return {address: frozenset(each - {address}) for address, each in needs.items()}


def _required(
    diff: StackDiff, concerned: Collection[Address], steps: Mapping[Address, Change], prior: Release | None
) -> dict[Address, set[Address]]:
    """Returns for each of the concerned which others of them have to be done for it to be right.

    What a resource refers to is there before it, and what used a resource does so no more before that goes.
    """
    found: dict[Address, set[Address]] = {}
    stays = {each for each in concerned if not _goes(each, steps)}
    wanted = _address_graph(_by_place(diff))
    for each in stays:
        found[each] = _nearest(wanted, each, stays) if each in wanted else set()
    dependents = reverse(_address_graph(_former(steps, prior)))
    for each in concerned:
        if each not in stays:
            found[each] = _nearest(dependents, each, concerned) if each in dependents else set()
    return found


def _goes(address: Address, steps: Mapping[Address, Change]) -> bool:
    return address in steps and steps[address].action in _AWAY


def _by_place(diff: StackDiff) -> dict[str, list[Resource]]:
    """Returns what the Spec has in each place: in each place of its kind the same."""
    held = ((kind, [each for each in diff.spec.resources if kind.holds(each.id)]) for kind in KINDS)
    return {place: resources for kind, resources in held for place in kind.names(diff.clusters)}


def _address_graph(by_place: Mapping[str, Sequence[Resource]]) -> dict[Address, frozenset[Address]]:
    """Returns what each address needs: what its own place has it needs there, what another kind of place has it needs
    in every one of them. Nothing needs another place of the same kind."""
    by_kind: dict[PlaceKind, dict[ResourceId, Resource]] = {each: {} for each in KINDS}
    holders: dict[ResourceId, list[str]] = {}
    for place, resources in by_place.items():
        for each in resources:
            by_kind[kind_called(place)].setdefault(each.id, each)
            holders.setdefault(each.id, []).append(place)
    graph: dict[Address, frozenset[Address]] = {}
    for place, here in by_place.items():
        own = {each.id for each in here}
        if not own:
            continue
        others = [each for kind, held in by_kind.items() if kind is not kind_called(place) for each in held.values()]
        needed = dependencies([*here, *others])
        for id_ in (each.id for each in here):
            graph[Address(place, id_)] = frozenset(
                Address(where, each) for each in needed[id_] for where in ((place,) if each in own else holders[each])
            )
    return graph


def _nearest(graph: Mapping[Address, Iterable[Address]], start: Address, steps: Container[Address]) -> set[Address]:
    """Returns the steps that come before one, also those behind resources that need no step."""
    found: set[Address] = set()
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


def _former(steps: Mapping[Address, Change], prior: Release | None) -> dict[str, list[Resource]]:
    """Rebuilds what the last release had, by place, with what is deleted and no release knows of."""
    found: dict[str, list[Resource]] = {}
    for address, each in prior.resources.items() if prior else ():
        found.setdefault(address.cluster, []).append(Resource(address.id, each.type, each.attributes, each.depends_on))
    for address, change in steps.items():
        if change.action in _AWAY and (prior is None or address not in prior.resources):
            body = change.before or {}
            found.setdefault(address.cluster, []).append(Resource(address.id, type_of(address.id), body))
    return found


def _guards(diff: StackDiff, stack: Stack, *, force: bool, read_only: str, destroys: bool) -> tuple[Guard, ...]:
    whole = [each for each in diff.problems if kind_called(each.cluster).plans_whole]
    at_large = [each for each in diff.problems if each.address is None and each not in whole]
    # what no cluster is said of is a bucket that keeps releases: the clusters may well answer
    stores = [each for each in at_large if each.cluster not in {*diff.clusters, *stack.clusters}]
    away = [each for each in at_large if each not in stores]
    refused = [each for each in diff.problems if each.address is not None and each not in whole]
    conflicts = [each for each in diff.changes if each.conflicts]
    guards: list[Guard] = []
    if diff.clusters:
        owned = "; ".join(f"{each.address.in_words}: fields are owned by {_managers(each)}" for each in conflicts)
        forced = " (taken over, as the plan is forced)" if conflicts and force else ""
        guards = [
            Guard("clusters answer", not away, _lines(away)),
            _checked("dry run accepted", not refused, _lines(refused), away),
            _checked("no conflicts", not conflicts or force, owned + forced, away),
        ]
        if stores:
            guards.insert(0, Guard("releases known", False, _lines(stores)))
    if diff.workspace:
        guards.insert(2, Guard(f"{diff.workspace} plans", not whole, _lines(whole)))
    guards.append(Guard("writing allowed", not read_only, read_only))
    if destroys:
        is_protected = stack.placement is not None and stack.placement.protected
        why = "take `protected` out of its placement first" if is_protected else ""
        guards.append(Guard("stack not protected", not is_protected, why))
    return tuple(guards)


def _checked(name: str, passed: bool, message: str, away: Iterable[Problem]) -> Guard:
    """A guard that clusters check: of those that are away, a pass of the others says nothing."""
    unasked = ", ".join(dict.fromkeys(each.cluster for each in away))
    if not passed or not unasked:
        return Guard(name, passed, message)
    return Guard(name, False, f"not known of {unasked}", is_unknown=True)


def _lines(problems: Iterable[Problem]) -> str:
    return "; ".join(f"{each.address or each.cluster}: {each.message}" for each in problems)


def _managers(change: Change) -> str:
    return ", ".join(dict.fromkeys(each.manager for each in change.conflicts))


def _confirmation(
    diff: StackDiff,
    stack: Stack,
    prior: Release | None,
    elsewhere: tuple[str, ...],
    *,
    force: bool,
    destroys: bool,
) -> Confirmation:
    summary = Summary.of(diff.changes)
    if not summary.changes:
        return Confirmation(Level.NOTHING)
    reasons = [*_deletion_reasons(diff, prior), *diff.cautions]
    left = sum(each.exists and each.subject is not None and CLUSTER.holds(each.subject) for each in diff.gaps)
    if left and any(each.action is Action.DELETE and each.address.cluster == diff.workspace for each in diff.changes):
        reasons.append(f"what is deleted in Terraform may be used by what is left in clusters ({left})")
    if destroys and not reasons:
        reasons.append(f"everything the stack has is deleted ({counted(summary.delete, 'resource')})")
    if stack.placement is not None and stack.placement.protected:
        reasons.append("the stack is protected")
    reasons += _taken_from_others(diff)
    if prior is None or not prior.resources:
        reasons += _made_twice(diff, stack, elsewhere)
    if force and any(each.conflicts for each in diff.changes):
        reasons.append("fields are taken over from other managers")
    if taken := sum(len(each.takes_away) for each in diff.changes):
        reasons.append(f"what people put into live objects is taken away ({taken} field{'s' if taken > 1 else ''})")
    if reasons:
        return Confirmation(Level.PHRASE, str(stack.path), tuple(reasons))
    return Confirmation(Level.YES, "yes", (f"{summary.changes} change" + ("s" if summary.changes > 1 else ""),))


def _made_twice(diff: StackDiff, stack: Stack, elsewhere: tuple[str, ...]) -> Iterable[str]:
    """Says what speaks for it that Terraform resources exist already, though neither state nor release here has any."""
    ours = [each for each in diff.changes if each.address.cluster == diff.workspace]
    if not ours or any(each.action is not Action.CREATE for each in ours):
        return
    theirs = [*elsewhere]
    if labelled := sum(labels_of(each.before).items() >= ownership(stack.path).items() for each in diff.changes):
        theirs.append(f"what is in its clusters carries its labels ({labelled})")
    if theirs:
        yield (
            f"{len(ours)} Terraform resources are created, and may be there already: no state or release here has any "
            f"of them, but {'; '.join(theirs)}"
        )


def _taken_from_others(diff: StackDiff) -> Iterable[str]:
    owners = Counter(each.other_owner for each in diff.changes if each.other_owner and each.action is not Action.NONE)
    for owner, count in sorted(owners.items()):
        yield f"{count} of the objects written carry the labels of another stack, {owner}: they are taken over from it"


def _deletion_reasons(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    gone = [each for each in diff.changes if each.action in (Action.DELETE, Action.REPLACE)]
    pruned = [each for each in gone if each.action is Action.DELETE]
    owned = [each for each in prior.resources if each.cluster in (*diff.clusters, diff.workspace)] if prior else []
    owned += [each.address for each in gone if each.address.cluster == diff.workspace and each.address not in owned]
    for each in diff.changes:
        if each.action is Action.FORGET:
            what = "it stays where it is, and nothing here changes or deletes it any more"
            yield f"{each.address.in_words} is forgotten: {what}"
    for each in gone:
        if each.action is Action.REPLACE and each.address.cluster == diff.workspace:
            yield f"{each.address.in_words} is deleted and recreated: what it holds may be lost"
        elif each.address.cluster == diff.workspace and len(pruned) < len(owned):
            yield f"{each.address.in_words} is deleted: what it holds may be lost"
        match each.address.id:
            case KubernetesId(kind=kind) if kind in _HOLDS_OTHERS:
                yield f"{each.address.in_words} is deleted with everything in it"
    known = prior.resources if prior else {}
    strange = [each for each in pruned if each.address.cluster == diff.workspace and each.address not in known]
    if strange:
        what = f"{len(strange)} of the Terraform resources that are deleted"
        yield f"no release of this stack has {what}: the state may be that of another stack as well"
    if pruned and len(pruned) >= len(owned):
        yield f"everything the stack has is deleted ({counted(len(pruned), 'resource')})"
    elif len(pruned) > MOST_DELETIONS:
        yield f"{len(pruned)} resources are deleted"
    elif pruned and len(pruned) > LARGEST_DELETED_SHARE * len(owned):
        yield f"{len(pruned)} of {len(owned)} resources are deleted"


def _not_asked(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    """Names the places that the last release wrote to and that are not looked at, as only others were asked for."""
    away = {each.cluster for each in prior.resources} - {*diff.clusters, diff.workspace} if prior else set()
    told = {each.place for each in diff.gaps}
    for place in sorted(away - told):
        yield f"the last release also has resources in {place}, which this plan does not look at"


def _notes(diff: StackDiff, prior: Release | None) -> Iterable[str]:
    if prior is not None and prior.phase in (Phase.APPLYING, Phase.INTERRUPTED):
        yield f"release {prior.revision} was not finished; this plan continues it"
    for each in diff.changes:
        if each.action is not Action.NONE:
            yield from _waits(diff, each)
        if each.action is Action.REPLACE:
            yield f"{each.address.in_words}: is replaced, as {each.because}"
        elif each.action in (Action.IMPORT, Action.MOVE, Action.FORGET):
            yield f"{each.address.in_words}: {each.because or each.action.value}"
        elif each.restarts:
            yield f"{each.address.in_words}: its pods are replaced"
        elif held := stays(each):
            yield f"{each.address.in_words}: its pods stay as they are {held}"
    yield from stale_pods(diff.changes)


def _waits(diff: StackDiff, change: Change) -> Iterable[str]:
    """Says what an apply will wait for: fields that only a cluster sets, some time after an object was made."""
    if change.resource is None or change.resolved is None:
        return
    ids = {str(each.id): each.id for each in diff.spec}
    fields: dict[PlainPath, dict[str, None]] = {}
    for path, reference in found_references(change.resource, ids):
        if CLUSTER.holds(reference.id) and any(True for _ in unknown_paths(find(change.resolved, path))):
            fields.setdefault(path, {})[f"{reference.id}{reference.usual}"] = None
    for names in fields.values():
        waits = f"{change.address.in_words}: waits up to {VALUE_PATIENCE_SECONDS:.0f} s for {' and '.join(names)}"
        if len(names) == 1:
            yield f"{waits}, which has no value yet and only its cluster sets"
        else:
            yield f"{waits}, as far as they have no value yet and only their cluster sets them"

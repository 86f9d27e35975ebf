"""What a stack has in a cluster and its configuration no longer names: to be deleted, or a gap that says why not.

Two sources tell of it, and neither is enough. Labels find objects that other machines made, and also those of another
repository with a project and stack of the same names. Releases find objects whose kind may not be listed here, and
know which object it was, but only those of this machine. What both agree on is deleted; what one of them alone knows is
there is a gap, as it may be this stack's. Deleting what labels alone know takes `adopts`, which is said by a person.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from typing import Any

from kcl.records import dataclass, field, replace
from runtimes.base import (
    Address,
    KubernetesId,
    Labelled,
    LiveResource,
    NotThere,
    OtherVersion,
    Owned,
    ReadRequest,
    ResourceId,
    Runtime,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from workbench.engine.changes import Change, Gap
from workbench.engine.ending import HOW_IT_GOES, why_ending
from workbench.engine.events import Action
from workbench.engine.masking import Seal, masked, secrets_at, sensitive_paths
from workbench.engine.release import Release, ReleasedResource
from workbench.words import counted, few

HOW_TO_ADOPT = (
    "if another machine applied them from this repository: --adopt deletes them too; "
    "if another repository has a project and stack of these names, rename one of them"
)
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Pruned:
    deletions: tuple[Change, ...] = ()
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """The secret texts of what is deleted."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """`wanted` are the ids that the configuration has, `seen` the uids behind them, `carrying` those of them that carry
    the labels, with their ids. `screen` and `state` are seals, the latter None where nothing is bound.
    """

    cluster: str
    labels: Mapping[str, str]
    wanted: Collection[ResourceId]
    seen: Collection[str]
    prior: Release | None
    screen: Seal = field(repr=False)
    state: Seal | None = field(repr=False)
    adopts: bool = False
    carrying: Mapping[str, KubernetesId] = field(default_factory=dict)

    async def run(self, runtime: Runtime, labelled: Labelled | None = None) -> Pruned:
        """Raises `RuntimeFailure`. `labelled` looks for what carries the labels already."""
        owned = await (labelled.owned(self.seen) if labelled else runtime.owned(self.labels, self.seen))
        released, gaps = await self._unlisted_but_released(runtime, owned.resources)
        found = [*owned.resources, *released]
        wanted = {without_version(each) for each in self.wanted}
        deletions: list[Change] = []
        secrets: set[str] = set()
        for live in found:
            if without_version(live.id) in wanted or live.identity.uid in self.seen:
                continue
            match self._judged(live):
                case Change() as change:
                    deletions.append(change)
                    secrets.update(secrets_at(live.body, change.sensitive))
                case Gap() as gap:
                    gaps.append(gap)
        gaps += [each async for each in self._not_whole(runtime, owned)]
        warnings: tuple[str, ...] = ()
        if owned.unlisted and self.prior is None:
            gaps.append(self._unlisted(owned))
        elif owned.unlisted:
            gap = self._unlisted(owned)
            warnings = (f"{gap}, but for what its releases here made",)
        return Pruned(tuple(deletions), tuple(gaps), warnings, frozenset(secrets))

    async def _not_whole(self, runtime: Runtime, owned: Owned) -> AsyncIterator[Gap]:
        """Yields kinds whose list lacks an object that was read, and is there still: what else it lacks nobody knows.

        A proxy that filters lists answers so, and a server that answers from what it knew long ago.
        """
        lacking = self._lacking(owned)
        if lacking:  # what was made in between is there now
            lacking = self._lacking(await runtime.owned(self.labels, self.seen))
        said = set[str]()
        for uid, id_ in lacking.items():
            live = await _read(runtime, id_) if id_.kind not in said else None
            if live is None or live.identity.uid != uid or not self.labels.items() <= labels_of(live.body).items():
                continue  # it went in between
            said.add(id_.kind)
            why = f"its list of {id_.kind} lacks {id_}, which is there: what the stack has of that kind is not known"
            yield Gap(self.cluster, why, "is a proxy in between that filters lists? ask the API server itself")

    def _lacking(self, owned: Owned) -> dict[str, KubernetesId]:
        return {
            uid: each
            for uid, each in self.carrying.items()
            if uid not in owned.uids and (each.group, each.kind) in owned.listed
        }

    async def _unlisted_but_released(
        self, runtime: Runtime, listed: Iterable[LiveResource]
    ) -> tuple[list[LiveResource], list[Gap]]:
        """Reads one by one what the last release had and no list brought; what can't be read is a gap."""
        known = {without_version(each.id) for each in (*listed,)} | {without_version(each) for each in self.wanted}
        addresses = self.prior.resources if self.prior is not None else ()
        sought = [
            each.id for each in addresses if each.cluster == self.cluster and without_version(each.id) not in known
        ]
        found: list[LiveResource] = []
        gaps: list[Gap] = []
        for id_ in sought:
            try:
                live = await _read(runtime, id_)
            except (Unreachable, Unauthenticated):
                raise
            except RuntimeFailure as error:
                said = f"the last release made it, and whether it is still there is not known: {error.message}"
                gaps.append(Gap(self.cluster, said, error.hint, id_))
                continue
            found += [live] if live is not None else []
        return found, gaps

    def _judged(self, live: LiveResource) -> Change | Gap | None:
        """Decides about an object that the configuration does not name; None for one that is not this stack's."""
        released = released_as(self.prior, Address(self.cluster, live.id))
        is_released = released is not None and released.may_be(live.identity.uid)
        if not self.labels.items() <= labels_of(live.body).items():
            return self._unlabelled(live) if released is not None and released.uid == live.identity.uid else None
        if is_released:
            return self._deletion(live, "the configuration no longer has it")
        if self.adopts:
            return self._deletion(live, "it carries the labels of the stack, and was adopted")
        return self._left(live, released)

    def _deletion(self, live: LiveResource, because: str) -> Change:
        hidden = sensitive_paths(live.id, live.body, self.screen.rules)
        why = why_ending(live)
        return Change(
            address=Address(self.cluster, live.id),
            action=Action.DELETE,
            identity=live.identity,
            because=f"{because}; it is being deleted already ({why})" if why else because,
            sensitive=hidden,
            before=masked(live.body, hidden, self.screen),
            state=self.state.digest(live.body) if self.state else "",
        )

    def _left(self, live: LiveResource, released: ReleasedResource | None) -> Gap:
        if why := why_ending(live):
            return Gap(self.cluster, f"is still being deleted ({why})", HOW_IT_GOES, live.id, exists=True)
        reason = "another object has its name now" if released else "no release of this stack recorded here made it"
        said = f"carries the labels of this stack, but {reason}: left alone"
        return Gap(self.cluster, said, HOW_TO_ADOPT, live.id, exists=True)

    def _unlabelled(self, live: LiveResource) -> Gap:
        found = labels_of(live.body)
        if all(each in found for each in self.labels):
            owner = "/".join(str(found[each]) for each in self.labels)
            said = f"the last release made it, and its labels say that {owner} has it now: left to that"
            hint = f"whether {owner} configures it: wb diff {owner}"
            return Gap(self.cluster, said, hint, live.id, exists=True, owner=owner)
        said = "the last release made it, and somebody took the labels of the stack off it since: left alone"
        return Gap(self.cluster, said, "delete it by hand if nobody needs it", live.id, exists=True)

    def _unlisted(self, owned: Owned) -> Gap:
        refused = tuple(each for each in owned.unlisted if each not in owned.away)
        said: list[str] = []
        hints: list[str] = []
        if refused:
            said.append(f"{counted(len(refused), 'kind')} may not be listed ({few(refused, _MOST_NAMED)})")
            hints.append("ask for the permission to list them, or plan where the stack was applied")
        if owned.away:
            named = [f"{each}: {why}" if why else each for each, why in owned.away.items()]
            said.append(f"{few(named, _MOST_NAMED)} could not be listed")
            hints.append("mend what fails (where a server is away: kubectl get apiservices), and try again")
        return Gap(self.cluster, f"{' and '.join(said)}, so what the stack has of them is not known", "; ".join(hints))


def released_as(prior: Release | None, address: Address) -> ReleasedResource | None:
    """Finds what the last release knows of an object, which may be served in another version by now."""
    resources: Mapping[Address, ReleasedResource] = prior.resources if prior is not None else {}
    if address in resources:
        return resources[address]
    wanted = without_version(address.id)
    alike: Iterable[ReleasedResource] = (
        each
        for other, each in resources.items()
        if other.cluster == address.cluster and without_version(other.id) == wanted
    )
    return next(iter(alike), None)


def without_version(id_: ResourceId) -> tuple[str, ...]:
    if isinstance(id_, KubernetesId):
        return id_.group, id_.kind, id_.namespace, id_.name
    return (str(id_),)


async def _read(runtime: Runtime, id_: ResourceId) -> LiveResource | None:
    try:
        return await runtime.read(ReadRequest(id_))
    except OtherVersion as other:
        # what was applied in a version that is served no more lies there all the same
        return await _read(runtime, replace(id_, api_version=other.served)) if isinstance(id_, KubernetesId) else None
    except NotThere:
        return None  # its kind is served no more, nor is it


def labels_of(body: Any) -> Mapping[str, Any]:
    match body:
        case {"metadata": {"labels": Mapping() as labels}}:
            return labels
        case _:
            return {}

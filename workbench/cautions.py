"""What is said beside a difference or a plan: what nobody looked at, what is not known, and what may not be meant.

Pure, but for `left_behind` and `renamed`, which look up what the repository declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from kcl.records import replace
from runtimes.base import ClusterIdentity, RuntimeType
from workbench.destinations import Places
from workbench.engine.changes import Gap, StackDiff
from workbench.engine.events import Action
from workbench.engine.identities import Followed, former_of
from workbench.engine.placement import PROJECT, STACK, ownership
from workbench.engine.plan import Guard, Plan
from workbench.engine.plan_age import other_clock
from workbench.engine.pruning import labels_of
from workbench.engine.release import Release, held
from workbench.engine.spec import Spec
from workbench.project import Stack, discover
from workbench.release.history import History
from workbench.words import counted


def left_behind(root: Path, stack: Stack, places: Places, prior: Release | None) -> Iterator[Gap]:
    """Yields clusters that the last release wrote to, and that nobody asks any more."""
    if prior is None or places.only:
        return
    mapping = discover(root).clusters
    declared = {each.name for each in mapping.clusters}
    counts = Counter(each.cluster for each in held(prior, RuntimeType.KUBERNETES))
    for cluster in sorted(counts.keys() - {*places.clusters}):
        said = f"the last release has {counted(counts[cluster], 'resource')} there"
        former = prior.clusters.get(cluster)
        if former is not None and (name := former_of(cluster, former)):
            if not mapping.is_declared and name in places.clusters:
                continue  # whoever has no clusters.yaml goes from cluster to cluster by context: that is a warning
            said += f": {name} was {former} then, and leads to another cluster now"
            yield Gap(cluster, f"{said}; what is there is left alone", _way_back(stack, cluster, former), exists=True)
        elif cluster not in declared:
            hint = "put it back into clusters.yaml to destroy them, or delete them by hand"
            yield Gap(cluster, f"{said}, and clusters.yaml names no such cluster any more", hint, exists=True)
        else:
            hint = f"put {cluster} back into its placement to have them deleted, or delete them by hand"
            yield Gap(cluster, f"{said}, and the stack goes there no more", hint, exists=True)


def renamed(root: Path, found: StackDiff) -> Iterator[Gap]:
    """Yields stacks whose objects are taken over, and that this repository has no more: was this one called so?"""
    own = {"/".join(ownership(each.path).values()) for each in discover(root).stacks()}
    for owner in sorted({each.other_owner for each in found.changes if each.other_owner} - own):
        project, _, name = owner.partition("/")
        said = f"objects carry the labels of {owner}, which is no stack of this repository"
        hint = f"what else it has: kubectl get all,cm,secret,ing -A -l {PROJECT}={project},{STACK}={name}"
        yield Gap("", f"{said}: if this stack was called so before, what else it had is not looked at", hint)


def handed_over(root: Path, found: StackDiff) -> StackDiff:
    """Says of what another stack of this repository took over that it did: that one answers for it by now.

    Where that stack does not go to this cluster, nobody looks at it there, and it stays a gap.
    """
    if not any(each.owner for each in found.gaps):
        return found
    clusters = {"/".join(ownership(each.path).values()): each.clusters for each in discover(root).stacks()}
    taken = [each for each in found.gaps if each.place in clusters.get(each.owner, ())]
    gaps = tuple(each for each in found.gaps if each not in taken)
    return replace(found, gaps=gaps, notes=(*found.notes, *map(str, taken)))


def labelled_before(stack: Stack, found: StackDiff, prior: Release | None) -> Iterator[str]:
    """Warns of objects to be written that somebody applied as this stack's, of whose releases nothing is known here."""
    if prior is not None:
        return
    own = ownership(stack.path).items()
    written = (each for each in found.changes if each.action in (Action.UPDATE, Action.REPLACE))
    if count := sum(own <= dict(labels_of(each.before)).items() for each in written):
        said = f"{counted(count, 'object')} to be changed {'carries' if count == 1 else 'carry'} the labels of"
        who = "another machine, or another repository that has a stack of this name"
        yield f"{said} {stack.name} already, and no release of it is recorded here: {who}, may have applied this"


def other_clocks(identities: Mapping[str, ClusterIdentity]) -> Iterator[str]:
    """Yields clusters whose clock says another time than this machine's: one of the two is wrong."""
    for name, each in identities.items():
        if (apart := other_clock(each)) is not None:
            said = f"{counted(round(abs(apart) / timedelta(minutes=1)), 'minute')}"
            way = "ahead of" if apart > timedelta() else "behind"
            yield f"the clock of {name} is {said} {way} this machine's: one is wrong, and what goes by them is not sure"


def history_guard(plan: Plan, history: History) -> Iterator[Guard]:
    """Refuses a plan that does not know what the stack has where no guard of its clusters does: of Terraform alone."""
    if history.problems and not plan.clusters:
        said = "; ".join(f"{each.cluster}: {each.message}" for each in history.problems)
        yield Guard("releases known", False, said)


def with_history(found: StackDiff, history: History) -> StackDiff:
    """Says what is not known of the releases. A cluster that says nothing at all has said so already."""
    silent = {each.cluster for each in found.problems if each.address is None}
    return replace(
        found,
        problems=(*found.problems, *(each for each in history.problems if each.cluster not in silent)),
        gaps=(*found.gaps, *(each for each in history.gaps if each.place not in silent)),
        warnings=(*history.warnings, *found.warnings),
    )


def _way_back(stack: Stack, cluster: str, former: ClusterIdentity) -> str:
    return (
        f"if it is gone for good: wb release forget {stack.name} --cluster {cluster}; else have "
        f"{former_of(cluster, former)} lead back there (context {former.context}): then wb destroy {stack.name} takes "
        "away what is there, and nothing here"
    )


def other_cluster(followed: Followed, identities: Mapping[str, ClusterIdentity], prior: Release) -> Iterator[str]:
    """Says of each cluster that has taken the place of another since the last release, and gets something now."""
    for former, kept_as in followed.others.items():
        now, then = identities.get(former), prior.clusters.get(kept_as)
        if now is not None and then is not None:
            is_rebuilt = now.server == then.server
            what = "was recreated since" if is_rebuilt else "is another cluster than at"
            yield f"{former} {what} release {prior.revision}: it is {now}, and was {then}"


def presumed(identities: Mapping[str, ClusterIdentity]) -> Iterator[str]:
    for name, each in identities.items():
        if not each.uid:
            by = "its server and authority" if each.authority else "its server's address, which proves nothing"
            yield f"which cluster {name} is can be told by {by} only: {each.unknown}"


def one_cluster_twice(identities: Mapping[str, ClusterIdentity]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for name, each in identities.items():
        if each.uid:
            names.setdefault(each.uid, []).append(name)
    for same in names.values():
        if len(same) > 1:
            yield f"{' and '.join(same)} are one and the same cluster: what goes to each of them goes there"


def without_silent(found: StackDiff, places: Places) -> StackDiff:
    """Makes warnings of clusters that need not answer and do not: the stack has nothing there as far as is known."""
    silent = {each.cluster: each for each in found.problems if each.cluster in places.besides}
    if not silent:
        return found
    said = (
        f"{name} was not queried: whether the stack has something left there is not known: {each.message}"
        for name, each in silent.items()
    )
    return replace(
        found,
        clusters=tuple(each for each in found.clusters if each not in silent),
        problems=tuple(each for each in found.problems if each.cluster not in silent),
        identities={name: each for name, each in found.identities.items() if name not in silent},
        warnings=(*found.warnings, *said),
    )


def emptiness(spec: Spec) -> tuple[str, ...]:
    """Warns of a stack that says nothing: that nothing differs from it says little."""
    return () if spec.resources else (f"{spec.stack} compiles to no resources: is a file or an entry of it missing?",)

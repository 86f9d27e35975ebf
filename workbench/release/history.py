"""What is known of the releases of a stack, put together from the places that keep them. Pure.

The stack's first cluster (its home) keeps the whole of each release, every other one what was applied to it, and this
machine what it released itself. The newest whole one counts. What could not be read is said: that there was no release
is claimed only where every place that could have one has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kcl.records import dataclass, field, replace
from runtimes.base import ClusterIdentity, RuntimeFailure
from workbench.engine.changes import Gap, Problem
from workbench.engine.errors import ReleaseFailure
from workbench.engine.release import Phase, Release
from workbench.release.contract import Entry
from workbench.release.encoding import BrokenRecord
from workbench.release.stored_rollouts import Claim


@dataclass(frozen=True, slots=True)
class Asked:
    """What the clusters of a stack answered, in the order of its placement; `home` is the first of them.

    `denied` do not let their records be read, `silent` did not answer. `unasked` are clusters that the stack does not
    go to, and that did not answer whether it did before.
    """

    home: str
    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    denied: Mapping[str, ReleaseFailure] = field(default_factory=dict)
    silent: Mapping[str, RuntimeFailure] = field(default_factory=dict)
    unasked: Mapping[str, RuntimeFailure | ReleaseFailure] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)

    def lacks_whole(self, repository: str) -> bool:
        """Whether the newest release of all that answered is known in part only, or there is none at all."""
        every = [each for entries in self.own(repository).values() for each in entries]
        newest = max((each.revision for each in every), default=0)
        return not any(each.is_whole and each.revision == newest for each in every)

    def own(self, repository: str) -> dict[str, list[Entry]]:
        return {
            cluster: [each for each in entries if each.repository == repository]
            for cluster, entries in self.entries.items()
        }


@dataclass(frozen=True, slots=True)
class History:
    """`latest` is the newest release that can be read, None if there is none as far as is known.

    `is_shared`: the next one goes to the clusters. `problems` refuse a plan, `gaps` say what is not known, `warnings`
    what had to be passed over. `former` are those before the latest, newest first, which are read when asked for;
    `local` reads what this machine released itself, `local_release` one of `local_revisions`. `silent` are clusters
    (or the bucket) that did not answer, `home` is where the whole of the latest one was found. `claims` are those of
    rollouts on the stack, by who keeps its releases.
    """

    latest: Release | None
    next_revision: int
    is_shared: bool = False
    problems: tuple[Problem, ...] = ()
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()
    former: tuple[Entry, ...] = ()
    local: Callable[[], tuple[Release, ...]] = tuple
    local_revisions: Callable[[], Sequence[int]] = tuple
    local_release: Callable[[int], Release | None] = field(default=lambda revision: None)
    silent: Mapping[str, RuntimeFailure] = field(default_factory=dict)
    home: str = ""
    claims: Mapping[str, Claim] = field(default_factory=dict)

    def refuse_unknown(self, stack: str) -> None:
        """Raises `ReleaseFailure` where what is known may be old, or may not be all there is."""
        for problem in self.problems:
            raise ReleaseFailure(problem.message, where=f"{stack} in {problem.cluster}", hint=problem.hint)
        for gap in self.gaps if self.latest is None else ():
            raise ReleaseFailure(gap.message, where=f"{stack} in {gap.place}", hint=gap.hint)

    def releases(self) -> tuple[Release, ...]:
        """Returns all that can be read, newest first; the first one has the warnings."""
        if self.latest is None:
            return ()
        found = [self.latest, *_readable(self.former)]
        known = {each.revision for each in found}
        found += [each for each in self.local() if each.revision not in known and each.revision < self.latest.revision]
        return tuple(sorted(found, key=lambda each: each.revision, reverse=True))

    def find(self, revision: int, stack: str) -> Release:
        """Returns one release whole. Raises `ReleaseFailure`: not there, not readable, or not known whether it is."""
        if (found := self._look(revision, stack)) is not None:
            return found
        self.refuse_unknown(stack)
        latest = self.latest
        passed_over = latest.warnings if latest is not None and revision > latest.revision else ()
        why = f": {'; '.join(passed_over)}" if passed_over else ""
        raise ReleaseFailure(f"there is no release {revision} that can be read{why}", where=stack, hint=self._others())

    def _look(self, revision: int, stack: str) -> Release | None:
        """Returns None for a release that is not there; raises as `find` where it is and is not known whole."""
        latest = self.latest
        if latest is not None and latest.revision == revision:
            if self.gaps:
                gap = self.gaps[0]
                said = f"release {revision} is known in part only: {gap.message}"
                raise ReleaseFailure(said, where=stack, hint=gap.hint)
            return latest
        for each in self.former:
            if each.revision == revision:
                try:
                    return each.load()
                except BrokenRecord as error:
                    said = f"release {revision} can't be read: its record {error}"
                    raise ReleaseFailure(said, where=each.where, hint=self._others()) from error
        return self.local_release(revision) if latest is not None and revision < latest.revision else None

    def rollback_target(self, stack: str) -> Release:
        """Returns the last good release before the current one. Raises `ReleaseFailure` where there is none.

        A rollback that did not end goes on to where it went. After one that did, what came between is no good release.
        A rollout is taken back as a whole: none of its batches is what was there before. Where the current one can't
        be read, nobody knows which of the others was before it.
        """
        latest = self.latest
        if latest is None:
            raise ReleaseFailure("there is no release to return to", where=stack)
        if (current := self.next_revision - 1) > latest.revision:
            said = (
                f"release {current} is newer than {latest.revision} and can't be read: which was before it is not known"
            )
            raise ReleaseFailure(said, where=stack, hint=f"say which with --to; {self._others()}")
        if latest.rolled_back_to and latest.phase is not Phase.SUCCEEDED:
            return self.find(latest.rolled_back_to, stack)
        below = latest.rolled_back_to or latest.revision
        # one that can't be read may be the last good one: then it is not passed over, but its user has to name another
        there = {each.revision for each in self.former} | set(self.local_revisions())
        for revision in sorted((each for each in there if each < below), reverse=True):
            found = self._look(revision, stack)
            if found is not None and latest.rollout and found.rollout == latest.rollout:
                continue
            if found is not None and found.phase is Phase.SUCCEEDED and found.resources:
                return found
        raise ReleaseFailure(
            f"there is no release before {below} that succeeded and has anything", where=stack, hint=self._others()
        )

    def recorded(self) -> tuple[int, ...]:
        """Returns the numbers of all releases that are recorded, newest first, whether or not they can be read."""
        if self.latest is None:
            return ()
        local = {each for each in self.local_revisions() if each < self.latest.revision}
        there = {self.next_revision - 1, self.latest.revision, *(each.revision for each in self.former), *local}
        return tuple(sorted(there, reverse=True))

    def unrecorded_after(self, revision: int) -> tuple[int, ...]:
        """Returns the releases between that one and the latest of which there is no record: too old, or taken away."""
        latest = self.latest.revision if self.latest is not None else 0
        there = frozenset(self.recorded())
        return tuple(each for each in range(revision + 1, latest) if each not in there)

    def unrecorded(self) -> tuple[int, ...]:
        """Returns the releases between the oldest and the latest of which there is no record."""
        return self.unrecorded_after(min(self.recorded(), default=0))

    def _others(self) -> str:
        known = ", ".join(str(each.revision) for each in self.releases()) or "none"
        return f"there are: {known}" + ("" if self.is_shared else " (recorded on this machine)")


def merged(asked: Asked, repository: str, local: Release | None, next_local: int) -> History:
    """Returns what clusters and this machine know; raises `ReleaseFailure` where there are records, and none is read.

    Where its home does not let records be read, a stack is kept on this machine, which is said.
    """
    own = asked.own(repository)
    every = [each for entries in own.values() for each in entries]
    following = max([next_local, *(each.revision + 1 for each in every)])
    warnings, gaps = list(_foreign(asked, repository)), list[Gap]()
    if (denied := asked.denied.get(asked.home)) is not None:
        said = "whether another machine released the stack is not known"
        if local is None:
            gaps.append(Gap(asked.home, f"{said}: {denied.message}", denied.hint))
        else:
            warnings.append(f"{said}: {denied} ({denied.hint}); this machine's releases are used")
        return History(local, following, gaps=tuple(gaps), warnings=tuple(warnings))
    found = _newest(own, asked, local)
    gaps += found.gaps
    problems = tuple(
        Problem(
            cluster,
            type(failure).__name__,
            f"its releases can't be read, so what the stack has is not known: {failure.message}",
            failure.hint,
        )
        for cluster, failure in asked.silent.items()
        if cluster == asked.home
    )
    if found.latest is None or not found.is_whole:
        gaps += [
            Gap(cluster, f"whether the stack was released there is not known: {failure.message}", failure.hint)
            for cluster, failure in asked.silent.items()
            if cluster != asked.home
        ]
        warnings += [
            f"{cluster} was not queried, so whether the stack was released there before is not known: {failure.message}"
            for cluster, failure in asked.unasked.items()
        ]
    latest = found.latest
    if latest is None and local is not None:
        latest = local  # made before releases were shared: the next one takes it over
    elif latest is not None and local is not None:
        warnings += _unshared(latest, local)
    warnings += found.warnings
    if latest is not None and found.warnings:
        latest = replace(latest, warnings=(*latest.warnings, *found.warnings))
        warnings = [each for each in warnings if each not in found.warnings]
    return History(
        latest,
        following,
        is_shared=True,
        problems=problems,
        gaps=tuple(gaps),
        warnings=tuple(warnings),
        former=found.former,
        silent=asked.silent,
        home=found.home,
        claims=asked.claims,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    latest: Release | None = None
    is_whole: bool = True
    former: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    home: str = ""


def _newest(own: Mapping[str, Sequence[Entry]], asked: Asked, local: Release | None) -> _Found:
    wholes = sorted(
        ((each, cluster) for cluster, entries in own.items() for each in entries if each.is_whole),
        key=lambda found: found[0].revision,
        reverse=True,
    )
    broken: list[str] = []
    for index, (entry, cluster) in enumerate(wholes):
        try:
            latest = _with_steps(entry.load(), local)
        except BrokenRecord as error:
            broken.append(f"release record {entry.where} of {cluster} {error}: passed over")
            continue
        former = tuple(each for each, _ in wholes[index + 1 :])
        return _with_later_parts(_Found(latest, True, former, tuple(broken), home=cluster), own)
    if broken and asked.home not in asked.silent:
        raise ReleaseFailure(
            "; ".join(broken),
            where=asked.home,
            hint="bring back a copy, or delete these records to start again; nothing can be pruned then",
        )
    return _from_parts(own, local, broken)


def _with_later_parts(found: _Found, own: Mapping[str, Sequence[Entry]]) -> _Found:
    """Takes over what single clusters know of later releases, as where the home was brought back from a backup."""
    latest = found.latest
    assert latest is not None, "this is about what came after it"
    resources, clusters, later = dict(latest.resources), dict(latest.clusters), list[Entry]()
    for cluster, entries in own.items():
        entry = next(iter(entries), None)
        if entry is None or entry.is_whole or entry.revision <= latest.revision:
            continue
        try:
            part = entry.load()
        except BrokenRecord:
            continue
        later.append(entry)
        resources = {address: each for address, each in resources.items() if address.cluster != cluster}
        resources |= part.resources
        clusters |= {name: each for name, each in part.clusters.items() if name == cluster}
    if not later:
        return found
    newest = max(later, key=lambda each: each.revision)
    gap = Gap(
        newest.home,
        f"the whole of release {newest.revision} was kept there and is not found, the newest one found whole is "
        f"{latest.revision}: what came between is known of single clusters only",
        "was a cluster brought back from a backup? look what is there; the next apply writes the whole again",
    )
    latest = replace(latest, resources=resources, clusters=clusters)
    return replace(found, latest=latest, is_whole=False, gaps=(*found.gaps, gap))


def _from_parts(own: Mapping[str, Sequence[Entry]], local: Release | None, broken: list[str]) -> _Found:
    """Puts together what single clusters know, where nobody who was asked has the whole."""
    parts: list[Release] = []
    homes: set[str] = set()
    for cluster, entries in own.items():
        for entry in entries:
            if entry.is_whole:
                continue
            try:
                parts.append(entry.load())
            except BrokenRecord as error:
                broken.append(f"release record {entry.where} of {cluster} {error}: passed over")
                continue
            homes.add(entry.home)
            break
    if not parts:
        return _Found(warnings=tuple(broken))
    newest = max(parts, key=lambda each: each.revision)
    if local is not None and local.revision >= newest.revision and local.plan == newest.plan:
        return _Found(local, warnings=tuple(broken))
    resources = {address: each for part in parts for address, each in part.resources.items()}
    clusters: dict[str, ClusterIdentity] = {}
    for part in sorted(parts, key=lambda each: each.revision):
        clusters |= part.clusters
    away = ", ".join(sorted(homes))
    gap = Gap(
        away,
        f"the whole of release {newest.revision} is kept there, and was not read: of what it had outside of "
        f"{', '.join(sorted({each.cluster for each in resources}))} nothing is known",
        "have clusters.yaml lead there, and plan again",
        exists=True,
    )
    return _Found(replace(newest, resources=resources, clusters=clusters), False, (), tuple(broken), (gap,))


def _with_steps(release: Release, local: Release | None) -> Release:
    """Returns what this machine knows of the same release, where it was interrupted here: it knows the single steps."""
    if release.phase is Phase.APPLYING and local is not None and _name(local) == _name(release):
        return local
    return release


def _name(release: Release) -> tuple[object, ...]:
    return release.revision, release.plan, release.started, release.user, release.host


def _unshared(latest: Release, local: Release) -> Iterator[str]:
    """Says of a release made on this machine that no other one sees, where it was of the same clusters."""
    if local.started <= latest.started or local.revision == latest.revision:
        return
    if not {each.uid for each in local.clusters.values()} & {each.uid for each in latest.clusters.values()}:
        return
    yield (
        f"release {local.revision} of {local.started:%Y-%m-%d %H:%M} UTC is recorded on this machine only: made with "
        f"WB_RELEASES=local or by an older version, or what keeps releases was put back to an earlier state; "
        f"release {latest.revision} from the clusters is used"
    )


def _foreign(asked: Asked, repository: str) -> Iterator[str]:
    told: set[str] = set()
    for cluster, entries in asked.entries.items():
        for each in entries:
            if each.repository != repository and each.repository not in told:
                told.add(each.repository)
                yield (
                    f"{cluster} has release {each.revision} of a stack of this name from another repository "
                    f"({each.repository[:120]}; this is {repository}): nothing of it is used"
                )


def unused(asked: Asked) -> Iterator[str]:
    """Yields what a checkout should know of that cannot tell which repository it is."""
    newest = {each.repository: (cluster, each) for cluster, found in asked.entries.items() for each in reversed(found)}
    for repository, (cluster, each) in newest.items():
        yield (
            f"{cluster} has release {each.revision} of a stack of this name, made from {repository[:120]}, and nothing "
            f"says which repository this is: if it is that one, WB_REPOSITORY={repository[:120]} uses its releases"
        )


def _readable(entries: Sequence[Entry]) -> Iterator[Release]:
    for each in entries:
        try:
            yield each.load()
        except BrokenRecord:
            continue


def part_of(release: Release, cluster: str) -> Release:
    """Returns what one cluster keeps of a release."""
    here = {address: each for address, each in release.resources.items() if address.cluster == cluster}
    return replace(release, resources=here, events=())


def disposable(entries: Sequence[Entry], repository: str, kept: int) -> Iterator[Entry]:
    """Yields what is beyond the history: never the last one that succeeded, nor what can't be read."""
    own = sorted((each for each in entries if each.repository == repository), key=lambda each: each.revision)
    older, has_good = own[: max(0, len(own) - kept)], False
    for each in reversed(own[len(older) :]):
        has_good = has_good or _is_good(each)
    for each in reversed(older):
        try:
            phase = each.load().phase
        except BrokenRecord:
            continue
        if phase is Phase.SUCCEEDED and not has_good:
            has_good = True
        else:
            yield each


def _is_good(entry: Entry) -> bool:
    try:
        return entry.load().phase is Phase.SUCCEEDED
    except BrokenRecord:
        return False

"""Every hostname of a recovery, accounted for: before a run, after it, and whether that is good enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kcl.records import dataclass
from workbench.engine.recovery.document import InventoryState, RecoveryDocument
from workbench.engine.recovery.history import History
from workbench.engine.recovery.values import Hold, HostResult, HostState, PodKey, StepResult, StepState, Target

_RECOVERED: Final = frozenset({HostState.RECOVERED, HostState.DONE_BEFORE})
_NOWHERE: Final = frozenset({Hold.AMBIGUOUS, Hold.NOT_FOUND, Hold.REPLACED})
NODE_AS_WANTED: Final = frozenset({Hold.CORDONED, Hold.UNCORDONED})
AS_WANTED: Final = frozenset({Hold.DONE_BEFORE, *NODE_AS_WANTED})


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What somebody accepts that is not recovered.

    allow_unresolved   hosts that lead to no pod, or to which one nobody knows: unknown, out of date, ambiguous
    require_all        False accepts hosts as well that were left alone on purpose: by a limit, a budget, a stop

    What failed, was not seen to work, or is on a cluster that was not reached is never accepted.
    """

    require_all: bool = True
    allow_unresolved: bool = False


STRICT: Final = Acceptance()


def is_recovered(host: HostResult) -> bool:
    """Whether all of a host is as the recovery wants it, by this run or an earlier one."""
    if host.state is HostState.HELD:
        return bool(host.holds) and all(each in NODE_AS_WANTED for each in host.holds)
    return host.state in _RECOVERED


def unaccounted(hosts: Iterable[HostResult], accepted: Acceptance = STRICT) -> tuple[HostResult, ...]:
    """Returns the hosts that are neither recovered nor accepted."""
    return tuple(each for each in hosts if not is_recovered(each) and not _is_accepted(each, accepted))


def is_accomplished(hosts: Iterable[HostResult], accepted: Acceptance = STRICT) -> bool:
    """Whether a recovery may end well: every host is accounted for, and one at least is recovered."""
    every = tuple(hosts)
    return any(map(is_recovered, every)) and not unaccounted(every, accepted)


def _is_accepted(host: HostResult, accepted: Acceptance) -> bool:
    holds = frozenset(host.holds) - AS_WANTED
    match host.state:
        case HostState.UNKNOWN | HostState.STALE:
            return accepted.allow_unresolved
        case HostState.HELD if holds and holds <= _NOWHERE:
            return accepted.allow_unresolved
        case HostState.HELD if holds & _NOWHERE and not accepted.allow_unresolved:
            return False
        case HostState.HELD:
            return not accepted.require_all and Hold.UNREACHABLE not in holds
        case HostState.BLOCKED | HostState.NOT_TRIED:
            return not accepted.require_all
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Lead:
    """One pod that a host leads to, and what is decided about it for this host."""

    key: PodKey
    hold: Hold | None
    why: str


def host_results(
    document: RecoveryDocument,
    targets: Iterable[Target],
    before: Mapping[tuple[str, PodKey], StepResult],
    history: History,
) -> tuple[HostResult, ...]:
    """Returns every hostname once, as it stands before a run. `before` is what was done about a host's pod earlier."""
    leads: dict[str, list[_Lead]] = {}
    for target in targets:
        for name in target.hostnames:
            leads.setdefault(name, []).append(_Lead(target.key, target.hold, target.why))
    earlier: dict[str, list[StepResult]] = {}
    for (name, key), result in before.items():
        earlier.setdefault(name, []).append(result)
        # the host is done, though its pod may be the one of another host that is not
        if all(each.key != key for each in leads.get(name, ())):
            leads.setdefault(name, []).append(_Lead(key, Hold.DONE_BEFORE, what_was_done(result)))
    states: dict[str, set[InventoryState]] = {}
    for host in document.hosts:
        states.setdefault(host.hostname, set()).add(host.state)
    found = []
    for name in document.hostnames():
        found.append(_host(name, leads.get(name, []), states.get(name, set()), earlier.get(name, []), history))
    return tuple(found)


def what_was_done(result: StepResult) -> str:
    if result.state is StepState.RECOVERED:
        after = f", {result.new_pod} took its place" if result.new_pod else ""
    else:
        after = f", but is not seen to work ({result.error or result.state.value})"
    return f"{result.step.verb} was done before by this incident{after}; another reason does it again"


def _host(
    name: str, leads: list[_Lead], states: set[InventoryState], earlier: list[StepResult], history: History
) -> HostResult:
    keys = tuple(each.key for each in leads)
    holds = tuple(dict.fromkeys(each.hold for each in leads if each.hold is not None))
    if any(each.hold is None for each in leads):
        rest = "; ".join(dict.fromkeys(each.why for each in leads if each.hold is not None))
        return HostResult(name, HostState.TO_DO, rest, keys, holds)
    if leads and set(holds) == {Hold.DONE_BEFORE}:
        return HostResult(name, _done_before(earlier), leads[0].why, keys, holds)
    if leads and set(holds) <= {Hold.NOT_FOUND, Hold.REPLACED}:
        return HostResult(name, HostState.STALE, leads[0].why, keys, holds)
    if leads:
        return HostResult(name, HostState.HELD, "; ".join(dict.fromkeys(each.why for each in leads)), keys, holds)
    if history.is_uncordon:
        why = "no cordon of a node by this incident is remembered for it: name the node itself"
        return HostResult(name, HostState.UNKNOWN, why)
    if (result := history.of_host(name)) is not None:
        return HostResult(name, _done_before([result]), what_was_done(result))
    if InventoryState.STALE in states:
        return HostResult(name, HostState.STALE, "the inventory's record of it is out of date")
    return HostResult(name, HostState.UNKNOWN, "the inventory does not know it")


def _done_before(earlier: Iterable[StepResult]) -> HostState:
    """Done is not yet recovered: what an earlier run never saw to work is not claimed to."""
    is_good = all(each.state is StepState.RECOVERED for each in earlier)
    return HostState.DONE_BEFORE if is_good else HostState.UNVERIFIED

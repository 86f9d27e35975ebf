"""When a recovery may end well: only where every host is recovered or accepted, and one at least is recovered."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from workbench.engine.recovery.hosts import Acceptance, is_accomplished, unaccounted
from workbench.engine.recovery.values import Hold, HostResult, HostState

RECOVERED = HostResult("good", HostState.RECOVERED)
BEFORE = HostResult("before", HostState.DONE_BEFORE)
NODES = {Hold.CORDONED, Hold.UNCORDONED}
NOWHERE = {Hold.NOT_FOUND, Hold.REPLACED, Hold.AMBIGUOUS}
EVERY = [
    *(HostResult("h", state) for state in HostState if state is not HostState.HELD),
    *(HostResult("h", HostState.HELD, holds=holds) for n in (1, 2) for holds in combinations(Hold, n)),
]
ACCEPTANCES = [Acceptance(*each) for each in product((True, False), repeat=2)]


def is_good(host: HostResult) -> bool:
    is_as_wanted = bool(host.holds) and set(host.holds) <= NODES
    return host.state in (HostState.RECOVERED, HostState.DONE_BEFORE) or is_as_wanted


@pytest.mark.parametrize("accepted", ACCEPTANCES, ids=str)
def test_what_failed_or_was_never_looked_at_is_never_accepted(accepted: Acceptance) -> None:
    for host in EVERY:
        is_bad = host.state in (HostState.FAILED, HostState.UNVERIFIED, HostState.TO_DO)
        if is_bad or Hold.UNREACHABLE in host.holds:
            assert unaccounted([RECOVERED, host], accepted) == (host,), host


@pytest.mark.parametrize("accepted", ACCEPTANCES, ids=str)
def test_nothing_recovered_is_never_good_enough(accepted: Acceptance) -> None:
    assert not is_accomplished([], accepted)
    for host, other in product(EVERY, repeat=2):
        if not is_good(host) and not is_good(other):
            assert not is_accomplished([host, other], accepted), (host, other)


def test_strictly_every_host_has_to_be_recovered() -> None:
    for host in EVERY:
        assert is_accomplished([RECOVERED, BEFORE, host]) is is_good(host), host


def test_who_accepts_unresolved_hosts_accepts_nothing_else() -> None:
    accepted = Acceptance(allow_unresolved=True)
    for host in EVERY:
        leads_nowhere = host.state in (HostState.UNKNOWN, HostState.STALE) or (
            host.state is HostState.HELD
            and set(host.holds) <= NOWHERE | {Hold.DONE_BEFORE, Hold.CORDONED, Hold.UNCORDONED}
            and bool(NOWHERE & set(host.holds))
        )
        assert is_accomplished([RECOVERED, host], accepted) is (is_good(host) or leads_nowhere), host


def test_who_does_not_require_all_still_wants_to_know_where_hosts_lead() -> None:
    accepted = Acceptance(require_all=False)
    for host in EVERY:
        if host.state in (HostState.UNKNOWN, HostState.STALE) or NOWHERE & set(host.holds):
            assert unaccounted([RECOVERED, host], accepted) == (host,), host
    for hold in (Hold.MAX_PODS, Hold.MAX_FRACTION, Hold.BUDGET, Hold.IN_FLIGHT, Hold.MADE_SINCE):
        assert is_accomplished([RECOVERED, HostResult("h", HostState.HELD, holds=(hold,))], accepted)

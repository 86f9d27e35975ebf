"""Which pods have to go for one of a higher priority, as pure functions.

The rules are those of the scheduler's default preemption
(https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/): on each node all pods of a lower
priority are thought away, and as many as possible are spared again, the important first, those last that a disruption
budget would let go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.controllers import scheduling
from runtimes.sandbox.controllers.owners import labels_of, selects
from runtimes.sandbox.controllers.pods import is_finished, is_going
from runtimes.sandbox.store import Object


@dataclass(frozen=True, slots=True)
class Preemption:
    """The node that becomes free, and the pods that are ended there, the most important first."""

    node: str
    victims: tuple[Object, ...]


def priority_of(pod: Object) -> int:
    return int(pod["spec"].get("priority") or 0)


def is_being_helped(pod: Object, pods: Iterable[Object]) -> bool:
    """What was ended for it is still on its way out."""
    node = nominated(pod)
    return bool(node) and any(
        each["spec"].get("nodeName") == node and is_going(each) and priority_of(each) < priority_of(pod)
        for each in pods
    )


def nominated(pod: Object) -> str:
    """The node that was made free for it."""
    return str((pod.get("status") or {}).get("nominatedNodeName") or "")


def with_nominated(pod: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods as if those that wait for a place made free for them, and are no less important, were there already."""
    found = []
    for each in pods:
        waits = not each["spec"].get("nodeName") and not is_finished(each) and each is not pod
        if waits and nominated(each) and priority_of(each) >= priority_of(pod) and not _is_same(each, pod):
            each = {**each, "spec": {**each["spec"], "nodeName": nominated(each)}}
        found.append(each)
    return found


def _is_same(one: Object, other: Object) -> bool:
    return bool(one["metadata"]["uid"] == other["metadata"]["uid"])


def preempted(
    pod: Object, nodes: list[Object], pods: list[Object], budgets: Iterable[Object], helpful: Iterable[str]
) -> Preemption | None:
    """Where the least has to go for the pod; None if nothing helps. `helpful`: nodes whose refusal pods may change."""
    best: tuple[Any, ...] | None = None
    chosen: Preemption | None = None
    for node in (each for each in nodes if each["metadata"]["name"] in set(helpful)):
        found = _victims(pod, node, nodes, pods, list(budgets))
        if found is None:
            continue
        victims, broken = found
        ranks = [priority_of(each) for each in victims]
        youngest = max((_started(each) for each in victims if priority_of(each) == max(ranks)), default="")
        cost = (broken, max(ranks, default=0), sum(ranks), len(victims), _Descending(youngest))
        if best is None or cost < best:
            best, chosen = cost, Preemption(node["metadata"]["name"], tuple(victims))
    return chosen


def _victims(
    pod: Object, node: Object, nodes: list[Object], pods: list[Object], budgets: list[Object]
) -> tuple[list[Object], int] | None:
    """The pods that have to go from this node, and how many of them a budget would have kept."""
    name = node["metadata"]["name"]
    lower = [
        each
        for each in pods
        if each["spec"].get("nodeName") == name and not is_finished(each) and priority_of(each) < priority_of(pod)
    ]
    there = [each for each in pods if each not in lower]
    if not lower or name in scheduling.refusals(pod, nodes, there):
        return None
    lower.sort(key=lambda each: (-priority_of(each), _started(each)))
    guarded, free = _by_budget(lower, budgets)
    victims, broken = [], 0
    for group, is_guarded in ((guarded, True), (free, False)):
        for each in group:
            if name in scheduling.refusals(pod, nodes, [*there, each]):
                victims.append(each)
                broken += is_guarded
            else:
                there.append(each)
    victims.sort(key=lambda each: (-priority_of(each), _started(each)))
    return victims, broken


def _by_budget(pods: list[Object], budgets: list[Object]) -> tuple[list[Object], list[Object]]:
    """Those whose end a disruption budget does not allow, and the rest. Each that it allows leaves one fewer."""
    left = {each["metadata"]["uid"]: int((each.get("status") or {}).get("disruptionsAllowed") or 0) for each in budgets}
    guarded: list[Object] = []
    free: list[Object] = []
    for pod in pods:
        over = False
        for budget in budgets:
            same = budget["metadata"].get("namespace") == pod["metadata"].get("namespace")
            if same and selects(budget["spec"].get("selector"), labels_of(pod)):
                left[budget["metadata"]["uid"]] -= 1
                over |= left[budget["metadata"]["uid"]] < 0
        (guarded if over else free).append(pod)
    return guarded, free


def _started(pod: Object) -> str:
    return str((pod.get("status") or {}).get("startTime") or pod["metadata"].get("creationTimestamp") or "")


class _Descending:
    """A text that sorts the other way round."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __lt__(self, other: _Descending) -> bool:
        return self.text > other.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]  # compared only

"""What draining a node means for each pod on it: which go, which stay, which are lost, what holds some back. Pure.

As with `kubectl drain`, pods of DaemonSets and static pods stay. What nothing makes again, and data that ends with its
pod, are lost, and have to be named before that is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.base import NodePod, NodePods
from workbench.words import few

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Losses:
    """The uids of pods that are gone for good, and of those that take data along."""

    bare: frozenset[str] = frozenset()
    local_data: frozenset[str] = frozenset()

    @classmethod
    def of(cls, pods: Iterable[NodePod]) -> Losses:
        going = [each for each in pods if not each.is_finished]
        bare = frozenset(each.target.uid for each in going if not each.controller)
        return cls(bare, frozenset(each.target.uid for each in going if each.local_data))

    @classmethod
    def of_body(cls, uid: str, body: Mapping[str, Any]) -> Losses:
        """Returns what goes with one pod, of its body."""
        metadata, spec = (
            found if isinstance(found := body.get(name), Mapping) else {} for name in ("metadata", "spec")
        )
        owners, volumes = metadata.get("ownerReferences") or (), spec.get("volumes") or ()
        is_bare = not any(isinstance(each, Mapping) and each.get("controller") for each in owners)
        has_data = any(isinstance(each, Mapping) and "emptyDir" in each for each in volumes)
        return cls(frozenset({uid} if is_bare else ()), frozenset({uid} if has_data else ()))

    @property
    def uids(self) -> frozenset[str]:
        return self.bare | self.local_data

    def __str__(self) -> str:
        """`2 bare pods, 1 with local data`; empty where nothing is lost."""
        plural = "" if len(self.bare) == 1 else "s"
        bare = f"{len(self.bare)} bare pod{plural}" if self.bare else ""
        return ", ".join(filter(None, (bare, f"{len(self.local_data)} with local data" if self.local_data else "")))


@dataclass(frozen=True, slots=True)
class Drain:
    """`evicted` go, one after the other as their budgets allow. Of the others `stays` counts why they do not."""

    evicted: tuple[NodePod, ...]
    stays: tuple[tuple[str, int], ...]
    budgets_unknown: str = ""

    @property
    def losses(self) -> Losses:
        return Losses.of(self.evicted)

    def said(self) -> Iterator[str]:
        """Yields in clauses what it comes to."""
        plural = "" if len(self.evicted) == 1 else "s"
        yield f"nothing new is scheduled on it, then {len(self.evicted)} pod{plural} are evicted"
        if self.stays:
            yield "; ".join(f"{count} stay: {why}" for why, count in self.stays)
        if bare := [each for each in self.evicted if each.target.uid in self.losses.bare]:
            yield f"GONE FOR GOOD, as nothing makes it again: {_named(bare)}"
        if local := [each for each in self.evicted if each.target.uid in self.losses.local_data]:
            yield f"DATA LOST in emptyDir: {_named(local)}"
        waiting = [(each, why) for each in self.evicted if (why := blocked(each))]
        if waiting:
            yield f"waiting now: {_shortened([f'{_name(each)} ({why})' for each, why in waiting])}"
        if self.budgets_unknown:
            yield f"which budgets hold some back is not known ({self.budgets_unknown}), but the cluster asks them"


def drain(found: NodePods) -> Drain:
    going, stays = [], Counter[str]()
    for each in found.pods:
        if why := _stays(each):
            stays[why] += 1
        else:
            going.append(each)
    failure = found.budgets_failure
    return Drain(tuple(going), tuple(sorted(stays.items())), failure.message if failure is not None else "")


def _stays(pod: NodePod) -> str:
    if pod.is_static:
        return "static pods"
    if pod.is_terminating:
        return "going already"
    if pod.controller.startswith("DaemonSet/") and not pod.is_finished:
        return "of DaemonSets"
    return ""


def blocked(pod: NodePod) -> str:
    """Returns why its budgets do not let it go now, empty where they do."""
    if pod.is_finished:
        return ""
    if len(pod.budgets) > 1:
        return f"budgets {', '.join(each.name for each in pod.budgets)} both cover it, which the cluster refuses"
    for each in pod.budgets:
        if each.allowed < 1 and (pod.is_ready or not each.allows_unhealthy):
            return f"budget {each.name} allows none now"
    return ""


def _named(pods: list[NodePod]) -> str:
    return _shortened([_name(each) for each in pods])


def _name(pod: NodePod) -> str:
    return f"{pod.target.namespace}/{pod.target.name}"


def _shortened(names: list[str]) -> str:
    return few(names, _MOST_NAMED)

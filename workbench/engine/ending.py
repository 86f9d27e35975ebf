"""What of a stack is being deleted in a cluster: to be as configured means nothing then.

An object whose deletion was requested takes every change and goes all the same, once nothing holds it any more: a dry
run says of it that nothing is to be done. What lies in a namespace that is being deleted looks untouched until its turn
comes, which may be long after, as a namespace waits for the pods in it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtimes.base import KubernetesId, LiveResource, Prediction, Status
from workbench.engine.changes import Gap
from workbench.words import counted

HOW_IT_GOES = "who put a finalizer on it has to take it off, and what it waits for has to go first"
HOW_IT_COMES_BACK = f"the first apply after it is gone makes it again; {HOW_IT_GOES}"


def why_ending(live: LiveResource | None) -> str:
    """Returns what an object whose deletion was requested waits for; empty for all others."""
    health = live.health if live is not None else None
    return health.message if health is not None and health.status is Status.TERMINATING else ""


def gaps_of(cluster: str, predictions: Iterable[Prediction], namespaces: Iterable[LiveResource]) -> Iterator[Gap]:
    """Yields what is being deleted, and for each namespace that is, how much of the stack goes with it."""
    asked = tuple(predictions)
    ending = {each.id: each.live for each in asked if why_ending(each.live)}
    ending |= {each.id: each for each in namespaces if why_ending(each)}
    going = {each.name for each in ending if isinstance(each, KubernetesId) and each.kind == "Namespace"}
    for id_, live in ending.items():
        if isinstance(id_, KubernetesId) and id_.namespace in going:
            continue  # said of its namespace
        within = sum(
            each.live is not None
            and isinstance(each.id, KubernetesId)
            and isinstance(id_, KubernetesId)
            and (id_.kind, id_.name) == ("Namespace", each.id.namespace)
            for each in asked
        )
        along = f"with {counted(within, 'resource')} of the stack in it" if within else "with all that is applied to it"
        yield Gap(cluster, f"is being deleted, {along} ({why_ending(live)})", HOW_IT_COMES_BACK, id_, exists=True)

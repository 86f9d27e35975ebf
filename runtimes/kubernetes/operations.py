"""Operations on what lives in a Kubernetes cluster: see `runtimes.base.operations`.

What deletes or changes is bound to a uid: by a precondition where the API has one (deletions, evictions), by the uid in
the patch where it has none, which the server refuses if it is another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from runtimes.base import (
    Blocked,
    Budget,
    ClusterIdentity,
    Identifiable,
    KubernetesId,
    LiveNode,
    LivePod,
    LiveWorkload,
    Moved,
    NodePod,
    NodePods,
    NotThere,
    Overloaded,
    PodFeed,
    PodTarget,
    Record,
    Rejected,
    RuntimeFailure,
    Status,
    Survey,
    SurveyRequest,
    WorkloadRef,
    label_selectors,
)
from runtimes.kubernetes import health
from runtimes.kubernetes.client import Client, Object
from runtimes.kubernetes.health.pod import containers, hopeless, is_ready
from runtimes.kubernetes.informer import Informer
from runtimes.kubernetes.objects import (
    Objects,
    condition,
    count,
    created,
    is_going,
    is_true,
    mapping,
    mappings,
    metadata,
    name_of,
    namespace_of,
    spec,
    status,
    uid_of,
)
from runtimes.kubernetes.together import together

MANAGER = "workbench-recovery"
_RECORD_LABELS = {"app.kubernetes.io/managed-by": MANAGER}
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
_STATIC = "kubernetes.io/config.mirror"
"""https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-config-mirror"""
_PARALLEL_LISTS = 6
_KINDS: Mapping[str, str] = {
    "Pod": "v1",
    "Node": "v1",
    "PodDisruptionBudget": "policy/v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ConfigMap": "v1",
}
_CONTROLLERS = ("ReplicaSet", "Deployment", "StatefulSet", "DaemonSet")
_ROLLING = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_SCALING = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})
_DISRUPTION = "disruption budget"
_MERGE_PATCH = "application/merge-patch+json"


class KubernetesOperations:
    """See `runtimes.base.LiveOperations`."""

    def __init__(self, client: Client, cluster: Identifiable) -> None:
        self._client, self._cluster = client, cluster

    @property
    def place(self) -> str:
        return self._client.place

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        return await self._cluster.identify(again=again)

    async def survey(self, request: SurveyRequest) -> Survey:
        gate = asyncio.Semaphore(_PARALLEL_LISTS)
        names = tuple(dict.fromkeys(request.namespaces))

        async def listed(kind: str, namespace: str) -> tuple[Object, ...]:
            async with gate:
                return await self._list(kind, namespace)

        wanted = [(kind, each) for each in names for kind in ("Pod", "PodDisruptionBudget", *_CONTROLLERS)]
        if request.nodes:
            wanted.append(("Node", ""))
        found: dict[str, list[Object]] = {kind: [] for kind in _KINDS}
        lists = await together(*(listed(kind, namespace) for kind, namespace in wanted))
        for (kind, _), objects in zip(wanted, lists, strict=True):
            found[kind] += objects
        controllers = {uid_of(each): each for kind in _CONTROLLERS for each in found[kind]}
        budgets = [(each, _budget(each)) for each in found["PodDisruptionBudget"]]
        workloads = {
            ref: self._workload(each, ref)
            for each in controllers.values()
            if (ref := _top(each, controllers)) is not None
        }
        return Survey(
            pods=tuple(_pod(each, controllers, budgets) for each in found["Pod"]),
            workloads=workloads,
            nodes=tuple(_node(each) for each in found["Node"]),
        )

    async def pods(self, namespace: str) -> tuple[LivePod, ...]:
        return tuple(_pod(each, {}, ()) for each in await self._list("Pod", namespace))

    @asynccontextmanager
    async def follow_pods(self, namespace: str) -> AsyncIterator[PodFeed]:
        feed = _PodFeed(self._client, namespace)
        task = asyncio.create_task(feed.informer.run())
        try:
            while not feed.informer.is_settled:
                await feed.changed()
            if feed.informer.failure is not None:
                raise feed.informer.failure
            yield feed
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def budgets(self, namespace: str) -> Mapping[str, Budget]:
        return {name_of(each): _budget(each) for each in await self._list("PodDisruptionBudget", namespace)}

    async def workload(self, ref: WorkloadRef) -> LiveWorkload | None:
        live = await self._client.get(_id(ref.kind, ref.namespace, ref.name))
        if live is None or (ref.uid and uid_of(live) != ref.uid):
            return None
        return self._workload(live, ref)

    async def evict(self, target: PodTarget) -> None:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": target.name, "namespace": target.namespace},
            "deleteOptions": {"preconditions": {"uid": target.uid}},
        }
        id_ = _id("Pod", target.namespace, target.name)
        try:
            await self._client.once("POST", id_, body, subresource="eviction")
        except Overloaded as error:
            if _DISRUPTION not in error.message.lower():
                raise
            raise Blocked(
                error.message,
                target=self.place,
                subject=str(id_),
                hint="wait until more of its pods are ready, or look at the budget",
            ) from None

    async def delete_pod(self, target: PodTarget) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": target.uid}}
        await self._client.once("DELETE", _id("Pod", target.namespace, target.name), body)

    async def restart_rollout(self, ref: WorkloadRef, at: datetime) -> None:
        self._only(ref, _ROLLING, "rolls nothing out")
        stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        change = {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: stamp}}}}}
        await self._patch(ref, change)

    async def cordon(self, node: LiveNode) -> None:
        await self._patch(WorkloadRef("Node", "", node.name, node.uid), {"spec": {"unschedulable": True}})

    async def uncordon(self, node: LiveNode) -> None:
        await self._patch(WorkloadRef("Node", "", node.name, node.uid), {"spec": {"unschedulable": None}})

    async def pods_on(self, node: str) -> NodePods:
        """See `runtimes.base.NodeOperations`."""
        resource = await self._client.discovery.resource("v1", "Pod")
        found = (await self._client.list(resource, fields=f"spec.nodeName={node}")).items
        failure: RuntimeFailure | None = None
        budgets: list[tuple[Object, Budget]] = []
        try:
            budgets = [(each, _budget(each)) for each in await self._list("PodDisruptionBudget", "")]
        except RuntimeFailure as error:
            failure = error
        pods = sorted(
            (_node_pod(each, budgets) for each in found), key=lambda each: (each.target.namespace, each.target.name)
        )
        return NodePods(tuple(pods), failure)

    async def scale(self, ref: WorkloadRef, replicas: int) -> None:
        self._only(ref, _SCALING, "has no scale")
        await self._patch(ref, {"spec": {"replicas": replicas}}, subresource="scale")

    async def record(self, namespace: str, name: str) -> Record | None:
        live = await self._client.get(_id("ConfigMap", namespace, name))
        if live is None:
            return None
        return Record({str(key): str(text) for key, text in mapping(live.get("data")).items()}, _version(live))

    async def write_record(self, namespace: str, name: str, entries: Mapping[str, str], version: str) -> str:
        id_ = _id("ConfigMap", namespace, name)
        if not version:
            named = {"name": name, "namespace": namespace, "labels": _RECORD_LABELS}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": entries}
            return _version(await self._client.once("POST", id_, made, manager=MANAGER))
        body = {"metadata": {"resourceVersion": version}, "data": entries}
        return _version(await self._client.once("PATCH", id_, body, content_type=_MERGE_PATCH, manager=MANAGER))

    async def _patch(self, ref: WorkloadRef, change: Object, *, subresource: str = "") -> None:
        body = {**change, "metadata": {"uid": ref.uid}} if ref.uid else change
        id_ = _id(ref.kind, ref.namespace, ref.name)
        try:
            answer = await self._client.once(
                "PATCH", id_, body, subresource=subresource, content_type=_MERGE_PATCH, manager=MANAGER
            )
        except Rejected as error:
            if any(field == "metadata.uid" for field, _ in error.causes):
                raise Moved(
                    "it was deleted and recreated since it was looked at", target=self.place, subject=str(id_)
                ) from None
            raise
        if not has_taken(answer, change):
            raise Rejected(
                "the API answered well, and the object does not have what it was asked to",
                target=self.place,
                subject=str(id_),
                hint="something in the cluster, such as an admission webhook, puts it back: look at its managedFields",
            )

    async def _list(self, kind: str, namespace: str) -> tuple[Object, ...]:
        resource = await self._client.discovery.resource(_KINDS[kind], kind)
        try:
            return (await self._client.list(resource, namespace)).items
        except NotThere:
            return ()

    def _workload(self, live: Object, ref: WorkloadRef) -> LiveWorkload:
        counts = status(live)
        if ref.kind == "DaemonSet":
            desired, ready = count(counts, "desiredNumberScheduled"), count(counts, "numberReady")
        else:
            desired, ready = count(spec(live), "replicas", 1), count(counts, "readyReplicas")
        verdict = health.assess(live, Objects([live]), datetime.now(UTC))
        return LiveWorkload(ref, desired, ready, verdict.health.status is Status.CURRENT)

    def _only(self, ref: WorkloadRef, kinds: frozenset[str], what: str) -> None:
        if ref.kind not in kinds:
            raise Rejected(
                f"a {ref.kind} {what}", target=self.place, subject=str(ref), hint=f"works on {', '.join(sorted(kinds))}"
            )


class _PodFeed:
    """See `runtimes.base.PodFeed`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.informer = Informer(client, KubernetesId("v1", "Pod", namespace, ""), changed=self._take)
        self._waiting: list[asyncio.Future[None]] = []
        self._by_controller: dict[str, list[Object]] | None = None

    @property
    def silent_seconds(self) -> float:
        return self.informer.silent_seconds

    def uids(self) -> frozenset[str]:
        return frozenset(self.informer.objects)

    def pods_of(self, controller: str) -> tuple[LivePod, ...]:
        if self._by_controller is None:
            self._by_controller = {}
            for each in self.informer.objects.values():
                self._by_controller.setdefault(str(_controller(each).get("uid")), []).append(each)
        return tuple(_pod(each, {}, ()) for each in self._by_controller.get(controller, ()))

    async def changed(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _take(self, _: Informer) -> None:
        self._by_controller = None
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


def has_taken(answer: Mapping[str, Any], change: Mapping[str, Any]) -> bool:
    """Whether an object has what a merge patch asked for; null asks for what is absent or says no.

    What is no or 0 may be absent: Go leaves it out of what it answers (https://pkg.go.dev/encoding/json, omitempty), as
    of the replicas of a Scale.
    """
    for key, wanted in change.items():
        there = answer.get(key)
        match wanted:
            case Mapping():
                is_taken = has_taken(mapping(there), wanted)
            case None | False | 0:
                is_taken = not there
            case _:
                is_taken = there == wanted
        if not is_taken:
            return False
    return True


def _id(kind: str, namespace: str, name: str) -> KubernetesId:
    return KubernetesId(_KINDS[kind], kind, namespace, name)


def _version(live: Object) -> str:
    return str(metadata(live).get("resourceVersion") or "")


def _controller(live: Object) -> Mapping[str, Any]:
    return next((each for each in mappings(metadata(live).get("ownerReferences")) if each.get("controller")), {})


def _top(live: Object, controllers: Mapping[str, Object]) -> WorkloadRef | None:
    """The last of the chain of controllers that begins with this one; None for one that has another above it."""
    return None if str(_controller(live).get("uid")) in controllers else _reference(live)


def _reference(live: Object) -> WorkloadRef:
    return WorkloadRef(str(live.get("kind")), namespace_of(live), name_of(live), uid_of(live))


def _pod(live: Object, controllers: Mapping[str, Object], budgets: Iterable[tuple[Object, Budget]]) -> LivePod:
    controller = _controller(live)
    return LivePod(
        namespace=namespace_of(live),
        name=name_of(live),
        uid=uid_of(live),
        node=str(spec(live).get("nodeName") or ""),
        is_ready=is_ready(live) and not is_going(live),
        is_terminating=is_going(live),
        restarts=sum(count(each, "restartCount") for each in containers(live)),
        created=created(live),
        controller=str(controller.get("uid") or ""),
        workload=_workload_of(controller, namespace_of(live), controllers),
        budgets=tuple(budget for source, budget in budgets if _covers(source, live)),
        reason=_reason(live),
        is_failing=hopeless(live, Objects([live])) is not None or status(live).get("phase") == "Failed",
    )


def _node_pod(live: Object, budgets: Iterable[tuple[Object, Budget]]) -> NodePod:
    controller = _controller(live)
    return NodePod(
        target=PodTarget(namespace_of(live), name_of(live), uid_of(live)),
        controller=f"{controller.get('kind')}/{controller.get('name')}" if controller else "",
        local_data=tuple(str(each.get("name")) for each in mappings(spec(live).get("volumes")) if "emptyDir" in each),
        is_static=_STATIC in mapping(metadata(live).get("annotations")),
        is_finished=status(live).get("phase") in ("Succeeded", "Failed"),
        is_terminating=is_going(live),
        is_ready=is_ready(live),
        budgets=tuple(budget for source, budget in budgets if _covers(source, live)),
    )


def _workload_of(
    controller: Mapping[str, Any], namespace: str, controllers: Mapping[str, Object]
) -> WorkloadRef | None:
    if not controller:
        return None
    live = controllers.get(str(controller.get("uid")))
    if live is None:
        # of a kind that is not looked at, such as a Job
        return WorkloadRef(
            str(controller.get("kind")), namespace, str(controller.get("name")), str(controller.get("uid"))
        )
    for _ in range(8):
        above = controllers.get(str(_controller(live).get("uid")))
        if above is None:
            break
        live = above
    return _reference(live)


def _covers(budget: Object, pod: Object) -> bool:
    if namespace_of(budget) != namespace_of(pod):
        return False
    return label_selectors.matches(spec(budget).get("selector"), mapping(metadata(pod).get("labels")))


def _budget(live: Object) -> Budget:
    counts = status(live)
    healthy, desired = count(counts, "currentHealthy"), count(counts, "desiredHealthy")
    is_known = count(counts, "observedGeneration") >= count(metadata(live), "generation")
    always = spec(live).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    return Budget(
        namespace_of(live),
        name_of(live),
        allowed=count(counts, "disruptionsAllowed") if is_known else 0,
        allows_unhealthy=always or healthy >= desired > 0,
    )


def _node(live: Object) -> LiveNode:
    return LiveNode(
        name_of(live), uid_of(live), is_true(condition(live, "Ready")), bool(spec(live).get("unschedulable"))
    )


def _reason(live: Object) -> str:
    if is_ready(live):
        return ""
    for container in containers(live):
        waiting = mapping(mapping(container.get("state")).get("waiting"))
        if waiting.get("reason"):
            return str(waiting["reason"])
    return str(status(live).get("reason") or status(live).get("phase") or "")

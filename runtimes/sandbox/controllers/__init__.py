"""The controllers of a simulated cluster: started together, on the cluster's clock, until stopped.

    controllers = start(cluster, clock)        two nodes, every controller
    controllers.faults.fail_image("*:2.0", "crash")
    controllers.stop()

They act through the cluster's own verbs, as users and field managers like those of a real cluster, so everything they
do is seen by watches and recorded in managedFields. Which of them there are is the list ALL; what they leave out says
LIMITS.md.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from runtimes.sandbox.clock import Clock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.controllers.account_tokens import AccountTokens
from runtimes.sandbox.controllers.apiservices import ApiServices
from runtimes.sandbox.controllers.base import Controller, Factory, World, resource_key
from runtimes.sandbox.controllers.clusterroles import RoleAggregation
from runtimes.sandbox.controllers.cronjob import CronJobs
from runtimes.sandbox.controllers.daemonset import DaemonSets
from runtimes.sandbox.controllers.deployment import Deployments
from runtimes.sandbox.controllers.endpoints import Endpoints, EndpointSlices, MirroredEndpoints
from runtimes.sandbox.controllers.events import Recorder
from runtimes.sandbox.controllers.garbage import GarbageCollector
from runtimes.sandbox.controllers.ingress import Ingresses
from runtimes.sandbox.controllers.job import Jobs
from runtimes.sandbox.controllers.kubelet import Kubelets
from runtimes.sandbox.controllers.namespaces import Namespaces, RootCertificates, ServiceAccounts
from runtimes.sandbox.controllers.nodes import NodeLifecycle, NodeReports, PodCollector, TaintEviction, new_node
from runtimes.sandbox.controllers.policies import Autoscalers, DisruptionBudgets, ResourceQuotas
from runtimes.sandbox.controllers.replicaset import ReplicaSets, ReplicationControllers
from runtimes.sandbox.controllers.scheduler import Scheduler
from runtimes.sandbox.controllers.statefulset import StatefulSets
from runtimes.sandbox.controllers.volumes import ClaimProtection, Volumes
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.store import Change, ResourceKey

__all__ = ["ALL", "Controllers", "start"]

ALL: tuple[Factory, ...] = (
    GarbageCollector,
    Namespaces,
    ServiceAccounts,
    AccountTokens,
    RootCertificates,
    NodeReports,
    NodeLifecycle,
    TaintEviction,
    PodCollector,
    Deployments,
    ReplicaSets,
    ReplicationControllers,
    StatefulSets,
    DaemonSets,
    Jobs,
    CronJobs,
    Autoscalers,
    DisruptionBudgets,
    ResourceQuotas,
    Ingresses,
    Volumes,
    ClaimProtection,
    ApiServices,
    RoleAggregation,
    EndpointSlices,
    Endpoints,
    MirroredEndpoints,
    Scheduler,
    Kubelets,
)
NODES = ("node-1", "node-2")


class Controllers:
    """The running controllers of one cluster, and the faults they suffer."""

    def __init__(
        self, cluster: Cluster, clock: Clock, faults: Faults, seed: int | None, factories: Sequence[Factory]
    ) -> None:
        self.cluster, self.faults = cluster, faults
        recorder = Recorder(cluster, clock)
        self.world = World(cluster, clock, faults, recorder, random.Random(seed))
        self.controllers = [factory(self.world) for factory in factories]
        self._interested: dict[ResourceKey, list[Controller]] = defaultdict(list)
        self._minding_all: list[Controller] = []
        for controller in self.controllers:
            for resource in controller.watches:
                if resource == "*":
                    self._minding_all.append(controller)
                else:
                    self._interested[resource_key(resource)].append(controller)
        self._unsubscribe = cluster.subscribe(self._heard)
        self._hear_what_is_there()

    def _heard(self, change: Change) -> None:
        for controller in self._interested.get(change.resource, ()):
            controller.heard(change)
        for controller in self._minding_all:
            controller.heard(change)

    def _hear_what_is_there(self) -> None:
        store = self.cluster.store
        for resource in list(store.resources()):
            for key, obj in store.items(resource):
                self._heard(Change(int(obj["metadata"]["resourceVersion"]), "ADDED", resource, key, obj, None))
        for controller in self.controllers:
            controller.start()

    def stop(self) -> None:
        self._unsubscribe()
        for controller in self.controllers:
            controller.stop()


def start(
    cluster: Cluster,
    clock: Clock,
    *,
    nodes: Sequence[str] = NODES,
    faults: Faults | None = None,
    seed: int | None = None,
    factories: Sequence[Factory] = ALL,
) -> Controllers:
    """Make the nodes and start the controllers. With a WallClock, an asyncio loop must be running."""
    for number, name in enumerate(nodes, 1):
        if cluster.store.get(("", "nodes"), ("", name)) is None:
            cluster.create("nodes", None, new_node(name, number), manager="kubelet")
    return Controllers(cluster, clock, faults or Faults(), seed, factories)

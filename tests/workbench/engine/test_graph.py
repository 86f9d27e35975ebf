"""What has to come before what."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import KubernetesId, Resource, RuntimeType
from tests.workbench.engine.world import config_map, deployment, namespace, secret
from workbench.engine.graph import dependencies, find_cycle, reverse, waves


def resource(body: dict[str, Any], *needs: KubernetesId) -> Resource:
    return Resource(KubernetesId.of(body), RuntimeType.KUBERNETES, body, needs)


def needs(body: dict[str, Any], *others: dict[str, Any]) -> set[str]:
    graph = dependencies([resource(body), *map(resource, others)])
    return {f"{each.kind}/{each.name}" for each in graph[KubernetesId.of(body)] if isinstance(each, KubernetesId)}


def test_a_workload_needs_what_its_pods_name() -> None:
    web = deployment(
        "web",
        envFrom=[{"configMapRef": {"name": "settings"}}],
        env=[{"name": "K", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}}],
    )
    pod = web["spec"]["template"]["spec"]
    pod["serviceAccountName"] = "runner"
    pod["volumes"] = [
        {"name": "v", "secret": {"secretName": "cert"}},
        {"name": "p", "projected": {"sources": [{"configMap": {"name": "more"}}]}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "disk"}},
    ]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": "shop"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk", "namespace": "shop"}}
    others = [namespace(), config_map("settings", {}), secret("key", {}), secret("cert", {}), config_map("more", {})]
    assert needs(web, *others, account, claim, config_map("unrelated", {}), secret("settings", {})) == {
        "Namespace/shop",
        "ConfigMap/settings",
        "Secret/key",
        "Secret/cert",
        "ConfigMap/more",
        "ServiceAccount/runner",
        "PersistentVolumeClaim/disk",
    }


def test_what_is_known_yields_to_what_is_said() -> None:
    web = deployment("web", envFrom=[{"configMapRef": {"name": "settings"}}])
    settings = config_map("settings", {})
    graph = dependencies([resource(web), resource(settings, KubernetesId.of(web))])
    assert graph == {
        KubernetesId.of(web): frozenset(),
        KubernetesId.of(settings): frozenset({KubernetesId.of(web)}),
    }


def test_bindings_need_their_roles_and_custom_resources_their_definitions() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "shop"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Widget"}},
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert needs(binding, role) == {"ClusterRole/r"}
    assert needs(widget, definition) == {"CustomResourceDefinition/widgets.example.com"}


graphs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40).map(
    lambda edges: {node: {b for a, b in edges if a == node} for node in range(13)}
)


@given(graphs)
def test_a_cycle_is_found_exactly_if_there_is_one(graph: dict[int, set[int]]) -> None:
    cycle = find_cycle(graph)
    reach = {node: _below(graph, node) for node in graph}
    assert bool(cycle) == any(node in reach[node] for node in graph)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(after in graph[before] for before, after in pairwise(cycle))


@given(graphs)
def test_waves_keep_every_order_and_reverse_turns_it_round(graph: dict[int, set[int]]) -> None:
    acyclic = {node: {each for each in needed if each < node} for node, needed in graph.items()}
    wave = {node: number for number, nodes in enumerate(waves(acyclic, list(acyclic))) for node in nodes}
    assert wave.keys() == acyclic.keys()
    assert all(wave[each] < wave[node] for node, needed in acyclic.items() for each in needed)
    back = {node: number for number, nodes in enumerate(waves(reverse(acyclic), list(acyclic))) for node in nodes}
    assert all(back[each] > back[node] for node, needed in acyclic.items() for each in needed)


def _below(graph: dict[int, set[int]], start: int) -> set[int]:
    seen: set[int] = set()
    todo = list(graph[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += graph[node]
    return seen

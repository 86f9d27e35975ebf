"""What has to come before what.

Said by the configuration (`dependsOn`, references to a field of another resource), and known from Kubernetes: an object
needs its namespace, a custom resource its definition, a workload the accounts, settings, secrets and claims its pods
name, a binding its role. What is known yields to what was said: a known edge that would close a circle with said ones
is left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from runtimes.base import (
    Body,
    InvalidReference,
    KubernetesId,
    PlainPath,
    Reference,
    Resource,
    ResourceId,
    may_refer,
    parts,
    references_in,
    refers,
)
from runtimes.base.contents import MAPPINGS
from workbench.engine.by_content import ByContent

Node = TypeVar("Node", bound=Hashable)


def dependencies(resources: Sequence[Resource]) -> dict[ResourceId, frozenset[ResourceId]]:
    """Returns for each resource those that come first, said and known. Said ones have no cycle (`spec.validate`).

    What they name outside of `resources` is left out.
    """
    known = {each.id for each in resources}
    ids = {str(each): each for each in known}
    said = {each.id: {other for other in each.depends_on if other in known} for each in resources}
    for each in resources:
        said[each.id].update(reference.id for _, reference in found_references(each, ids))
    found = _Known(resources)
    for resource in resources:
        for other in found.needed_by(resource):
            if other != resource.id and other not in said[resource.id] and not _reaches(said, other, resource.id):
                said[resource.id].add(other)
    return {id_: frozenset(needs) for id_, needs in said.items()}


def referring_texts(resource: Resource) -> tuple[tuple[PlainPath, str], ...]:
    """As `reference_texts`, of what a resource says: it is asked several times on the way to a plan."""
    return reference_texts(resource.attributes) if resource.may_refer else ()


def reference_texts(body: Any) -> tuple[tuple[PlainPath, str], ...]:
    """Returns every text in a body that may hold references, with the path of its field."""
    # in most bodies there is none, and each edit goes through all a stack says
    return _referring.get(body, None, lambda: tuple(_reference_texts(body, ()))) if may_refer(body) else ()


_referring: Final[ByContent[tuple[tuple[PlainPath, str], ...]]] = ByContent()


def _reference_texts(body: Any, path: PlainPath) -> Iterator[tuple[PlainPath, str]]:
    if isinstance(body, Mapping):
        found: Iterable[tuple[Any, Any]] = body.items()
    elif isinstance(body, list | tuple):
        found = enumerate(body)
    else:
        if refers(body):
            yield path, body
        return
    for key, each in found:
        yield from _reference_texts(each, (*path, key))


def found_references(resource: Resource, ids: Mapping[str, ResourceId]) -> Iterator[tuple[PlainPath, Reference]]:
    """Yields the references of a resource to others among `ids`, with the paths of their fields."""
    for path, text in referring_texts(resource):
        with suppress(InvalidReference):
            yield from ((path, each) for each in references_in(parts(text, ids)))


def waves(graph: Mapping[Node, Iterable[Node]], order: Sequence[Node]) -> tuple[tuple[Node, ...], ...]:
    """Groups the nodes so that all a node needs is in earlier groups; inside a group they keep `order`.

    Needs outside of the graph count as met. The graph has no cycle.
    """
    level: dict[Node, int] = {}

    def of(node: Node) -> int:
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [each for each in graph[top] if each in graph and each not in level]
            if missing:
                stack.extend(missing)
            else:
                level[top] = 1 + max((level[each] for each in graph[top] if each in graph), default=-1)
                stack.pop()
        return level[node]

    grouped: dict[int, list[Node]] = {}
    for node in order:
        grouped.setdefault(level[node] if node in level else of(node), []).append(node)
    return tuple(tuple(grouped[each]) for each in sorted(grouped))


def reverse(graph: Mapping[Node, Iterable[Node]]) -> dict[Node, frozenset[Node]]:
    """Returns the order of deletion: each node with the nodes that need it."""
    result: dict[Node, set[Node]] = {each: set() for each in graph}
    for node, needs in graph.items():
        for each in needs:
            if each in result:
                result[each].add(node)
    return {node: frozenset(each) for node, each in result.items()}


def find_cycle(graph: Mapping[Node, Iterable[Node]]) -> tuple[Node, ...]:
    """Returns one cycle, its first node repeated at the end; empty if there is none."""
    done: set[Node] = set()
    for start in graph:
        if start in done:
            continue
        path: dict[Node, Iterator[Node]] = {start: iter(graph[start])}
        while path:
            node = next(reversed(path))
            following = next((each for each in path[node] if each in graph and each not in done), None)
            if following is None:
                path.pop(node)
                done.add(node)
            elif following in path:
                nodes = list(path)
                return (*nodes[nodes.index(following) :], following)
            else:
                path[following] = iter(graph[following])
    return ()


def _reaches(graph: Mapping[Node, Iterable[Node]], start: Node, goal: Node) -> bool:
    seen, todo = {start}, [start]
    while todo:
        node = todo.pop()
        if node == goal:
            return True
        fresh = [each for each in graph.get(node, ()) if each not in seen]
        seen.update(fresh)
        todo += fresh
    return False


_POD_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def pod_spec(body: Body) -> Mapping[str, Any]:
    """Returns the pod spec inside a workload, empty for anything else."""
    path = _POD_TEMPLATES.get(str(body.get("kind")), ())
    inside: Any = body
    for step in path:
        inside = inside.get(step) if isinstance(inside, MAPPINGS) else None
    return inside if path and isinstance(inside, MAPPINGS) else {}


def secrets_of_pods(body: Body) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the names of the Secrets that the pods of a workload read once, as they start, and of all they read.

    Those of variables and of files that are mounted one by one (`subPath`) stay as they were; volumes follow.
    """
    spec = pod_spec(body)
    volumes = {str(each.get("name")): _secrets_of_volume(each) for each in _mappings(spec.get("volumes"))}
    once: set[str] = set()
    for list_ in ("initContainers", "containers"):
        for container in _mappings(spec.get(list_)):
            once |= {name for kind, name in _named_by_variables(container) if kind == "Secret"}
            for mount in _mappings(container.get("volumeMounts")):
                if mount.get("subPath") or mount.get("subPathExpr"):
                    once |= volumes.get(str(mount.get("name")), set())
    return frozenset(once), frozenset(once.union(*volumes.values()))


def _secrets_of_volume(volume: Mapping[str, Any]) -> set[str]:
    sources = (volume, *_mappings(_inside(volume, "projected").get("sources")))
    return {name for each in sources for kind, name in _named_by_volume(each) if kind == "Secret"}


class _Known:
    """The edges Kubernetes implies, over one set of resources."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._by_name: dict[tuple[str, str, str], ResourceId] = {}
        self._definitions: dict[tuple[str, str], ResourceId] = {}
        for each in resources:
            if isinstance(each.id, KubernetesId):
                self._by_name[each.id.kind, each.id.namespace, each.id.name] = each.id
                if each.id.kind == "CustomResourceDefinition":
                    self._define(each)

    def _define(self, definition: Resource) -> None:
        match definition.attributes:
            case {"spec": {"group": str() as group, "names": {"kind": str() as kind}}}:
                self._definitions[group, kind] = definition.id

    def needed_by(self, resource: Resource) -> Iterator[ResourceId]:
        id_ = resource.id
        if not isinstance(id_, KubernetesId):
            return
        if id_.namespace and ("Namespace", "", id_.namespace) in self._by_name:
            yield self._by_name["Namespace", "", id_.namespace]
        if (id_.group, id_.kind) in self._definitions:
            yield self._definitions[id_.group, id_.kind]
        for kind, name in (*_named_by_pods(resource.attributes), *_named_by_binding(resource.attributes)):
            for namespace in (id_.namespace, ""):
                found = self._by_name.get((kind, namespace, name))
                if found is not None:
                    yield found
                    break


def _named_by_pods(body: Body) -> Iterator[tuple[str, str]]:
    """Yields kind and name of what the pods of a workload need to start, wherever in the pod spec it is named."""
    spec = pod_spec(body)
    for key in ("serviceAccountName", "serviceAccount"):
        if isinstance(spec.get(key), str):
            yield "ServiceAccount", spec[key]
    if isinstance(spec.get("priorityClassName"), str):
        yield "PriorityClass", spec["priorityClassName"]
    for secret in _mappings(spec.get("imagePullSecrets")):
        yield "Secret", str(secret.get("name"))
    for volume in _mappings(spec.get("volumes")):
        yield from _named_by_volume(volume)
        for source in _mappings(_inside(volume, "projected").get("sources")):
            yield from _named_by_volume(source)
    for list_ in ("initContainers", "containers"):
        for container in _mappings(spec.get(list_)):
            yield from _named_by_variables(container)


def _named_by_variables(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for source in _mappings(container.get("envFrom")):
        yield "ConfigMap", str(_inside(source, "configMapRef").get("name"))
        yield "Secret", str(_inside(source, "secretRef").get("name"))
    for variable in _mappings(container.get("env")):
        value = _inside(variable, "valueFrom")
        yield "ConfigMap", str(_inside(value, "configMapKeyRef").get("name"))
        yield "Secret", str(_inside(value, "secretKeyRef").get("name"))


def _named_by_volume(volume: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ConfigMap", str(_inside(volume, "configMap").get("name"))
    secret = _inside(volume, "secret")
    yield "Secret", str(secret.get("secretName", secret.get("name")))
    yield "PersistentVolumeClaim", str(_inside(volume, "persistentVolumeClaim").get("claimName"))


def _named_by_binding(body: Body) -> Iterator[tuple[str, str]]:
    if body.get("kind") in ("RoleBinding", "ClusterRoleBinding"):
        role = _inside(body, "roleRef")
        yield str(role.get("kind")), str(role.get("name"))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, MAPPINGS))


def _inside(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, MAPPINGS) else {}

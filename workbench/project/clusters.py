"""Which stack goes to which clusters: `clusters.yaml` at the root of the repository.

    clusters:                       # the names people use; each is one context of the kubeconfig
      hangzhou: {context: hz-admin, environment: prod, labels: {site: hangzhou}}
      shanghai: {context: sh-admin}
    placements:                     # the first that matches decides
      - stacks: ["*/dev"]           # globs over project/stack
        clusters: [hangzhou]
        namespace: {by: stack, name: "{project}-{stack}"}
      - stacks: ["*/prod"]
        clusters: [hangzhou, shanghai]
        environment: prod
        protected: true             # needs the typed phrase, even with --yes

A namespace rule is told to the models as option `namespace_by`, and gives a namespace to resources that name none.
Without the file, the current context of the kubeconfig is the only cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field, replace
from workbench.project.errors import BrokenFile, UnknownCluster
from workbench.project.names import StackPath
from workbench.project.roots import CLUSTERS_FILE
from workbench.project.yaml_file import is_named, mapping_at, only_keys, read_mapping, text_at, texts_at

TERRAFORM_PLACE = "terraform"
"""The place of every Terraform resource of a stack, however many clusters it has; no cluster may be called so."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """`context` names a context of the kubeconfig; empty means its current one.

    `labels` say what it is of the dimensions of the configuration, its site, say.
    """

    name: str
    context: str
    environment: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


class NamespaceBy(StrEnum):
    STACK = "stack"
    COMPONENT = "component"


@dataclass(frozen=True, slots=True)
class NamespaceRule:
    """Gives a namespace to resources that name none. `template` may hold {project}, {stack} and {component}."""

    by: NamespaceBy
    template: str

    def namespace(self, stack: StackPath, component: str) -> str:
        return self.template.format(project=stack.project, stack=stack.stack, component=component)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where stacks go. `protected` asks for the typed phrase before anything is written.

    Of what is `read_only` nothing is written before its user allows that, for one session at a time.
    """

    stacks: tuple[str, ...]
    clusters: tuple[str, ...]
    namespace: NamespaceRule | None = None
    environment: str = ""
    protected: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ClusterMapping:
    """`is_declared` is False where the repository has no clusters.yaml: one cluster, the current context."""

    clusters: tuple[Cluster, ...]
    placements: tuple[Placement, ...]
    is_declared: bool = True

    def cluster(self, name: str) -> Cluster:
        found = next((each for each in self.clusters if each.name == name), None)
        if found is None:
            known = ", ".join(each.name for each in self.clusters) or "none"
            raise UnknownCluster(f"there is no cluster {name!r}", hint=f"{CLUSTERS_FILE} knows: {known}")
        return found

    def placement(self, stack: StackPath) -> Placement:
        """Returns the first placement whose globs cover the stack; raises `UnknownCluster` where none does."""
        for each in self.placements:
            if any(stack.matches(glob) for glob in each.stacks):
                return each
        raise UnknownCluster(
            "no placement covers this stack", where=str(stack), hint=f"add one to {CLUSTERS_FILE} at the root"
        )


CURRENT_CONTEXT = ClusterMapping(
    clusters=(Cluster("current", ""),),
    placements=(Placement(("*",), ("current",)),),
    is_declared=False,
)


def read_cluster_mapping(root: Path) -> ClusterMapping:
    """Reads `clusters.yaml` of a repository; raises `BrokenFile` for anything it does not understand."""
    path = root / CLUSTERS_FILE
    if not is_named(path):
        return CURRENT_CONTEXT
    content = read_mapping(path)
    only_keys(content, ("clusters", "placements"), str(path))
    clusters = tuple(_cluster(name, entry, path) for name, entry in mapping_at(content, "clusters", path).items())
    placements = content.get("placements")
    if not isinstance(placements, list) or not clusters:
        raise BrokenFile("needs both clusters and a list of placements", where=str(path))
    names = {each.name for each in clusters}
    if TERRAFORM_PLACE in names:
        raise BrokenFile(
            f"no cluster may be called {TERRAFORM_PLACE!r}: Terraform resources are there",
            where=str(path),
            hint="give it another name and keep its context",
        )
    return ClusterMapping(clusters, tuple(_placement(each, names, path) for each in placements))


def override(placement: Placement, content: Mapping[str, Any], known: frozenset[str], path: Path) -> Placement:
    """Applies what a stack.yaml says about its own place to a placement.

    That is `clusters`, `namespace`, `protected` and `read_only`.
    """
    if "clusters" in content:
        clusters = texts_at(content, "clusters", path)
        _all_known(clusters, known, path)
        placement = replace(placement, clusters=clusters)
    if "namespace" in content:
        placement = replace(placement, namespace=_namespace_rule(content["namespace"], path))
    if "protected" in content:
        placement = replace(placement, protected=_flag(content, "protected", path))
    if "read_only" in content:
        placement = replace(placement, read_only=_flag(content, "read_only", path))
    return placement


def _cluster(name: Any, entry: Any, path: Path) -> Cluster:
    if not isinstance(name, str) or not isinstance(entry, dict):
        raise BrokenFile(f"cluster {name!r} needs a mapping such as {{context: NAME}}", where=str(path))
    only_keys(entry, ("context", "environment", "labels"), str(path))
    context, environment = text_at(entry, "context", path) or name, text_at(entry, "environment", path)
    labels = {str(key): str(value) for key, value in mapping_at(entry, "labels", path).items()}
    return Cluster(name, context, environment, labels)


def _placement(entry: Any, names: set[str], path: Path) -> Placement:
    if not isinstance(entry, dict):
        raise BrokenFile("a placement needs to be a mapping with stacks and clusters", where=str(path))
    only_keys(entry, ("stacks", "clusters", "namespace", "environment", "protected", "read_only"), str(path))
    stacks, clusters = texts_at(entry, "stacks", path), texts_at(entry, "clusters", path)
    if not stacks or not clusters:
        raise BrokenFile("a placement needs stacks and clusters", where=str(path))
    _all_known(clusters, frozenset(names), path)
    rule = _namespace_rule(entry["namespace"], path) if entry.get("namespace") is not None else None
    return Placement(
        stacks,
        clusters,
        rule,
        environment=text_at(entry, "environment", path),
        protected=_flag(entry, "protected", path),
        read_only=_flag(entry, "read_only", path),
    )


def _namespace_rule(entry: Any, path: Path) -> NamespaceRule:
    if not isinstance(entry, dict):
        raise BrokenFile("namespace needs to be a mapping with by and name", where=str(path))
    only_keys(entry, ("by", "name"), str(path))
    by = text_at(entry, "by", path)
    if by not in set(NamespaceBy):
        raise BrokenFile(f"namespace.by needs to be stack or component, got {by!r}", where=str(path))
    template = text_at(entry, "name", path) or ("{project}-{stack}" if by == NamespaceBy.STACK else "{component}")
    try:
        template.format(project="p", stack="s", component="c")
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise BrokenFile(
            f"namespace.name {template!r} may use {{project}}, {{stack}} and {{component}} only", where=str(path)
        ) from error
    return NamespaceRule(NamespaceBy(by), template)


def _flag(content: Mapping[str, Any], key: str, path: Path) -> bool:
    value = content.get(key, False)
    if not isinstance(value, bool):
        raise BrokenFile(f"{key} needs to be true or false, got {value!r}", where=str(path))
    return value


def _all_known(clusters: tuple[str, ...], names: frozenset[str], path: Path) -> None:
    for each in clusters:
        if each not in names:
            raise BrokenFile(f"there is no cluster {each!r}; known: {', '.join(sorted(names))}", where=str(path))

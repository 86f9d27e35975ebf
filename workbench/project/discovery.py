"""Finds the projects and stacks of a Konfig repository.

The root is the topmost folder above the path that holds a clusters.yaml or a kcl.mod, within the Git work tree if
there is one: stacks of newer repositories carry a kcl.mod of their own, so the nearest is not enough. A project is a
folder with project.yaml, a stack a folder below it with stack.yaml. One broken file makes one finding, never a failure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from workbench.project.clusters import (
    CLUSTERS_FILE,
    ClusterMapping,
    Placement,
    override,
    read_cluster_mapping,
)
from workbench.project.components import read_components
from workbench.project.errors import NotARepository, ProjectError
from workbench.project.names import ProjectName, StackName, StackPath
from workbench.project.terraform import TerraformOptions, terraform_options
from workbench.project.tree import Finding, KonfigTree, Project, Stack
from workbench.project.yaml_file import mapping_at, read_mapping, text_at

PROJECT_FILE, STACK_FILE, MODULE_FILE = "project.yaml", "stack.yaml", "kcl.mod"
_NEVER_ENTERED = frozenset({".git", ".venv", "node_modules", "__pycache__", "vendor", ".kclvm", ".tox", ".mypy_cache"})
_DEEPEST = 12


def discover(path: Path) -> KonfigTree:
    """Reads the repository that `path` lies in; raises `NotARepository`. Reads files, runs no KCL."""
    root = find_root(path)
    findings: list[Finding] = []
    try:
        clusters = read_cluster_mapping(root)
    except ProjectError as error:
        clusters = ClusterMapping((), ())
        findings.append(Finding.of(error))
    projects = [_project(folder, root, clusters) for folder in _folders_with(PROJECT_FILE, root)]
    return KonfigTree(root, tuple(_with_unique_names(projects, root)), clusters, tuple(findings))


def find_root(path: Path) -> Path:
    """Returns the root of the repository at or above `path` (a file or folder); raises `NotARepository`."""
    start = path.resolve()
    if not start.exists():
        raise NotARepository("there is no such folder", where=str(path))
    folder = start if start.is_dir() else start.parent
    found: Path | None = None
    for each in (folder, *folder.parents):
        if (each / CLUSTERS_FILE).is_file():
            return each
        if (each / MODULE_FILE).is_file() or (each / PROJECT_FILE).is_file():
            found = each
        if (each / ".git").exists():
            break
    if found is None:
        raise NotARepository(
            "no Konfig repository here or above",
            where=str(start),
            hint=f"its root holds a {MODULE_FILE}; use --workdir",
        )
    return found


def _folders_with(name: str, root: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        below[:] = sorted(each for each in below if each not in _NEVER_ENTERED and depth < _DEEPEST)
        if name in files:
            yield Path(folder)


def _project(folder: Path, root: Path, clusters: ClusterMapping) -> Project:
    findings: list[Finding] = []
    content, labels = _described(folder / PROJECT_FILE, findings)
    name = ProjectName(_name(content, folder, folder / PROJECT_FILE, findings))
    terraform = _terraform(content, folder / PROJECT_FILE, TerraformOptions(), findings)
    doubts = tuple(findings)
    stacks = tuple(
        _stack(each, name, folder, clusters, doubts, terraform) for each in _folders_with(STACK_FILE, folder)
    )
    domain = folder.relative_to(root).parent.as_posix()
    return Project(name, folder, "" if domain == "." else domain, stacks, labels, tuple(findings))


def _stack(
    folder: Path,
    project: ProjectName,
    project_folder: Path,
    clusters: ClusterMapping,
    doubts: tuple[Finding, ...],
    terraform: TerraformOptions,
) -> Stack:
    findings: list[Finding] = []
    file = folder / STACK_FILE
    content, labels = _described(file, findings)
    path = StackPath(project, StackName(_name(content, folder, file, findings)))
    terraform = _terraform(content, file, terraform, findings)
    doubts = (*doubts, *findings)
    placement: Placement | None = None
    try:
        if clusters.clusters:
            known = frozenset(each.name for each in clusters.clusters)
            placement = override(clusters.placement(path), content, known, file)
    except ProjectError as error:
        findings.append(Finding.of(error))
    components = read_components(folder, project_folder)
    return Stack(path, folder, project_folder, placement, components, labels, tuple(findings), doubts, terraform)


def _terraform(
    content: Mapping[str, object], file: Path, above: TerraformOptions, findings: list[Finding]
) -> TerraformOptions:
    """Where a state is must not be guessed: what is wrong here is a doubt of the stack."""
    try:
        return terraform_options(content, file, above)
    except ProjectError as error:
        findings.append(Finding.of(error))
        return above


def _described(file: Path, findings: list[Finding]) -> tuple[Mapping[str, object], Mapping[str, str]]:
    try:
        content = read_mapping(file)
        labels = mapping_at(content, "labels", file)
        return content, {str(key): str(value) for key, value in labels.items()}
    except ProjectError as error:
        findings.append(Finding.of(error))
        return {}, {}


def _name(content: Mapping[str, object], folder: Path, file: Path, findings: list[Finding]) -> str:
    try:
        name = text_at(content, "name", file)
    except ProjectError as error:
        findings.append(Finding.of(error))
        name = ""
    if "/" in name or any(ord(each) < 32 for each in name):
        findings.append(Finding(f"name {name!r} may hold no slash and no control character", str(file)))
        name = ""
    return name or folder.name


def _with_unique_names(projects: list[Project], root: Path) -> list[Project]:
    """Names projects that share a name by their folder, so that every `project/stack` means one stack."""
    times = Counter(each.name for each in projects)
    return [each if times[each.name] == 1 else _named_by_folder(each, root) for each in projects]


def _named_by_folder(project: Project, root: Path) -> Project:
    name = ProjectName(project.directory.relative_to(root).as_posix())
    finding = Finding(
        f"another project is called {project.name} too, so this one goes by its folder, {name}",
        str(project.directory / PROJECT_FILE),
        "give it a name of its own",
    )
    stacks = tuple(replace(each, path=StackPath(name, each.path.stack)) for each in project.stacks)
    return replace(project, name=name, stacks=stacks, findings=(*project.findings, finding))

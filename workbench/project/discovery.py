"""Finds the projects and stacks of a Konfig repository.

The root is the topmost folder above the path that holds a clusters.yaml or a kcl.mod, within the Git work tree if
there is one: stacks of newer repositories carry a kcl.mod of their own, so the nearest is not enough. A project is a
folder with project.yaml, a stack a folder below it with stack.yaml, or with a kcl.mod that says what is run (entries of
its profile). Such a kcl.mod makes a stack also where there is no project.yaml, of the project that is the folder above.
One broken file makes one finding, never a failure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path

from kcl.records import replace
from kcl.regular import read_regular
from kcl.secrecy.rules import BUILT_IN
from workbench.project.baselines import baseline_findings
from workbench.project.bounds import is_foreign
from workbench.project.clusters import (
    Cluster,
    ClusterMapping,
    Placement,
    override,
    read_cluster_mapping,
)
from workbench.project.components import base_components, read_components
from workbench.project.coordinates import coordinates
from workbench.project.dimensions import Dimensions, read_dimensions
from workbench.project.errors import ProjectError
from workbench.project.images import IMAGES_FILE, read_images
from workbench.project.masking import read_masking
from workbench.project.names import ProjectName, StackName, StackPath
from workbench.project.outputs import Output, declared_outputs
from workbench.project.plugins import PLUGINS_FILE, read_allowed_plugins
from workbench.project.policy import POLICY_FILE, read_policies
from workbench.project.readiness import READINESS_FILE, read_readiness
from workbench.project.rollout import ROLLOUT_FILE, read_rollout
from workbench.project.roots import MODULE_FILE, PROJECT_FILE, STACK_FILE, find_root
from workbench.project.terraform import TerraformOptions, terraform_options
from workbench.project.tree import Component, Finding, KonfigTree, Project, Stack
from workbench.project.yaml_file import is_named, mapping_at, place_of, read_mapping, refuse_empty, text_at, texts_at

_MARKS = frozenset({PROJECT_FILE, STACK_FILE, MODULE_FILE})
_NEVER_ENTERED = frozenset({".git", ".venv", "node_modules", "__pycache__", "vendor", ".kclvm", ".tox", ".mypy_cache"})
_DEEPEST = 12
_GOVERNING: Mapping[str, Callable[[Path], object]] = {
    POLICY_FILE: read_policies,
    READINESS_FILE: read_readiness,
    ROLLOUT_FILE: read_rollout,
    IMAGES_FILE: read_images,
    PLUGINS_FILE: read_allowed_plugins,
}
_ENTRIES = "entries"
"""What a kcl.mod has in it that says what is run: the others need not be read as TOML."""


_LOOK: ContextVar[dict[Path, KonfigTree] | None] = ContextVar("one look at repositories", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Has `discover` read a repository once inside of the block, in this task and those that it starts.

    For what is about one state of the files and asks for it again and again, such as a plan over many stacks.
    """
    token = _LOOK.set({})
    try:
        yield
    finally:
        _LOOK.reset(token)


def discover(path: Path) -> KonfigTree:
    """Reads the repository that `path` lies in; raises `NotARepository`. Reads files, runs no KCL."""
    root = find_root(path)
    look = _LOOK.get()
    if look is None:
        return _discovered(root)
    if root not in look:
        look[root] = _discovered(root)
    return look[root]


def _discovered(root: Path) -> KonfigTree:
    findings: list[Finding] = []
    unseen: list[Finding] = []
    clusters = _clusters(root, findings)
    declared = _declared(root, findings)
    projects = [_project(folder, stacks, root, clusters, declared) for folder, stacks in _projects(root, unseen)]
    projects = _with_known_order(_with_unique_names(_with_masking(projects, root, findings), root))
    misread = tuple(_misread(root))
    return KonfigTree(root, tuple(projects), clusters, tuple(findings), tuple(unseen), misread, declared or None)


def _misread(root: Path) -> Iterator[Finding]:
    """Looks into what most verbs do without, and those that write do not."""
    for name, read in _GOVERNING.items():
        if is_named(root / name):
            try:
                read(root)
            except ProjectError as error:
                yield replace(Finding.of(error), is_error=False)


def discover_clusters(path: Path) -> ClusterMapping:
    """Reads of the repository that `path` lies in what `discover` says of its clusters, and nothing else."""
    root, look = find_root(path), _LOOK.get() or {}
    return look[root].clusters if root in look else _clusters(root, [])


def _clusters(root: Path, findings: list[Finding]) -> ClusterMapping:
    try:
        return read_cluster_mapping(root)
    except ProjectError as error:
        findings.append(Finding.of(error))
        return ClusterMapping((), ())


def _declared(root: Path, findings: list[Finding]) -> Dimensions:
    try:
        return read_dimensions(root)
    except ProjectError as error:
        findings.append(Finding.of(error))
        return Dimensions(root)


def _with_masking(projects: list[Project], root: Path, findings: list[Finding]) -> list[Project]:
    """Tells all stacks what the repository calls secret, or that nobody knows."""
    try:
        rules, unmasked = read_masking(root), None
    except ProjectError as error:
        rules, unmasked = BUILT_IN, Finding.of(error)
        findings.append(unmasked)
    if rules == BUILT_IN and unmasked is None:
        return projects
    return [
        replace(each, stacks=tuple(replace(stack, secrets=rules, unmasked=unmasked) for stack in each.stacks))
        for each in projects
    ]


def _projects(root: Path, unseen: list[Finding]) -> Iterator[tuple[Path, list[Path]]]:
    """The folders of projects, each with those of its stacks. A stack belongs to every project it lies in."""
    marked = list(_marked(str(root), 0, _DEEPEST, unseen))
    in_projects = set[str]()
    for number, (folder, depth, names) in enumerate(marked):
        if PROJECT_FILE not in names or depth > _DEEPEST:
            continue
        stacks = []
        inside = folder.rstrip(os.sep) + os.sep
        for below, its_depth, its_names in islice(marked, number, None):
            if below != folder and not below.startswith(inside):
                break  # folders below it follow it without others between them
            in_projects.add(below)
            if its_depth <= depth + _DEEPEST and (STACK_FILE in its_names or (below != folder and _is_run(below))):
                stacks.append(Path(below))
        yield Path(folder), stacks
    yield from _unmarked_projects(str(root), (folder for folder, _, _ in marked if folder not in in_projects))


def _unmarked_projects(root: str, folders: Iterable[str]) -> Iterator[tuple[Path, list[Path]]]:
    """Projects without a project.yaml: the folders above stacks that only a kcl.mod makes."""
    found: dict[Path, list[Path]] = {}
    for folder in folders:
        if folder != root and _is_run(folder):
            found.setdefault(Path(folder).parent, []).append(Path(folder))
    yield from found.items()


def _is_run(folder: str) -> bool:
    """Whether the kcl.mod of a folder, if there is one, says which files are run."""
    if is_foreign(Path(folder, MODULE_FILE), Path(folder)):
        return False
    try:
        if _ENTRIES.encode() not in read_regular(Path(folder, MODULE_FILE)):
            return False
    except OSError:
        return False
    from kcl import api  # repositories with stack.yaml do without

    return api.names_entries(folder)


def _marked(folder: str, depth: int, deepest: int, unseen: list[Finding]) -> Iterator[tuple[str, int, frozenset[str]]]:
    """Folders that hold a file which may make them a project or a stack, with their depth and the names of those files.

    A folder comes before those below it, and folders of one depth by name. One that can't be looked into is a finding:
    what is in it is missing from every list.
    """
    below: list[str] = []
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _NEVER_ENTERED:
                        below.append(entry.path)
                elif entry.name in _MARKS and not entry.is_dir():
                    names.add(entry.name)
    except FileNotFoundError:  # taken away a moment ago
        return
    except OSError as error:
        unseen.append(Finding(f"cannot be looked into: {error.strerror}", _spelled(folder), "make it readable"))
        return
    if names:
        yield folder, depth, frozenset(names)
        if PROJECT_FILE in names and depth <= _DEEPEST:
            deepest = depth + _DEEPEST
    for each in sorted(below) if depth < deepest else ():
        yield from _marked(each, depth + 1, deepest, unseen)


def _project(
    folder: Path, stack_folders: Sequence[Path], root: Path, clusters: ClusterMapping, declared: Dimensions
) -> Project:
    findings: list[Finding] = []
    content, labels = _described(folder / PROJECT_FILE, findings)
    name = ProjectName(_name(content, folder, folder / PROJECT_FILE, findings))
    terraform = _terraform(content, folder / PROJECT_FILE, TerraformOptions(), findings)
    doubts = tuple(findings)
    outputs, unread = _outputs(content, folder / PROJECT_FILE, {}, findings)
    shared = base_components(folder)
    stacks = tuple(
        _stack(each, name, folder, root, clusters, doubts, terraform, shared, outputs, unread, declared, labels)
        for each in stack_folders
    )
    domain = _spelled(folder.relative_to(root).parent.as_posix())
    domain = "" if domain == "." else domain
    tenant = content.get("tenant")
    tenant = tenant if isinstance(tenant, str) else ""  # it decides nothing, so what else it may be is not refused
    return Project(name, folder, domain, stacks, labels, tuple(findings), tenant)


def _stack(
    folder: Path,
    project: ProjectName,
    project_folder: Path,
    root: Path,
    clusters: ClusterMapping,
    doubts: tuple[Finding, ...],
    terraform: TerraformOptions,
    shared: Sequence[Component],
    outputs: Mapping[str, Output],
    unread: Finding | None,
    declared: Dimensions,
    project_labels: Mapping[str, str],
) -> Stack:
    findings: list[Finding] = []
    file = folder / STACK_FILE
    content, labels = _described(file, findings)
    path = StackPath(project, StackName(_name(content, folder, file, findings)))
    terraform = _terraform(content, file, terraform, findings)
    after = _after(content, file, findings)
    doubts = (*doubts, *findings)
    outputs, own_unread = _outputs(content, file, outputs, findings)
    placement: Placement | None = None
    try:
        if clusters.clusters:
            known = frozenset(each.name for each in clusters.clusters)
            placement = override(clusters.placement(path), content, known, file)
    except ProjectError as error:
        findings.append(Finding.of(error))
    components = read_components(folder, shared)
    placed = [clusters.cluster(each) for each in placement.clusters] if placement is not None else ()
    point = _point(content, {**project_labels, **labels}, file, project_folder, declared, placed, findings)
    return Stack(
        path, folder, project_folder, placement, components, labels, tuple(findings), doubts, terraform, root=root,
        outputs=outputs, unread_outputs=unread or own_unread or next(iter(doubts), None), coordinates=point,
        after=after,
    )  # fmt: skip


def _point(
    content: Mapping[str, object],
    labels: Mapping[str, str],
    file: Path,
    project: Path,
    declared: Dimensions,
    placed: Sequence[Cluster],
    findings: list[Finding],
) -> Mapping[str, str]:
    """The coordinates of a stack, whose files are held to them; none where they are not known."""
    if not declared:
        return {}
    try:
        found = coordinates(content, labels, file, declared, placed)
    except ProjectError as error:
        findings.append(Finding.of(error))
        return {}
    findings.extend(found.findings)
    findings.extend(baseline_findings(file.parent, project, found.values, declared))
    return found.values


def _outputs(
    content: Mapping[str, object], file: Path, above: Mapping[str, Output], findings: list[Finding]
) -> tuple[Mapping[str, Output], Finding | None]:
    """What a stack gives to others is no matter of its own: what is wrong here is only a finding of it."""
    try:
        return declared_outputs(content, file, above), None
    except ProjectError as error:
        findings.append(Finding.of(error))
        return above, findings[-1]


def _terraform(
    content: Mapping[str, object], file: Path, above: TerraformOptions, findings: list[Finding]
) -> TerraformOptions:
    """Where a state is must not be guessed: what is wrong here is a doubt of the stack."""
    try:
        return terraform_options(content, file, above)
    except ProjectError as error:
        findings.append(Finding.of(error))
        return above


def _after(content: Mapping[str, object], file: Path, findings: list[Finding]) -> tuple[str, ...]:
    """What a stack comes after must not be guessed: what is wrong here is a doubt of the stack."""
    try:
        return texts_at(content, "after", file)
    except ProjectError as error:
        findings.append(Finding(error.message, place_of(file, "after"), error.hint))
        return ()


def _with_known_order(projects: list[Project]) -> list[Project]:
    """Has a stack that is said to come after one which is not there say so: nobody would wait for it."""
    if not any(stack.after for each in projects for stack in each.stacks):
        return projects
    known = {stack.name for each in projects for stack in each.stacks}

    def held(stack: Stack) -> Stack:
        unknown = [each for each in stack.after if each not in known or each == stack.name]
        if not unknown:
            return stack
        said = "itself" if unknown[0] == stack.name else f"{unknown[0]!r}, which is no stack"
        where = place_of(stack.directory / STACK_FILE, "after")
        finding = Finding(f"comes after {said}", where, "name stacks as project/stack; wb ls lists them")
        return replace(stack, findings=(*stack.findings, finding), doubts=(*stack.doubts, finding))

    return [replace(each, stacks=tuple(map(held, each.stacks))) for each in projects]


def _described(file: Path, findings: list[Finding]) -> tuple[Mapping[str, object], Mapping[str, str]]:
    """What a project.yaml or stack.yaml says; nothing where a kcl.mod stands for it."""
    if not os.path.lexists(file):
        return {}, {}
    try:
        content = read_mapping(file)
        refuse_empty(content, file, f"name: {_spelled(file.parent.name)}")
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
    return name or _spelled(folder.name)


def _spelled(path: str) -> str:
    """A name of the disk, which may be any bytes, as text that can be written everywhere."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _with_unique_names(projects: list[Project], root: Path) -> list[Project]:
    """Names projects that share a name by their folder, so that every `project/stack` means one stack."""
    times = Counter(each.name for each in projects)
    return [each if times[each.name] == 1 else _named_by_folder(each, root) for each in projects]


def _named_by_folder(project: Project, root: Path) -> Project:
    name = ProjectName(_spelled(project.directory.relative_to(root).as_posix()))
    stacks = tuple(replace(each, path=StackPath(name, each.path.stack)) for each in project.stacks)
    file = project.directory / PROJECT_FILE
    if not file.is_file():
        return replace(project, name=name, stacks=stacks)  # nobody gave it a name that could be wrong
    finding = Finding(
        f"another project is called {project.name} too, so this one goes by its folder, {name}",
        str(file),
        "give it a name of its own",
        is_error=False,
    )
    return replace(project, name=name, stacks=stacks, findings=(*project.findings, finding))

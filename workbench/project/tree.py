"""A Konfig repository as people browse it: projects, their stacks, the components inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, SecretRules
from workbench.project.clusters import ClusterMapping, Placement
from workbench.project.dimensions import Dimensions
from workbench.project.errors import UnknownStack, WorkbenchError
from workbench.project.names import ProjectName, StackPath
from workbench.project.outputs import Output
from workbench.project.terraform import TerraformOptions


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with one node; the rest of the tree is not affected. `where` is `file[:line[:column]]`.

    Without `is_error` the node is whole all the same: no stack can be missing for it.
    """

    message: str
    where: str
    hint: str = ""
    is_error: bool = True

    @classmethod
    def of(cls, error: WorkbenchError) -> Finding:
        return cls(error.message, error.where, error.hint)


@dataclass(frozen=True, slots=True)
class Component:
    """An instance that a stack configures at the top level of its KCL files: `name: Schema {...}`.

    `schema` is as written there (`frontend.Server`); `file` and `line` (from 1) are where it first appears.
    """

    name: str
    schema: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Stack:
    """`placement` is None where none applies or the mapping is broken; `findings` then say why.

    `doubts` are findings in project.yaml or stack.yaml that leave open what the stack is called or where it goes:
    it can be read, but nothing may be done in its name. `root` is that of the repository it was found in, None where
    nobody looked for one.
    """

    path: StackPath
    directory: Path
    project_directory: Path
    placement: Placement | None
    components: tuple[Component, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    doubts: tuple[Finding, ...] = ()
    terraform: TerraformOptions = field(default_factory=TerraformOptions)
    secrets: SecretRules = BUILT_IN
    """What is secret by name and by look, with what the repository adds."""
    unmasked: Finding | None = None
    """Why it is not known what the repository adds; nothing may be shown of the stack then."""
    root: Path | None = None
    outputs: Mapping[str, Output] = field(default_factory=dict)
    """What it gives to others, by name."""
    unread_outputs: Finding | None = None
    """Why it is not known what it gives to others."""
    coordinates: Mapping[str, str] = field(default_factory=dict)
    """Which point of the cube it is: the value of each dimension that it says, in the declared order."""
    after: tuple[str, ...] = ()
    """Stacks that come before it in a plan over many, by `project/stack`, beside those whose outputs it reads."""

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def clusters(self) -> tuple[str, ...]:
        return self.placement.clusters if self.placement else ()


@dataclass(frozen=True, slots=True)
class Project:
    """`domain` is the folder between the root and the project (`payments`), empty at the top.

    `tenant` is whom repositories of 2023 say a project belongs to, empty where it does not say.
    """

    name: ProjectName
    directory: Path
    domain: str
    stacks: tuple[Stack, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class KonfigTree:
    """`root` is absolute. `findings` are those of the repository itself, such as a broken clusters.yaml.

    `unseen` are folders that can't be looked into: what stacks they hold, nobody knows. `misread` are files that say
    what may be applied, or what counts as ready, and are not understood: no stack is missing for them, and the verbs
    that go by them refuse.
    """

    root: Path
    projects: tuple[Project, ...]
    clusters: ClusterMapping
    findings: tuple[Finding, ...] = ()
    unseen: tuple[Finding, ...] = ()
    misread: tuple[Finding, ...] = ()
    declared: Dimensions | None = None
    """The dimensions of the configuration; None where it declares none, or in a way that can't be read."""

    def stacks(self) -> Iterator[Stack]:
        for project in self.projects:
            yield from project.stacks

    def all_findings(self) -> Iterator[Finding]:
        yield from self.findings
        yield from self.unseen
        yield from self.misread
        for project in self.projects:
            yield from project.findings
            for stack in project.stacks:
                yield from stack.findings

    def stack(self, path: StackPath) -> Stack:
        found = next((each for each in self.stacks() if each.path == path), None)
        if found is None:
            raise self._unknown(str(path))
        return found

    def select(self, text: str, *, current: Path | None = None) -> Stack:
        """Finds a stack by `project/stack`, or by its folder or one below it, relative to `current` or to the root.

        `.` or nothing means the stack that `current` lies in. Raises `UnknownStack` with the nearest names.
        """
        by_name = next((each for each in self.stacks() if str(each.path) == text.strip("/")), None)
        if by_name is not None:
            return by_name
        for base in (current, self.root):
            if base is None:
                continue
            folder = (base / (text or ".")).resolve()
            by_folder = next((each for each in self.stacks() if folder.is_relative_to(each.directory)), None)
            if by_folder is not None:
                return by_folder
        raise self._unknown(text)

    def matching(self, *globs: str) -> tuple[Stack, ...]:
        """Returns the stacks that any of the globs covers, in tree order.

        A glob is over `project/stack`; one of three parts or more is over the folders of the repository as well, such
        as `payments/*/prod`.
        """
        return tuple(each for each in self.stacks() if any(self._covers(glob, each) for glob in globs))

    def _covers(self, glob: str, stack: Stack) -> bool:
        if stack.path.matches(glob):
            return True
        parts = glob.strip("/").split("/")
        folder = stack.directory.relative_to(self.root).parts if stack.directory.is_relative_to(self.root) else ()
        return 3 <= len(parts) == len(folder) and all(map(fnmatchcase, folder, parts))

    def _unknown(self, text: str) -> UnknownStack:
        known = [str(each.path) for each in self.stacks()]
        near = get_close_matches(text, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`wb ls` lists the stacks of this repository"
        if text in ("", "."):
            hint = "name one as project/stack, or go to its folder; `wb ls` lists them"
            return UnknownStack("no stack is named, and this folder lies in none", where=str(self.root), hint=hint)
        return UnknownStack(f"there is no stack {text!r}", where=str(self.root), hint=hint)

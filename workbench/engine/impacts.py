"""Files or a range of commits → what they do to the stacks: both sides on disk, compiled and compared.

The side before is written to a folder of its own from what git has; the one after is the working tree, or another such
folder. A stack may be left out if nothing that its compilation read is another on the other side: what it read says
that, by content, of files, of folders and of what was not there (the record that `wb compile --all` keeps). So one
side of every stack is known, and both of those that may differ. Stacks of which that is not known are compiled on both.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePath
from typing import Final

import anyio
import anyio.to_thread

from kcl.api import BoundedFileSystem, Bounds, downloaded_folder
from kcl.bounded import Allowance
from kcl.diagnostics import Severity
from kcl.memo.contents import digest_of_path
from kcl.records import dataclass, field, replace
from kcl.regular import read_regular
from kcl.secrecy.rules import BUILT_IN, SecretRules
from workbench.engine.commits import Entry, Range, entries, parse_range, write_files
from workbench.engine.compile_all import Batch, Wanted, prepare
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.impact import (
    Compiled,
    CompileFinding,
    Doubt,
    Failure,
    ImpactReport,
    StackImpact,
    State,
    compare,
    moved,
)
from workbench.engine.linted import LintReport, LintScope
from workbench.engine.linting import lint_changed
from workbench.engine.masking import Seal
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.read_files import read_by
from workbench.engine.revisions import changed_since
from workbench.engine.shipped import compile_stack
from workbench.engine.spec import Spec
from workbench.engine.worker_pools import cores, in_processes
from workbench.project import (
    ClusterMapping,
    KonfigTree,
    NotARepository,
    Stack,
    WorkbenchError,
    checkout,
    discover,
    lies_below,
)
from workbench.project.errors import ProjectError
from workbench.project.masking import read_masking

_OF_THE_WORKBENCH: Final = {
    "clusters.yaml": "where stacks go: shown as settings of the stacks",
    "masking.yaml": "what else is secret: it changes what is shown",
    "readiness.yaml": "when resources count as ready: it changes what an apply waits for",
    "policy.yaml": "what is not put up with: `wb policy` judges by it",
    "plugins.yaml": "which Python functions KCL may call",
}
_MOST_IN_ONE: Final = 48
_WHERE: Final = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?::\d+)?$")


@dataclass(frozen=True, slots=True)
class Question:
    """Whose effect is wanted: of `files` (absolute) as they differ from HEAD, or, without files, of `revision`.

    `specs` is a folder for what is known of the working tree, as `wb compile --all` has one. `sensitive` adds to a
    Spec what providers call secret.
    """

    root: Path
    files: tuple[Path, ...] = ()
    revision: str = ""
    inputs: CompileInputs = field(default_factory=CompileInputs)
    plugins: RepositoryPlugins | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(program="wb"))
    specs: Path | None = None
    sensitive: Callable[[Stack, Spec], Spec] = lambda stack, spec: spec
    lint: LintScope = LintScope.NONE


async def find_impact(question: Question) -> ImpactReport:
    """Raises `EngineError` where git cannot tell what was there, or a file is on neither side.

    Cancelled, it ends once its threads did: they write into the folder that is taken away then. A task that is
    cancelled by its loop, as Textual does it, waits for no thread of its own, but for tasks below it.
    """
    reports: list[ImpactReport] = []
    failures: list[Exception] = []

    async def find(temporary: Path) -> None:
        try:
            sides = await anyio.to_thread.run_sync(_Sides.made, question, temporary)
            reports.append(await _Finding(question, sides, temporary).report())
        except Exception as error:
            failures.append(error)  # the caller's, and no group of one

    with tempfile.TemporaryDirectory(prefix="wb-impact-") as folder:
        temporary = await anyio.to_thread.run_sync(Path(folder).resolve)
        async with anyio.create_task_group() as below:
            below.start_soon(find, temporary)
    if failures:
        raise failures[0]
    return reports[0]


@dataclass(frozen=True)
class _Side:
    """A tree on disk: `top` stands for the checkout's own top, `user_top`."""

    top: Path
    user_top: Path
    tree: KonfigTree | None

    def place(self, path: Path) -> Path:
        """Where the user has a file of this side."""
        return self.user_top / path.relative_to(self.top) if path.is_relative_to(self.top) else path

    def text(self, text: str) -> str:
        return text.replace(str(self.top), str(self.user_top)) if self.top != self.user_top else text

    @cached_property
    def stacks(self) -> Mapping[str, Stack]:
        return {each.name: each for each in self.tree.stacks()} if self.tree else {}

    @property
    def clusters(self) -> ClusterMapping:
        return self.tree.clusters if self.tree else ClusterMapping((), ())

    def where(self, stack: Stack) -> Path:
        return stack.directory.relative_to(self.top)


@dataclass(frozen=True)
class _Sides:
    """`changed` are paths from the top that differ, `wanted` those of them, or beside them, whose effect is wanted."""

    before: _Side
    after: _Side
    range: Range
    wanted: tuple[str, ...]
    one_sided: frozenset[str]
    doubts: tuple[Doubt, ...]
    at_base: frozenset[str]
    changed: frozenset[str]

    @classmethod
    def made(cls, question: Question, temporary: Path) -> _Sides:
        top = checkout(question.root)
        if not (top / ".git").exists():
            raise EngineError(
                "lies in no git checkout, so nobody knows what the files were before",
                where=str(question.root),
                hint="`wb compile --all --changed FILE` compiles what reads a file",
            )
        found = parse_range(top, question.revision or "HEAD")
        base = entries(top, found.base)
        before_top = _written(top, base, temporary / "before")
        end = None if found.end is None else entries(top, found.end)
        after_top = top if end is None else _written(top, end, temporary / "after")
        if end is None:
            changed = {os.path.relpath(each, top) for each in changed_since(top, found.base)}
        else:
            changed = {each for each in base.keys() | end.keys() if base.get(each) != end.get(each)}
        wanted = changed
        if question.files:
            wanted = _wanted(question.files, top, changed, base)
            _take_over(changed - wanted, top, before_top)
        ends = set(end) if end is not None else {each for each in changed | set(base) if os.path.lexists(top / each)}
        return cls(
            _Side(before_top, top, _tree(before_top / question.root.relative_to(top))),
            _Side(after_top, top, _tree(after_top / question.root.relative_to(top))),
            found,
            tuple(sorted(wanted)),
            frozenset(each for each in wanted if (each in base) != (each in ends)),
            tuple(_submodules(wanted, changed, {**base, **(end or {})}, after_top)),
            frozenset(base),
            frozenset(changed),
        )


def _masking(root: Path) -> SecretRules:
    try:
        return read_masking(root)
    except ProjectError:
        return BUILT_IN  # that it can't be read is told with the stacks


def _written(top: Path, found: Mapping[str, Entry], folder: Path) -> Path:
    """An empty `.git` says that the checkout ends there, as it does for the real one."""
    (folder / ".git").mkdir(parents=True)
    write_files(top, found.values(), folder)
    return folder


def _tree(root: Path) -> KonfigTree | None:
    try:
        return discover(root)
    except NotARepository:
        return None


def _wanted(files: Iterable[Path], top: Path, changed: set[str], base: Mapping[str, Entry]) -> set[str]:
    found: set[str] = set()
    for each in files:
        if not each.is_relative_to(top):
            raise EngineError("lies outside of the checkout", where=str(each), hint=f"name files below {top}")
        name = os.path.relpath(each, top)
        below = {path for path in changed if path == name or path.startswith(f"{name}/") or name == os.curdir}
        is_file = name in base or (os.path.lexists(each) and not each.is_dir())
        if not below and not is_file and not each.is_dir():
            raise EngineError(
                "is there neither now nor in HEAD", where=str(each), hint="git log -- FILE says where it went"
            )
        found |= below | ({name} if is_file else set())
    return found


def _take_over(names: Iterable[str], top: Path, folder: Path) -> None:
    """Makes files the same on the side before as they are now: their changes are not what is asked about."""
    for name in names:
        source, target = top / name, folder / name
        if not lies_below(target.parent, folder):
            continue  # behind a link that is not followed when it is read either
        if target.is_symlink() or target.is_file():
            target.unlink()
        if not os.path.lexists(source) or (source.is_dir() and not source.is_symlink()):
            continue
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            target.write_bytes(read_regular(source))
    except OSError:
        return  # what cannot be read, a compilation cannot read either


def _submodules(
    wanted: Iterable[str], changed: set[str], known: Mapping[str, Entry], after_top: Path
) -> Iterator[Doubt]:
    """Yields the repositories of their own, below the checkout's, that changed or have something that did."""

    def is_own(name: str) -> bool:
        return (name in known and known[name].is_submodule) or os.path.lexists(after_top / name / ".git")

    doubted: dict[str, None] = {}
    for name in sorted(wanted):
        ways = [name, *map(str, PurePath(name).parents)][:-1]  # the last one is the checkout itself
        own = next(filter(is_own, ways), None)
        if own is not None and not changed.isdisjoint((name, own)):
            doubted[own] = None
    for name in doubted:
        yield Doubt(
            "a submodule changes, and what it holds on either side is not looked at",
            where=name,
            hint="compare the submodule itself: wb impact in its folder",
        )


class _Finding:
    """Compiles what has to be compiled."""

    def __init__(self, question: Question, sides: _Sides, temporary: Path) -> None:
        self._question, self._sides, self._temporary = question, sides, temporary
        self._seal = Seal.random()
        self._digests: dict[str, bool] = {}
        self._real: dict[str, str] = {}
        packages = downloaded_folder(os.environ)
        self._files_before = BoundedFileSystem(Bounds(str(sides.before.top), packages))
        self._files_after = BoundedFileSystem(Bounds(str(sides.after.top), packages))

    async def report(self) -> ImpactReport:
        sides, root = self._sides, self._question.root
        files = tuple(sides.before.user_top / each for each in sides.wanted)
        read = await anyio.to_thread.run_sync(self._read_after)
        pairs = list(self._pairs())
        limiter = anyio.CapacityLimiter(cores())
        impacts: dict[int, StackImpact] = {}

        async def one(number: int, before: Stack | None, after: Stack | None) -> None:
            async with limiter:
                impacts[number] = await self._compared(before, after, read, files)

        async with anyio.create_task_group() as tasks:
            for number, (before, after) in enumerate(pairs):
                tasks.start_soon(one, number, before, after)
        every = [impacts[number] for number in range(len(pairs))]
        shown = tuple(each for each in every if each.is_affected or each.reads)
        mentioned = {each for impact in shown for each in impact.reads}
        mentioned |= {sides.before.user_top / each.where for each in sides.doubts}  # who reads those is not known
        unread = [each for each in files if each not in mentioned]
        notes = [
            f"{each.name}: {_OF_THE_WORKBENCH[each.name]}"
            for each in unread
            if each.parent == root and each.name in _OF_THE_WORKBENCH
        ]
        return ImpactReport(
            root,
            sides.range.base_name,
            sides.range.end_name,
            files,
            shown,
            len(pairs),
            tuple(each for each in unread if each.parent != root or each.name not in _OF_THE_WORKBENCH),
            (*sides.doubts, *self._doubts()),
            tuple(notes),
            await self._lint(every),
        )

    async def _lint(self, impacts: Iterable[StackImpact]) -> LintReport | None:
        """What the linter finds in the files below the repository's root whose effect is wanted."""
        asked, sides = self._question, self._sides
        if asked.lint is LintScope.NONE:
            return None
        below = asked.root.relative_to(sides.after.user_top).as_posix()
        names = [each for each in sides.wanted if below == os.curdir or each.startswith(f"{below}/")]
        rules = await anyio.to_thread.run_sync(_masking, sides.after.top / below)
        packages, before, after = downloaded_folder(os.environ), sides.before.top, sides.after.top
        failures = (each for impact in impacts for each in impact.failures if each.side == "after")
        named = [file for one in failures for file in (one.file, *(each.file for each in one.findings))]
        files = {each for each in named if each is not None}
        top = sides.after.user_top
        told = frozenset(after / each.relative_to(top) for each in files if each.is_relative_to(top))
        scope, allowance = asked.lint, asked.allowance
        return await lint_changed(names, before, after, scope, rules, allowance, packages, top, told)

    def _pairs(self) -> Iterator[tuple[Stack | None, Stack | None]]:
        """Each stack with itself on the other side: by its name, else, where it was renamed, by its folder."""
        before, after = self._sides.before, self._sides.after
        gone = {before.where(each): each for name, each in before.stacks.items() if name not in after.stacks}
        for name, stack in after.stacks.items():
            former = before.stacks.get(name)
            yield (former if former is not None else gone.pop(after.where(stack), None)), stack
        for stack in gone.values():
            yield stack, None

    def _read_after(self) -> Mapping[str, frozenset[str]]:
        """What each stack is read from on the later side, as it is there; those that fail are left out."""
        side, asked = self._sides.after, self._question
        if side.tree is None:
            return {}
        is_own = self._sides.range.end is None and asked.inputs == CompileInputs() and asked.specs is not None
        folder = asked.specs if is_own and asked.specs is not None else self._temporary / "specs"
        plugins = self._plugins(side)
        batch: Batch = prepare(Wanted(side.tree, asked.inputs, folder, plugins=plugins, allowance=asked.allowance))
        jobs = cores() if len(batch.stale) > _MOST_IN_ONE else 1  # processes take longer to start than a few stacks
        for _ in batch.run(in_processes(jobs)):
            pass  # a failure is told when both sides are compiled
        found = {each.name: batch.read(each) for each in side.stacks.values()}
        read = {name: paths for name, paths in found.items() if paths is not None}
        if self._sides.range.end is None:
            self._take_ignored(each for paths in set(read.values()) for each in paths)
        return read

    def _take_ignored(self, paths: Iterable[str]) -> None:
        """Files that git ignores are the same on both sides."""
        top, folder = self._sides.after.top, self._sides.before.top
        for each in set(paths):
            path = Path(each)
            if not path.is_relative_to(top):
                continue
            name = os.path.relpath(path, top)
            target = folder / name
            is_known = name in self._sides.at_base or name in self._sides.changed
            if is_known or not path.is_file() or os.path.lexists(target) or not lies_below(target, folder):
                continue
            if lies_below(path, top):
                _copy(path, target)

    async def _compared(
        self,
        before: Stack | None,
        after: Stack | None,
        read: Mapping[str, frozenset[str]],
        files: tuple[Path, ...],
    ) -> StackImpact:
        sides = self._sides
        one = None if before is None else Compiled(before, sides.before.clusters)
        other = None if after is None else Compiled(after, sides.after.clusters)
        doubted = [*_doubted(before, "before", sides.before), *_doubted(after, "after", sides.after)]
        known = read.get(after.name) if after is not None and not doubted else None
        if before is not None and after is not None and known is not None and self._is_settled(before, after, known):
            reads = self._with_folders(frozenset(map(Path, known)), after, sides.after)
            empty = Spec(after.name, ())
            compared = compare(
                replace(one, spec=empty) if one else None,
                replace(other, spec=empty, read=reads) if other else None,
                files,
                self._seal,
            )
            return self._shown(compared, sides.after, after)
        if one is not None and before is not None:
            one = await self._compiled(before, sides.before, "before")
        if other is not None and after is not None:
            other = await self._compiled(after, sides.after, "after")
        present, side = (after, sides.after) if after is not None else (before, sides.before)
        assert present is not None, "a stack is on one side at least"
        try:
            # chains are asked for, which may have to wait for another process
            compared = await anyio.to_thread.run_sync(compare, one, other, files, self._seal)
        except WorkbenchError as error:
            failure = _failure(error, "after", side)
            compared = StackImpact(present.name, State.UNKNOWN, failures=(failure,))
        if doubted:
            failures = (*doubted, *compared.failures)
            compared = replace(compared, state=State.UNKNOWN, failures=failures, changes=())
        return self._shown(compared, side, present)

    def _shown(self, impact: StackImpact, side: _Side, stack: Stack) -> StackImpact:
        return replace(impact, directory=side.place(stack.directory))

    def _is_settled(self, before: Stack, after: Stack, read: frozenset[str]) -> bool:
        """Whether nothing that the stack reads on the later side is another on the earlier one."""
        sides = self._sides
        is_same = before.path == after.path and sides.before.where(before) == sides.after.where(after)
        project = [each.project_directory for each in (before, after)]
        is_same = is_same and project[0].relative_to(sides.before.top) == project[1].relative_to(sides.after.top)
        is_same = is_same and _ruled(before) == _ruled(after)
        return is_same and not any(map(self._differs, read))

    def _differs(self, path: str) -> bool:
        found = self._digests.get(path)
        if found is None:
            found = self._digests[path] = self._found_to_differ(path)
        return found

    def _found_to_differ(self, path: str) -> bool:
        after, before = self._sides.after, self._sides.before
        place = Path(path)
        if not place.is_relative_to(after.top):
            return False  # downloaded packages, settings of the user: both sides read the same
        there = str(before.top / place.relative_to(after.top))
        led, led_before = self._lead(path, self._files_after), self._lead(there, self._files_before)
        # a link leads out, of the repository or of a package: what that comes to is for both sides to say
        if led is None or led != led_before:
            return True
        return digest_of_path(path, self._files_after) != digest_of_path(there, self._files_before)

    def _lead(self, path: str, files: BoundedFileSystem) -> str | None:
        """Where a path of a side leads, from the top of that side; None where nobody may read."""
        real = files.stamp_and_lead(path)[1]
        return None if real is None else real.removeprefix(self._real_path(files.bounds.root))

    async def _compiled(self, stack: Stack, side: _Side, name: str) -> Compiled:
        asked = self._question
        root = side.tree.root if side.tree else stack.directory
        result = Compiled(stack, side.clusters)
        try:
            compiled = await compile_stack(
                stack, asked.inputs, root, asked.allowance, self._plugins(side), results=side.top == side.user_top
            )
            spec = asked.sensitive(stack, compiled.spec)
        except WorkbenchError as error:
            own, shared = read_by(stack, ())
            read = self._with_folders(frozenset(map(Path, own | shared)), stack, side)
            return replace(result, failure=_failure(error, name, side), read=read)
        return replace(result, spec=_placed(spec, side), read=self._read(stack, compiled, side))

    def _read(self, stack: Stack, compiled: CompiledStack, side: _Side) -> frozenset[Path]:
        own, shared = read_by(stack, compiled.dependencies)
        return self._with_folders(frozenset(map(Path, own | shared)), stack, side)

    def _with_folders(self, read: frozenset[Path], stack: Stack, side: _Side) -> frozenset[Path]:
        """What a stack reads, as the user has it: by links, and the links; marks; what came to or left its folders."""
        marks = {stack.directory / "stack.yaml", stack.directory / "kcl.mod", stack.project_directory / "project.yaml"}
        found = {side.place(Path(self._real_path(str(each)))) for each in read | marks}
        found |= {side.place(each) for each in read}
        links = [side.user_top / each for each in self._sides.wanted if (side.top / each).is_symlink()]
        found |= {link for link in links if any(each.is_relative_to(link) for each in found)}
        new = (side.user_top / each for each in self._sides.one_sided)
        return frozenset((*found, *(each for each in new if each.parent in found)))

    def _real_path(self, path: str) -> str:
        if path not in self._real:
            self._real[path] = os.path.realpath(path)
        return self._real[path]

    def _plugins(self, side: _Side) -> RepositoryPlugins | None:
        plugins = self._question.plugins
        return plugins if plugins is None or side.tree is None else replace(plugins, root=side.tree.root)

    def _doubts(self) -> Iterator[Doubt]:
        for side in (self._sides.after, self._sides.before):
            when = "" if side is self._sides.after else "before: "
            for each in side.tree.all_findings() if side.tree else ():
                if each.is_error:
                    yield Doubt(f"{when}{side.text(each.message)}", side.text(each.where), each.hint)
        if self._sides.after.tree is None:
            yield Doubt("there is no repository there after the change", str(self._question.root))


def _doubted(stack: Stack | None, name: str, side: _Side) -> Iterator[Failure]:
    """A file of the stack leaves open what it is called, or where it goes."""
    for each in stack.doubts if stack is not None else ():
        yield _failure(WorkbenchError(each.message, where=each.where, hint=each.hint), name, side)


def _ruled(stack: Stack) -> tuple[object, ...]:
    """What a compilation goes by beside files."""
    placement = stack.placement
    return (
        placement.namespace.by if placement is not None and placement.namespace is not None else None,
        stack.unmasked is None,
    )


def _placed(spec: Spec, side: _Side) -> Spec:
    lookup = spec.lookup
    if lookup is None or side.top == side.user_top:
        return spec
    return replace(spec, lookup=lambda document, path: moved(lookup(document, path), side.place))


def _failure(error: WorkbenchError, name: str, side: _Side) -> Failure:
    rendered = error.rendered if isinstance(error, CompileFailed) else ""
    where = side.text(error.where)
    found = _WHERE.match(where)
    return Failure(
        name,
        side.text(error.message),
        where,
        side.text(error.hint),
        side.text(rendered),
        Path(found["file"]) if found else None,
        int(found["line"]) if found else 0,
        tuple(_findings(error, side)) if isinstance(error, CompileFailed) else (),
    )


def _findings(error: CompileFailed, side: _Side) -> Iterator[CompileFinding]:
    places = error.places or (None,) * len(error.diagnostics)
    for each, at in zip(error.diagnostics, places, strict=True):
        if not each.follows:
            yield CompileFinding(
                each.code.number,
                each.code.title,
                side.text(each.message),
                side.place(Path(each.primary.path)) if each.primary is not None and at is not None else None,
                at.line if at is not None else 0,
                each.severity is Severity.ERROR,
            )


__all__ = ["Question", "find_impact"]

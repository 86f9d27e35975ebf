"""`open`: a repository in a notebook. Everything here is synchronous and may be called from any cell or callback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kcl import whole_file
from kcl.records import replace
from runtimes.base import RuntimeFailure
from workbench.engine.changes import Summary
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EditFailed, Refused
from workbench.engine.field_edit import set_field
from workbench.engine.impact import ImpactReport
from workbench.engine.release import Release
from workbench.engine.status import StatusTree
from workbench.engine.whatif import WhatIf
from workbench.notebook import results
from workbench.notebook.durations import seconds
from workbench.notebook.engine_thread import EngineThread, readable
from workbench.notebook.recovery import Audit, Recovery
from workbench.notebook.results import Compiled, Diff, Note, Releases, Shown
from workbench.notebook.runs import Plan, Run, Watch
from workbench.notebook.surveys import Drift, Impact, Policies, Rollouts
from workbench.notebook.views import Picture, Tab
from workbench.present import browse, documents, explain, paths
from workbench.present.diff import Roots
from workbench.present.glyphs import UNICODE
from workbench.present.rows import Table
from workbench.present.text import Span, Tone, line
from workbench.project import KonfigTree, Stack, StackPath, WorkbenchError
from workbench.session import Session
from workbench.settings import Settings
from workbench.words import counted

T = TypeVar("T")
Options = Mapping[str, object]


def open(path: str | Path = ".", *, kubeconfig: str | Path | None = None, read_only: bool = False) -> Workspace:
    """Opens the repository at or above `path`; raises `NotARepository`, or `NotInstalled` where packages are missing.

    Nothing is read from a cluster before a verb needs it. `kubeconfig` wins over the environment. `read_only` refuses
    everything that writes, as WB_READONLY=1 does.
    """
    if missing := [each for each in ("pandas", "anywidget") if find_spec(each) is None]:
        hint = "pip install 'konfig-workbench[notebook]'"
        raise readable(NotInstalled(f"notebooks need {' and '.join(missing)}", hint=hint))
    thread = EngineThread()
    settings = replace(Settings.load(), is_read_only=True) if read_only else None
    try:
        # `~` is for shells; people write it in notebooks as well
        session = Session.open(Path(path).expanduser(), kubeconfig=kubeconfig, settings=settings)
    except WorkbenchError as error:
        raise readable(error) from None
    return Workspace(session, thread)


class NotInstalled(WorkbenchError):
    """The workbench was installed without what notebooks need."""


class Workspace:
    """A repository and connections to its clusters. `workspace["project/stack"]` is a stack."""

    def __init__(self, session: Session, thread: EngineThread) -> None:
        self.session, self.thread = session, thread
        self._known: dict[StackPath, browse.Known] = {}

    @property
    def root(self) -> Path:
        return self.session.root

    def stacks(self, *globs: str) -> Stacks:
        """Returns the stacks that any of the globs over `project/stack` covers, all without one.

        Raises `UnknownStack` for a glob that covers none: a loop over nothing would look as if all were well.
        """
        tree = self._now(self.session.tree)
        if not globs:
            return Stacks(self, tree)
        return Stacks(self, _only(tree, self._now(lambda: self.session.choose(*globs))))

    def __getitem__(self, name: str) -> StackHandle:
        return self.stack(name)

    def stack(self, name: str) -> StackHandle:
        """Finds a stack by `project/stack` or by its folder; raises `UnknownStack` with the nearest names."""
        return StackHandle(self, self._now(lambda: self.session.select(name)))

    def drift(self, *globs: str) -> Drift:
        """Looks for what others changed live, in the stacks that the globs cover; writes nothing."""
        stacks = self._chosen(globs)
        return Drift(stacks, self.call(lambda: self.session.drift(stacks)), self.root)

    def impact(self, *files: str | Path, git: str = "", live: bool = False) -> Impact:
        """Says what changed files do to all stacks, by compiling both sides; those not committed, or of a git range.

        With `live` the clusters of affected stacks are asked. Raises `EngineError` where git can't tell.
        """
        return Impact(self.call(lambda: self.session.impact(files, git, live=live)))

    def policies(self, *globs: str) -> Policies:
        """Asks the policies about what the stacks say; raises `BrokenFile` where policies can't be read."""
        stacks = self._chosen(globs)
        return Policies(self.call(lambda: self.session.judge(stacks)), self.root)

    def rollouts(self) -> Rollouts:
        """Returns the rollouts of the repository, from whichever machine they were begun."""
        return Rollouts(self.call(self.session.rollouts), datetime.now(UTC))

    def _chosen(self, globs: tuple[str, ...]) -> tuple[Stack, ...]:
        return self._now(lambda: self.session.choose(*globs) if globs else tuple(self.session.tree().stacks()))

    def whatif(self, name: str) -> WhatIfEdit:
        return self.stack(name).whatif()

    def plan_destroy(self, name: str) -> Plan:
        """As `StackHandle.plan_destroy`, for the stack of this name."""
        return self.stack(name).plan_destroy()

    def destroy(self, name: str, *, dry_run: bool = True, confirm: str = "") -> Run:
        """As `StackHandle.destroy`, for the stack of this name."""
        return self.stack(name).destroy(dry_run=dry_run, confirm=confirm)

    def recovery(
        self,
        source: str | Path,
        *,
        hostnames: Iterable[str] = (),
        incident: str = "",
        D: Options | None = None,
        max_pods: int | None = None,
        max_fraction: float | None = None,
        batch: int | None = None,
        per_owner: int | None = None,
        stop_after: int | None = None,
        timeout: str | float | None = None,
    ) -> Recovery:
        """A recovery as a program such as ops/AppRecovery.k declares it; nothing is asked or done yet.

        `hostnames` and `incident` are told to the program as options of these names. The limits replace those of the
        program; `timeout` is for one replacement to become ready. The engine holds them, whatever is shown here.
        """
        names = [hostnames] if isinstance(hostnames, str) else list(hostnames)
        told = {name: _as_text(value) for name, value in (D or {}).items()}
        told |= {"hostnames": ",".join(names)} if names else {}
        told |= {"incident": incident} if incident else {}
        limits = {
            "max_pods": max_pods,
            "max_fraction": max_fraction,
            "batch": batch,
            "per_owner": per_owner,
            "stop_after": stop_after,
            "timeout_seconds": None if timeout is None else seconds(timeout),
        }
        given = {name: value for name, value in limits.items() if value is not None}
        return Recovery(self, str(source), CompileInputs(options=told), given)

    def practice_alarm(self) -> tuple[list[str], str]:
        """Returns hostnames and incident that `wb demo --headless` serves to practise on; raises `NoAlarm`."""
        served = self.session.served
        if served is None or not served.hostnames:
            hint = "give hostnames, or start `wb demo --headless` in another terminal and open again"
            raise readable(NoAlarm("no practice alarm is served", where=str(self.root), hint=hint))
        return list(served.hostnames), served.incident

    def audit(self, limit: int | None = None) -> Audit:
        """Every write from this machine, by whatever face, newest first; checks the chain of entries."""
        trail = self.session.audit()
        return Audit(trail.entries(limit=limit), trail.verify())

    def close(self) -> None:
        """Stops what is under way and closes the connections. The engine's thread ends."""

        async def leave() -> None:
            await self.session.__aexit__(None, None, None)

        self.thread.call(leave)
        self.thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        mode = "  read only" if self.session.settings.is_read_only else ""
        return f"{self.root}  {counted(sum(1 for _ in self.session.tree().stacks()), 'stack')}{mode}"

    def allow_writes(self, stack: str) -> None:
        """Has this session write to a stack, by its whole name, that the repository makes read-only."""
        self.session.allow_writes(self.session.select(stack))

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Runs work of the session on its thread and waits; an interrupt cancels it."""
        try:
            return self.thread.call(work)
        except (WorkbenchError, RuntimeFailure) as error:
            raise error from None

    def _now(self, read: Callable[[], T]) -> T:
        async def work() -> T:
            return read()

        return self.call(work)

    def known(self) -> Mapping[StackPath, browse.Known]:
        return self._known

    def learn(self, path: StackPath, **facts: Any) -> None:
        """Keeps what was seen of a stack, for the tree of stacks."""
        self._known[path] = replace(self._known.get(path, browse.NOTHING), **facts)


class NoAlarm(WorkbenchError):
    """Nobody serves practice clusters with an alarm for this repository."""


class Stacks(Shown):
    """The repository as a tree; iterating gives its stacks."""

    name = "tree"

    def __init__(self, workspace: Workspace, tree: KonfigTree) -> None:
        self._workspace, self.value = workspace, tree

    def __len__(self) -> int:
        return sum(1 for _ in self.value.stacks())

    def __iter__(self) -> Iterator[StackHandle]:
        return (StackHandle(self._workspace, each) for each in self.value.stacks())

    @property
    def df(self) -> Any:
        """One row a component, or a stack without any. `dirty`: a file that is not committed may touch it."""
        from workbench.notebook import frames
        from workbench.notebook.worktree import uncommitted

        session, root = self._workspace.session, self._workspace.root
        changed = uncommitted(root)
        dirty = None if changed is None else set(session.affected(changed).stacks)
        rows: list[dict[str, object]] = []
        for stack in self.value.stacks():
            known = self._workspace.known().get(stack.path, browse.NOTHING)
            latest = next(iter(session.releases(stack)), None)
            about: dict[str, object] = {
                "project": str(stack.path.project),
                "stack": str(stack.path.stack),
                "path": stack.directory.relative_to(root).as_posix(),
                "env": stack.placement.environment if stack.placement else "",
                "dirty": None if dirty is None else stack.path in dirty,
                "last_release": latest.revision if latest else None,
                "status": known.tree.verdict.value if known.tree else "",
                "observed": known.tree.answered_at if known.tree else None,
            }
            rows.extend([{**about, "component": each.name} for each in stack.components] or [about])
        return frames.frame(frames.STACKS, rows)

    def _picture(self) -> Picture:
        rows = browse.rows(self.value, self._workspace.known(), UNICODE, datetime.now(UTC))
        findings = (line(Span(f"{UNICODE.finding} {each.where}: {each.message}", Tone.BAD)) for each in self._findings)
        return Picture(tuple(findings), (Tab("Stacks", Table(browse.COLUMNS, rows)),))

    @property
    def _findings(self) -> tuple[Any, ...]:
        return tuple(self.value.all_findings())

    def _document(self) -> dict[str, Any]:
        return documents.tree(self.value)


class StackHandle:
    """A stack of a workspace, with the inputs it is compiled with."""

    def __init__(self, workspace: Workspace, stack: Stack, inputs: CompileInputs | None = None) -> None:
        self.workspace, self.value = workspace, stack
        self.inputs = inputs or CompileInputs()

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def session(self) -> Session:
        return self.workspace.session

    @property
    def thread(self) -> EngineThread:
        return self.workspace.thread

    @property
    def roots(self) -> Roots:
        return results.roots_of(self.workspace.root, self.value.project_directory)

    def given(self, options: Options | None = None, settings: tuple[str, ...] = ()) -> StackHandle:
        """Returns the stack as compiled with `-D name=value` and `-Y file`; they add to those given before."""
        told = {**self.inputs.options, **{name: _as_text(value) for name, value in (options or {}).items()}}
        inputs = replace(self.inputs, options=told, settings=(*self.inputs.settings, *settings))
        return StackHandle(self.workspace, self.value, inputs)

    def compile(self, D: Options | None = None, *, settings: tuple[str, ...] = ()) -> Compiled:
        """Raises `CompileFailed` (the KCL is wrong) or `SpecInvalid` (what it yields is no Spec)."""
        asked = self.given(D, settings)
        compiled = self.workspace.call(lambda: self.session.compile(self.value, asked.inputs))
        self.workspace.learn(self.value.path, resources=len(compiled.spec))
        return Compiled(compiled, self.value.clusters, self.roots)

    def diff(self, D: Options | None = None, *, clusters: tuple[str, ...] = ()) -> Diff:
        """Compares configuration and live; writes nothing. A cluster that does not answer is in `problems`."""
        asked = self.given(D)
        found = self.workspace.call(lambda: self.session.diff(self.value, asked.inputs, clusters=clusters))
        self._remember_summary(found.summary, found.compared_at, is_certain=found.is_certain)
        return Diff(found, asked, self.roots)

    def plan(
        self,
        D: Options | None = None,
        *,
        clusters: tuple[str, ...] = (),
        prune: bool = True,
        force: bool = False,
        only: str | Iterable[str] = (),
        skip: str | Iterable[str] = (),
    ) -> Plan:
        """Plans what would bring live to the configuration. `force` takes over fields that others changed.

        `only` and `skip` choose resources, as on the command line: `Deployment/web`, `component=web`.
        """
        asked = self.given(D)
        some, others = ((each,) if isinstance(each, str) else tuple(each) for each in (only, skip))
        made = self.workspace.call(
            lambda: self.session.plan(
                self.value, asked.inputs, clusters=clusters, prune=prune, force=force, only=some, skip=others
            )
        )
        if made.part is None:
            self._remember_summary(made.summary, made.made_at, is_certain=made.is_certain)
        return Plan(made, asked)

    def plan_rollback(
        self, to: int = 0, D: Options | None = None, *, clusters: tuple[str, ...] = (), force: bool = False
    ) -> Plan:
        """Plans to give the stack again what release `to` had, by default the last good one before the current one.

        The record is followed, not the configuration. Raises `Refused` naming each field that no record holds.
        """
        asked = self.given(D)
        made = self.workspace.call(
            lambda: self.session.plan_rollback(self.value, to, asked.inputs, clusters=clusters, force=force)
        )
        return Plan(made, asked)

    def plan_revert(self, D: Options | None = None) -> Plan:
        """Plans to take back what others changed live; refused where the configuration itself has changed as well."""
        asked = self.given(D)
        return Plan(self.workspace.call(lambda: self.session.plan_revert(self.value, asked.inputs)), asked)

    def plan_destroy(self, D: Options | None = None) -> Plan:
        """Plans to take everything away that the stack has, on its clusters and in Terraform.

        Needs no configuration that compiles. A protected stack is refused.
        """
        asked = self.given(D)
        return Plan(self.workspace.call(lambda: self.session.plan_destroy(self.value, asked.inputs)), asked)

    def destroy(self, D: Options | None = None, *, dry_run: bool = True, confirm: str = "", reason: str = "") -> Run:
        """Takes everything away; without `dry_run=False` it only shows what would go. Asks as `Plan.apply` does."""
        return self.plan_destroy(D).apply(dry_run=dry_run, confirm=confirm, reason=reason)

    def watch(self, timeout: str | float = "10m") -> Watch:
        """Watches until everything is ready or something has failed; returns at once."""
        return Watch(self, seconds(timeout))

    def releases(self) -> Releases:
        """Returns the releases of the stack from whatever machine; raises where a cluster that keeps them is silent."""
        return Releases(self.name, self.workspace.call(self._releases))

    async def _releases(self) -> tuple[Release, ...]:
        history = await self.session.history(self.value)
        history.refuse_unknown(self.name)
        return history.releases()

    def whatif(self) -> WhatIfEdit:
        """Begins a set of edits that exist only here: no file is touched before `write`."""
        return WhatIfEdit(self, self.session.whatif(self.value, self.inputs))

    def explain(self, resource: str, path: str) -> Note:
        """Returns the value of a field and the source lines behind it, the decisive one first."""
        return self.compile()[resource].explain(path)

    def remember(self, tree: StatusTree, *, is_watched: bool) -> None:
        self.workspace.learn(self.value.path, tree=tree, is_watched=is_watched)

    def __repr__(self) -> str:
        placement = self.value.placement
        protected = "  protected" if placement and placement.protected else ""
        return f"{self.name}  {', '.join(self.value.clusters)}{protected}"

    def _remember_summary(self, summary: Summary, at: datetime, *, is_certain: bool) -> None:
        if is_certain:
            self.workspace.learn(self.value.path, summary=summary, compared_at=at)


class WhatIfEdit(Shown):
    """Edits over the files of the repository. Each verb changes this object and returns it, so cells read in order."""

    name = "whatif"

    def __init__(self, stack: StackHandle, edits: WhatIf) -> None:
        self._stack, self.value = stack, edits

    def __bool__(self) -> bool:
        return bool(self.value.files)

    def set(self, resource: str, path: str, value: object) -> WhatIfEdit:
        """Changes a field of a resource (`"Deployment/web"`, `"spec.replicas"`) at the source line that sets it.

        Raises `EditFailed`, and edits nothing, where the field does not exist, where no line sets just this field, or
        where it would not have the value afterwards; then use `edit`.
        """
        try:
            id_ = explain.find(self.compile().value.spec, resource).id
            compile_ = partial(self._stack.session.compile, self._stack.value)
            self.value = self._stack.workspace.call(
                lambda: set_field(self.value, compile_, id_, paths.parse(path), value)
            )
        except WorkbenchError as error:
            raise readable(error) from None
        return self

    def edit(self, file: str | Path, old: str, new: str) -> WhatIfEdit:
        """Replaces text in a file, named from the root; `old` has to stand there exactly once."""
        try:
            text = self.value.text(file)
            if text.count(old) != 1:
                near = get_close_matches(old.strip(), [each.strip() for each in text.splitlines()], n=1)
                hint = f"did you mean {near[0]!r}?" if near else "give more of the text around it"
                raise EditFailed(f"{old!r} stands there {text.count(old)} times, not once", where=str(file), hint=hint)
            self.value = self.value.edit(file, text.replace(old, new))
        except WorkbenchError as error:
            raise readable(error) from None
        return self

    def revert(self) -> WhatIfEdit:
        """Drops all edits."""
        for each in self.value.files:
            self.value = self.value.revert(each)
        return self

    def compile(self) -> Compiled:
        return self._edited.compile()

    def diff(self) -> Diff:
        """What an apply of the edited configuration would change live."""
        return self._edited.diff()

    def plan(self, *, force: bool = False) -> Plan:
        return self._edited.plan(force=force)

    def affected(self) -> tuple[str, ...]:
        """Returns the names of all stacks that the edited files touch."""
        impact = self._stack.workspace._now(lambda: self._stack.session.affected(self.value.files))
        return tuple(str(each) for each in impact.stacks)

    def impact(self, *, live: bool = False) -> Impact:
        """What the edits do to every stack that reads one of their files; with `live` their clusters are asked."""

        async def effect() -> ImpactReport:
            session = self._stack.session
            report = await session.effect(self.value)
            return await session.live_impact(report, self.value.inputs) if live else report

        return Impact(self._stack.workspace.call(effect))

    def patch(self) -> str:
        """Returns the edits as a unified diff that `git apply` takes."""
        return self.value.patch()

    def to_patch(self, path: str | Path) -> Path:
        """Writes the patch to a file and returns its path; raises `EditFailed` if there is nothing to write."""
        if not self:
            raise readable(EditFailed("there are no edits", where=self._stack.name, hint="set(...) or edit(...) first"))
        target = Path(path)
        try:
            self._stack.session.refuse_outside(target)
        except WorkbenchError as error:
            raise readable(error) from None
        try:
            whole_file.save(target, self.patch().encode())
        except OSError as error:
            raise readable(EditFailed(f"cannot be written: {error.strerror}", where=str(target))) from error
        return target

    def write(self) -> tuple[Path, ...]:
        """Writes the edits to the working tree; raises `EditFailed` if a file was changed meanwhile.

        Raises `Refused` in a read-only session, and for a stack that the repository makes read-only.
        """
        try:
            return self._stack.session.write_files(self._stack.value, self.value)
        except Refused as error:
            raise readable(error) from None

    @property
    def df(self) -> Any:
        return self.diff().df

    @property
    def _edited(self) -> StackHandle:
        return StackHandle(self._stack.workspace, self._stack.value, self.value.inputs)

    def _picture(self) -> Picture:
        files = f"  {counted(len(self.value.files), 'file')} edited, none on disk"
        tones = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.SOURCE}
        shown = (line(Span(each, tones.get(each[:1], Tone.MUTED))) for each in self.patch().splitlines())
        return Picture((line(Span(self._stack.name, Tone.STRONG), files), *shown))

    def _document(self) -> dict[str, Any]:
        return {"apiVersion": "wb/v1", "kind": "WhatIf", "stack": self._stack.name, "patch": self.patch()}


def _only(tree: KonfigTree, stacks: Iterable[Stack]) -> KonfigTree:
    wanted = {each.path for each in stacks}
    projects = (
        replace(project, stacks=tuple(each for each in project.stacks if each.path in wanted))
        for project in tree.projects
    )
    return replace(tree, projects=tuple(each for each in projects if each.stacks))


def _as_text(value: object) -> str:
    """An option as `-D` would say it."""
    match value:
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)

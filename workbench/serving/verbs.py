"""What the `wb.` methods do: a session for each call, and the documents that `-o json` prints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from kcl.records import dataclass, field
from workbench.serving.errors import FAILED, INVALID_PARAMS, NOT_ALLOWED, CallFailed
from workbench.serving.parameters import Apply, Compile, Diff, Explain, Impact, Nothing, Outputs, PlanOf, Set, Watch

if TYPE_CHECKING:
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.events import ApplyFinished
    from workbench.engine.plan import Plan
    from workbench.serving.plans import Plans
    from workbench.session import Session

_LONGEST_WATCH_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Allowed:
    """What whoever started the server lets its clients do, and see."""

    edits: bool = False
    applies: bool = False
    secrets: bool = False


@dataclass(slots=True)
class Work:
    """One call: where it works, whom it tells, and how it is stopped in order.

    `tell` sends an event to the client, and does nothing where that takes none. `stop` is set while there is a gentler
    way to stop than to cancel. `left` is what may have been done where the call does not come to its end.
    """

    open: Callable[[], Session]
    allowed: Allowed
    plans: Plans
    tell: Callable[[Mapping[str, Any]], Awaitable[None]]
    say: Callable[[str], None]
    stop: Callable[[], Awaitable[None]] | None = None
    left: dict[str, Any] = field(default_factory=dict)


async def stacks(work: Work, given: Nothing) -> Any:
    from workbench.present import documents

    async with work.open() as session:
        return documents.tree(session.tree(), session.clusters())


async def compile_(work: Work, given: Compile) -> Any:
    from workbench.present import spec

    async with work.open() as session:
        return spec.document(await session.compile(session.select(given.stack), _inputs(given)))


async def diff(work: Work, given: Diff) -> Any:
    from workbench.present import documents

    async with work.open() as session, _telling_waits(session, work):
        found = await session.diff(
            session.select(given.stack),
            _inputs(given),
            clusters=given.clusters,
            server_dry_run=given.server_dry_run,
            dry_run_all=given.dry_run_all,
        )
        return documents.diff(found, session.root, drift_only=given.drift)


async def impact(work: Work, given: Impact) -> Any:
    from workbench.present import impact as present

    if given.files and given.git:
        raise CallFailed(INVALID_PARAMS, "files are compared with HEAD: give files, or git")
    async with work.open() as session:
        report = await session.impact(given.files, given.git, _inputs(given), live=given.live)
        return present.document(report)


async def explain(work: Work, given: Explain) -> Any:
    from workbench.present import explain as present

    async with work.open() as session:
        compiled = await session.compile(session.select(given.stack), _inputs(given))
        return present.document(compiled.spec, given.resource, given.path, session.root, session.tree().declared)


async def outputs(work: Work, given: Outputs) -> Any:
    from workbench.engine.masking import Seal
    from workbench.present import outputs as present

    async with work.open() as session:
        stack = session.select(given.stack)
        return present.document(await session.outputs(stack), Seal.random().knowing(frozenset(), stack.secrets))


async def set_(work: Work, given: Set) -> Any:
    """The edit and what it does; the files are written with `write`, and never where another stack would break."""
    from workbench.engine.setting import Where
    from workbench.present import setting

    if given.where not in tuple(Where):
        raise CallFailed(INVALID_PARAMS, f"where needs to be {', '.join(Where)}, got {given.where!r}")
    if not given.values:
        raise CallFailed(INVALID_PARAMS, "values needs to name a field")
    if given.write and not work.allowed.edits:
        raise CallFailed(NOT_ALLOWED, "this server writes no files: start it with --allow-edits")
    async with work.open() as session:
        stack = session.select(given.stack)
        if given.write and session.settings.is_read_only:
            raise CallFailed(NOT_ALLOWED, "this session is read-only (WB_READONLY, or an untrusted repository)")
        edits, done = await session.set_fields(
            stack, given.resource, given.values, _inputs(given), where=Where(given.where)
        )
        report = await session.effect(edits)
        if given.write and report.broken:
            raise CallFailed(
                FAILED,
                f"with this edit {', '.join(report.broken)} would no longer compile; nothing was written",
                kind="Broken",
                hint="where: here overrides the value for one stack alone",
            )
        if given.write and edits.files:
            await session.write_edits(stack, edits, done)
        written = given.write and bool(edits.files)
        return {**setting.document(edits, done, report, stack.name), "written": written}


async def plan(work: Work, given: PlanOf) -> Any:
    from workbench.present import documents

    async with work.open() as session, _telling_waits(session, work):
        made = await session.plan(
            session.select(given.stack),
            _inputs(given),
            clusters=given.clusters,
            prune=not given.no_prune,
            force=given.force,
            accept_lost=given.accept_lost,
            adopt=given.adopt,
            take_away=given.take_away,
            dry_run_all=given.dry_run_all,
            only=given.only,
            skip=given.skip,
            replace=given.replace,
        )
        if not made.is_refused:
            work.plans.keep(made)
        return documents.plan(made, session.root)


async def apply(work: Work, given: Apply) -> Any:
    """Carries out a plan that was made here, with the phrase that it asks for; the events are told as they come."""
    from workbench.engine.errors import Locked
    from workbench.engine.events import ApplyFinished
    from workbench.present.plan import event_document

    if not work.allowed.applies:
        raise CallFailed(NOT_ALLOWED, "this server applies nothing: start it with --allow-apply")
    made = work.plans.find(given.plan)
    if made is None:
        raise CallFailed(
            FAILED,
            f"there is no plan {given.plan!r} here: it was applied, is too long ago, or was never made",
            kind="UnknownPlan",
            hint="call wb.plan, look at what it answers, and apply that by its id",
        )
    finished: ApplyFinished | None = None
    async with work.open() as session:
        if made.is_empty and not made.is_unrecorded:
            work.plans.take(made.id)
            return _applied(made, None)
        session.reason = given.reason or session.reason
        try:
            async with session.apply(made, confirm=given.confirm) as events:
                work.plans.take(made.id)
                work.left = {"stack": made.stack, "revision": made.revision, "hint": f"wb release list {made.stack}"}
                work.stop = events.interrupt
                async for event in events:
                    if isinstance(event, ApplyFinished):
                        finished = event
                    await work.tell(event_document(event))
                work.stop, work.left = None, {}
        except Locked:
            if not made.is_empty:
                raise
            work.plans.take(made.id)  # whoever holds the stack says what it did
    return _applied(made, finished)


def _applied(made: Plan, finished: ApplyFinished | None) -> dict[str, Any]:
    """`complete` claims that all that was asked for is done, so it takes that all of it could be planned.

    Of an empty plan nothing is carried out, and no release made, unless the last one was cut off.
    """
    from workbench.engine.events import Outcome

    is_nothing = made.is_empty and finished is None
    outcome = "empty" if is_nothing else "unknown" if finished is None else finished.outcome.value
    is_done = is_nothing or (finished is not None and finished.outcome is Outcome.SUCCEEDED)
    counts = {} if finished is None else {each: getattr(finished, each) for each in ("done", "failed", "skipped")}
    return {
        "apiVersion": "wb/v1",
        "kind": "Apply",
        "status": outcome,
        "complete": is_done and made.is_certain and not made.left_out,
        "plan": made.id,
        "stack": made.stack,
        "revision": made.revision,
        **counts,
    }


async def watch(work: Work, given: Watch) -> Any:
    """The last picture, each that came before as an event."""
    from workbench.present import documents

    if not 0 <= given.timeout_seconds <= _LONGEST_WATCH_SECONDS:
        raise CallFailed(INVALID_PARAMS, "timeoutSeconds needs to be from 0, for the usual, to a day")
    async with work.open() as session:
        last = None
        async with session.watch(
            session.select(given.stack),
            _inputs(given),
            clusters=given.clusters,
            until_settled=True,
            timeout_seconds=given.timeout_seconds or session.settings.timeout_seconds,
        ) as trees:
            async for last in trees:
                await work.tell(documents.status(last))
        return documents.status(last)


def _inputs(given: Compile | Impact) -> CompileInputs:
    from workbench.engine.compiled import CompileInputs

    return CompileInputs(options=given.options, settings=tuple(given.settings))


@asynccontextmanager
async def _telling_waits(session: Session, work: Work, every_seconds: float = 5.0) -> AsyncIterator[None]:
    """Tells now and then which places are waited for: silence looks like a hang."""
    import anyio

    from workbench.engine.tasks import running

    async def tell() -> None:
        while True:
            await anyio.sleep(every_seconds)
            if waits := session.waits_for():
                await work.tell({"waitingFor": {place: round(seconds, 1) for place, seconds in waits.items()}})

    async with running(tell):
        yield

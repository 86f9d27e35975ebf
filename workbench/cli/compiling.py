"""`wb compile --all`: progress while it goes on, at the end what failed and how much there is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from kcl.records import dataclass
from workbench.cli.stacks import NO_STACKS, tell_findings
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone
from workbench.words import few

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compile_all import Batch, Outcome
    from workbench.engine.compiled import CompileInputs
    from workbench.session import Session


_LINE_SECONDS = 10.0
_RENDERED = 20
"""Failures shown with source lines; all are named."""
_NAMED = 5
"""Stacks that were left out of date, in the line with the figures."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the options say; see `wb compile --help`."""

    inputs: CompileInputs
    format: Literal["yaml", "json"]
    into: Path | None
    jobs: int | None
    changed: tuple[str, ...]
    since: str
    force: bool
    scheduler: str


def compile_everything(context: Context, here: Path, order: Order) -> ExitCode:
    from workbench.engine.compiled_index import INDEX_FILE
    from workbench.engine.worker_pools import cores, in_processes, on_scheduler

    output = context.output
    session = context.open(here)
    started = time.monotonic()
    folder = order.into or session.specs_folder
    batch = session.compile_all(
        folder, order.inputs, format_=order.format, only=_only(session, here, order), force=order.force
    )
    _tell_missing(here, order, output)
    for name in batch.ignored:
        output.talk(
            Span("warning: ", Tone.WARN),
            f"{folder / INDEX_FILE}: its record of {name} names a file outside of the folder, and is ignored; "
            "remove the file if it came with the repository",
        )
    tree = session.tree()
    is_broken = tell_findings(tree, output)
    if not any(True for _ in tree.stacks()):
        output.talk(NO_STACKS)
        return ExitCode.ERROR
    if tree.unseen:
        output.talk(
            Span("warning: ", Tone.WARN), "stacks that may be in folders that can't be looked into are left out"
        )
    pool = on_scheduler(order.scheduler) if order.scheduler else in_processes(order.jobs or cores())
    failed: list[Outcome] = []
    warned = 0
    with progress(output, len(batch.stale)) as bar:
        for outcome in batch.run(pool):
            if outcome.failure is not None:
                failed.append(outcome)
            warned += len(outcome.warnings)
            bar.advance(bool(outcome.failure))
    _show_failures(failed, output)
    done = len(batch.stale) - len(failed)
    parts = [f"{done} compiled in {time.monotonic() - started:.1f}s", f"{batch.fresh} up to date"]
    parts += [_left(batch)] if batch.left else []
    parts += [f"{warned} warnings (`wb compile STACK` shows them)"] if warned else []
    parts += [f"{len(failed)} failed"] if failed else []
    output.line(", ".join(parts))
    output.line(f"{batch.lines():,} lines of {order.format.upper()} in {folder}")
    if failed or is_broken:
        return ExitCode.ERROR
    return ExitCode.PARTIAL if batch.former else ExitCode.OK


def _left(batch: Batch) -> str:
    left = f"{batch.left} out of date and left so"
    if not batch.former:
        return f"{left}, without a Spec in the folder"
    more = f" and {len(batch.former) - _NAMED} more" if len(batch.former) > _NAMED else ""
    return f"{left}, {len(batch.former)} of them with a Spec of before: {', '.join(batch.former[:_NAMED])}{more}"


def _only(session: Session, here: Path, order: Order) -> tuple[Path, ...] | None:
    if not order.changed and not order.since:
        return None
    files = [(here / each).absolute() for each in order.changed]
    if order.since:
        from workbench.engine.revisions import changed_since

        files += changed_since(session.root, order.since)
    return tuple(files)


def _tell_missing(here: Path, order: Order, output: Output) -> None:
    """A file that was deleted counts; one whose name is misspelt looks like that, and concerns no stack."""
    missing = [each for each in order.changed if not os.path.lexists(here / each)]
    if missing:
        verb = "is not there, and counts" if len(missing) == 1 else "are not there, and count"
        output.talk(Span("warning: ", Tone.WARN), f"{few(missing, _NAMED)} {verb} as deleted")


def _show_failures(failed: list[Outcome], output: Output) -> None:
    failed.sort(key=lambda each: each.stack)
    for number, each in enumerate(failed):
        failure = each.failure
        assert failure is not None
        where = f"{failure.where}: " if failure.where else ""
        output.talk(Span(f"{each.stack} failed: ", Tone.BAD), f"{where}{failure.message}")
        if failure.rendered and number < _RENDERED:
            output.talk(failure.rendered.rstrip("\n"))
        elif failure.hint:
            output.talk(Span(f"  {failure.hint}", Tone.MUTED))


class Bar(Protocol):
    """Told of each stack that is done."""

    def advance(self, is_failure: bool) -> None: ...


@contextmanager
def progress(output: Output, total: int) -> Iterator[Bar]:
    """Shows on stderr how many stacks of so many are done."""
    if not total or not output.stderr.isatty():
        yield _Lines(output, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=output.stderr, no_color=not output.has_color(output.stderr), highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        yield _Drawn(shown, shown.add_task("compiling", total=total))


class _Drawn:
    def __init__(self, shown: Progress, task: TaskID) -> None:
        self._shown, self._task, self._failures = shown, task, 0

    def advance(self, is_failure: bool) -> None:
        self._failures += is_failure
        words = f"compiling, {self._failures} failed" if self._failures else "compiling"
        self._shown.update(self._task, advance=1, description=words)


class _Lines:
    """Without a terminal: a line at most every ten seconds."""

    def __init__(self, output: Output, total: int) -> None:
        self._output, self._total, self._done, self._failures = output, total, 0, 0
        self._told = time.monotonic()

    def advance(self, is_failure: bool) -> None:
        self._done += 1
        self._failures += is_failure
        now = time.monotonic()
        if now - self._told >= _LINE_SECONDS:
            self._told = now
            failures = f", {self._failures} failed" if self._failures else ""
            self._output.talk(f"{self._done} of {self._total} compiled{failures}")

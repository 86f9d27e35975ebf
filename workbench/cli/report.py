"""Failures for people: what, where, what to do; and which exit code goes with each."""

from __future__ import annotations

import traceback
from pathlib import Path

from workbench.cli.output import Output
from workbench.exit_codes import ExitCode, exit_code
from workbench.present.text import Span, Tone
from workbench.project import WorkbenchError


def show_failure(error: BaseException, output: Output) -> int:
    """Prints the failure on stderr and returns the exit code. Groups of one (task groups) are opened first."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        codes = [show_failure(each, output) for each in error.exceptions]
        return max(codes)
    if _is_expected(error):
        from workbench.present import errors
        from workbench.present.glyphs import UNICODE

        for each in errors.lines(error, UNICODE):  # type: ignore[arg-type]  # _is_expected has narrowed it
            output.talk(each)
        return exit_code(error)
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    _show_bug(error, output)
    return ExitCode.ERROR


def _is_expected(error: BaseException) -> bool:
    from runtimes.base import RuntimeFailure

    return isinstance(error, WorkbenchError | RuntimeFailure)


def _show_bug(error: BaseException, output: Output) -> None:
    """A bug is reported by its kind and place. Its text stays out: it may quote data, and data may be secret."""
    output.talk(Span("this is a bug in the workbench: ", Tone.BAD), type(error).__name__)
    for frame in traceback.extract_tb(error.__traceback__)[-4:]:
        output.talk(Span(f"  {Path(frame.filename).name}:{frame.lineno} in {frame.name}", Tone.MUTED))

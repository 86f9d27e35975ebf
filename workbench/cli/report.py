"""Failures for people: what, where, what to do; and which exit code goes with each."""

from __future__ import annotations

from workbench.cli.output import Output
from workbench.exit_codes import ExitCode, exit_code
from workbench.project import WorkbenchError


def show_failure(error: BaseException, output: Output) -> int:
    """Prints the failure on stderr and returns the exit code. Groups of one (task groups) are opened first."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        codes = [show_failure(each, output) for each in error.exceptions]
        return max(codes)
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    from runtimes.base import RuntimeFailure
    from workbench.present import errors
    from workbench.present.glyphs import UNICODE

    shown = error if isinstance(error, WorkbenchError | RuntimeFailure) else errors.Bug(error)
    for each in errors.lines(shown, UNICODE):
        output.talk(each)
    return exit_code(shown)

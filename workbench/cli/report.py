"""Failures for people: what, where, what to do; and which exit code goes with each."""

from __future__ import annotations

from workbench.cli.output import Output
from workbench.exit_codes import ExitCode, exit_code
from workbench.project import WorkbenchError


class CommandFailed(Exception):
    """Ends a command by `error`, with a code of the command's own in place of the error's."""

    def __init__(self, error: BaseException, code: ExitCode) -> None:
        super().__init__()
        self.error, self.code = error, code


class SystemFailed(Exception):
    """Carries an `OSError` past click, which takes some of them for its own and ends without a word."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


def show_failure(error: BaseException, output: Output) -> ExitCode:
    """Prints the failure on stderr and returns the exit code. Groups (of tasks) are opened."""
    match error:
        case CommandFailed():
            show_failure(error.error, output)
            return error.code
        case SystemFailed():
            return show_failure(error.error, output)
        case BaseExceptionGroup():
            return max(show_failure(each, output) for each in error.exceptions)
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
    from runtimes.base import RuntimeFailure
    from workbench.present import errors

    shown = error if isinstance(error, WorkbenchError | RuntimeFailure) else _explained(error)
    for each in errors.lines(shown, output.glyphs):
        output.talk(each)
    return exit_code(shown)


def code_of(error: BaseException) -> ExitCode:
    """Returns the exit code of a failure without a word of it."""
    match error:
        case CommandFailed():
            return error.code
        case SystemFailed():
            return exit_code(error.error)
        case BaseExceptionGroup():
            return max(code_of(each) for each in error.exceptions)
        case _:
            return exit_code(error)


def _explained(error: BaseException) -> WorkbenchError:
    """Returns what to say of an error that no part of the workbench raised itself."""
    from workbench.present.errors import Bug

    match error:
        case ImportError():
            return WorkbenchError(
                f"a part of the installation is missing or broken: {error.msg}",
                hint="install it again: pip install --force-reinstall konfig-workbench",
            )
        case OSError() if error.filename:
            return WorkbenchError(
                f"the system refuses: {error.strerror or type(error).__name__}",
                where=str(error.filename),
                hint="look at this file or folder: is it there, may you use it, is the disk full?",
            )
        case _:
            return Bug(error)

"""The exit codes of the command line, and which error gives which.

`diff` follows kubectl (0 same, 1 different, 3 could not tell), and `impact` follows `diff`. `plan --detailed-exitcode`
follows Terraform (0 nothing to do, 1 error, 2 changes). Everything else uses the codes below.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1
    DIFFERENT = 1
    """What was asked for is so, of commands that answer a question: `diff`, `impact`, `release diff`, `config diff`,
    `drift`, `fleet` and `policy`. None of them ends so by an error; `import live` may."""
    CHANGES = 2
    """`plan --detailed-exitcode` only."""
    DIFF_FAILED = 3
    """These, `ci`, `update` and `config get`: what differs, or what is, is not known."""
    REFUSED = 4
    """A guard said no, a confirmation is missing, or the session is read-only. Nothing was written."""
    NOT_READY = 5
    """Applied, but something failed to become ready or the time was up."""
    PARTIAL = 6
    """Some steps were done, others failed or were not tried."""
    STALE = 7
    """The plan is out of date, or somebody else holds the stack. Nothing was written."""
    USAGE = 64
    INTERRUPTED = 130


def exit_code(error: BaseException) -> ExitCode:
    """Returns the code for an error that ended a command (`diff` maps errors to `DIFF_FAILED` by itself)."""
    from workbench.engine.errors import ConfirmationRequired, Locked, Refused, StalePlan
    from workbench.project import NotARepository, UnknownCluster, UnknownStack

    match error:
        case StalePlan() | Locked():
            return ExitCode.STALE
        case Refused() | ConfirmationRequired():
            return ExitCode.REFUSED
        case UnknownStack() | UnknownCluster() | NotARepository():
            return ExitCode.USAGE
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.ERROR

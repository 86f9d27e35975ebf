"""The three streams of a process, also where whoever started it closed some of them (`wb ls >&-`)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_NOBODY_READS: Final = 141
"""As a shell tells of a program that SIGPIPE ended."""


def open_closed_streams() -> None:
    """Opens standard input, output and error where they are closed; has to come before any other file is opened.

    Else a file of ours gets the number, and what is printed, also by programs that are started, goes into it. Input
    ends at once, messages go nowhere, and data that are printed can't be written: an error, as on a full disk.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = open(0)  # noqa: SIM115 - to the end
    if sys.stdout is None:
        sys.stdout = open(1, "w")  # noqa: SIM115 - to the end
    if sys.stderr is None:
        sys.stderr = open(2, "w", errors="backslashreplace")  # noqa: SIM115 - to the end


def output_lost(error: OSError) -> int:
    """Says what kept the output from being written, and returns the status of a process that ends because of it.

    Whoever read what is printed and has gone wants no more of it: that is no fault. What is still to be printed, also
    when the interpreter ends, goes nowhere. An error about a file is raised again: it has nothing to do with printing.
    """
    if error.filename is not None:
        raise error
    send_nowhere(1)
    if isinstance(error, BrokenPipeError):
        return _NOBODY_READS
    sys.stderr.write(f"error: {not_written(error)}\n")
    return 1


def send_nowhere(number: int) -> None:
    """Sends what is still to be printed to a stream nowhere: what is buffered would fail again at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def not_written(error: OSError) -> str:
    return f"the output could not be written: {error.strerror or type(error).__name__}"

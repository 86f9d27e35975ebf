"""The process `wb`: what is begun before its commands are imported, and how it ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from kcl.call_stack import with_room
from kcl.streams import open_closed_streams

_EVALUATING: Final = frozenset({"diff", "plan"})
"""They wait for an evaluation, whatever else they are told: it takes longer than all that they import meanwhile."""
_HELP: Final = frozenset({"-h", "--help"})


@with_room
def process() -> NoReturn:
    """Runs `wb`. What has to be done at its end is; taking the interpreter apart takes longer than all of that.

    Where what was printed cannot be handed on, Python says so.
    """
    open_closed_streams()
    if sys.argv[1:2] and sys.argv[1] in _EVALUATING and _HELP.isdisjoint(sys.argv):
        from workbench.engine import evaluator_start

        with suppress(OSError):  # whoever needs the process meets it again, and reports it
            evaluator_start.expect()
    from workbench.cli.main import main  # not before: it takes a while

    try:
        main()
    except SystemExit as ended:
        for each in threading.enumerate():
            if not each.daemon and each is not threading.main_thread():
                each.join()
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):
            raise ended from None
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    raise AssertionError("a command ends by SystemExit")

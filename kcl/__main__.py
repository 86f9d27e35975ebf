"""`python -m kcl`, and the command `kcl`.

A run whose output was kept, and which rests on nothing that has changed since, is over before the language is loaded.
"""

import sys

# `-m` puts the current folder first, which may be a checkout nobody has read: its json.py would be imported as ours.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path:
    if sys.path[0] != __file__.rpartition("/")[0].rpartition("/")[0]:
        del sys.path[0]

import gc
import os

from kcl.cache.runs import failed, key_of, look_up
from kcl.cache.store import Store, folder_for
from kcl.streams import open_closed_streams, output_lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TextIO

    from kcl.bounded import Allowance


def _runs(arguments: list[str]) -> bool:
    """Whether the command line runs a program."""
    return bool(arguments) and (arguments[0] == "run" or arguments[0].endswith(".k"))


def _kept(arguments: list[str]) -> tuple[str, int] | None:
    """What this very command line printed or said before, and its status, if it would be the same now."""
    if arguments[0] != "run":
        arguments = ["run", *arguments]
    folder = folder_for(os.environ)
    key = None if folder is None else key_of(arguments, os.getcwd(), os.environ)
    if folder is None or key is None:
        return None
    store = Store(folder)
    text = look_up(store, key)
    if text is not None:
        return text, 0
    said = look_up(store, failed(key))
    return None if said is None else (said, 1)


def _run() -> int:
    """Runs a program in a process of its own. The language is loaded there: this one has nothing to do but to wait."""
    from typing import cast

    from kcl.bounded.supervising import supervised
    from kcl.call_stack import with_room
    from kcl.terminal import WithoutOrders

    @with_room
    def command(begin: "Callable[[Allowance], None]") -> int:
        from kcl.cli import of_this_process

        return of_this_process(begin)

    def where() -> str:
        from kcl.evaluator.whereabouts import whereabouts  # loaded long since when somebody asks

        return str(whereabouts() or "")

    return supervised(command, cast("TextIO", WithoutOrders(sys.stderr)), where)


def main() -> int:
    """Runs the command of this process and returns its status."""
    arguments = sys.argv[1:]
    if not _runs(arguments):
        from kcl.cli import entry

        return entry()
    kept = _kept(arguments)
    if kept is None:
        return _run()
    text, status = kept
    if status:
        from kcl.terminal import harmless_lines  # what is said is shown wherever it goes

        sys.stderr.write(harmless_lines(text))
        return status
    if sys.stdout.isatty():
        from kcl.terminal import harmless_lines  # another program gets the text as it is

        text = harmless_lines(text)
    sys.stdout.write(text)
    return 0


def process() -> "NoReturn":
    """The process `kcl`. After a run, taking the interpreter apart would take longer than all that it does itself."""
    open_closed_streams()
    is_run = _runs(sys.argv[1:])
    if is_run:
        # What is loaded for one run stays until its end: looking for garbage among it, while it is loaded, finds none.
        gc.set_threshold(200_000, 50, 50)
    try:
        status = main()
        if not sys.stdout.closed:  # as it is once an editor was served
            sys.stdout.flush()
    except OSError as error:
        status = output_lost(error)
    if not is_run:
        sys.exit(status)
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python says what is wrong with it
    os._exit(status)


if __name__ == "__main__":
    process()

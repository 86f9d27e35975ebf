"""`python -m kcl`.

A run whose output was kept, and which rests on nothing that has changed since, is over before the language is loaded.
"""

import os
import sys

from kcl.cache.runs import key_of, look_up
from kcl.cache.store import Store, folder_for


def _kept() -> str | None:
    """What this very command line printed before, if it would print the same now."""
    arguments = sys.argv[1:]
    if not arguments or not (arguments[0] == "run" or arguments[0].endswith(".k")):
        return None
    if arguments[0] != "run":
        arguments = ["run", *arguments]
    folder = folder_for(os.environ)
    key = None if folder is None else key_of(arguments, os.getcwd(), os.environ)
    return None if folder is None or key is None else look_up(Store(folder), key)


if __name__ == "__main__":
    text = _kept()
    if text is not None:
        sys.stdout.write(text)
        sys.stdout.flush()
        os._exit(0)  # nothing is open any more: taking the interpreter apart would take longer than all of this
    from kcl.cli import entry

    sys.exit(entry())

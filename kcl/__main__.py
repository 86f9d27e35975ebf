"""`python -m kcl`, and the command `kcl`.

A run whose output was kept, and which rests on nothing that has changed since, is over before the language is loaded.
"""

import sys

# `-m` puts the current folder first, which may be a checkout nobody has read: its json.py would be imported as ours.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path:
    if sys.path[0] != __file__.rpartition("/")[0].rpartition("/")[0]:
        del sys.path[0]

import os

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


def main() -> int:
    """The command of this process."""
    text = _kept()
    if text is not None:
        if sys.stdout.isatty():
            from kcl.terminal import harmless_lines  # another program gets the text as it is

            text = harmless_lines(text)
        sys.stdout.write(text)
        sys.stdout.flush()
        os._exit(0)  # nothing is open any more: taking the interpreter apart would take longer than all of this
    from kcl.cli import entry

    return entry()


if __name__ == "__main__":
    sys.exit(main())

"""What a run printed, taken again while everything it rests on is the same.

So is what was said of a program that is wrong, where the files alone say so: what the parser, the loader and the
checker find, and types that were wrong as it ran. Other failures of a run are not kept: it may have been out of time
or memory.

A program is a function of the files it reads and looks for, the command line, and what it asks the world for. An entry
holds the stamps of those files; its key tells everything else. A run that asked for the time, a file's content, a
random number or the environment, that wrote anything, or warned of anything, is not kept. What may have printed a
secret is kept sealed (`sealing`), or not at all if the command line had a part in it, which may be easy to guess.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib._bootstrap_external import MAGIC_NUMBER

from kcl.memo.digest import blake2b
from kcl.memo.inputs import Leads, hold, now, settled, stamp_as_it_is

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final

    from kcl.cache.store import Store
    from kcl.memo.inputs import Clock, Moment, Stamp

_ASKED_OF_ENVIRONMENT: Final = ("KCL_PKG_PATH", "HOME", "USERPROFILE")
_WITH_VALUE: Final = "DYSOEf"
"""Letters of the arguments whose value may follow in the same word."""


def key_of(arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> str | None:
    """The name of the entry for a command line; None where what it does must not be kept."""
    for each in arguments:
        name, equals, value = each.partition("=")
        if _does_more(each) or (equals and _may_be_secret(name, value)):
            return None
    asked = [environment.get(name, "") for name in _ASKED_OF_ENVIRONMENT]
    whole = (list(arguments), folder, asked, compiler())
    return "run-" + blake2b(marshal.dumps(whole, 2), digest_size=20).hexdigest()


def _may_be_secret(name: str, value: str) -> bool:
    """Whether an option may have a value that must not be kept, nor a digest of it."""
    from kcl.secrecy.names import suggests_secret  # most runs are given none

    return suggests_secret(name.removeprefix("-D")) or ("://" in value and "@" in value)


def _does_more(argument: str) -> bool:
    """Whether an argument may ask to read standard input, write a file or say more; when in doubt it does."""
    if argument == "-" or argument.startswith(("--o", "--h", "--v")):
        return True
    if not argument.startswith("-") or argument.startswith("--"):
        return False
    for letter in argument[1:]:
        if letter in _WITH_VALUE:
            return False
        if letter in "ohv":
            return True
    return False


def failed(key: str) -> str:
    """The name of the entry for what was said by the run whose output would have that name."""
    return f"failed-{key}"


def look_up(store: Store, key: str) -> str | None:
    """What the run printed; None when it was not kept or something it rests on has changed."""
    data = store.read(key)
    if data is None:
        return None
    try:
        text, kept, ways, files = marshal.loads(data)
        if not hold(kept, ways):
            return None
        return text if files is None else _opened(key, text, files)
    except (ValueError, EOFError, TypeError, AttributeError):
        return None


def _opened(key: str, sealed: bytes, files: Sequence[str]) -> str | None:
    from kcl.cache.sealing import key_from, opened  # few outputs hold secrets

    made = key_from(key, files)
    text = None if made is None else opened(sealed, made)
    return None if text is None else text.decode()


def keep(
    store: Store,
    key: str,
    text: str,
    paths: Iterable[str],
    started: Moment,
    taken: Mapping[str, Stamp | None] | None = None,
    *,
    only_files: bool,
    clock: Clock = now,
) -> bool:
    """Keeps what a run printed that rests on these paths and began at `started`.

    `taken` are stamps of what it was about to read, as `settled` takes them. `only_files` says that the command line
    gave the program no value, which is when secrets may be kept, sealed.
    Answers whether it was kept: not if one of the paths was written shortly before or meanwhile.
    """
    kept = settled(sorted(set(paths)), started, taken, clock)
    if kept is None:
        return False
    ways = Leads().ways(kept)
    from kcl.secrecy.rules import BUILT_IN  # who only looks something up can do without

    if not BUILT_IN.may_be_in(text):
        return store.write(key, marshal.dumps((text, kept, ways, None)))
    if not only_files:
        return False
    from kcl.cache.sealing import key_from, seal

    files = [path for path in kept if os.path.isfile(path)]
    made = key_from(key, files)
    return made is not None and store.write(key, marshal.dumps((seal(text.encode(), made), kept, ways, files)))


def compiler() -> str:
    """What this compiler is: its own files as they were when it was first asked, and the interpreter's version."""
    global _compiler
    if not _compiler:
        _compiler = _described()
    return _compiler


_compiler = ""


def _described() -> str:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    facts: list[tuple[str, Stamp | None]] = []
    pending = [here]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for each in entries:
                if each.name.endswith((".py", ".marshal")):
                    facts.append((each.path, stamp_as_it_is(each.path)))
                elif "." not in each.name and each.name != "__pycache__":
                    pending.append(each.path)
    return blake2b(marshal.dumps((sorted(facts), MAGIC_NUMBER, sys.version), 2), digest_size=20).hexdigest()

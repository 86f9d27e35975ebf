"""What settings files say, kept on disk by their texts: a process that finds it there loads no reader of YAML.

Those that may hold a secret are not kept, since what they say could be tried against a digest of their text.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING

from kcl.cache.entries import entry_name
from kcl.loader.settings import Settings
from kcl.loader.texts import TEXT
from kcl.records import fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcl.cache.entries import Entries
    from kcl.memo.queries import Asking
    from kcl.secrecy.rules import SecretRules


def settings(
    entries: Entries,
    secrets: SecretRules,
    asking: Asking,
    key: tuple[str, str],
    read: Callable[[Asking, tuple[str, str]], Settings],
) -> Settings:
    """What a file with this text said to a process before, else what it says, kept for those to come."""
    text = asking.look(TEXT, key[0])
    name = entry_name("settings", text)
    data = entries.read(name)
    if data is not None:
        try:
            return Settings(*marshal.loads(data))
        except (ValueError, EOFError, TypeError):
            pass
    said = read(asking, key)
    if not (any(secrets.suggests(option) for option, _ in said.options) or secrets.may_be_in(text)):
        entries.note(name, lambda: _content(said))
    return said


def _content(said: Settings) -> bytes | None:
    try:
        return marshal.dumps([getattr(said, each.name) for each in fields(said)])
    except ValueError:  # nested too deeply
        return None

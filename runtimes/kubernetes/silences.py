"""How long a server may say nothing to a read: the whole limit, and where that went by once, a few seconds then.

A command asks for many things, and who works in a session asks again and again. Each time the whole limit would be
waited for where a server hangs, or another one behind it that serves one group. It is asked all the same, and what
answers is waited for again as long as ever. So is one that is only slow, after some minutes: that a few seconds were
too short for it is nothing that is remembered. An answer that is on its way is taken to its end.
"""

from __future__ import annotations

import asyncio

from runtimes.kubernetes.anothers import may_be_anothers

_ALL = ""
AFTER_SILENCE_SECONDS = 3.0
_REMEMBERED_SECONDS = 300.0


class Silences:
    """What of a server hung lately: all of it, or versions of groups that another may serve."""

    def __init__(self) -> None:
        self._hung: dict[str, float] = {}
        self._answered_at = float("-inf")

    def seconds(self, limit: float, path: str) -> float:
        """Returns how long to wait for anything to arrive where `limit` is the longest."""
        since = max(self._hung.get(each, float("-inf")) for each in (_ALL, _version(path)))
        is_remembered = _now() - since < _REMEMBERED_SECONDS
        return min(limit, AFTER_SILENCE_SECONDS) if is_remembered else limit

    def hung(self, path: str, began: float) -> None:
        """Takes note that a whole limit went by, from a moment of the loop's clock on.

        Where others were answered meanwhile, it is a version that another server gives, or one answer that takes long.
        """
        if self._answered_at < began:
            self._hung[_ALL] = _now()
        if may_be_anothers(_version(path)):
            self._hung[_version(path)] = _now()

    def answered(self, path: str) -> None:
        self._answered_at = _now()
        self._hung.pop(_ALL, None)
        self._hung.pop(_version(path), None)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _version(path: str) -> str:
    """Returns group and version of `/apis/GROUP/VERSION/...`."""
    parts = path.split("/")
    return "/".join(parts[2:4]) if parts[1:2] == ["apis"] else "v1"

"""What is live of the fields that open texts decide: read now and then, only where somebody asks, and never guessed.

A value is told with the time of its reading. What could not be read is told as that, and asked again no sooner than
what could.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from kcl.records import dataclass
from kcl.tools.lsp.repositories import Clusters, LiveField, NotLooked, Setting
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.surveying import Effect, unsaved

MOST_FIELDS: Final = 12
"""A line that decides more fields than these gets no lens of what is live: it would say too little of each."""
OLD_SECONDS: Final = 30.0
"""What was read longer ago is read again when somebody asks."""
_MOST_STACKS: Final = 20
_MOST_VALUES: Final = 3

Key = tuple[str, str]
"""A resource and a field of it, as a `Setting` names them."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a stack `at` a time, in seconds of the clock; `problem` is why nothing was, "" where it was."""

    at: float
    fields: Mapping[Key, tuple[LiveField, ...]]
    problem: str = ""


class Living:
    """What is live, as far as editors asked for it. `read` is called on one thread, the questions on any."""

    def __init__(self, session: Session, clusters: Clusters, clock: Callable[[], float] = time.time) -> None:
        self.session, self.clusters, self.clock = session, clusters, clock
        self._read: dict[str, _Read] = {}
        self._wanted: dict[str, dict[Key, None]] = {}
        self._wanting = threading.Lock()

    def want(self, effects: Sequence[Effect]) -> bool:
        """Notes what somebody asks about; returns whether any of it has to be read."""
        wanted = [(stack, each) for stack, each in _decided(effects) if self._is_old(stack, each)]
        with self._wanting:  # what is noted while a reading begins belongs to the next one
            for stack, each in wanted:
                self._wanted.setdefault(stack, {})[each] = None
            return bool(self._wanted)

    def _is_old(self, stack: str, key: Key) -> bool:
        read = self._read.get(stack)
        if read is None or self.clock() - read.at > OLD_SECONDS:
            return True
        return not read.problem and key not in read.fields

    async def read(self) -> bool:
        """Reads what is wanted, of a few stacks; returns whether anything was."""
        with self._wanting:
            wanted, self._wanted = self._wanted, {}
        for stack in list(wanted)[:_MOST_STACKS]:
            last = self._read.get(stack)
            keys = {**dict.fromkeys(() if last is None else last.fields), **wanted[stack]}
            at = self.clock()
            try:
                found = await self.clusters.live(stack, unsaved(self.session.documents), tuple(keys))
            except NotLooked as problem:
                self._read[stack] = _Read(at, {}, str(problem) or "for no reason given")
            else:
                self._read[stack] = _Read(at, {**dict.fromkeys(keys, ()), **found})
        return bool(wanted)

    # ------------------------------------------------------------ in words

    def title(self, effects: Sequence[Effect]) -> str:
        """What is live of what a line decides, in a few words; "" where it decides too much, or nothing."""
        settings = [(each.stack, setting) for each in effects for setting in each.wins]
        if not settings or len(settings) > MOST_FIELDS:
            return ""
        said = list(dict.fromkeys(self._said(settings)))
        if not said:
            return ""
        times = [read.at for stack in {stack for stack, _ in settings} if (read := self._read.get(stack)) is not None]
        at = f" ({time.strftime('%H:%M:%S', time.localtime(min(times)))})" if times else ""
        return f"{'; '.join(said)}{at}"

    def _said(self, settings: Sequence[tuple[str, Setting]]) -> Iterator[str]:
        by_place: dict[str, list[tuple[LiveField, Setting]]] = {}
        for stack, setting in settings:
            read = self._read.get(stack)
            if read is None:
                yield "live: not read yet"
            elif read.problem:
                yield f"live in {stack}: not known, {read.problem}"
            else:
                found = read.fields.get((setting.resource, setting.field))
                if found is None:
                    yield "live: not read yet"
                for each in found or ():
                    by_place.setdefault(each.where, []).append((each, setting))
        for where, pairs in by_place.items():
            yield f"live on {where}: {_values(pairs)}"


def _decided(effects: Sequence[Effect]) -> Iterator[tuple[str, Key]]:
    if sum(len(each.wins) for each in effects) <= MOST_FIELDS:
        for each in effects:
            for setting in each.wins:
                yield each.stack, (setting.resource, setting.field)


def _values(pairs: Collection[tuple[LiveField, Setting]]) -> str:
    said = list(dict.fromkeys(_value(live, setting) for live, setting in pairs))
    more = f" and {len(said) - _MOST_VALUES} more" if len(said) > _MOST_VALUES else ""
    return ", ".join(said[:_MOST_VALUES]) + more


def _value(live: LiveField, setting: Setting) -> str:
    if live.problem:
        return live.problem
    return live.text if live.text == setting.value or not setting.value else f"{live.text} (here {setting.value})"

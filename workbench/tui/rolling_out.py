"""Rollouts that are carried out from these screens: one at a time, going on while other screens are in front."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kcl.records import dataclass, field
from workbench.engine.compiled import CompileInputs
from workbench.engine.rollout.execute import Picture, RolloutRun
from workbench.engine.rollout.planned import PlannedRollout
from workbench.engine.rollout.values import Ask, BatchBegan, BatchReady, Stage
from workbench.engine.status import StatusTree
from workbench.present import rollout as present
from workbench.present.text import Line
from workbench.project import WorkbenchError
from workbench.tui.later import later
from workbench.tui.trying import tried

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.state import Trouble

LOG_LINES = 200


@dataclass(frozen=True, slots=True)
class AskedRollout:
    """What is typed after `:rollout`: stacks, `-D NAME=VALUE` and `--reason TEXT`, as `wb rollout start` takes them."""

    globs: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    reason: str = ""

    @property
    def inputs(self) -> CompileInputs:
        return CompileInputs(options=self.options)

    @property
    def line(self) -> str:
        """The command that does the same. A value may be a secret: it is left to a variable of the shell."""
        given = (f'-D {name}="${re.sub("[^a-zA-Z0-9_]", "_", name)}"' for name in self.options)
        why = (f"--reason {shlex.quote(self.reason)}",) if self.reason else ()
        return " ".join(("wb rollout start", *map(shlex.quote, self.globs), *given, *why))


def parse(text: str) -> AskedRollout:
    """Raises `ValueError` with what is wrong and how it is written."""
    words, globs, options, reasons = iter(shlex.split(text)), [], {}, [""]
    for word in words:
        if word in ("-D", "--argument"):
            name, equals, value = next(words, "").partition("=")
            if not equals or not _OPTION.fullmatch(name.strip()):
                raise ValueError("say -D NAME=VALUE: rollout web/* -D tag=2.0")
            options[name.strip()] = value
        elif word == "--reason":
            reasons.append(next(words, ""))
            if not reasons[-1].strip():
                raise ValueError('say why: rollout web/* --reason "incident 7"')
        elif word.startswith("-"):
            raise ValueError(f"no option {word!r}: there are -D NAME=VALUE and --reason TEXT")
        else:
            globs.append(word)
    return AskedRollout(tuple(globs), options, reasons[-1].strip())


_OPTION = re.compile(r"[^\W\d][\w.-]*")


class RollingOut:
    """`id` is the rollout that is, or was last, carried out here; `log` what it told, `trees` the last pictures.

    `error` is why it could not be carried out, or asked.
    """

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self.id = ""
        self.log: deque[Line] = deque(maxlen=LOG_LINES)
        self.trees: Mapping[str, StatusTree] = {}
        self.error: Trouble | None = None
        self.is_running = False
        self._inputs: dict[str, CompileInputs] = {}
        """What those that were begun here were planned with: no record has the values."""
        self._run: RolloutRun | None = None
        self._is_stopping = False

    def ask(self, id_: str, what: Ask, stage: str = "") -> None:
        """Has it pause, be approved or never go on, whoever carries it out."""
        self._app.run_worker(later(self._asking, id_, what, stage), group="rollout asking")

    def carry_out(self, id_: str) -> None:
        """Goes on with it from where it stands, in this process."""
        if self.is_running:
            self._app.notify(f"{self.id} is carried out here: one at a time", severity="warning")
            return
        self.is_running = True
        self._app.run_worker(later(self._carrying_out, id_), group="rollout", exclusive=True)

    def begin(self, planned: PlannedRollout, phrase: str, asked: AskedRollout) -> None:
        """Records a rollout as it was planned, and carries it out in this process."""
        if self.is_running:
            self._app.notify(f"{self.id} is carried out here: one at a time", severity="warning")
            return
        self.is_running = True
        self._app.run_worker(later(self._beginning, planned, phrase, asked), group="rollout", exclusive=True)

    def stop(self) -> None:
        """Ends it in order; a second time makes Terraform drop what it has begun."""
        if self._run is not None:
            said = "at once" if self._is_stopping else "what was begun ends first"
            self._app.notify(f"stopping: {said}", severity="warning")
            self._app.run_worker(later(self._run.interrupt, at_once=self._is_stopping), group="rollout stop")
            self._is_stopping = True

    async def _asking(self, id_: str, what: Ask, stage: str) -> None:
        self.error = None
        self.error = await tried(partial(self._app.session.ask_rollout, id_, what, stage=stage))
        self._app.tell_of_rollouts(is_recorded=True)

    async def _beginning(self, planned: PlannedRollout, phrase: str, asked: AskedRollout) -> None:
        async def do() -> None:
            self.id = await self._app.session.begin_rollout(planned, confirm=phrase, reason=asked.reason)
            self._inputs[self.id] = asked.inputs
            await self._follow(self.id, planned.schedule.stages, asked.reason)

        await self._trying("", do)

    async def _carrying_out(self, id_: str) -> None:
        await self._trying(id_, partial(self._carry_out, id_))

    async def _trying(self, id_: str, do: Callable[[], Awaitable[None]]) -> None:
        self.id, self.error, self.trees, self._is_stopping = id_, None, {}, False
        self.log.clear()
        self._app.tell_of_rollouts(is_recorded=False)
        try:
            self.error = await tried(do) or self.error
        finally:
            self.is_running, self._run = False, None
            self._app.tell_of_rollouts(is_recorded=True)

    async def _carry_out(self, id_: str) -> None:
        session = self._app.session
        known = await session.find_rollout(id_)
        if session.is_rolling_out(known) and known.runner is not None:
            raise WorkbenchError(f"it is carried out by {known.runner.who}", hint="pause it, and wait for the batch")
        at = await session.ask_rollout(id_, Ask.RESUME)
        await self._follow(id_, at.began.stages, at.began.reason)

    async def _follow(self, id_: str, stages: tuple[Stage, ...], reason: str) -> None:
        async with self._app.session.rollout(id_, self._inputs.get(id_), reason=reason) as run:
            self._run = run
            async for event in run:
                if isinstance(event, Picture):
                    self.trees = event.trees
                self.log.extend(present.event_lines(event, stages, self._app.glyphs))
                self._app.tell_of_rollouts(is_recorded=isinstance(event, BatchBegan | BatchReady))

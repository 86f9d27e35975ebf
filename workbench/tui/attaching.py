"""What `:shell`, `:exec` and `:forward` do: to the pod on the screen, or under the cursor."""

from __future__ import annotations

import asyncio
import re
import shlex
from typing import TYPE_CHECKING

from kcl.records import dataclass
from runtimes.base import PodTarget, RuntimeFailure
from runtimes.base.terminals import ExecRequest
from workbench.project import WorkbenchError
from workbench.session.attaching import Forward
from workbench.tui import equivalents
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.terminal import open_terminal, terminal_size

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

COMMANDS = ("shell", "exec", "forward")
SHELL = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash || exec sh")
_PORTS = re.compile(r"(?P<port>\d{1,5})(?::(?P<local>\d{1,5}))?", re.ASCII)
_MOST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class PodAtHand:
    """`containers` are those known of it, none where only its row in a list is."""

    cluster: str
    pod: PodTarget
    containers: tuple[str, ...] = ()


def run(app: WorkbenchApp, word: str, rest: str, screen: Frame) -> None:
    from workbench.tui.screens.live import LiveScreen
    from workbench.tui.screens.live_object import LiveObjectScreen

    at_hand = screen.pod_at_hand() if isinstance(screen, LiveScreen | LiveObjectScreen) else None
    if at_hand is None:
        app.notify(f"put the cursor on a pod, or open one, to {word}: a pod that is there", severity="warning")
    elif word == "forward":
        _forward(app, at_hand, rest)
    else:
        _execute(app, at_hand, word, rest)


def _execute(app: WorkbenchApp, at_hand: PodAtHand, word: str, rest: str) -> None:
    try:
        words = shlex.split(rest)
    except ValueError as error:
        app.notify(f"the command can't be read: {error}", severity="warning")
        return
    container = ""
    if word == "shell":
        container, words = (words[0] if words else ""), words[1:]
    elif words[:1] == ["-c"] and len(words) > 1:
        container, words = words[1], words[2:]
    if bool(words) == (word == "shell"):
        usage = "shell CONTAINER" if word == "shell" else "exec -c CONTAINER COMMAND, without -c in the first container"
        app.notify(f"say {usage}", severity="warning")
        return
    if container and at_hand.containers and container not in at_hand.containers:
        app.notify(f"no container {container!r}: there are {', '.join(at_hand.containers)}", severity="warning")
        return
    columns, rows = terminal_size()
    request = ExecRequest(at_hand.pod, container, tuple(words) or SHELL, columns, rows)
    line = equivalents.execute(request, app.places.get(at_hand.cluster))
    app.command_log.add(app.now(), f"opened a terminal in {at_hand.pod.name}", line)
    app.run_worker(
        later(open_terminal, app, at_hand.cluster, request, waits=word == "exec"), group="terminal", exclusive=True
    )


def _forward(app: WorkbenchApp, at_hand: PodAtHand, rest: str) -> None:
    found = _PORTS.fullmatch(rest.strip())
    port, local = (int(found["port"]), int(found["local"] or found["port"])) if found else (0, 0)
    if not (0 < port <= _MOST_PORT and local <= _MOST_PORT):
        app.notify("say which port of the pod, and which of this machine: forward 8080:18080", severity="warning")
        return
    line = equivalents.forward(at_hand.pod, port, local, app.places.get(at_hand.cluster))
    app.command_log.add(app.now(), f"forwarded port {port} of {at_hand.pod.name}", line)
    app.forwards.start(app, at_hand, port, local)


class Forwards:
    """The ports that are forwarded by this program. They end with it."""

    def __init__(self) -> None:
        self.open: list[Forward] = []
        self._stops: dict[int, asyncio.Event] = {}

    def start(self, app: WorkbenchApp, at_hand: PodAtHand, port: int, local: int) -> None:
        app.run_worker(later(self._keep, app, at_hand, port, local), group="forwards")

    def stop(self, found: Forward) -> None:
        if stop := self._stops.get(found.local):
            stop.set()

    async def _keep(self, app: WorkbenchApp, at_hand: PodAtHand, port: int, local: int) -> None:
        try:
            async with app.session.forward_port(at_hand.cluster, at_hand.pod, port, local) as found:
                stop = self._stops[found.local] = asyncio.Event()
                self.open.append(found)
                app.notify(f"port {port} of {at_hand.pod.name} is on 127.0.0.1:{found.local}: :forwards lists it")
                try:
                    await stop.wait()
                finally:
                    self.open.remove(found)
                    del self._stops[found.local]
        except (WorkbenchError, RuntimeFailure) as error:
            app.notify(f"{error}. {error.hint}", severity="error", timeout=20)

"""Running a command of the user's own for what is on the screen: with which values, and whether it may run at all."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from runtimes.base import ClusterIdentity, KubernetesId
from workbench.project import BrokenFile, WorkbenchError
from workbench.tui import custom
from workbench.tui.frame import Frame
from workbench.tui.user_files import COMMANDS_FILE, is_there

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


def load(app: WorkbenchApp, taken: tuple[str, ...]) -> dict[str, custom.CustomCommand]:
    """Reads the user's commands and gives them their keys; a file that is wrong is named, and there are none then."""
    folder = app.session.settings.config_dir
    if folder is None or not is_there(folder / COMMANDS_FILE):
        return {}
    try:
        found = custom.read(folder, taken)
        keys = _keys(app, found)
    except BrokenFile as error:
        app.notify(f"{error} ({error.hint}). No command of yours is there.", severity="error", timeout=30)
        return {}
    for name, key in keys.items():
        app.bind(key, f"custom('{name}')", description=name, show=False)
    return found


def _keys(app: WorkbenchApp, commands: dict[str, custom.CustomCommand]) -> dict[str, str]:
    wanted = {name: each.key for name, each in commands.items() if each.key}
    if not wanted:
        return {}
    from workbench.tui import keymap

    assert app.session.settings.config_dir is not None, "it was read from there"
    return keymap.free_keys(wanted, app.keymap_of_user, app.session.settings.config_dir / COMMANDS_FILE)


def run(app: WorkbenchApp, name: str, typed: str, screen: Frame) -> None:
    """Runs it, or asks first: for an input, for a yes, or for the phrase of one that is dangerous."""
    command = app.custom[name]
    try:
        if missing := custom.missing_input(command, typed):
            screen.open_command(f"{name} {typed}{' ' if typed else ''}{missing}=")
            return
        made = custom.invocation(command, typed, _values(app, screen), app.session.root, os.environ)
    except custom.CannotRun as error:
        app.notify(f"{error}. {error.hint}", severity="warning")
        return
    state = screen.shown_state
    if command.is_dangerous and (why := _read_only(app, screen)):
        app.notify(f"{name} is dangerous, and {why}", severity="warning")
        return
    from workbench.tui.screens.output import OutputScreen

    app.push_screen(OutputScreen(made, state))


def began(app: WorkbenchApp, made: custom.Invocation) -> None:
    app.command_log.add(app.now(), f"ran {made.command.name}", shown_line(app, made))


def shown_line(app: WorkbenchApp, made: custom.Invocation) -> str:
    """Returns the line for a shell, secrets masked: the user may have written one into the file."""
    try:
        return app.session.masked(shlex.join(made.arguments))
    except WorkbenchError:
        return f"{made.arguments[0]} ..."


def _read_only(app: WorkbenchApp, screen: Frame) -> str:
    state = screen.shown_state
    if app.session.settings.is_read_only:
        return "this session is read-only"
    return app.session.read_only(state.stack) if state is not None else ""


def _values(app: WorkbenchApp, screen: Frame) -> dict[str, str]:
    """Returns what is known of where the cursor is; what is not known is not there."""
    state, subject = screen.shown_state, screen.subject()
    found: dict[str, str] = {}
    if state is not None:
        found |= {"project": str(state.stack.path.project), "stack": str(state.stack.path)}
        if len(state.stack.clusters) == 1:
            found["cluster"] = state.stack.clusters[0]
    if subject is not None and isinstance(subject.id, KubernetesId):
        id_ = subject.id
        kind = f"{id_.kind}.{id_.api_version.rpartition('/')[2]}.{id_.group}" if id_.group else id_.kind
        found |= {"cluster": subject.cluster, "kind": kind.lower(), "namespace": id_.namespace, "name": id_.name}
    place = app.places.get(found.get("cluster", ""))
    if isinstance(place, ClusterIdentity):
        found["context"] = place.context
    return {name: value for name, value in found.items() if value}

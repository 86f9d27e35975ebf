"""What is typed after a colon: which command it is, running that, and what it may be completed to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.project import UnknownStack
from workbench.tui import attaching, commands, custom_running, places, served
from workbench.tui.frame import Frame
from workbench.tui.screens.browse import BrowseScreen

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.state import StackState

WORDS = (
    "stack",
    *commands.OF_A_STACK,
    *commands.PLACES,
    commands.UNDO,
    commands.ROLLOUT,
    "recover",
    *commands.OF_A_DIFF,
    *commands.ASKED,
    commands.EXPORT,
    *commands.ACTS,
    *commands.MARKS,
    *attaching.COMMANDS,
    *commands.EDITED,
    commands.DRAFT,
    "allow-writes",
    "quit",
)
"""The commands that are offered, beside those of the user's own and the kinds of live objects."""
HISTORY = 200


def run(app: WorkbenchApp, text: str, screen: Frame, *, is_typed: bool) -> None:
    """Runs a command line; one that is not typed, but leads back to a place, is not in the history."""
    word, _, rest = text.strip().partition(" ")
    if word and is_typed:
        others = (each for each in app.command_history if each != text.strip())
        app.command_history = [*others, text.strip()][-HISTORY:]
    if app.is_served and not served.is_command(word, commands.OF_A_STACK):
        app.notify(served.REFUSAL, severity="warning")
        return
    if word in ("q", "quit"):
        app.ask_to_quit(is_sure=True)
        return
    if word == "stack" and isinstance(app.screen_stack[1], BrowseScreen):
        while len(app.screen_stack) > 2:
            app.pop_screen()
        app.move_to(app.screen_stack[1], rest)
        return
    if word == "recover":
        app.recovering.open(rest)
    elif word == commands.ROLLOUT:
        commands.plan_rollout(app, rest, screen)
    elif word == commands.DRAFT:
        app.drafts.run(rest.strip())
    elif word == "allow-writes":
        commands.allow_writes(app, rest.strip(), screen)
    elif word in commands.OF_A_STACK:
        _of_stack(app, rest, screen, lambda state: app.open_stack(state, commands.OF_A_STACK[word]))
    elif word == commands.UNDO:
        _of_stack(app, rest, screen, app.undo)
    elif word in app.custom:
        custom_running.run(app, word, rest.strip(), screen)
    elif meant := commands.near(word, WORDS):
        app.notify(
            f"no command {word!r}: did you mean :{meant}? A kind of that name is :{word}@CLUSTER",
            severity="warning",
        )
    elif word and not commands.open_place(app, word, rest.strip(), screen):
        app.notify(f"no command {word!r}: there are {', '.join(WORDS)}", severity="warning")


def completions(app: WorkbenchApp, text: str) -> tuple[str, ...]:
    """Returns the texts that what was typed may become: commands, then what they take."""
    word, space, rest = text.partition(" ")
    if not space:
        found = (f"{each} " if each != "quit" else each for each in (*WORDS, *app.custom) if each.startswith(word))
        return (*found, *commands.kinds(app, word))
    if word == commands.EXPORT:
        forms = app.screen.exports() if isinstance(app.screen, Frame) else ()
        return tuple(f"{word} {each}" for each in forms if each.startswith(rest.lstrip()))
    if word in ("go", "unbookmark"):
        return tuple(f"{word} {each}" for each in places.names(app) if each.startswith(rest.lstrip()))
    if word == commands.DRAFT:
        every = (f"{verb} {name}" for verb in ("save", "drop") for name in app.drafts.names())
        return tuple(f"{word} {each}" for each in every if each.startswith(rest.lstrip()))
    if word not in ("stack", "allow-writes", commands.UNDO, commands.ROLLOUT) and word not in commands.OF_A_STACK:
        return ()
    names = [str(path) for path in app.states]
    return tuple(f"{word} {each}" for each in names if each.startswith(rest.lstrip()))


def _of_stack(app: WorkbenchApp, rest: str, screen: Frame, do: Callable[[StackState], None]) -> None:
    """Does it to the stack that is named, else to that on the screen."""
    state = screen.shown_state
    if rest:
        try:
            state = app.states[app.session.select(rest).path]
        except UnknownStack as error:
            app.notify(f"{error}. {error.hint}", severity="warning")
            return
    if state is None:
        app.notify("put the cursor on a stack first, or name one", severity="warning")
    else:
        do(state)

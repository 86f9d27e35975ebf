"""What is left of the screens where others look at them in a browser: looking, and nothing else.

Said as what is allowed, so that a new key or command is not served before somebody thought of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOOKS: Final = """
filter command toggle_help back focus_next reload zoom room copy cursor page edge choose jump fold close complete
recall next next_field sides around more drift trouble order reverse group describe logs events relations everywhere
wide follow container previous range wrap times reach faults why compare configured mark mark_all open switch_to quit
ask_to_quit  replay play step failure timeline pause match
"""
ACTIONS: Final = frozenset(_LOOKS.split())
"""The actions that keys may have, as bindings name them, without what is in brackets."""
SCREENS: Final = frozenset({"spec", "diff", "plan", "reconcile", "releases"})
"""The screens of a stack: a What-if shows source lines as they are, secrets with them."""
COMMANDS: Final = frozenset({"stack", "fleet", "drift", "rollouts", "log", "quit", "q"})
"""What may be typed after a colon, beside screens of a stack and kinds of live objects."""
NOT_OF_THE_APP: Final = frozenset({"command_palette", "custom", "screenshot", "suspend_process", "change_theme"})
"""Actions of the app itself that are not for others."""
REFUSAL: Final = "this page is for looking: that is left out"


def is_action(action: str, parameters: tuple[object, ...]) -> bool:
    """Whether a key of a screen may do this."""
    return action in ACTIONS and is_place(action, parameters)


def is_place(action: str, parameters: tuple[object, ...]) -> bool:
    """Whether an action leads to no screen of a stack that is not for others."""
    return action not in ("open", "switch_to") or not parameters or parameters[0] in SCREENS


def is_command(word: str, screens: Mapping[str, str]) -> bool:
    """Whether what was typed after a colon may run; `screens` are the screens of a stack by command."""
    from workbench.tui.commands import is_kind

    return not word or word in COMMANDS or screens.get(word) in SCREENS or is_kind(word)

"""What may be typed after a colon beside the screens of a stack: places of their own, and what takes a whole name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kcl.records import replace
from runtimes.base import KubernetesId
from workbench.engine.live_acts import LiveAct
from workbench.project import UnknownStack
from workbench.tui import attaching, equivalents
from workbench.tui.frame import Frame
from workbench.tui.screens.command_log import CommandLogScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.state import StackState

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

OF_A_STACK = {
    "compile": "spec",
    "spec": "spec",
    "diff": "diff",
    "plan": "plan",
    "apply": "plan",
    "destroy": "destroy",
    "watch": "reconcile",
    "reconcile": "reconcile",
    "whatif": "whatif",
    "releases": "releases",
}
"""The screen of a stack that each opens."""
PLACES = ("fleet", "drift", "rollouts", "log", "bookmarks", "forwards")
"""Screens that are of no stack."""
_NEAR = 0.76
"""How alike a word and a command have to be, where 1 is the same: `app` is a kind, and not `apply`."""
ASKED = ("explain", "who")
"""What is asked of the object under the cursor."""
EXPORT = "export"
OF_A_DIFF = ("ignore",)
"""What is said of the Live diff on the screen."""
EDITED = ("commit", "branch", "find", "replace")
"""What is done to the edits of a What-if."""
UNDO = "undo"
"""Plans the way back to the last good release before the current one."""
DRAFT = "draft"
"""What is done to edits that are stored and not taken up."""
ROLLOUT = "rollout"
"""Plans a rollout."""
_OTHERS = (UNDO, ROLLOUT, "stack", "recover", "allow-writes", "q", "quit", "apply", "destroy", "compile", "watch")
ACTS = tuple(each.value for each in LiveAct)
MARKS = ("bookmark", "go", "unbookmark")
"""What is about the name of a place."""


_KIND = re.compile(r"(?P<kind>[a-z0-9][a-z0-9.-]*)(?:@(?P<cluster>\S+))?", re.IGNORECASE)


def near(word: str, words: Sequence[str]) -> str:
    """Returns the command that a word is mistyped from, empty where it is one or looks like none.

    So a slip of a finger asks no cluster. The plural of a command is a kind: `:plans` and `:stacks` are in use.
    """
    typed = word.lower()
    if word in words or typed in {f"{each}s" for each in words}:
        return ""
    return next(iter(get_close_matches(typed, words, n=1, cutoff=_NEAR)), "")


def open_place(app: WorkbenchApp, word: str, rest: str, screen: Frame) -> bool:
    """Opens the place of this name, else the live objects of this kind; returns False for what can be neither."""
    if word in PLACES:
        place = _place(word)
        place.command = word
        app.push_screen(place)
        return True
    if word in MARKS:
        from workbench.tui import places

        places.run(app, word, rest, screen)
        return True
    if word in ACTS:
        _act(app, LiveAct(word), rest, screen)
        return True
    if word in attaching.COMMANDS:
        attaching.run(app, word, rest, screen)
        return True
    if word in EDITED:
        _edit(app, word, rest, screen)
        return True
    if word in ASKED:
        from workbench.tui import asking

        asking.run(app, word, rest, screen)
        return True
    if word == EXPORT:
        _export(app, rest, screen)
        return True
    if word in OF_A_DIFF:
        _of_a_diff(app, word, rest, screen)
        return True
    found = _KIND.fullmatch(word)
    return found is not None and _open_kind(app, found["kind"], found["cluster"] or "", rest, screen.shown_state)


def _place(word: str) -> Frame:
    match word:
        case "drift":
            from workbench.tui.screens.drift import DriftScreen

            return DriftScreen()
        case "rollouts":
            from workbench.tui.screens.rollouts import RolloutsScreen

            return RolloutsScreen()
        case "forwards":
            from workbench.tui.screens.forwards import ForwardsScreen

            return ForwardsScreen()
        case "log":
            return CommandLogScreen()
        case "bookmarks":
            from workbench.tui.screens.bookmarks import BookmarksScreen

            return BookmarksScreen()
        case _:
            from workbench.tui.screens.fleet import FleetScreen

            return FleetScreen()


def _act(app: WorkbenchApp, act: LiveAct, rest: str, screen: Frame) -> None:
    from workbench.tui.screens.live import LiveScreen
    from workbench.tui.screens.live_object import LiveObjectScreen

    if isinstance(screen, LiveObjectScreen | LiveScreen):
        screen.ask_to(act, rest)
    else:
        said = f"list the objects to {act.value} and mark them, or open the one"
        app.notify(f"{said}: what is acted on has to be seen", severity="warning")


def _edit(app: WorkbenchApp, word: str, rest: str, screen: Frame) -> None:
    from workbench.tui.screens.whatif import WhatIfScreen

    if not isinstance(screen, WhatIfScreen):
        app.notify(f":{word} is about the edits of a What-if: go there first", severity="warning")
        return
    match word:
        case "commit":
            screen.commit(rest)
        case "branch":
            screen.save_branch(rest)
        case "find":
            screen.find(rest)
        case _:
            screen.replace_all(rest)


def _of_a_diff(app: WorkbenchApp, word: str, rest: str, screen: Frame) -> None:
    if not isinstance(screen, DiffScreen):
        app.notify(f":{word} is about the Live diff: go there first", severity="warning")
    else:
        screen.ignore(rest)


def _export(app: WorkbenchApp, form: str, screen: Frame) -> None:
    if form not in screen.exports():
        app.notify(f"say as what: {', '.join(screen.exports())}", severity="warning")
    else:
        screen.export(form)


def is_kind(word: str) -> bool:
    """Whether a word may be a kind of live objects, as far as it can be told without asking: no command is one."""
    return _KIND.fullmatch(word) is not None and word not in (
        *PLACES,
        *MARKS,
        *ACTS,
        *attaching.COMMANDS,
        *OF_A_DIFF,
        *ASKED,
        EXPORT,
        *EDITED,
        *_OTHERS,
    )


def kinds(app: WorkbenchApp, word: str) -> tuple[str, ...]:
    """Returns the kinds, and behind an @ the clusters, that a word may become: as far as the clusters told."""
    if not word:
        return ()
    kind, at, cluster = word.partition("@")
    if at:
        names = (each.name for each in app.konfig.clusters.clusters)
        return tuple(f"{kind}@{each}" for each in names if each.startswith(cluster))
    return tuple(each for each in app.kind_names if each.startswith(word) and each not in PLACES)


def _open_kind(app: WorkbenchApp, kind: str, cluster: str, namespace: str, state: StackState | None) -> bool:
    """Opens live objects: of one cluster that is named, else of the stack's, else of all; of the stack's namespaces
    unless one is named."""
    known = tuple(each.name for each in app.konfig.clusters.clusters)
    clusters = (cluster,) if cluster else state.stack.clusters if state is not None else known
    if cluster and cluster not in known:
        there = ", ".join(known) or "none"
        app.notify(f"no cluster {cluster!r}: clusters.yaml names {there}", severity="warning")
        return True
    if not clusters:
        return False
    from workbench.tui.screens.live import LiveScreen

    own = _namespaces(state) if state is not None and not cluster else ()
    looked_into = (namespace,) if namespace else own
    for each in equivalents.get(kind, {name: app.places.get(name) for name in clusters}, looked_into):
        app.command_log.add(app.now(), f"listed {kind}", each)
    found = LiveScreen(kind, clusters, looked_into, state)
    found.command = f"{kind}@{cluster} {namespace}".strip() if cluster else f"{kind} {namespace}".strip()
    app.push_screen(found)
    return True


def _namespaces(state: StackState) -> tuple[str, ...]:
    """Returns the namespaces that the stack is known to have something in; none where nothing is known yet."""
    tree = state.known.tree
    ids = [each.address.id for each in tree.resources] if tree is not None else []
    if state.known_diff is not None:
        ids += [each.address.id for each in state.known_diff.changes]
    named = (each.namespace for each in ids if isinstance(each, KubernetesId))
    return tuple(sorted({each for each in named if each}))


def plan_rollout(app: WorkbenchApp, rest: str, screen: Frame) -> None:
    """Opens the plan of a rollout: of the stacks that are named, else of those marked in Browse, else of all stages."""
    from workbench.tui import rolling_out
    from workbench.tui.screens.rollout_plan import RolloutPlanScreen

    try:
        asked = rolling_out.parse(rest)
    except ValueError as error:
        app.notify(f":rollout {rest} can't be read: {error}", severity="warning")
        return
    app.push_screen(RolloutPlanScreen(replace(asked, globs=asked.globs or _marked(screen))))


def _marked(screen: Frame) -> tuple[str, ...]:
    from workbench.tui.screens.browse import BrowseScreen

    return tuple(each.stack.name for each in screen.marked) if isinstance(screen, BrowseScreen) else ()


def allow_writes(app: WorkbenchApp, name: str, screen: Frame) -> None:
    """Typing the whole name is the confirmation, so there is no stack that nothing means."""
    if not name:
        app.notify("say which stack: allow-writes PROJECT/STACK", severity="warning")
        return
    try:
        stack = app.session.select(name)
    except UnknownStack as error:
        app.notify(f"{error}. {error.hint}", severity="warning")
        return
    app.session.allow_writes(stack)
    why = app.session.read_only(stack)
    app.notify(why or f"{stack.path} may be written in this session; plan again", severity="warning")
    screen.show_state()

"""Going back to places: where a session ended, and bookmarks. Nothing is done by going anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.local import LocalStateFailure
from workbench.tui import commands
from workbench.tui.frame import Frame
from workbench.tui.memory import NAME, SHOWN, Place

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


def open_place(app: WorkbenchApp, place: Place, screen: Frame) -> bool:
    """Opens a place, filtered and ordered as it was; says why not, and returns False, where it is none (any more)."""
    if not _is_place(place):
        app.notify(f"{place.command!r} opens nothing that could be gone back to", severity="warning")
        return False
    if place.word in commands.OF_A_STACK and not _names_stack(app, place):
        app.notify(f"{place.command}: there is no such stack any more", severity="warning")
        return False
    app.run_command(place.command, screen, is_typed=False)
    if isinstance(app.screen, Frame):
        app.screen.arrive(place)
    return True


def _is_place(place: Place) -> bool:
    return place.word in SHOWN or commands.is_kind(place.word)


def _names_stack(app: WorkbenchApp, place: Place) -> bool:
    return place.command.partition(" ")[2] in {str(path) for path in app.states}


def restore(app: WorkbenchApp, screen: Frame) -> None:
    """Goes where the last session ended, and says so; offers the edits that were not written."""
    found, problem = app.memory.remembered()
    drafts, trouble = app.memory.drafts()
    for each in (problem, trouble):
        if each:
            app.notify(f"{each}: nothing of it is restored, nor stored over it", severity="warning", timeout=12)
    place = found.place
    if place is not None and open_place(app, place, screen) and place.word != "stack":
        app.notify(f"where you were: {place.command}; {app.key('everywhere.back')} goes to Browse", timeout=6)
    if drafts:
        known = {str(path) for path in app.states}
        gone = [each for each in sorted(drafts) if each not in known]
        taking = f"{app.key('browse.what-if')} there takes them up"
        where = f"; {', '.join(gone)} is no stack any more: :draft save or :draft drop" if gone else ""
        app.notify(f"edits that were not written: {', '.join(sorted(drafts))}; {taking}{where}", timeout=12)


def leave(app: WorkbenchApp) -> None:
    """Remembers where the session ends. A filter or a name with a secret in it is left out."""
    place = app.last_place
    if place is None or app.session.holds_secret(f"{place.command} {place.filter}"):
        return
    try:
        app.memory.leave(place)
    except LocalStateFailure:
        return  # said when the session began, and whoever leaves has no screen to read it on


def run(app: WorkbenchApp, word: str, name: str, screen: Frame) -> None:
    """Does one of `commands.MARKS`."""
    match word:
        case "go":
            go(app, name, screen)
        case "unbookmark":
            _take_away(app, name, screen)
        case _:
            _set(app, name, screen)


def go(app: WorkbenchApp, name: str, screen: Frame) -> None:
    found, problem = app.memory.remembered()
    if place := found.bookmarks.get(name):
        open_place(app, place, screen)
    else:
        there = ", ".join(sorted(found.bookmarks)) or "none"
        app.notify(problem or f"no bookmark {name!r}: there are {there}", severity="warning")


def names(app: WorkbenchApp) -> tuple[str, ...]:
    return tuple(sorted(app.memory.remembered()[0].bookmarks))


def _set(app: WorkbenchApp, name: str, screen: Frame) -> None:
    place = screen.place()
    if not NAME.fullmatch(name):
        app.notify("say how it is called: letters, digits, . _ @ and - without a space", severity="warning")
    elif place is None:
        app.notify("there is no way back to this screen: it can't be bookmarked", severity="warning")
    elif app.session.holds_secret(f"{place.command} {place.filter}"):
        app.notify("there is a secret in the filter: it can't be bookmarked", severity="warning")
    elif _stored(app, name, place):
        app.notify(f"{name} is {place.command}: {app.key('everywhere.go-to-bookmark')} goes there")


def _take_away(app: WorkbenchApp, name: str, screen: Frame) -> None:
    if name not in names(app):
        app.notify(f"no bookmark {name!r}", severity="warning")
    elif _stored(app, name, None):
        app.notify(f"{name} is no bookmark any more")
        screen.redraw()


def _stored(app: WorkbenchApp, name: str, place: Place | None) -> bool:
    try:
        app.memory.bookmark(name, place)
    except LocalStateFailure as error:
        app.notify(f"{error} ({error.hint})", severity="error")
        return False
    return True

"""What the screens of a repository are left with and begin with: where one was, bookmarks, edits that were not written.

    STATE/local/REPOSITORY/screens.json    the last place, and bookmarks by name
                          /drafts.json     files as they were edited in a What-if, and what they were before

Both are for their user alone, and believed only where nobody else can have written them. A place says what is shown,
never what is done. A file that can't be read stays as it is: nothing is stored until somebody moves it away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field, replace
from workbench.engine.whatif import WhatIf
from workbench.local import LocalState, LocalStateFailure
from workbench.project import WorkbenchError

SCREENS, DRAFTS = "screens.json", "drafts.json"
_VERSION = 1
_LONGEST, MOST_BOOKMARKS = 1_000, 200
NAME = re.compile(r"[\w.@-]{1,60}")
SHOWN = (
    "stack",
    "spec",
    "diff",
    "plan",
    "reconcile",
    "whatif",
    "releases",
    "fleet",
    "drift",
    "rollouts",
    "bookmarks",
    "log",
)
"""Commands that show something of a stack or of all. Kinds of live objects are the only others that are a place."""


@dataclass(frozen=True, slots=True)
class Place:
    """A screen: `command` opens it (`diff web/prod`, `pods@hz kube-system`), then its filter and its order are set."""

    command: str
    filter: str = ""
    order: str = ""

    @property
    def word(self) -> str:
        return self.command.partition(" ")[0]

    def as_json(self) -> dict[str, str]:
        return {"command": self.command, "filter": self.filter, "order": self.order}


@dataclass(frozen=True, slots=True)
class Remembered:
    """`place` is where one was last, None where that is not known."""

    place: Place | None = None
    bookmarks: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """Edits of one stack that were not written: texts by file, relative to the repository, and what was there before
    (None where there was no file)."""

    at: datetime
    texts: Mapping[str, str] = field(repr=False)
    originals: Mapping[str, str | None] = field(repr=False)


class Memory:
    """Of one repository. Nothing here raises but `LocalStateFailure`, where something cannot be stored."""

    def __init__(self, local: LocalState) -> None:
        self._local = local

    def remembered(self) -> tuple[Remembered, str]:
        """Returns what is remembered, and why not all of it, as a clause that begins with the file."""
        content, problem = self._read(SCREENS)
        if problem or not content:
            return Remembered(), problem
        bookmarks = content.get("bookmarks", {})
        found = {name: _place(each) for name, each in bookmarks.items()} if isinstance(bookmarks, dict) else {}
        known = {name: each for name, each in found.items() if each is not None and NAME.fullmatch(name)}
        last = content.get("place")
        place = _place(last)
        is_whole = isinstance(bookmarks, dict) and len(known) == len(found) and (last is None or place is not None)
        return (Remembered(place, known), "") if is_whole else (Remembered(), f"{self._local.path(SCREENS)} is damaged")

    def leave(self, place: Place) -> None:
        """Remembers where one was; bookmarks that another session set meanwhile stay."""
        self._store(replace(self._sound(), place=place))

    def bookmark(self, name: str, place: Place | None) -> None:
        """Sets a bookmark, or takes it away where there is no place."""
        before = self._sound()
        others = {key: each for key, each in before.bookmarks.items() if key != name}
        if place is not None and len(others) >= MOST_BOOKMARKS:
            raise LocalStateFailure(f"there are {MOST_BOOKMARKS} bookmarks", hint="take one away with :unbookmark")
        self._store(replace(before, bookmarks={**others, **({name: place} if place is not None else {})}))

    def _sound(self) -> Remembered:
        found, problem = self.remembered()
        if problem:
            raise LocalStateFailure(f"{problem}: nothing is stored over it", hint="move it away")
        return found

    def _store(self, what: Remembered) -> None:
        self._local.store(
            SCREENS,
            {
                "version": _VERSION,
                "place": what.place.as_json() if what.place is not None else None,
                "bookmarks": {name: each.as_json() for name, each in what.bookmarks.items()},
            },
        )

    # Edits

    def drafts(self) -> tuple[dict[str, Draft], str]:
        """Returns edits that were not written, by stack, and why there may be more, as a clause."""
        content, problem = self._read(DRAFTS)
        if problem or not content:
            return {}, problem
        stacks = content.get("stacks")
        found = {name: _draft(each) for name, each in stacks.items()} if isinstance(stacks, dict) else {}
        sound = {name: each for name, each in found.items() if each is not None}
        is_damaged = not isinstance(stacks, dict) or len(sound) != len(found)
        return ({}, f"{self._local.path(DRAFTS)} is damaged") if is_damaged else (sound, "")

    def keep_draft(self, stack: str, edits: WhatIf | None, now: datetime) -> None:
        """Stores the edits of a stack for a later session; None, or edits of nothing, forgets them."""
        before, problem = self.drafts()
        if problem:
            raise LocalStateFailure(f"{problem}: edits are not stored over it", hint="move it away")
        others = {name: each for name, each in before.items() if name != stack}
        if edits is not None and edits.files:
            others[stack] = _draft_of(edits, now)
        elif stack not in before:
            return
        document = {name: _draft_as_json(each) for name, each in others.items()}
        self._local.store(DRAFTS, {"version": _VERSION, "stacks": document})

    def _read(self, name: str) -> tuple[Mapping[str, Any], str]:
        content, problem = self._local.stored(name)
        version = content.get("version")
        if content and not problem and version != _VERSION:
            newer = isinstance(version, int) and version > _VERSION
            said = "was written by a newer version of the workbench" if newer else "is damaged"
            return {}, f"{self._local.path(name)} {said}"
        return content, problem


def lay_over(draft: Draft, edits: WhatIf) -> tuple[WhatIf, tuple[str, ...]]:
    """Returns the edits with those of a draft in them, and the files that changed on disk since they were edited.

    What was there when they were edited counts as the original of each, so that writing over a later change is refused
    and the patch is of what was edited. Raises `EditFailed` for a file that may not be edited (any more).
    """
    changed = []
    for name, text in draft.texts.items():
        path, original = edits.root / name, draft.originals[name]
        try:
            now: str | None = edits.text(path)
        except WorkbenchError:
            now = None
        laid = edits.edit(path, text)
        if now not in (original, text):
            changed.append(name)
            laid = replace(laid, originals={**laid.originals, path.resolve(): original})
        edits = laid
    return edits, tuple(changed)


def patch_of(draft: Draft, root: Path) -> str:
    """Returns what was edited as a patch, whatever became of the files."""
    texts = {root / name: text for name, text in draft.texts.items()}
    originals = {root / name: original for name, original in draft.originals.items()}
    return WhatIf(root, edits=texts, originals=originals).patch()


def _draft_of(edits: WhatIf, now: datetime) -> Draft:
    def name(path: Path) -> str:
        return path.relative_to(edits.root).as_posix()

    texts = {name(path): text for path, text in edits.edits.items()}
    return Draft(now, texts, {name(path): text for path, text in edits.originals.items()})


def _draft_as_json(draft: Draft) -> dict[str, Any]:
    files = {name: {"text": text, "original": draft.originals[name]} for name, text in draft.texts.items()}
    return {"at": draft.at.astimezone(UTC).isoformat(timespec="seconds"), "files": files}


def _draft(value: object) -> Draft | None:
    match value:
        case {"at": str(at), "files": dict(files)} if files:
            pass
        case _:
            return None
    texts: dict[str, str] = {}
    originals: dict[str, str | None] = {}
    for name, each in files.items():
        match each:
            case {"text": str(text), "original": (str() | None) as original} if isinstance(name, str):
                texts[name], originals[name] = text, original
            case _:
                return None
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return Draft(moment, texts, originals) if moment.tzinfo is not None else None


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST and (value.isprintable() or not value)


def _place(value: object) -> Place | None:
    match value:
        case {"command": str(command), "filter": str(filter_), "order": str(order)} if command:
            return Place(command, filter_, order) if all(map(_is_short, (command, filter_, order))) else None
        case _:
            return None

"""Who sets what in which stack: a survey of a repository, made while nobody types, and never more than it knows.

The stacks are looked at one after the other, the one that was looked at longest ago first. What was found of one counts
while every file it rests on is what it was, unsaved texts included; until it was looked at again it is not shown. So
every answer says how many of the stacks it is about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final

from kcl.records import dataclass
from kcl.source import FileSystem, OsFileSystem, OverlayFileSystem
from kcl.syntax import ast
from kcl.syntax.walking import children
from kcl.terminal import harmless
from kcl.tools.lsp.documents import Documents
from kcl.tools.lsp.positions import Lines, Unit
from kcl.tools.lsp.repositories import NotLooked, Place, Repository, Setting, StackSettings
from kcl.tools.lsp.resolving import Declaration, name_at
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.views import View

MOST_STACKS: Final = 300
"""How many stacks are looked at: what is known of them is held in memory. The others are said not to be."""
_MOST_TOLD: Final = 8


@dataclass(frozen=True, slots=True)
class Effect:
    """What a place does in one stack: `wins` are the fields it decides, `loses` those where it only has a say.

    `instead` is a place that replaced it: then it has no say at all.
    """

    stack: str
    wins: tuple[Setting, ...]
    loses: tuple[Setting, ...]
    instead: Place | None = None


Keys = tuple[str, ...]
"""The way to a value in a program: variables or schemas, and keys of configurations."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What a place is about: the declaration of its attribute, if it is one, and the way to it."""

    declared: Declaration | None
    keys: Keys


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the repository was looked at. `problem` is why none of it could be, "" where it could."""

    looked: int
    total: int
    left_out: int
    failed: tuple[str, ...]
    problem: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every stack of the repository was looked at."""
        return not self.problem and self.looked == self.total and not self.left_out

    def __str__(self) -> str:
        if self.problem:
            return f"the stacks of the repository are not known: {self.problem}"
        waiting = self.total - self.looked - len(self.failed)
        if self.looked == self.total:
            parts = [f"all {_many(self.total, 'stack')} looked at"]
        else:
            parts = [f"{self.looked} of {_many(self.total, 'stack')} looked at{' so far' if waiting else ''}"]
        if self.failed:
            shown = ", ".join(self.failed[:3]) + (", ..." if len(self.failed) > 3 else "")
            parts.append(f"{len(self.failed)} can't be compiled: {shown}")
        if self.left_out:
            parts.append(f"{self.left_out} more are never looked at here: the editor's limit is {MOST_STACKS}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """What is known of a stack since a moment, and of which declarations its places are about."""

    turn: int
    documents: Documents
    stamps: Mapping[str, Hashable | None]
    by_path: Mapping[str, Mapping[tuple[int, int], Sequence[Setting]]]
    known: Mapping[Place, _Known] | None
    """Of places that decide something; None until somebody found out."""
    failed: str = ""


class Survey:
    """What is known of the stacks of one repository. `look` is called on one thread, the questions on any."""

    def __init__(self, session: Session, repository: Repository) -> None:
        self.session, self.repository = session, repository
        self._names: tuple[str, ...] | None = None
        self._left_out = 0
        self._problem = "not queried yet"
        self._looked: dict[str, _Looked] = {}
        self._turn = self._stage = 0
        self._fresh: tuple[Documents, int, dict[str, _Looked]] | None = None
        self._resolved: tuple[Documents, dict[str, dict[Place, _Known]]] | None = None

    # ------------------------------------------------------------ looking

    async def begin(self) -> None:
        """Lists the stacks."""
        try:
            names = tuple(await self.repository.stacks())
        except NotLooked as problem:
            self._names, self._problem = None, str(problem)
            return
        self._names, self._left_out = names[:MOST_STACKS], max(0, len(names) - MOST_STACKS)
        self._looked = {name: each for name, each in self._looked.items() if name in self._names}
        self._stage += 1

    def oldest(self, done: set[str]) -> str | None:
        """The stack to look at next; None where of all but those in `done` everything is known."""
        fresh = self._known()
        waiting = [name for name in self._names or () if name not in fresh and name not in done]
        return min(waiting, key=lambda name: self._turn_of(name), default=None)

    def _turn_of(self, name: str) -> int:
        looked = self._looked.get(name)
        return -1 if looked is None else looked.turn

    async def look(self, name: str) -> StackSettings | None:
        """Asks for one stack; what is said of it counts with `keep`. None where it can't be had."""
        documents, started = self.session.documents, self.session.clock()
        self._turn += 1
        try:
            found = await self.repository.look(name, unsaved(documents))
        except NotLooked as problem:
            self._keep(name, _Looked(self._turn, documents, {}, {}, {}, str(problem) or "for no reason given"))
            return None
        # What was written since may have been read, or not: a clock that stands still gives it no stamp.
        disk = OsFileSystem(lambda: started) if isinstance(documents.base, OsFileSystem) else documents.base
        stamps = _over(disk, documents).stamps(found.files)
        by_path: dict[str, dict[tuple[int, int], list[Setting]]] = {}
        for setting in found.settings:
            for place in dict.fromkeys(setting.places):
                by_path.setdefault(place.path, {}).setdefault((place.line, place.column), []).append(setting)
        self._keep(name, _Looked(self._turn, documents, stamps, by_path, None))
        return found

    def resolve(self, name: str, found: StackSettings, is_over: Callable[[], bool] = bool) -> None:
        """Notes which declarations the places that decide something in a stack are about. Takes the checker's time."""
        looked = self._looked.get(name)
        if looked is None or looked.documents is not self.session.documents:
            return
        wanted: dict[str, set[Place]] = {}
        for setting in found.settings:
            if setting.places:
                wanted.setdefault(setting.places[0].path, set()).add(setting.places[0])
        known: dict[Place, _Known] = {}
        for path, places in wanted.items():
            if is_over():
                return
            known.update(self._found_out(looked.documents, path, places))
        self._keep(name, _Looked(looked.turn, looked.documents, looked.stamps, looked.by_path, known))

    def _found_out(self, documents: Documents, path: str, places: set[Place]) -> Mapping[Place, _Known]:
        resolved = self._resolved
        if resolved is None or resolved[0] is not documents:
            resolved = self._resolved = documents, {}
        known = resolved[1].setdefault(path, {})
        missing = places - known.keys()
        view = self.session.view(path, documents) if missing else None
        if view is not None:
            lines = Lines(view.text, Unit.UTF_32)
            ways = {node.start: keys for node, keys in settled(view.module.tree, view.text)}
            for place in missing:
                offset = lines.line_start(place.line - 1) + place.column - 1
                name = name_at(view, offset) if 0 <= offset < len(view.text) else None
                known[place] = _Known(None if name is None else name.declaration, ways.get(offset, ()))
        return {place: known[place] for place in places if place in known}

    # ------------------------------------------------------------ questions

    def extent(self) -> Extent:
        fresh = self._known()
        if self._names is None:
            return Extent(0, 0, 0, (), self._problem)
        failed = tuple(name for name, each in fresh.items() if each.failed)
        return Extent(len(fresh) - len(failed), len(self._names), self._left_out, failed)

    def at(self, path: str, line: int, column: int | None = None, keys: Keys = ()) -> list[Effect]:
        """What a line, or a place in it, does in each stack. Lines and columns count from 1.

        With `keys` also what replaces it in stacks that read the file, and where it has no say.
        """
        real = os.path.realpath(path)
        found = []
        for stack, looked in self._known().items():
            wins: dict[Setting, None] = {}
            loses: dict[Setting, None] = {}
            for (at, beside), settings in looked.by_path.get(real, {}).items():
                if at == line and column in (None, beside):
                    for each in settings:
                        first = each.places[0]
                        is_first = (first.path, first.line) == (real, line) and column in (None, first.column)
                        (wins if is_first else loses)[each] = None
            if wins or loses:
                found.append(Effect(stack, tuple(wins), tuple(each for each in loses if each not in wins)))
            elif keys and real in looked.stamps:
                others = (place for place, each in (looked.known or {}).items() if each.keys == keys)
                instead = next((each for each in others if (each.path, each.line) != (real, line)), None)
                found += [] if instead is None else [Effect(stack, (), (), instead)]
        return found

    def lines(self, path: str) -> list[int]:
        """The lines of a file that do something in any stack, from 1."""
        real = os.path.realpath(path)
        return sorted({line for each in self._known().values() for line, _ in each.by_path.get(real, {})})

    def of_declaration(self, declared: Declaration) -> list[tuple[str, Place]]:
        """The places that decide what is declared somewhere, in each stack."""
        return [(stack, place) for each, stack, place in self.declarations(declared.path) if each == declared]

    def declarations(self, path: str) -> Iterator[tuple[Declaration, str, Place]]:
        """What is declared in a file and set in stacks, with where."""
        for stack, looked in self._known().items():
            for place, each in (looked.known or {}).items():
                if each.declared is not None and each.declared.path == path:
                    yield each.declared, stack, place

    def _known(self) -> dict[str, _Looked]:
        """The stacks of which what was found still holds."""
        documents = self.session.documents
        last, stage = self._fresh, self._stage
        if last is not None and last[0] is documents and last[1] == stage:
            return last[2]
        every = dict(self._looked)
        stamps = _over(documents.base, documents).stamps({path for each in every.values() for path in each.stamps})
        found = {name: each for name, each in every.items() if _holds(each, documents, stamps)}
        self._fresh = documents, stage, found
        return found

    def _keep(self, name: str, looked: _Looked) -> None:
        self._looked[name] = looked
        self._stage += 1


def _holds(looked: _Looked, documents: Documents, stamps: Mapping[str, Hashable | None]) -> bool:
    if looked.failed:  # nobody knows what it rests on
        return looked.documents is documents
    if looked.known is None:
        return False
    return all(stamp is not None and stamps.get(path) == stamp for path, stamp in looked.stamps.items())


def _over(base: FileSystem, documents: Documents) -> FileSystem:
    return OverlayFileSystem(base, unsaved(documents))


def unsaved(documents: Documents) -> dict[str, str]:
    """The open texts that are not what is on disk, by their real paths, which are those that a repository names."""
    found = {}
    for path, each in documents.opened.items():
        try:
            is_saved = documents.base.read_text(path) == each.text
        except (OSError, UnicodeDecodeError):
            is_saved = False
        if not is_saved:
            found[os.path.realpath(path)] = each.text
    return found


# ------------------------------------------------------------ in words


def title(effects: Sequence[Effect]) -> str:
    """What a line does, in a few words."""
    wins = sum(len(each.wins) for each in effects)
    winning = sum(bool(each.wins) for each in effects)
    losing = len(effects) - winning
    if wins:
        more = f"; in {losing} more another line decides" if losing else ""
        return f"sets {_many(wins, 'field')} in {_many(winning, 'stack')}{more}"
    fields = sum(len(each.loses) for each in effects)
    if not fields:
        return f"sets nothing: another line decides in {_many(losing, 'stack')}"
    return f"has a say in {_many(fields, 'field')} in {_many(losing, 'stack')}: other lines decide"


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def story(effects: Sequence[Effect], root: str) -> str:
    """What a place does in which stack, and what wins where it does not, as Markdown."""
    lines = [title(effects)]
    for effect in effects[:_MOST_TOLD]:
        for each in effect.wins[:3]:
            lines.append(f"- {code(effect.stack)}: {code(each.field)} of {code(each.resource)}")
        if len(effect.wins) > 3:
            lines.append(f"- {code(effect.stack)}: {len(effect.wins) - 3} more")
        if effect.instead is not None:
            lines.append(f"- {code(effect.stack)}: {_shown(effect.instead, root)} decides instead")
        elif not effect.wins:
            each = effect.loses[0]
            lines.append(f"- {code(effect.stack)}: {code(each.field)} is decided by {_shown(each.places[0], root)}")
    if len(effects) > _MOST_TOLD:
        lines.append(f"- and in {_many(len(effects) - _MOST_TOLD, 'more stack')}")
    return "\n".join(lines)


def places_title(places: Sequence[tuple[str, Place]]) -> str:
    """Where an attribute is set, in a few words."""
    lines, stacks = {place for _, place in places}, {stack for stack, _ in places}
    return f"set at {_many(len(lines), 'line')} in {_many(len(stacks), 'stack')}"


def places_story(places: Sequence[tuple[str, Place]], root: str) -> str:
    """Where an attribute is set, and in which stacks that decides, as Markdown."""
    by_place: dict[Place, list[str]] = {}
    for stack, place in places:
        by_place.setdefault(place, []).append(stack)
    told = [places_title(places)]
    for place, stacks in sorted(by_place.items(), key=lambda each: (each[0].path, each[0].line))[:_MOST_TOLD]:
        more = f" and {len(stacks) - 4} more" if len(stacks) > 4 else ""
        told.append(f"- {_shown(place, root)} decides in {', '.join(map(code, stacks[:4]))}{more}")
    if len(by_place) > _MOST_TOLD:
        told.append(f"- and {len(by_place) - _MOST_TOLD} more")
    return "\n".join(told)


def _shown(place: Place, root: str) -> str:
    inside = os.path.realpath(root) + os.sep
    return code(f"{place.path.removeprefix(inside)}:{place.line}")


def code(text: str) -> str:
    """What a program evaluates to, as code in a line of Markdown: neither a mark of it nor an order to a terminal."""
    return f"`{harmless(text[:200]).replace('`', chr(39))}`"


def settled(root: ast.Node, text: str) -> Iterator[tuple[ast.Node, Keys]]:
    """What sets something in a tree: statements, attributes and entries, each with the way to it, inner ones last."""
    pending: list[tuple[ast.Node, Keys]] = [(root, ())]
    while pending:
        node, keys = pending.pop()
        match node:
            case ast.Schema() | ast.Rule() | ast.SchemaAttr():
                keys = (*keys, node.name)
            case ast.Assign(targets=[target, *_]) | ast.Unification(target=target):
                keys = (*keys, text[target.start : target.end])
            case ast.Entry():
                key = text[node.key.start : node.key.end].strip("\"'")
                keys = (*keys, key if node.index is None else f"{key}[]")
            case _:
                pass
        if isinstance(node, _SETTING):
            yield node, keys
        pending.extend((each, keys) for each in children(node))


def settled_at(view: View, offset: int) -> tuple[ast.Node, Keys] | None:
    """The innermost of these around an offset."""
    around = [each for each in settled(view.module.tree, view.text) if each[0].start <= offset <= each[0].end]
    return min(around, key=lambda each: each[0].end - each[0].start, default=None)


_SETTING: Final = (ast.Entry, ast.SchemaAttr, ast.Assign, ast.Unification)

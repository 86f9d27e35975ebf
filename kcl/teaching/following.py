"""Which syntax errors follow from which, and what mends those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Hint, Label, Replacement, Severity, Span
from kcl.records import dataclass, replace
from kcl.teaching.brackets import bracket_remedies, string_remedies
from kcl.teaching.habits import habit_remedies
from kcl.teaching.layout import layout_remedies
from kcl.teaching.names import Around, follows_from, name_hints
from kcl.teaching.view import Change, Remedy, View, joined
from kcl.teaching.yaml_texts import text_remedies

_OF_THE_TREE: Final = ("duplicate schema index signature", "loop variables can only be")
"""Errors of this code that are said of a text which could be read as a whole."""
_MOST_CAUSES: Final = 12
"""Errors of a file that are looked into; those after them are shown as they are."""
_MOST_PARSED: Final = 1_500_000
"""Characters parsed to explain the errors of a file, which takes half a second."""

_MOST_NAMES: Final = 200
"""Findings of a program after which no name is looked into."""

_Key = tuple[int, str]


def taught(
    diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], around: Around | None = None
) -> tuple[Diagnostic, ...]:
    """The diagnostics in their order, with hints, and with those marked that follow from others.

    Without `around` nothing is said of packages that could be imported.

    `sources` maps paths to texts. What the checker found in a program of which a part could not be read follows from
    that, as far as anybody can tell.
    """
    by_path: dict[str, list[Diagnostic]] = {}
    for each in diagnostics:
        if is_syntax(each) and each.primary is not None:
            by_path.setdefault(each.primary.path, []).append(each)
    if not by_path:
        return _of_names(diagnostics, sources, around)
    told: dict[Diagnostic, Diagnostic] = {}
    for path, errors in by_path.items():
        text = sources.get(path)
        if text is not None:
            told.update(zip(errors, _explained(text, errors), strict=True))
    return tuple(told.get(each) or _beside_syntax(each) for each in diagnostics)


def _of_names(
    diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], around: Around | None
) -> tuple[Diagnostic, ...]:
    """With hints on names; what one and the same change mends is told once."""
    told: list[Diagnostic] = []
    mended: set[tuple[Replacement, ...]] = set()
    for item in diagnostics:
        hints = () if len(told) >= _MOST_NAMES else tuple(name_hints(item, sources, around))
        edits = {hint.edits for hint in hints if hint.edits}
        is_mended = bool(edits) and edits <= mended
        mended |= edits
        if is_mended or follows_from(item, diagnostics):
            told.append(replace(item, follows=True))
        else:
            told.append(replace(item, hints=(*item.hints, *hints)) if hints else item)
    return tuple(told)


def is_syntax(diagnostic: Diagnostic) -> bool:
    """Whether a text could not be read as a whole because of it."""
    return diagnostic.code is Code.INVALID_SYNTAX and not diagnostic.message.startswith(_OF_THE_TREE)


def _beside_syntax(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.severity is not Severity.ERROR or is_syntax(diagnostic):
        return diagnostic
    return replace(diagnostic, follows=True)


def _explained(text: str, errors: Sequence[Diagnostic]) -> list[Diagnostic]:
    return _Explaining(text, errors).run()


class _Explaining:
    """The errors of one file, each looked into in the text as it is once those before it are mended."""

    def __init__(self, text: str, errors: Sequence[Diagnostic]) -> None:
        self._text = text
        self._given = errors
        self._hints: dict[_Key, Hint | None] = {}
        self._left = _MOST_PARSED

    def run(self) -> list[Diagnostic]:
        keys = [_key(each) for each in self._given]
        open_: set[_Key] = set(keys)
        copy = _Copy(View(self._text), _Origin())
        while len(self._hints) < _MOST_CAUSES:
            there = {key: each for each, key in zip(copy.view.errors, copy.keys(), strict=True)}
            cause = next((key for key in keys if key in open_ and key in there), None)
            if cause is None:
                open_.clear()  # what is left went with what was mended
                break
            mended, remedy = self._mended(copy, cause, there[cause])
            self._hints[cause] = None if remedy is None else self._hint(copy, remedy)
            open_.discard(cause)
            if mended is None:
                break
            copy = mended
            open_ &= set(copy.keys())
        shown = open_ | set(self._hints)
        return [self._told(each, key in shown) for each, key in zip(self._given, keys, strict=True)]

    def _told(self, diagnostic: Diagnostic, is_shown: bool) -> Diagnostic:
        if not is_shown:
            return replace(diagnostic, follows=True)
        hint = self._hints.get(_key(diagnostic))
        if hint is None:
            return diagnostic
        assert diagnostic.primary is not None
        path = diagnostic.primary.path
        return replace(diagnostic, hints=(_in_file(hint, path),))

    def _mended(self, copy: _Copy, cause: _Key, error: Diagnostic) -> tuple[_Copy | None, Remedy | None]:
        """The copy without the error, and by what; None for what could not be mended."""
        assert error.primary is not None
        before = set(copy.keys())
        best: tuple[int, _Copy, Remedy] | None = None
        tried: set[tuple[Change, ...]] = set()
        for remedy in _remedies(copy.view, error):
            changes = joined(remedy.changes)
            if changes in tried:
                continue
            tried.add(changes)
            after = self._tried(copy, changes)
            if after is None:
                break
            left = set(after.keys())
            if cause in left or not left < before:
                continue
            if best is not None and (remedy.last_resort or len(left) >= best[0]):
                continue
            best = len(left), after, remedy
            if not left:
                break
        if best is not None:
            return best[1], best[2]
        return self._without(copy, cause, error, before), None

    def _without(self, copy: _Copy, cause: _Key, error: Diagnostic, before: set[_Key]) -> _Copy | None:
        """The copy without what the error stands in: the least of it with which the error goes."""
        assert error.primary is not None
        for changes in _removals(copy.view, error.primary.start):
            after = self._tried(copy, changes)
            if after is None:
                return None
            left = set(after.keys())
            if cause not in left and left < before:
                return after
        return None

    def _tried(self, copy: _Copy, changes: tuple[Change, ...]) -> _Copy | None:
        """The copy changed; None when enough was tried."""
        text = copy.view.changed(changes)
        self._left -= len(text)
        return None if self._left < 0 else _Copy(View(text), copy.origin.with_changes(changes))

    @staticmethod
    def _hint(copy: _Copy, remedy: Remedy) -> Hint:
        """In the places of the text as it was given."""
        origin = copy.origin
        labels = []
        if remedy.label is not None:
            start, end, said = remedy.label
            labels.append(Label(Span("", origin.of(start), origin.of(end)), said))
        edits = [
            Replacement(Span("", origin.of(each.start), origin.of(each.end)), each.text)
            for each in joined(remedy.changes)
        ]
        return Hint(remedy.message, tuple(labels), tuple(edits) if remedy.offered else ())


def _in_file(hint: Hint, path: str) -> Hint:
    def there(span: Span) -> Span:
        return Span(path, span.start, span.end)

    return Hint(
        hint.message,
        tuple(replace(each, span=there(each.span)) for each in hint.labels),
        tuple(Replacement(there(each.span), each.text) for each in hint.edits),
    )


def _key(diagnostic: Diagnostic) -> _Key:
    assert diagnostic.primary is not None
    return diagnostic.primary.start, diagnostic.message


def _remedies(view: View, error: Diagnostic) -> Iterator[Remedy]:
    """What might mend the error, the likely first."""
    assert error.primary is not None
    at, message = error.primary.start, error.message
    yield from text_remedies(view, at)
    yield from string_remedies(view, at, message)
    yield from layout_remedies(view, at, message)
    yield from bracket_remedies(view, at, message)
    yield from habit_remedies(view, at, message)


def _removals(view: View, at: int) -> Iterator[tuple[Change, ...]]:
    """The line; the line and what is indented below it; all from a line without indentation to the next such line."""
    line = view.line_of(at)
    last = view.block(line)
    first = line
    while first and (view.is_empty(first) or view.indent(first)):
        first -= 1
    for start, end in dict.fromkeys(((line, line), (line, last), (first, max(last, view.block(first))))):
        stop = view.starts[end] + len(view.line(end))
        yield (Change(view.starts[start], stop, ""),)


# ------------------------------------------------------------------ places of a changed text


class _Origin:
    """Where the characters of a changed text stood before all changes."""

    def __init__(self, steps: tuple[tuple[Change, ...], ...] = ()) -> None:
        self._steps = steps

    def with_changes(self, changes: tuple[Change, ...]) -> _Origin:
        return _Origin((*self._steps, changes))

    def of(self, offset: int) -> int:
        for changes in reversed(self._steps):
            offset = _before(changes, offset)
        return offset


def _before(changes: tuple[Change, ...], offset: int) -> int:
    """The place in the text before the changes of `offset` in the text after them."""
    moved = 0
    for change in changes:
        start = change.start + moved
        if offset < start:
            break
        if offset < start + len(change.text):
            return change.start
        moved += len(change.text) - (change.end - change.start)
    return offset - moved


@dataclass(frozen=True, slots=True)
class _Copy:
    view: View
    origin: _Origin

    def keys(self) -> list[_Key]:
        """The errors there are, in the places of the text as it was given."""
        return [(self.origin.of(start), message) for start, message in map(_key, self.view.errors)]

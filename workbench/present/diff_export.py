"""A comparison as a file for somebody who was not there: a patch to read, Markdown, HTML. Secrets are masks in each.

Each begins with what was compared, when, and what could not be found out: a file without that would claim too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from typing import Final

from kcl.records import dataclass
from kcl.terminal import harmless
from runtimes.base import format_path
from workbench.engine.changes import Change, ChangeClass, StackDiff
from workbench.engine.events import Action
from workbench.present import diff, reconcile
from workbench.present.glyphs import UNICODE
from workbench.present.pull_request import code, escaped, fenced
from workbench.present.text_changes import ChangedLine

FORMS: Final = ("patch", "md", "html")
_WIDTH: Final = 2000

_STYLE = """\
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #1b1f24; background: #fff; }
pre { background: #f6f8fa; padding: 1em; overflow-x: auto; } .unknown { color: #9a6700; font-weight: bold; }
.add { color: #0a6b2d; } .remove { color: #a40e26; text-decoration: none; } .at { color: #57606a; }"""


@dataclass(frozen=True, slots=True)
class _Part:
    """One resource: `lines` are (sign, text); `@` begins a field and names its path and source."""

    title: str
    lines: tuple[tuple[str, str], ...]


def exported(found: StackDiff, form: str, roots: diff.Roots, now: datetime, *, drift_only: bool = False) -> str:
    """Returns the whole file; `form` is one of `FORMS`."""
    shown = found.drift if drift_only else found
    parts = [_part(each, found, roots, now, drift_only) for each in shown.different()]
    head = list(_head(found, parts, drift_only))
    lines = {"patch": _patch, "md": _markdown, "html": _html}[form](found.stack, head, parts)
    return "\n".join(lines) + "\n"


def _head(found: StackDiff, parts: list[_Part], drift_only: bool) -> Iterator[tuple[bool, str]]:
    """Yields (whether it is a doubt, text)."""
    at = f"{found.compared_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    places = ", ".join((*found.clusters, *([found.workspace] if found.workspace else [])))
    yield False, f"compared with {places or 'nothing'} at {at}; secrets are masked"
    if drift_only:
        yield False, "drift only: what others changed, not what the configuration would change"
    if not parts:
        is_known = found.is_drift_certain if drift_only else found.is_certain
        yield not is_known, "nothing differs" if is_known else "what differs is not known"
    elif not found.is_certain:
        yield True, "not everything could be compared: there may be more"
    for each in diff.remark_lines(found, UNICODE):
        yield True, str(each).removeprefix(f"{UNICODE.unknown} ")


def _part(change: Change, found: StackDiff, roots: diff.Roots, now: datetime, drift_only: bool) -> _Part:
    title = f"{change.action.value} {reconcile.short_id(change.address)}"
    if change.action in (Action.CREATE, Action.DELETE):
        sign = "+" if change.action is Action.CREATE else "-"
        every = diff.detail_text(change, found.spec, roots, UNICODE, now, drift_only=drift_only)
        return _Part(title, tuple(_whole(str(each), sign) for each in every))
    lines: list[tuple[str, str]] = []
    for field in change.fields:
        if drift_only and field.class_ is not ChangeClass.DRIFT:
            continue
        source = str(diff.field_source(field, roots, UNICODE))
        lines.append(("@", f"{format_path(field.path)}{f'  {source}' if source else ''}"))
        for each in diff.field_lines(field, _WIDTH, UNICODE):
            lines += _both(each)
        lines += (("#", each.text) for each in diff.field_notes(field, UNICODE, now))
    return _Part(title, tuple(lines))


def _whole(text: str, sign: str) -> tuple[str, str]:
    return (sign, text[2:]) if text.startswith(f"{sign} ") else ("#", text)


def _both(each: ChangedLine) -> Iterator[tuple[str, str]]:
    if each.sides is not None:
        yield "-", str(each.sides[0])
        yield "+", str(each.sides[1])
    else:
        yield {"-": "-", "+": "+", " ": " "}.get(each.sign, "#"), str(each.line)


def _patch(stack: str, head: list[tuple[bool, str]], parts: list[_Part]) -> Iterator[str]:
    yield f"# {harmless(stack)}: a patch to read, not to apply"
    for is_doubt, text in head:
        yield harmless(f"# {'? ' if is_doubt else ''}{text}")
    for part in parts:
        yield ""
        yield harmless(f"--- live: {part.title}")
        yield harmless(f"+++ configuration: {part.title}")
        for sign, text in part.lines:
            yield harmless(f"@@ {text} @@" if sign == "@" else f"{sign}{' ' if sign == '#' else ''}{text}")


def _markdown(stack: str, head: list[tuple[bool, str]], parts: list[_Part]) -> Iterator[str]:
    yield f"## {escaped(stack)}"
    yield ""
    for is_doubt, text in head:
        yield f"- {'**not known:** ' if is_doubt else ''}{escaped(text)}"
    for part in parts:
        yield ""
        yield f"### {code(part.title)}"
        yield ""
        yield from fenced([f"@@ {text} @@" if sign == "@" else f"{sign}{text}" for sign, text in part.lines], "diff")


def _html(stack: str, head: list[tuple[bool, str]], parts: list[_Part]) -> Iterator[str]:
    title = escape(harmless(stack))
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1><ul>"
    for is_doubt, text in head:
        yield f"<li{' class=unknown' if is_doubt else ''}>{'? ' if is_doubt else ''}{escape(harmless(text))}</li>"
    yield "</ul>"
    for part in parts:
        yield f"<h2>{escape(harmless(part.title))}</h2><pre>"
        for sign, text in part.lines:
            of = {"+": "add", "-": "remove", "@": "at", "#": "at"}.get(sign, "")
            shown = f"@@ {text} @@" if sign == "@" else f"{sign} {text}"
            yield f'<span class="{of}">{escape(harmless(shown))}</span>'
        yield "</pre>"
    yield "</body></html>"

"""Take one value out of the text of a program, and leave every other character as it is."""

from __future__ import annotations

from collections.abc import Iterator

from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.edit import Path
from kcl.syntax.parser import parse
from kcl.syntax.walking import written_key

Edit = tuple[int, int, str]


def remove_value(source: SourceFile, variable: str, path: Path) -> str:
    """The file's text without what says `variable` at `path`: all statements of that name where `path` is empty,
    else all entries of that key, or the item of the list. The text as it is when nothing says it.
    """
    tree = parse(source).module
    text = source.text
    for start, end, instead in sorted(set(_edits(tree, text, variable, tuple(path))), reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _edits(tree: ast.Module, text: str, variable: str, path: tuple[str | int, ...]) -> Iterator[Edit]:
    for statement in tree.body:
        match statement:
            case ast.Unification(target=ast.Target(name=name, path=[])) if name == variable:
                pass
            case ast.Assign() if any(target.name == variable and not target.path for target in statement.targets):
                pass
            case _:
                continue
        if path:
            yield from _inside(statement.value, text, path)
        else:
            yield _lines(text, statement.start, statement.end)


def _inside(value: ast.Expr | None, text: str, path: tuple[str | int, ...]) -> Iterator[Edit]:
    while isinstance(value, ast.Paren):
        value = value.value
    if isinstance(value, ast.SchemaExpr):
        value = value.config
    head, rest = path[0], path[1:]
    if isinstance(value, ast.Config) and isinstance(head, str):
        for entry in value.items:
            if not isinstance(entry, ast.Entry) or written_key(entry) != head:
                continue
            if rest:
                yield from _inside(entry.value, text, rest)
            elif value.written:
                yield _item(text, entry.start, entry.end)
            else:  # the last name of a dotted key: what is before it stays, with nothing in it
                yield entry.start - 1, entry.end, ": {}"
    elif isinstance(value, ast.List) and isinstance(head, int):
        index = head + len(value.items) if head < 0 else head
        if 0 <= index < len(value.items):
            item = value.items[index]
            if not isinstance(item, ast.Starred | ast.ListIf):
                if rest:
                    yield from _inside(item, text, rest)
                else:
                    yield _item(text, item.start, item.end)


def _lines(text: str, start: int, end: int) -> Edit:
    """The whole lines of a statement."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last + 1, ""


def _item(text: str, start: int, end: int) -> Edit:
    """An item of a configuration or a list, with its lines if it is alone on them, else with one comma beside it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    after = text[end:last].strip()
    if not text[first:start].strip() and (after in ("", ",") or after.startswith("#")):
        return first, min(last + 1, len(text)), ""
    stripped = text[end:].lstrip(" \t")
    if stripped.startswith(","):
        behind = len(text) - len(stripped) + 1
        return start, behind + len(text[behind:]) - len(text[behind:].lstrip(" \t")), ""
    before = text[:start].rstrip(" \t")
    return (len(before) - 1 if before.endswith(",") else start), end, ""

"""The rules: each reads the tree of one file, and yields what it finds.

A rule reports only what it can know from this file, its program and the words of the repository. What some other file
might still read is no finding: a linter that is wrong once is switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Code, Label, Span, warning
from kcl.syntax import ast
from kcl.syntax.walking import children, walk, written_key
from kcl.tools.lint import changing, conditions, numbers, overridden
from kcl.tools.lint.subject import Finding, Subject, found, found_at, shortened
from kcl.tools.migrate import Edit

Rule = Callable[[Subject], Iterator[Finding]]


def _import_position(subject: Subject) -> Iterator[Finding]:
    others = False
    for statement in subject.tree.body:
        if isinstance(statement, ast.Import):
            if others:
                message = "The import stmt should be placed at the top of the module"
                yield found(Code.IMPORT_POSITION, message, subject, statement)
        else:
            others = True


def _reimport(subject: Subject) -> Iterator[Finding]:
    seen: dict[str, set[str]] = {}
    for statement in subject.tree.imports():
        names = seen.get(statement.path)
        if names is None:
            seen[statement.path] = {statement.name}
            continue
        edits = (_without_line(subject, statement),) if statement.name in names else ()
        names.add(statement.name)
        message = f"Module '{statement.name}' is reimported multiple times"
        yield found(Code.REIMPORT, message, subject, statement, edits)


def _unused_import(subject: Subject) -> Iterator[Finding]:
    imports = subject.tree.imports()
    if not imports:
        return
    used = _own_heads(subject)
    if all(each.name in used for each in imports):
        return
    for sibling in subject.siblings:
        # An import holds for the files beside it that do not import the name themselves.
        used |= _heads(sibling) - {each.name for each in sibling.imports()}
    for statement in imports:
        if statement.name not in used:
            message = f"Module '{statement.name}' imported but unused"
            yield found(Code.UNUSED_IMPORT, message, subject, statement, (_without_line(subject, statement),))


def _dead_value(subject: Subject) -> Iterator[Finding]:
    for node in subject.nodes.of(ast.Config):
        yield from _dead_entries(subject, node)
    for body in _bodies(subject):
        yield from _dead_assignments(subject, body)


def _dead_entries(subject: Subject, config: ast.Config) -> Iterator[Finding]:
    """Entries that a later one of the same literal replaces. Keys that the literal itself reads are left alone."""
    last: dict[str, ast.Entry] = {}
    dead: list[tuple[ast.Entry, ast.Entry, str]] = []
    for item in config.items:
        if not isinstance(item, ast.Entry):
            last.clear()  # what an if or an unpacking adds may read, or depend on, what was there
            continue
        key = _static_key(item)
        if key is None:
            continue
        before = last.get(key)
        if item.op is ast.ConfigOp.OVERRIDE and before is not None:
            dead.append((before, item, key))
        last[key] = item
    if not dead:
        return
    read = {each.id for item in config.items for each in walk(item) if isinstance(each, ast.Name)}
    for before, after, key in dead:
        keys = sum(isinstance(each, ast.Entry) and _is_named(each, key) for each in config.items)
        if key in read and _reads(config, key) > keys:
            continue
        yield _overridden(subject, key, before, after)


def _duplicate_key(subject: Subject) -> Iterator[Finding]:
    """Keys that are given a literal twice by `:`, which unifies: the second says nothing, or fails when it is reached.

    What `=` replaces is a dead value.
    """
    for node in subject.nodes.of(ast.Config):
        last: dict[str, ast.Entry] = {}
        for item in node.items:
            key = _static_key(item) if isinstance(item, ast.Entry) else None
            if not isinstance(item, ast.Entry) or key is None:
                if not isinstance(item, ast.Entry):
                    last.clear()  # an if or an unpacking may be what the second is there for
                continue
            before = last.get(key)
            if before is not None and item.op is ast.ConfigOp.UNION:
                yield from _twice(subject, key, before, item)
            last[key] = item


def _twice(subject: Subject, key: str, before: ast.Entry, after: ast.Entry) -> Iterator[Finding]:
    first, second = _scalar(before.value), _scalar(after.value)
    if first is None or second is None:
        return
    line = subject.line(before.start)
    if first == second:
        message = f"'{key}' has this value already, from line {line}"
    elif second == _NONE:
        message = f"this None is never seen: '{key}' has a value already, from line {line}"
    elif first == _NONE:
        message = f"'{key}' is None in line {line}, which nobody sees: this value takes its place"
    else:
        message = f"'{key}' has another value already, from line {line}: `:` cannot unify them, `=` replaces"
    labels = (Label(Span(subject.path, before.start, before.end), f"'{shortened(key)}' is given here first"),)
    yield Finding(warning(Code.DUPLICATE_KEY, message, Span(subject.path, after.start, after.end), labels=labels))


_NONE: Final = ("constant", ast.ConstantKind.NONE, None)


def _scalar(node: ast.Expr) -> tuple[str, object, object] | None:
    """What a literal stands for, where that can be told from others; None for any other expression."""
    match node:
        case ast.Constant(kind=kind) if not isinstance(node, ast.Missing):
            return ("constant", kind, None)
        case ast.Int(value=number, suffix=suffix):
            return ("int", number, suffix)
        case ast.Float(value=decimal):
            return ("float", decimal, None)
        case ast.Str(value=text):
            return ("str", text, None)
        case _:
            return None


def _dead_assignments(subject: Subject, body: Sequence[ast.Stmt]) -> Iterator[Finding]:
    """Variables that may change, and are assigned again before anybody reads them."""
    pending: dict[str, ast.Assign] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.targets[0].path:
            if not pending:
                continue
            names = {each.id for each in walk(statement) if isinstance(each, ast.Name)}
            names |= {each.name for each in walk(statement) if isinstance(each, ast.Target)}
            for name in names:
                pending.pop(name, None)
            if isinstance(statement, ast.Schema | ast.Rule | ast.If):
                pending.clear()
            continue
        for each in walk(statement.value) if pending else ():
            if isinstance(each, ast.Name):
                pending.pop(each.id, None)
            elif isinstance(each, ast.Lambda | ast.SchemaExpr | ast.Call):
                pending.clear()  # what is called may read any of them
        name = statement.targets[0].name
        if not name.startswith("_"):
            continue
        before = pending.get(name)
        if before is not None:
            yield _overridden(subject, name, before, statement)
        pending[name] = statement


def _unused_variable(subject: Subject) -> Iterator[Finding]:
    """Private names that stand nowhere but where they are declared; lambda variables that nobody reads."""
    for statement in _declarations(subject.tree.body):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if target.name.startswith("_") and not target.path and subject.occurrences(target.name) <= 1:
                yield _unused(subject, target.name, target.start, target.name_end)
    for node in subject.nodes.of(ast.Schema, ast.Lambda):
        if isinstance(node, ast.Schema):
            for each in node.body:
                if isinstance(each, ast.Assign):
                    for target in each.targets:
                        if target.name.startswith("_") and not target.path and subject.occurrences(target.name) <= 1:
                            yield _unused(subject, target.name, target.start, target.name_end)
        elif isinstance(node, ast.Lambda):
            yield from _unused_locals(subject, node)


def _unused_locals(subject: Subject, node: ast.Lambda) -> Iterator[Finding]:
    read = [each.id for each in walk(node) if isinstance(each, ast.Name)]
    changed = {each.target.name for each in walk(node) if isinstance(each, ast.AugAssign)}
    for statement in node.body[:-1]:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if not target.path and target.name not in read and target.name not in changed:
                yield _unused(subject, target.name, target.start, target.name_end)


def _missing_documentation(subject: Subject) -> Iterator[Finding]:
    for statement in subject.tree.body:
        if isinstance(statement, ast.Schema) and statement.doc is None and not statement.name.startswith("_"):
            message = f"schema '{statement.name}' says nowhere what it is for"
            yield found_at(Code.MISSING_DOCUMENTATION, message, subject, statement.name_start, statement.name_end)


def _shadowed_import(subject: Subject) -> Iterator[Finding]:
    imported = {each.name: each for each in subject.tree.imports()}
    if not imported:
        return
    for node in subject.nodes.of(ast.Param, ast.CompClause, ast.Quantifier, ast.Lambda):
        match node:
            case ast.Param():
                names = [(node.name, node.start)]
            case ast.CompClause() | ast.Quantifier():
                names = [(each.id, each.start) for each in node.targets]
            case ast.Lambda():
                names = [
                    (target.name, target.start)
                    for statement in node.body
                    if isinstance(statement, ast.Assign)
                    for target in statement.targets
                ]
            case _:
                continue
        for name, start in names:
            if name in imported:
                message = f"'{name}' is also the name of an import of this file, which can't be used here"
                yield found_at(Code.SHADOWED_IMPORT, message, subject, start, start + len(name))


def _deprecated(subject: Subject) -> Iterator[Finding]:
    for use in subject.deprecated.uses(subject.path, subject.nodes.all):
        yield found_at(Code.DEPRECATED, use.message, subject, use.start, use.end)


RULES: Final[Mapping[Code, Rule]] = {
    Code.IMPORT_POSITION: _import_position,
    Code.REIMPORT: _reimport,
    Code.UNUSED_IMPORT: _unused_import,
    Code.DEAD_VALUE: _dead_value,
    Code.DUPLICATE_KEY: _duplicate_key,
    Code.UNUSED_VARIABLE: _unused_variable,
    Code.SELF_COMPARISON: conditions.self_comparison,
    Code.CONSTANT_CONDITION: conditions.constant_condition,
    Code.SHADOWED_IMPORT: _shadowed_import,
    Code.REPEATED_CONDITION: conditions.repeated_condition,
    Code.CONTRADICTION: conditions.contradiction,
    Code.CHANGED_BELOW: changing.changed_below,
    Code.BARE_NUMBER: numbers.bare_number,
    Code.DEPRECATED: _deprecated,
    Code.ALWAYS_OVERRIDDEN: overridden.always_overridden,
    Code.MISSING_DOCUMENTATION: _missing_documentation,
}
"""By code, in the order in which findings of one place are told."""

ASKED_FOR: Final = frozenset((Code.MISSING_DOCUMENTATION,))
"""Rules that look only where somebody asks for them."""


def _own_heads(subject: Subject) -> set[str]:
    """As `_heads`, of the file that is looked at."""
    keys = {id(each.key) for each in subject.nodes.of(ast.Entry)}
    names = {each.id for each in subject.nodes.of(ast.Name) if id(each) not in keys}
    changed = {each.name for each in subject.nodes.of(ast.Target) if each.path}
    return names | changed | {each.names[0] for each in subject.nodes.of(ast.NamedType)}


def _heads(tree: ast.Module) -> set[str]:
    """The names that a file reads, but keys of configurations, which read nothing."""
    found: set[str] = set()
    pending: list[ast.Node] = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.Name():
                found.add(node.id)
            case ast.NamedType():
                found.add(node.names[0])
            case ast.Target() if node.path:
                found.add(node.name)
                pending.extend(children(node))
            case ast.Entry() if isinstance(node.key, ast.Name):
                pending.extend(each for each in children(node) if each is not node.key)
            case _:
                pending.extend(children(node))
    return found


def _bodies(subject: Subject) -> Iterator[Sequence[ast.Stmt]]:
    yield subject.tree.body
    yield from (each.body for each in subject.nodes.of(ast.Lambda))


def _declarations(body: Sequence[ast.Stmt]) -> Iterator[ast.Stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _declarations(statement.body)
            yield from _declarations(statement.orelse)


def _static_key(entry: ast.Entry) -> str | None:
    """The key of an entry that is written out and replaces, or is replaced, as a whole."""
    return None if isinstance(entry.value, ast.Config) and not entry.value.written else written_key(entry)


def _is_named(entry: ast.Entry, key: str) -> bool:
    return isinstance(entry.key, ast.Name) and entry.key.id == key


def _reads(config: ast.Config, key: str) -> int:
    return sum(isinstance(each, ast.Name) and each.id == key for item in config.items for each in walk(item))


def _overridden(subject: Subject, name: str, before: ast.Node, after: ast.Node) -> Finding:
    line = subject.line(after.start)
    message = f"this value of '{name}' is never seen: line {line} replaces it"
    return found(Code.DEAD_VALUE, message, subject, before)


def _unused(subject: Subject, name: str, start: int, end: int) -> Finding:
    return found_at(Code.UNUSED_VARIABLE, f"nobody reads '{name}'", subject, start, end)


def _without_line(subject: Subject, statement: ast.Stmt) -> Edit:
    """Takes a statement away, and its line where nothing else stands on it. A comment behind it goes with it."""
    text = subject.text
    start = text.rfind("\n", 0, statement.start) + 1
    end = text.find("\n", statement.end)
    end = len(text) if end < 0 else end + 1
    rest = text[statement.end : end].strip()
    if text[start : statement.start].strip() or (rest and not rest.startswith("#")):
        return Edit(subject.path, statement.start, statement.end, "")
    return Edit(subject.path, start, end, "")

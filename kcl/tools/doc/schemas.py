"""What is said of schemas, mixins, protocols and rules, with what they inherit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kcl.records import replace
from kcl.syntax import ast
from kcl.tools.doc.masking import Masking
from kcl.tools.doc.model import Attribute, Check, Deprecation, Example, Inherited, Schema, Text, plain
from kcl.tools.doc.resolving import Declared, Scope, dotted, is_private
from kcl.tools.docstrings import Docstring, Documented, lines_of, parsed

_NO_DEFAULT: Final = "Undefined"


def schema(declared: Declared, scope: Scope) -> Schema:
    """One schema or rule; `scope` is that of its file."""
    node = declared.node
    assert isinstance(node, ast.Schema | ast.Rule)
    body = node if isinstance(node, ast.Schema) else None
    own, inherited, unknown = _lineage(declared, scope)
    doc = _doc(node, scope)
    names = {each.name for each in own}
    return Schema(
        target=declared.target,
        kind=_kind(node),
        params=scope.text(*node.params),
        bases=tuple(scope.text(each) for each in _bases(node)),
        mixins=tuple(scope.text(each) for each in body.mixins) if body else (),
        host=scope.text(node.host),
        doc=_shown(doc, scope),
        decorators=_decorators(node.decorators, scope),
        deprecation=_deprecation(node.decorators, scope),
        attributes=tuple(own),
        inherited=tuple(inherited),
        unknown_bases=tuple(unknown),
        undeclared=tuple(each for each in _shown(doc, scope).attributes if each.name not in names),
        index_signature=scope.text(body.index_signature) if body else (),
        checks=tuple(_check(scope, each) for each in node.checks),
        place=scope.place(min(each.start for each in (node, *node.decorators))),
    )


def examples(declared: Declared, scope: Scope) -> Iterator[Example]:
    """What the docstring of a schema has below Examples, as it is written."""
    node = declared.node
    if isinstance(node, ast.Schema | ast.Rule):
        for lines in _doc(node, scope).examples:
            if lines:
                yield Example(scope.folder.path, scope.file.path, scope.file.shown, node.name, lines)


def _doc(node: ast.Schema | ast.Rule, scope: Scope) -> Docstring:
    if node.doc is None:
        return Docstring()
    body = node.body if isinstance(node, ast.Schema) else []
    return parsed(
        lines_of(scope.file.source, node.doc), {_name(each) for each in body if isinstance(each, ast.SchemaAttr)}
    )


def _shown(doc: Docstring, scope: Scope) -> Docstring:
    return Docstring(
        scope.lines(doc.description),
        tuple(
            Documented(Masking.name(each.name), scope.clean(each.type), scope.lines(each.lines), each.line)
            for each in doc.attributes
        ),
        tuple(scope.lines(each) for each in doc.examples),
        tuple((scope.clean(title), scope.lines(lines)) for title, lines in doc.others),
    )


def _kind(node: ast.Schema | ast.Rule) -> str:
    if isinstance(node, ast.Rule):
        return "rule"
    return "mixin" if node.is_mixin else "protocol" if node.is_protocol else "schema"


def _bases(node: ast.Schema | ast.Rule) -> list[ast.Name | ast.Selector]:
    if isinstance(node, ast.Rule):
        return node.parents
    return [] if node.parent is None else [node.parent]


# ---------------------------------------------------------------- attributes


def _attributes(declared: Declared, scope: Scope) -> list[Attribute]:
    """Those that a schema declares itself. Of one that is declared twice the last counts, as in a run."""
    node = declared.node
    if not isinstance(node, ast.Schema):
        return []
    said = {each.name: each for each in _doc(node, scope).attributes}
    found: dict[str, Attribute] = {}
    for each, is_conditional in _statements(node.body, is_conditional=False):
        if isinstance(each, ast.SchemaAttr):
            made = _attribute(each, said.get(_name(each)), declared, scope)
            former = found.get(made.name)
            if former is None and is_conditional:
                found[made.name] = replace(made, is_conditional=True, is_optional=True)
            elif not is_conditional:
                found[made.name] = made if former is None else _completed(made, former)
            continue
        for name, type_, value in _written(each):
            if name not in found and not is_private(name):
                made = Attribute(
                    name=name,
                    type=scope.text(type_),
                    is_optional=not isinstance(each, ast.Unification) or is_conditional,
                    default=scope.code(value, name),
                    doc=() if name not in said else scope.lines(said[name].lines),
                    decorators=(),
                    deprecation=None,
                    of=declared.target,
                    place=scope.place(each.start),
                    is_conditional=is_conditional,
                )
                found[name] = made
            elif name in found and found[name].default is None and not is_conditional:
                found[name] = replace(found[name], default=scope.code(value, name))
    return list(found.values())


def _statements(body: Iterable[ast.Stmt], *, is_conditional: bool) -> Iterator[tuple[ast.Stmt, bool]]:
    """The statements of a schema, with True for those below an `if`."""
    for each in body:
        if isinstance(each, ast.If):
            yield from _statements((*each.body, *each.orelse), is_conditional=True)
        else:
            yield each, is_conditional


def _written(node: ast.Stmt) -> Iterator[tuple[str, ast.Node | None, ast.Expr]]:
    """Name, type and value of the attributes that a statement makes without declaring them as such."""
    match node:
        case ast.Assign():
            yield from ((each.name, node.type, node.value) for each in node.targets if not each.path)
        case ast.Unification(target=target, value=value) if not target.path:
            yield target.name, value.name, value
        case _:
            pass


def _attribute(node: ast.SchemaAttr, said: Documented | None, declared: Declared, scope: Scope) -> Attribute:
    return Attribute(
        name=Masking.name(_name(node)),
        type=scope.text(node.type),
        is_optional=node.optional,
        default=_default(node, scope),
        doc=() if said is None else scope.lines(said.lines),
        decorators=_decorators(node.decorators, scope),
        deprecation=_deprecation(node.decorators, scope),
        of=declared.target,
        place=scope.place(node.start),
    )


def _default(node: ast.SchemaAttr, scope: Scope) -> str | None:
    """A type of one value is its default as well, if something has to be given."""
    if node.value is None and isinstance(node.type, ast.LiteralType) and not node.optional:
        return scope.code(node.type, _name(node))
    return None if node.value is None else scope.code(node.value, _name(node))


def _name(node: ast.SchemaAttr) -> str:
    return node.name.strip("\"'")


def _lineage(declared: Declared, scope: Scope) -> tuple[list[Attribute], list[Inherited], list[str]]:
    """The own attributes, those that bases and mixins bring, the nearest first, and bases that are not known.

    An attribute stands where it is declared nearest. What is not said there holds as it is said further away: an
    assignment has no type, and who declares an attribute again may leave its default to the base.
    """
    sources: list[tuple[Text, bool]] = [((), False)]
    nearest: dict[str, tuple[int, Attribute]] = {each.name: (0, each) for each in _attributes(declared, scope)}
    unknown: list[str] = []
    seen = {declared.target}
    pending = [(scope, each, is_mixin) for each, is_mixin in _sources(declared.node)]
    while pending:
        around, name, is_mixin = pending.pop(0)
        base = around.names.declared(dotted(name), around.folder, around.file)
        if base is None or not isinstance(base.node, ast.Schema):
            unknown.append(plain(around.text(name)))
            continue
        if base.target in seen:
            continue
        seen.add(base.target)
        inside = around.at(base)
        for each in _attributes(base, inside):
            at, former = nearest.get(each.name, (len(sources), each))
            nearest[each.name] = at, _completed(former, each)
        sources.append((around.text(name), is_mixin))
        pending[:0] = [(inside, each, is_mixin or mixes) for each, mixes in _sources(base.node)]
    groups: list[list[Attribute]] = [[] for _ in sources]
    for at, each in nearest.values():
        groups[at].append(replace(each, default=None) if each.default == _NO_DEFAULT else each)
    inherited = [Inherited(*of, tuple(group)) for of, group in zip(sources[1:], groups[1:], strict=True) if group]
    return groups[0], inherited, unknown


def _completed(nearer: Attribute, further: Attribute) -> Attribute:
    return replace(
        nearer,
        type=nearer.type or further.type,
        is_optional=nearer.is_optional if nearer.type else further.is_optional,
        default=further.default if nearer.default is None else nearer.default,
        doc=nearer.doc or further.doc,
    )


def _sources(node: ast.Node) -> Iterator[tuple[ast.Name | ast.Selector, bool]]:
    """The names of what a schema takes attributes from, with True for mixins."""
    if isinstance(node, ast.Schema):
        if node.parent is not None:
            yield node.parent, False
        yield from ((each, True) for each in node.mixins)


# ---------------------------------------------------------------- checks and decorators


def _check(scope: Scope, node: ast.Check) -> Check:
    message = scope.clean(node.message.value) if isinstance(node.message, ast.Str) else scope.code(node.message)
    return Check(scope.code(node.test), scope.code(node.cond), message, scope.place(node.start))


def _decorators(nodes: Iterable[ast.Decorator], scope: Scope) -> tuple[str, ...]:
    """Those that say something of their own: `@deprecated` has words of ours."""
    return tuple(scope.code(each).removeprefix("@") for each in nodes if dotted(each.name) != ("deprecated",))


def _deprecation(decorators: Iterable[ast.Decorator], scope: Scope) -> Deprecation | None:
    for each in decorators:
        if dotted(each.name) == ("deprecated",):
            given: dict[str, ast.Expr] = dict(zip(("version", "reason", "strict"), each.args, strict=False))
            given |= {one.name: one.value for one in each.keywords}
            strict = given.get("strict")
            is_lenient = isinstance(strict, ast.Constant) and strict.kind is ast.ConstantKind.FALSE
            return Deprecation(_said(given.get("version"), scope), _said(given.get("reason"), scope), not is_lenient)
    return None


def _said(node: ast.Expr | None, scope: Scope) -> str:
    return scope.clean(node.value) if isinstance(node, ast.Str) else scope.code(node)

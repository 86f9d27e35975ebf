"""A cache of checked statements: one that was checked before in the same surroundings is not checked again.

A main package consists of files that somebody is editing and of others, often long ones, that stay the same. The result
of checking a statement depends on the names it mentions: on the types they have before it. While those are the same, so
are the types they have after it. A statement with an error is not cached, and neither is one that is checked for the
first time, since most of those are never checked again.

Most edits replace one number or text by another, as the value of an attribute of a schema that takes any number or any
text. Of such a literal the check finds out its kind and nothing else (`Effect.literals`), so it is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from kcl.diagnostics import Span
from kcl.records import dataclass, field, fields
from kcl.semantic.scopes import Binding, Kind, ModuleType, Scope
from kcl.semantic.types import (
    DictType,
    FunctionType,
    ListType,
    LiteralType,
    MultiplierType,
    SchemaType,
    Type,
    UnionType,
)
from kcl.syntax import ast

if TYPE_CHECKING:
    from kcl.loader.program import Module

K = TypeVar("K")
Literal: TypeAlias = tuple[int, int, int]
"""One in a statement: the number of the part it is in, and where it begins and ends in the text of that."""
Texts: TypeAlias = tuple[tuple[str, str], ...]
"""What a statement is made of: of each part the path of its file, and its text."""
Part: TypeAlias = "tuple[Module, ast.Stmt]"
Parts: TypeAlias = Sequence[Part]
Body: TypeAlias = "tuple[Module, Sequence[ast.Stmt]]"

_KINDS: Final = (ast.Assign, ast.Unification, ast.AugAssign, ast.ExprStmt, ast.If, ast.Assert)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything the result of checking a statement can depend on, for those names it mentions that are bound."""

    names: Mapping[str, tuple[Kind, Type]]
    lambdas: Mapping[str, FunctionType]
    declared: frozenset[str]
    modules: Mapping[tuple[str, str], Type]
    """What its files, by path, import by these names."""

    def like(self, other: Surroundings) -> bool:
        names = other.names
        if self.declared != other.declared or self.names.keys() != names.keys():
            return False
        for name, (kind, type_) in self.names.items():
            if kind is not names[name][0] or not (type_ is names[name][1] or _alike(type_, names[name][1])):
                return False
        return _all_alike(self.modules, other.modules) and _all_alike(self.lambdas, other.lambdas)


@dataclass(frozen=True, slots=True)
class Effect:
    """What checking a statement did: the types that variables got from it, and the names it declared."""

    before: Surroundings
    types: Mapping[str, Type]
    declared: Mapping[str, Span]
    literals: tuple[Literal, ...] = ()
    """Those in whose place any other of the kind does the same."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk through a main package in which nothing was wrong: what the next one is held against."""

    bodies: Sequence[Body]
    """The statements of each file, in order, as they were joined."""
    parts: Mapping[int, Parts]
    """What statements were joined of, by their identities."""
    scope: Scope
    imports: tuple[object, ...]
    """The packages it imports, as they were checked."""
    effects: Mapping[tuple[int, int], Effect]
    """What checking them did, by file and statement, as far as it was noted."""

    def parts_of(self, file: int, number: int) -> Parts:
        module, body = self.bodies[file]
        return self.parts.get(id(body[number])) or ((module, body[number]),)

    def change(self, other: Walk) -> tuple[int, int] | None:
        """The one statement in which another walk differs in more than places, by file and number.

        (-1, -1) where there is none, None where there are several, or files import other things.
        """
        found = (-1, -1)
        if len(self.bodies) != len(other.bodies):
            return None
        for file, ((mine, ours), (now, theirs)) in enumerate(zip(self.bodies, other.bodies, strict=True)):
            if mine.source.path != now.source.path or len(ours) != len(theirs) or not _import_the_same(mine, now):
                return None
            for number, (before, after) in enumerate(zip(ours, theirs, strict=True)):
                if before is after or texts_of(self.parts_of(file, number)) == texts_of(other.parts_of(file, number)):
                    continue
                if found != (-1, -1):
                    return None
                found = file, number
        return found


def _import_the_same(mine: Module, other: Module) -> bool:
    if mine.tree is other.tree:
        return mine.imports == other.imports
    return [(alias, each.package, each.kind) for alias, each in mine.imports.items()] == [
        (alias, each.package, each.kind) for alias, each in other.imports.items()
    ]


def texts_of(parts: Parts) -> Texts:
    return tuple((each.source.path, each.source.text[part.start : part.end]) for each, part in parts)


def is_value_changed(before: Parts, after: Parts) -> bool:
    """Whether statements that are made of these differ in values at most: they declare the same."""
    return len(before) == len(after) and all(map(_head_is_same, before, after))


def _head_is_same(before: Part, after: Part) -> bool:
    (module, mine), (now, theirs) = before, after
    if not isinstance(mine, (ast.Assign, ast.Unification)) or type(mine) is not type(theirs):
        return False
    assert isinstance(theirs, (ast.Assign, ast.Unification))
    if type(mine.value) is not type(theirs.value) or isinstance(mine.value, ast.Lambda):
        return False
    return _head(module, mine) == _head(now, theirs)


def _head(module: Module, statement: ast.Assign | ast.Unification) -> tuple[str, str]:
    value = statement.value
    end = value.config.start if isinstance(value, ast.SchemaExpr) else value.start
    return module.source.path, module.source.text[statement.start : end]


def literals_in(parts: Parts, found: Iterable[tuple[str, str, int, int]]) -> tuple[Literal, ...]:
    """Those of the literals that nothing else in a statement depends on, which is made of these parts.

    `found` are values of attributes: the attribute, the path of the file, start and end. Who mentions the attribute may
    mean its value, so its name may not be anywhere but before the values that it is given.
    """
    texts = [text for _, text in texts_of(parts)]
    kept: list[Literal] = []
    for name, path, start, end in found:
        if sum(text.count(name) for text in texts) != sum(
            each == name for _, part in parts for each, _ in named_entries(part)
        ):
            continue
        for number, (module, part) in enumerate(parts):
            if module.source.path == path and part.start <= start and end <= part.end:
                if _kind(texts[number][start - part.start : end - part.start]):
                    kept.append((number, start - part.start, end - part.start))
                break
    return tuple(kept)


def named_entries(statement: ast.Stmt) -> list[tuple[str, ast.Entry]]:
    """The entries of the instance that a statement describes, for whole attributes; none of any other statement."""
    match statement:
        case (
            ast.Assign(value=ast.SchemaExpr(config=ast.Config(items=items)))
            | ast.Unification(value=ast.SchemaExpr(config=ast.Config(items=items)))
        ):
            named = (each for each in items if isinstance(each, ast.Entry) and each.index is None)
            return [(each.key.id, each) for each in named if isinstance(each.key, ast.Name)]
        case _:
            return []


def _kind(text: str) -> str | None:
    """Of a literal that could not be mistaken for anything else; None of any other."""
    found = _PLAIN.fullmatch(text)
    return None if found is None else found.lastgroup


_PLAIN: Final = re.compile(r'(?P<number>0|[1-9][0-9]{0,14})|(?P<text>"[^"\\$\n]*"(?!"))')


def after_literal(literals: tuple[Literal, ...], before: Parts, after: Parts) -> tuple[Literal, ...] | None:
    """The literals of a statement, now that one of them was replaced by another of its kind; None for other edits."""
    changed = -1
    for number, (mine, theirs) in enumerate(zip(texts_of(before), texts_of(after), strict=True)):
        if mine == theirs:
            continue
        if changed >= 0:
            return None
        changed, was, now = number, mine[1], theirs[1]
    if changed < 0:
        return None
    longer = len(now) - len(was)
    for number, start, end in literals:
        if (
            number == changed
            and end + longer > start
            and was[:start] == now[:start]
            and was[end:] == now[end + longer :]
            and _kind(was[start:end]) == _kind(now[start : end + longer]) is not None
        ):
            return tuple(
                (
                    part,
                    first + longer * (part == changed and first > start),
                    last + longer * (part == changed and last > start),
                )
                for part, first, last in literals
            )
    return None


def has_same_outcome(before: Effect, after: Effect) -> bool:
    """Whether what comes after a statement finds the same, wherever it is written."""
    return _all_alike(before.types, after.types) and before.declared.keys() == after.declared.keys()


@dataclass(slots=True)
class CheckedStatements:
    """The statements of one tree by their identities, or those of a package by their texts.

    Safe to share between threads (an entry is replaced whole).
    """

    words: dict[int | Texts, frozenset[str] | None] = field(default_factory=dict)
    """The words in each statement, once it was checked twice."""
    effects: dict[int | Texts, Effect] = field(default_factory=dict)
    is_seen: bool = False
    """Whether they were checked before: most are checked once, and caching would cost more than it saves."""
    last: Walk | None = None

    def keep(self, met: Collection[int | Texts]) -> None:
        """Drops all statements but those that were met."""
        self.words = {key: found for key, found in self.words.items() if key in met}
        self.effects = {key: found for key, found in self.effects.items() if key in met}


def unchecked(tree: ast.Module) -> CheckedStatements:
    """The empty cache of a tree that was never checked."""
    return CheckedStatements({id(each): None for each in tree.body if is_cached(each)})


def is_cached(statement: ast.Stmt) -> bool:
    """Whether it is of a kind that is not checked again."""
    return isinstance(statement, _KINDS)


def words(node: object) -> frozenset[str]:
    """Every name in a statement, and every other text in it."""
    found: set[str] = set()
    pending = [node]
    for each in pending:  # which grows meanwhile
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, (list, tuple)):
            pending += each
        elif isinstance(each, ast.Node):
            pending += [getattr(each, name) for name in _parts(type(each))]
    return frozenset(found)


def _parts(kind: type[ast.Node]) -> tuple[str, ...]:
    known = _PARTS.get(kind)
    if known is None:
        known = _PARTS[kind] = tuple(each.name for each in fields(kind) if each.name not in ("start", "end"))
    return known


_PARTS: Final[dict[type[ast.Node], tuple[str, ...]]] = {}
"""What a kind of node is made of beside its place."""


def surroundings(
    mentioned: frozenset[str],
    scope: Scope,
    lambdas: Mapping[str, FunctionType],
    declared: Mapping[str, Span],
    modules: Mapping[tuple[str, str], Type],
) -> Surroundings:
    bindings = scope.names
    return Surroundings(
        {name: (bindings[name].kind, bindings[name].type) for name in mentioned & bindings.keys()},
        {name: lambdas[name] for name in mentioned & lambdas.keys()},
        mentioned & declared.keys(),
        modules,
    )


def effect(
    before: Surroundings, bindings: Mapping[str, Binding], scope: Scope, known: int, declared: Mapping[str, Span]
) -> Effect | None:
    """What was done to a scope with `known` names, of which these were the `bindings`; None for more than types."""
    names = scope.names
    if len(names) != known or any(names[name] is not binding for name, binding in bindings.items()):
        return None
    types = {name: names[name].type for name, (_, type_) in before.names.items() if names[name].type is not type_}
    places = {name: declared[name] for name in before.names if name in declared}
    return Effect(before, types, places)


def repeat(what: Effect, now: Surroundings, scope: Scope, declared: dict[str, Span]) -> None:
    """Does the same in surroundings that are alike. A type that was there before the statement is that of now."""
    same = {id(type_): now.names[name][1] for name, (_, type_) in what.before.names.items()}
    for name, type_ in what.types.items():
        scope.names[name].type = same.get(id(type_), type_)
    declared.update(what.declared)


def _all_alike(some: Mapping[K, Type], others: Mapping[K, Type]) -> bool:
    return some.keys() == others.keys() and all(_alike(type_, others[name]) for name, type_ in some.items())


def _alike(one: Type, other: Type) -> bool:
    """Whether two types are equal in all parts, wherever these were written."""
    if one is other:
        return True
    if type(one) is not type(other) or one.flags != other.flags:
        return False
    match one, other:
        case (LiteralType(), LiteralType()):
            return one.value == other.value
        case (MultiplierType(), MultiplierType()):
            return one.number == other.number
        case (ListType(), ListType()):
            return _alike(one.item, other.item)
        case (DictType(), DictType()):
            return (
                _alike(one.key, other.key)
                and _alike(one.value, other.value)
                and list(one.attributes) == list(other.attributes)
                and all(_alike(entry.type, other.attributes[name].type) for name, entry in one.attributes.items())
            )
        case (UnionType(), UnionType()):
            return len(one.members) == len(other.members) and all(map(_alike, one.members, other.members))
        case (FunctionType(), FunctionType()):
            return (
                one.variadic == other.variadic
                and [(param.name, param.has_default) for param in one.params]
                == [(param.name, param.has_default) for param in other.params]
                and all(_alike(mine.type, theirs.type) for mine, theirs in zip(one.params, other.params, strict=True))
                and _alike(one.result, other.result)
            )
        case (SchemaType(), SchemaType()):
            return one.info is other.info and one.is_instance == other.is_instance
        case (ModuleType(), ModuleType()):
            return one.path == other.path and one.scope is other.scope
        case _:
            return False

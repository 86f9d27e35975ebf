"""What a program uses that is `@deprecated`: a run complains of it only where it comes by.

Which attribute an entry sets, the checker knows; it is asked again only where anything at all is deprecated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kcl.evaluator.evaluate import rules_of
from kcl.loader.program import MAIN_PACKAGE, ImportKind, Module
from kcl.records import dataclass
from kcl.semantic.types import SchemaInfo, SchemaType, Type, UnionType
from kcl.syntax import ast
from kcl.tools.checked import Analysis
from kcl.tools.recorded import Recorder, recorded


@dataclass(frozen=True, slots=True)
class Use:
    """Characters that name something deprecated, and what its author says of it."""

    start: int
    end: int
    message: str


_Schemas = Mapping[tuple[str, str], ast.Schema]
"""By package and name."""


class Deprecated:
    """Uses of what is deprecated in one program; worked out when somebody asks."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._schemas: _Schemas | None = None
        self._recorder: Recorder | None = None

    def uses(self, path: str, nodes: Sequence[ast.Node]) -> Iterator[Use]:
        """Those of one file of the main package, all of whose nodes are given."""
        program = self._analysis.program
        if program is None:
            return
        if self._schemas is None:
            self._schemas = _schemas(self._analysis)
        module = next((each for each in program.main.modules if each.source.path == path), None)
        if module is None or not self._schemas:
            return
        if self._recorder is None:
            self._recorder = recorded(program, rules_of(self._analysis.dialect))
        for node in nodes:
            yield from self._used(node, module, self._schemas, self._recorder)

    def _used(self, node: ast.Node, module: Module, schemas: _Schemas, recorder: Recorder) -> Iterator[Use]:
        match node:
            case ast.NamedType(names=names):
                yield from _of_schema(node, names, module, schemas)
            case ast.SchemaExpr(name=name):
                yield from _of_schema(name, _names(name), module, schemas)
            case ast.Call(func=ast.Name() | ast.Selector() as function):
                yield from _of_schema(function, _names(function), module, schemas)
            case ast.Schema():
                for head in (node.parent, node.host, *node.mixins):
                    if head is not None:
                        yield from _of_schema(head, _names(head), module, schemas)
            case ast.Entry(key=ast.Name(id=name) | ast.Str(value=name) as key):
                yield from _of_attribute(key.start, key.end, name, recorder.expected.get(id(node)), schemas)
            case ast.Selector() if id(node) in recorder.types:
                yield from _of_members(node, schemas, recorder)
            case _:
                pass


def _schemas(analysis: Analysis) -> _Schemas:
    """All schemas of a program by package and name; none where nothing is deprecated."""
    assert analysis.program is not None, "who asks has a program"
    found: dict[tuple[str, str], ast.Schema] = {}
    is_any = False
    for path, package in analysis.program.packages.items():
        for module in package.modules:
            is_any = is_any or "@deprecated" in module.source.text
            for statement in module.tree.body:
                if isinstance(statement, ast.Schema):
                    found["" if path == MAIN_PACKAGE else path, statement.name] = statement
    return found if is_any else {}


def _names(node: ast.Expr) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Selector(value=ast.Name(id=package), name=name):
            return package, name
        case _:
            return ()


def _of_schema(node: ast.Node, names: tuple[str, ...], module: Module, schemas: _Schemas) -> Iterator[Use]:
    if len(names) == 1:
        key = ("", names[0])
    elif len(names) == 2 and names[0] in module.imports and module.imports[names[0]].kind is ImportKind.PACKAGE:
        key = (module.imports[names[0]].package, names[1])
    else:
        return
    schema = schemas.get(key)
    decorator = None if schema is None else _decorator(schema.decorators)
    if decorator is not None:
        yield Use(node.start, node.end, _said(key[1], decorator))


def _of_attribute(start: int, end: int, name: str, owner: Type | None, schemas: _Schemas) -> Iterator[Use]:
    members = owner.members if isinstance(owner, UnionType) else (owner,)
    for each in members:
        decorator = _declared(each.info, name, schemas) if isinstance(each, SchemaType) else None
        if decorator is not None:
            yield Use(start, end, _said(name, decorator))
            return


def _of_members(node: ast.Selector, schemas: _Schemas, recorder: Recorder) -> Iterator[Use]:
    """Of `a.b.c` the checker notes what it is as a whole, so what leads to it is gone through from its beginning."""
    selectors = [node]
    while isinstance(selectors[-1].value, ast.Selector) and id(selectors[-1].value) not in recorder.types:
        selectors.append(selectors[-1].value)
    value, owner = selectors[-1].value, recorder.schemas.get(id(node))
    known = recorder.types.get(id(value))
    if known is None and isinstance(value, ast.Name):
        attribute = None if owner is None else owner.attribute(value.id)
        binding = recorder.scopes[id(node)].find(value.id)
        known = attribute.type if attribute is not None else None if binding is None else binding.type
    for each in reversed(selectors):
        if known is None:
            return
        yield from _of_attribute(each.name_start, each.end, each.name, known, schemas)
        known = recorder.quiet_member(known, each.name)


def _declared(info: SchemaInfo, name: str, schemas: _Schemas) -> ast.Decorator | None:
    """How the attribute is deprecated where a schema, or else a base or a mixin of it, declares it."""
    seen: set[int] = set()
    pending: list[SchemaInfo | None] = [info]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        schema = schemas.get((each.package, each.name))
        for statement in () if schema is None else schema.body:
            if isinstance(statement, ast.SchemaAttr) and statement.name == name:
                return _decorator(statement.decorators)
        pending += [*each.mixins, each.protocol, each.base]
    return None


def _decorator(decorators: Sequence[ast.Decorator]) -> ast.Decorator | None:
    return next((each for each in decorators if _names(each.name)[-1:] == ("deprecated",)), None)


def _said(name: str, decorator: ast.Decorator) -> str:
    """As a run says it, of a version and a reason that are literals."""
    given: dict[str, ast.Expr] = dict(zip(("version", "reason"), decorator.args, strict=False))
    given.update({each.name: each.value for each in decorator.keywords})
    version, reason = (
        each.value if isinstance(each := given.get(key), ast.Str) else "" for key in ("version", "reason")
    )
    return f"'{name}' is deprecated{f' since version {version}' if version else ''}{f': {reason}' if reason else ''}"

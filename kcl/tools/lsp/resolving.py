"""What a name in a text means, and where that is declared.

A `Declaration` is a place in a tree as it is now; the checker's own places may be those of an earlier text. Two names
mean the same if they lead to one place.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcl.loader.program import ImportKind, Module
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.semantic.scopes import ModuleType
from kcl.semantic.types import (
    ANY,
    DictType,
    FunctionType,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
)
from kcl.syntax import ast
from kcl.tools.lsp.views import View, chain_at

_WORD = pattern(r"\$?[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where a name is declared: the characters of the name."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a text and what it means. `declaration` is None for what is not declared in KCL, or unknown."""

    text: str
    start: int
    end: int
    declaration: Declaration | None
    type: Type
    node: ast.Node | None = None
    """The statement, parameter or entry that declares it."""
    module: Module | None = None
    owner: ast.Schema | ast.Rule | None = None
    """The schema that has it as an attribute or a parameter."""


def name_at(view: View, offset: int) -> Name | None:
    """The name at an offset, or right before it."""
    text = view.text
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_$"):
        start -= 1
    found = _WORD.match(text, start)
    if found is None or found.start() > offset:
        return None
    chain = chain_at(view.module.tree, min(start + 1, found.end()))
    if isinstance(chain[-1], ast.Comment | ast.Str):
        return _key_name(view, chain, found.start(), found.end())
    return _resolved(view, chain, found.group().removeprefix("$"), found.start(), found.end())


def _key_name(view: View, chain: Sequence[ast.Node], start: int, end: int) -> Name | None:
    node = chain[-1]
    entry = chain[-2] if len(chain) > 1 else None
    if isinstance(node, ast.Str) and isinstance(entry, ast.Entry) and entry.key is node and node.value.isidentifier():
        return _of_entry(view, entry, node.value, node.start, node.end)
    return None


def _resolved(view: View, chain: list[ast.Node], word: str, start: int, end: int) -> Name | None:
    node = chain[-1]
    around = chain[-2] if len(chain) > 1 else None
    match node:
        case ast.Name() if isinstance(around, ast.Entry) and around.key is node:
            return _of_entry(view, around, word, start, end)
        case ast.Name():
            return _of_name(view, chain, word, start, end)
        case ast.Selector():
            return _of_member(view, view.type_of(node.value, chain), word, start, end)
        case ast.NamedType():
            return _of_named_type(view, chain, node, word, start, end)
        case ast.Member() if isinstance(around, ast.Target):
            return _of_target_member(view, chain, around, node, start, end)
        case ast.Import():
            return _of_import(view, node, word, start, end)
        case ast.Keyword():
            return _of_keyword(view, chain, node, word, start, end)
        case ast.SchemaAttr() | ast.Schema() | ast.Rule() | ast.Param() | ast.Target() | ast.TypeAlias():
            return _of_declaring(view, chain, word, start, end)
        case _:
            return None


def _of_declaring(view: View, chain: list[ast.Node], word: str, start: int, end: int) -> Name | None:
    node = chain[-1]
    match node:
        case ast.SchemaAttr() if start == node.start and word == node.name.strip("\"'"):
            pass
        case ast.Schema() | ast.Rule() if start == node.name_start:
            pass
        case ast.Param() | ast.Target() if start == node.start:
            pass
        case ast.TypeAlias() if word == node.name:
            pass
        case _:
            return None
    return _of_name(view, chain, word, start, end)


# ------------------------------------------------------------ names in scope


def _of_name(view: View, chain: Sequence[ast.Node], word: str, start: int, end: int) -> Name:
    type_ = view.type_of(chain[-1], chain) if isinstance(chain[-1], ast.Name) else view.type_of_name(word, chain)
    local = _local(view, chain, word, start)
    if local is not None:
        at, node, module, owner = local
        return Name(word, start, end, Declaration(module.source.path, at, at + len(word)), type_, node, module, owner)
    declared = view.declarations("").get(word)
    imported = view.module.imports.get(word)
    if declared and not (imported and isinstance(type_, ModuleType)):
        module, statement, at = declared[0]
        return Name(word, start, end, _place(module, at, word), type_, statement, module)
    if imported is not None:
        return _of_module(view, imported.statement, word, start, end)
    return Name(word, start, end, None, type_)


_Local = tuple[int, ast.Node, Module, ast.Schema | ast.Rule | None]


def _local(view: View, chain: Sequence[ast.Node], word: str, at: int) -> _Local | None:
    """What is declared around a name inside of a statement."""
    for depth in range(len(chain) - 1, -1, -1):
        node = chain[depth]
        inner = chain[depth + 1] if depth + 1 < len(chain) else node
        found: ast.Node | None = None
        match node:
            case ast.Lambda():
                found = _param(node.params, word) or _assigned(node.body, word)
            case ast.ListComp() | ast.ConfigComp():
                found = next((each for clause in node.clauses for each in clause.targets if each.id == word), None)
            case ast.Quantifier() if inner is not node.iter:
                found = next((each for each in node.targets if each.id == word), None)
            case ast.Config():
                found = _sibling(view, node, inner, word)
            case ast.Schema() | ast.Rule():
                param = _param(node.params, word)
                if param is not None:
                    return param.start, param, view.module, node
                if isinstance(inner, ast.Name | ast.Selector | ast.Decorator) or at == node.name_start:
                    continue  # its head lies outside of it
                attribute = _attribute(view, _info(view, node), word)
                if attribute is not None:
                    return attribute
            case _:
                pass
        if found is not None:
            return found.start, found, view.module, None
    return None


def _param(params: Sequence[ast.Param], word: str) -> ast.Param | None:
    return next((each for each in params if each.name == word), None)


def _sibling(view: View, config: ast.Config, inner: ast.Node, word: str) -> ast.Entry | None:
    """The entry of a configuration, above the one that a name is in, that gives the name its meaning."""
    for item in config.items:
        if item is inner:
            break
        if isinstance(item, ast.Entry) and isinstance(item.key, ast.Name) and item.key.id == word:
            expected = view.recorder.expected.get(id(item))
            if not isinstance(expected, SchemaType) or expected.info.attribute(word) is None:
                return item
    return None


def _assigned(body: Sequence[ast.Stmt], word: str) -> ast.Target | None:
    for statement in body:
        match statement:
            case ast.Assign():
                for target in statement.targets:
                    if target.name == word:
                        return target
            case ast.AugAssign() | ast.Unification():
                if statement.target.name == word:
                    return statement.target
            case ast.If():
                found = _assigned(statement.body, word) or _assigned(statement.orelse, word)
                if found is not None:
                    return found
            case _:
                pass
    return None


def _info(view: View, node: ast.Schema | ast.Rule) -> SchemaInfo | None:
    binding = view.recorder.top.names.get(node.name)
    return binding.type.info if binding is not None and isinstance(binding.type, SchemaType) else None


def _attribute(view: View, info: SchemaInfo | None, word: str) -> _Local | None:
    """Where a schema, a base, a mixin or a protocol of it declares an attribute: the first of those up the line."""
    seen: set[SchemaInfo] = set()
    found: _Local | None = None
    pending = [info]
    while pending:
        each = pending.pop()
        if each is None or each in seen:
            continue
        seen.add(each)
        pending += [*each.mixins, each.protocol, each.base]
        written = view.schema(each)
        if written is None or not isinstance(written[1], ast.Schema):
            continue
        module, schema = written[0], written[1]
        for statement in schema.body:
            if isinstance(statement, ast.SchemaAttr) and statement.name == word:
                found = statement.start, statement, module, schema
                break
        else:
            target = _assigned(schema.body, word) if found is None else None
            found = (target.start, target, module, schema) if target is not None else found
    return found


# ------------------------------------------------------------ members


def _of_member(view: View, value: Type, word: str, start: int, end: int) -> Name:
    type_ = view.member(value, word) or ANY
    if isinstance(value, ModuleType) and value.scope is not None:
        declared = view.declarations(_package(view, value)).get(word)
        if declared:
            module, statement, at = declared[0]
            return Name(word, start, end, _place(module, at, word), type_, statement, module)
    elif isinstance(value, DictType) and word in value.attributes:
        span = value.attributes[word].span
        return Name(word, start, end, Declaration(span.path, span.start, span.end), type_)
    else:
        found = _schema_attribute(view, value, word)
        if found is not None:
            at, node, module, owner = found
            return Name(word, start, end, _place(module, at, word), type_, node, module, owner)
    return Name(word, start, end, None, type_)


def _package(view: View, module: ModuleType) -> str:
    return module.path if view.package(module.path) is not None else module.named


def _schema_attribute(view: View, value: Type, word: str) -> _Local | None:
    for each in value.members if isinstance(value, UnionType) else (value,):
        if isinstance(each, SchemaType):
            found = _attribute(view, each.info, word)
            if found is not None:
                return found
    return None


def _of_entry(view: View, entry: ast.Entry, word: str, start: int, end: int) -> Name:
    expected = view.recorder.expected.get(id(entry), ANY)
    found = _schema_attribute(view, expected, word)
    if found is not None:
        at, node, module, owner = found
        return Name(word, start, end, _place(module, at, word), _attribute_type(expected, word), node, module, owner)
    type_ = view.recorder.types.get(id(entry.value), ANY)
    return Name(word, start, end, Declaration(view.path, entry.key.start, entry.key.end), type_, entry, view.module)


def _attribute_type(value: Type, word: str) -> Type:
    for each in value.members if isinstance(value, UnionType) else (value,):
        attribute = each.info.attribute(word) if isinstance(each, SchemaType) else None
        if attribute is not None:
            return attribute.type
    return ANY


def _of_target_member(
    view: View, chain: list[ast.Node], target: ast.Target, node: ast.Member, start: int, end: int
) -> Name:
    type_ = view.type_of_name(target.name, chain)
    for step in target.path:
        if step is node or not isinstance(step, ast.Member):
            break
        type_ = view.member(type_, step.name) or ANY
    return _of_member(view, type_, node.name, start, end)


def _of_named_type(
    view: View, chain: list[ast.Node], node: ast.NamedType, word: str, start: int, end: int
) -> Name | None:
    before = view.text[node.start : start].count(".")
    if before == 0:
        return _of_name(view, chain, word, start, end)
    type_ = view.type_of_name(node.names[0], chain)
    for name in node.names[1:before]:
        type_ = view.member(type_, name) or ANY
    return _of_member(view, type_, word, start, end)


def _of_keyword(view: View, chain: list[ast.Node], node: ast.Keyword, word: str, start: int, end: int) -> Name | None:
    call = chain[-2]
    if start != node.start or not isinstance(call, ast.Call | ast.SchemaExpr):
        return None
    called = view.type_of(call.func if isinstance(call, ast.Call) else call.name, chain)
    if isinstance(called, SchemaType):
        written = view.schema(called.info)
        for param in written[1].params if written else ():
            if written is not None and param.name == word:
                module, owner = written
                type_ = next((each.type for each in called.info.function.params if each.name == word), ANY)
                return Name(word, start, end, _place(module, param.start, word), type_, param, module, owner)
    if isinstance(called, FunctionType):
        for each in called.params:
            if each.name == word and each.span is not None:
                return Name(word, start, end, Declaration(each.span.path, each.span.start, each.span.end), each.type)
    return None


# ------------------------------------------------------------ packages


def _of_import(view: View, node: ast.Import, word: str, start: int, end: int) -> Name:
    return _of_module(view, node, word, start, end)


def _of_module(view: View, node: ast.Import, word: str, start: int, end: int) -> Name:
    type_ = view.recorder.modules.get((view.module.source.path, node.name), ANY)
    imported = view.module.imports.get(node.name)
    package = view.package(imported.package) if imported and imported.kind is ImportKind.PACKAGE else None
    if package is None or not package.modules:
        return Name(word, start, end, None, type_, node, view.module)
    file = package.modules[0]
    for module in package.modules:  # an import may name one file of a folder
        if module.source.path.endswith(f"/{node.names[-1]}.k"):
            file = module
    return Name(word, start, end, Declaration(file.source.path, 0, 0), type_, node, file)


def _place(module: Module, at: int, word: str) -> Declaration:
    text = module.source.text
    found = _WORD.match(text, at)
    if found is None and text[at : at + 1] in ("'", '"'):
        return Declaration(module.source.path, at + 1, at + 1 + len(word))
    return Declaration(module.source.path, at, found.end() if found else at + len(word))

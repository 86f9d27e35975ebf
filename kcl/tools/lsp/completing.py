"""What can be written at a place, and what a call takes there.

A text that is being written is seldom one that parses. So a name is put where the cursor is, the unit is checked with
that, and what the checker knows of the name is what can be said in its stead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kcl.loader.program import ImportKind
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.semantic.scopes import Kind as Bound
from kcl.semantic.scopes import ModuleType, is_private
from kcl.semantic.statements import assigned_names
from kcl.semantic.types import (
    ANY,
    DictType,
    FunctionType,
    LiteralType,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
    widened,
)
from kcl.source import FileSystem
from kcl.stdlib.library import MODULES
from kcl.syntax import ast
from kcl.tools.checked import LIBRARY
from kcl.tools.lsp.hovering import shown
from kcl.tools.lsp.outline import Kind, top_level
from kcl.tools.lsp.views import View, chain_at
from kcl.tools.query.arguments import of_tree

MOST_SHOWN: Final = 1_000
"""Of what can be written at a place: 20,000 names are four million bytes, after each key."""
_CURSOR = "kcl_lsp_cursor"
_IMPORT = pattern(r"^[ \t]*import[ \t]+(?P<path>[\w.]*)$")
_OPTION = pattern(r"""\boption\(\s*(?:key\s*=\s*)?["'](?P<part>[^"'\n]*)$""")
_MEMBER = pattern(r"(?P<dot>\??\.)(?P<part>\w*)$")
_PART = pattern(r"[\w$]*$")
_BASIC = ("str", "int", "float", "bool", "any")
_KEYWORDS = ("import", "schema", "mixin", "protocol", "rule", "if", "elif", "else", "lambda", "assert", "check", "type")
_CONSTANTS = ("True", "False", "None", "Undefined")


@dataclass(frozen=True, slots=True)
class Completion:
    """`rank` orders: what belongs here before what is merely allowed. `start` is where the word begins."""

    label: str
    kind: Kind
    detail: str
    text: str
    start: int
    rank: int = 5


ViewOf = Callable[[str], View | None]
"""The view of the file with another text."""


def complete(text: str, offset: int, path: str, files: FileSystem, view_of_text: ViewOf) -> list[Completion]:
    """What can be written at an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    imported = _IMPORT.match(line)
    if imported is not None:
        return _imports(imported["path"], offset, path, files, view_of_text(text))
    if _is_inside_comment(line):
        return []
    option = _OPTION.search(line)
    if option is not None:
        view = view_of_text(text)
        return [] if view is None else list(_options(view, offset, offset - len(option["part"])))
    member = _MEMBER.search(line)
    if member is not None:
        return _members(text, offset, member["dot"], member["part"], view_of_text)
    found = _PART.search(line)
    part = found.group() if found is not None else ""
    start = offset - len(part)
    rest = text[offset:].lstrip("$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
    is_first = not line[: len(line) - len(part)].strip() or line[: len(line) - len(part)].rstrip()[-1] in "{,"
    for stand_in in ([f"{_CURSOR} = None"] if is_first else []) + [_CURSOR]:
        view = view_of_text(text[:start] + stand_in + rest)
        answer = None if view is None else _at_cursor(view, start)
        if answer is not None:
            return sorted(answer, key=lambda each: (each.rank, each.label))
    return []


def declared_names(text: str, offset: int) -> list[Completion]:
    """The names that a file declares, found without a look at what it means: for files that take seconds to check."""
    found = _PART.search(text[text.rfind("\n", 0, offset) + 1 : offset])
    part = found.group() if found is not None else ""
    names = {name: kind for name, kind, _ in top_level(text, part)}
    return [Completion(name, kind, "", name, offset - len(part), 5) for name, kind in names.items()]


def most_likely(found: Sequence[Completion], typed: str) -> Sequence[Completion]:
    """All of a few; of many those that hold the letters typed in their order, the likely first, and not all of them."""
    if len(found) <= MOST_SHOWN:
        return found
    fitting = [each for each in found if _holds(each.label.lower(), typed.lower())]
    fitting.sort(key=lambda each: not each.label.startswith(typed))
    return fitting[:MOST_SHOWN]


def _holds(label: str, typed: str) -> bool:
    letters = iter(label)
    return all(letter in letters for letter in typed)


def _is_inside_comment(line: str) -> bool:
    before = line.partition("#")[0]
    return "#" in line and before.count('"') % 2 == 0 and before.count("'") % 2 == 0


def _at_cursor(view: View, start: int) -> list[Completion] | None:
    """What can stand in for the cursor's name; None where it is no name that the tree has."""
    chain = chain_at(view.module.tree, start + 1)
    node = chain[-1]
    around = chain[-2] if len(chain) > 1 else node
    match node:
        case ast.Name(id=name) if name == _CURSOR:
            if isinstance(around, ast.Entry) and around.key is node:
                return _keys(view, chain, around, start)
            return [*_expected(view, chain, start), *_in_scope(view, chain, start)]
        case ast.NamedType() if node.names == (_CURSOR,):
            return list(_types(view, start))
        case ast.Target(name=name) if name == _CURSOR:
            return _statements(view, chain, start)
        case ast.SchemaAttr(name=name) if name == _CURSOR:
            return _statements(view, chain, start)
        case _:
            return None


# ------------------------------------------------------------ attributes


def _keys(view: View, chain: Sequence[ast.Node], entry: ast.Entry, start: int) -> list[Completion] | None:
    config = chain[-3] if len(chain) > 2 else None
    expected = view.recorder.expected.get(id(entry))
    written = {_key(item) for item in config.items} if isinstance(config, ast.Config) else set()
    attributes = list(_attributes_of(view, expected, written, start))
    if attributes:
        return attributes
    return list(_in_scope(view, chain, start)) if config is None else []


def _key(item: ast.ConfigItem) -> str:
    if isinstance(item, ast.Entry):
        match item.key:
            case ast.Name(id=name) | ast.Str(value=name):
                return name
            case _:
                pass
    return ""


def _attributes_of(view: View, expected: Type | None, written: set[str], start: int) -> Iterator[Completion]:
    """The attributes of the schemas expected: those that must be set first, those that are set already last."""
    seen: set[str] = set()
    for each in expected.members if isinstance(expected, UnionType) else (expected,):
        if not isinstance(each, SchemaType):
            continue
        given = given_attributes(view, each.info)
        for name, type_, is_optional in all_attributes(each.info):
            if name in seen or is_private(name):
                continue
            seen.add(name)
            rank = 8 if name in written else 1 if is_optional or name in given else 0
            is_config = isinstance(type_, SchemaType)
            text = f"{name}: {type_} {{}}" if is_config else f"{name} = "
            yield Completion(name, Kind.ATTRIBUTE, shown(type_), text, start, rank)


def given_attributes(view: View, info: SchemaInfo) -> set[str]:
    """The attributes that a schema, its bases and mixins give a value to."""
    found: set[str] = set()
    seen: set[SchemaInfo] = set()
    pending: list[SchemaInfo | None] = [info]
    while pending:
        each = pending.pop()
        if each is None or each in seen:
            continue
        seen.add(each)
        pending += [each.base, *each.mixins]
        written = view.schema(each)
        for statement in written[1].body if written and isinstance(written[1], ast.Schema) else ():
            if isinstance(statement, ast.SchemaAttr):
                if statement.value is not None or isinstance(statement.type, ast.LiteralType):
                    found.add(statement.name)
            else:
                found.update(name for name, _ in assigned_names([statement]))
    return found


def all_attributes(info: SchemaInfo) -> Iterator[tuple[str, Type, bool]]:
    """The attributes of a schema and its bases, each with its type and whether it may be left out."""
    seen: set[SchemaInfo] = set()
    each: SchemaInfo | None = info
    while each is not None and each not in seen:
        seen.add(each)
        for name, attribute in each.attributes.items():
            yield name, attribute.type, attribute.optional
        if each.protocol is not None:
            for name, attribute in each.protocol.attributes.items():
                yield name, attribute.type, True
        each = each.base


def _statements(view: View, chain: Sequence[ast.Node], start: int) -> list[Completion]:
    schema = next((each for each in reversed(chain) if isinstance(each, ast.Schema)), None)
    found = [Completion(word, Kind.KEYWORD, "", word, start, 7) for word in _KEYWORDS]
    if schema is not None:
        binding = view.recorder.top.names.get(schema.name)
        base = binding.type.info.base if binding is not None and isinstance(binding.type, SchemaType) else None
        if base is not None:
            found += [
                Completion(name, Kind.ATTRIBUTE, shown(type_), name, start, 1)
                for name, type_, _ in all_attributes(base)
                if not is_private(name)
            ]
    return [*found, *_in_scope(view, chain, start)]


# ------------------------------------------------------------ names


def _expected(view: View, chain: Sequence[ast.Node], start: int) -> Iterator[Completion]:
    """Values of the type that is expected, as far as the type tells them."""
    entry = chain[-2] if len(chain) > 1 else None
    if isinstance(entry, ast.Entry) and isinstance(entry.key, ast.Name):
        config = view.recorder.expected.get(id(entry))
        info = config.info if isinstance(config, SchemaType) else None
        attribute = None if info is None else info.attribute(entry.key.id)
        type_ = ANY if attribute is None else attribute.type
        for each in type_.members if isinstance(type_, UnionType) else (type_,):
            if isinstance(each, LiteralType):
                value = f'"{each.value}"' if isinstance(each.value, str) else str(each.value)
                yield Completion(value, Kind.VALUE, shown(type_), value, start, 0)
            elif isinstance(each, SchemaType):
                yield Completion(f"{each} {{}}", Kind.SCHEMA, shown(each), f"{each} {{}}", start, 1)


def _in_scope(view: View, chain: Sequence[ast.Node], start: int) -> Iterator[Completion]:
    scope = view.scope(chain)
    for name in scope.visible():
        binding = scope.find(name)
        if binding is None or name == _CURSOR or not name.isidentifier():
            continue
        type_ = binding.type
        is_builtin = name in view.recorder.builtins.names and binding.span is None
        yield Completion(name, _kind(type_, binding.kind), shown(type_), name, start, 5 if is_builtin else 3)
    for name, imported in view.module.imports.items():
        if scope.find(name) is None:
            yield Completion(name, Kind.MODULE, imported.package, name, start, 3)
    yield from (Completion(name, Kind.VALUE, "", name, start, 6) for name in _CONSTANTS)


def _kind(type_: Type, bound: Bound) -> Kind:
    if isinstance(type_, ModuleType):
        return Kind.MODULE
    if isinstance(type_, FunctionType):
        return Kind.FUNCTION
    if isinstance(type_, SchemaType) and not type_.is_instance:
        return Kind.SCHEMA
    return Kind.TYPE if bound is Bound.ALIAS else Kind.VARIABLE


def _types(view: View, start: int) -> Iterator[Completion]:
    yield from (Completion(name, Kind.TYPE, "", name, start, 2) for name in _BASIC)
    for each in _in_scope(view, (), start):
        if each.kind in (Kind.SCHEMA, Kind.TYPE, Kind.MODULE):
            yield each


# ------------------------------------------------------------ options


def _options(view: View, offset: int, start: int) -> Iterator[Completion]:
    """The options that the program asks for elsewhere, with what is said of them."""
    found: dict[str, str] = {}
    for package in view.program.packages.values():
        for module in package.modules:
            for each in of_tree(module.source, module.tree) if "option(" in module.source.text else ():
                is_here = module is view.module and each.line == module.source.position(offset).line
                if each.name and not is_here:
                    said = ", ".join(filter(None, (each.type, "required" if each.is_required else "", each.help)))
                    found[each.name] = found.get(each.name) or said
    for name in sorted(found):
        yield Completion(name, Kind.VALUE, found[name] or "option", name, start, 1)


# ------------------------------------------------------------ members


def _members(text: str, offset: int, dot: str, part: str, view_of_text: ViewOf) -> list[Completion]:
    """The members of what stands before a dot. The dot is left out of the text, which then parses."""
    at = offset - len(part) - len(dot)
    view = view_of_text(text[:at] + text[offset:])
    if view is None or at == 0:
        return []
    chain = chain_at(view.module.tree, at - 1)
    node = next((each for each in chain[::-1] if each.end == at and not isinstance(each, ast.Target)), chain[-1])
    for each in reversed(chain):
        if each.end == at and isinstance(
            each, ast.Name | ast.Selector | ast.Call | ast.Subscript | ast.Paren | ast.Str
        ):
            node = each
    if isinstance(node, ast.NamedType):
        type_ = view.type_of_name(node.names[0], chain)
        for name in node.names[1:]:
            type_ = view.member(type_, name) or ANY
    elif isinstance(chain[-1], ast.Target):
        type_ = view.type_of_name(chain[-1].name, chain)
    else:
        type_ = view.type_of(node, chain)
    found = _members_of(view, type_, offset - len(part), isinstance(node, ast.NamedType))
    return sorted(found, key=lambda each: (each.rank, each.label))


def _members_of(view: View, type_: Type, start: int, is_type: bool) -> Iterator[Completion]:
    if isinstance(type_, ModuleType) and type_.scope is not None:
        for name, binding in type_.scope.names.items():
            kind = _kind(binding.type, binding.kind)
            if kind is Kind.MODULE or is_private(name) or (is_type and kind not in (Kind.SCHEMA, Kind.TYPE)):
                continue
            yield Completion(name, kind, shown(binding.type), name, start)
    elif isinstance(type_, ModuleType):
        module = LIBRARY.types.modules.get(type_.path)
        for name in () if module is None else module.names():
            signature = module.signature_of(name) if module is not None else None
            yield Completion(name, Kind.FUNCTION if signature else Kind.VALUE, signature or "", name, start)
    elif isinstance(type_, DictType):
        for name, entry in type_.attributes.items():
            if name.isidentifier():
                yield Completion(name, Kind.ATTRIBUTE, shown(widened(entry.type)), name, start)
    elif isinstance(type_, SchemaType):
        for name, each, _ in all_attributes(type_.info) if type_.is_instance else ():
            yield Completion(name, Kind.ATTRIBUTE, shown(each), name, start)
    elif str(type_).startswith("str"):
        for name, signature in LIBRARY.types.string_methods.items():
            yield Completion(name, Kind.FUNCTION, signature, name, start)


# ------------------------------------------------------------ packages


def _imports(written: str, offset: int, path: str, files: FileSystem, view: View | None) -> list[Completion]:
    """Packages below the root, dependencies and system modules that a path may go on with."""
    before, dot, part = written.rpartition(".")
    start = offset - len(part)
    found: dict[str, Completion] = {}
    root = view.program.root if view is not None else os.path.dirname(path)
    folder = os.path.join(root, *before.split(".")) if before else root
    for name in files.list_dir(folder):
        stem, is_file = (name[:-2], True) if name.endswith(".k") else (name, False)
        if not stem.isidentifier() or (is_file and stem.endswith("_test")):
            continue
        if is_file or (files.is_dir(os.path.join(folder, name)) and _has_code(os.path.join(folder, name), files)):
            found[stem] = Completion(stem, Kind.MODULE, "file" if is_file else "package", stem, start, 2)
    if not dot:
        found |= {name: Completion(name, Kind.MODULE, "system module", name, start, 3) for name in MODULES}
        if view is not None:
            for each in view.module.imports.values():
                name = each.package.partition(".")[0]
                if each.kind is ImportKind.PACKAGE and name and name not in found:
                    found[name] = Completion(name, Kind.MODULE, "package", name, start, 2)
    return sorted(found.values(), key=lambda each: (each.rank, each.label))


def _has_code(folder: str, files: FileSystem, depth: int = 4) -> bool:
    names = files.list_dir(folder)
    if any(name.endswith(".k") for name in names):
        return True
    below = [os.path.join(folder, name) for name in names[:200] if name.isidentifier()]
    return depth > 0 and any(files.is_dir(each) and _has_code(each, files, depth - 1) for each in below)


# ------------------------------------------------------------ calls


@dataclass(frozen=True, slots=True)
class Signature:
    """A call around the cursor: how it is written, its parameters, and which of them comes next."""

    label: str
    params: tuple[str, ...]
    active: int


def signature(text: str, offset: int, view_of_text: ViewOf) -> Signature | None:
    """The call that an offset lies in; None where it lies in none."""
    opened = _open_call(text, offset)
    if opened is None:
        return None
    at, active = opened
    rest = text[offset:].partition("\n")
    tail = "" if rest[0].strip() in ("", ")") else rest[0]
    view = view_of_text(text[:at] + tail[tail.find(")") + 1 :] + rest[1] + rest[2])
    if view is None:
        return None
    chain = chain_at(view.module.tree, at)
    node = next((each for each in reversed(chain) if each.end == at and not isinstance(each, ast.Module)), chain[-1])
    for each in chain:
        if each.end == at and isinstance(each, ast.Name | ast.Selector):
            node = each
            break
    type_ = view.type_of(node, chain)
    name = text[node.start : at].rpartition(".")[2]
    if isinstance(type_, SchemaType):
        type_ = type_.info.function
    if not isinstance(type_, FunctionType):
        return None
    params = tuple(
        f"{each.name}: {each.type}" + (" = ..." if each.has_default else "") for each in type_.params if each.name
    )
    return Signature(f"{name}({', '.join(params)}) -> {type_.result}", params, min(active, max(len(params) - 1, 0)))


def _open_call(text: str, offset: int) -> tuple[int, int] | None:
    """Where the bracket of the innermost call is, and how many commas follow it."""
    depth = commas = 0
    for at in range(offset - 1, max(-1, offset - 4000), -1):
        character = text[at]
        if character in ")]}":
            depth += 1
        elif character in "([{":
            if depth == 0:
                is_call = character == "(" and at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
                return (at, commas) if is_call else None
            depth -= 1
        elif character == "," and depth == 0:
            commas += 1
    return None

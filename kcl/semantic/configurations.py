"""Configurations and lists: their types, and their entries against the types expected of them.

While a value is walked of which a type is expected, `contexts` holds that type; each key then looks up the type
expected of its own value. None on the stack stands for a value nothing is known about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kcl.diagnostics import Code, Span
from kcl.semantic.calls import Calls
from kcl.semantic.scopes import Binding
from kcl.semantic.signatures import LibraryTypes
from kcl.semantic.state import Context, Rules
from kcl.semantic.types import (
    ANY,
    BOOL,
    CONFIG,
    INT,
    LIST_FLAG,
    NONE_FLAG,
    STR,
    STR_FLAG,
    VOID,
    DictType,
    Entry,
    ListType,
    LiteralType,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
    all_of,
    common,
    is_key,
    widened,
)
from kcl.syntax import ast

_LONG_LIST = 10
"""A longer list of instances of one schema is a list of anything, which keeps such lists cheap."""


def config_key(type_: Type) -> Type:
    return type_.key if isinstance(type_, DictType) else STR


def config_value(type_: Type) -> Type:
    if isinstance(type_, SchemaType):
        return type_.info.value_type
    assert isinstance(type_, DictType)
    return type_.value


class Configurations(Calls):
    def __init__(self, library: LibraryTypes, rules: Rules) -> None:
        super().__init__(library, rules)
        self._spreading: set[tuple[SchemaInfo, SchemaInfo]] = set()
        self._items: Sequence[ast.ConfigItem] = ()
        self._item: ast.ConfigItem | None = None
        """The entries of the configuration the walk is in, and the one whose value it is in."""

    # ------------------------------------------------------------ the type expected of the value of a key

    def _context_of(self, key: str) -> Context | None:
        context = self.context
        if context is None or not key:
            return None
        type_, place = context
        if isinstance(type_, SchemaType):
            attribute = type_.info.attribute(key)
            if attribute is not None:
                return attribute.type, attribute.span
            signature = type_.info.signature
            return None if signature is None else (signature.value, place)
        if isinstance(type_, ListType):
            return type_.item, place
        if isinstance(type_, DictType):
            return type_.value, place
        if isinstance(type_, UnionType):
            return common(_of_members(type_, key)), place
        return None

    def _push_key(self, item: ast.Entry) -> int:
        """Puts the type expected of the entry's value on the stack; returns how many types were put there."""
        if item.index is not None:
            if not (isinstance(item.key, ast.Name) and isinstance(item.index, (ast.Int, ast.Float))):
                return 0
            name = item.key.id
        else:
            match item.key:
                case ast.Name(id=name) | ast.Str(value=name):
                    pass
                case ast.JoinedStr():
                    name = ""
                case _:
                    return 0
        self.contexts.append(self._context_of(name))
        return 1

    # ------------------------------------------------------------ lists

    def list_literal(self, node: ast.List) -> Type:
        self.contexts.append(self._context_of("[]"))
        items = node.items
        if len(items) > _LONG_LIST and self._is_of_one_schema(items):
            types = self._instances(items)
        else:
            types = [self.expression(item) for item in items]
        self.contexts.pop()
        return ListType(common(types))

    def _is_of_one_schema(self, items: Sequence[ast.ListItem]) -> bool:
        first: SchemaType | None = None
        for item in items:
            if not isinstance(item, ast.SchemaExpr):
                return False
            type_ = self.instantiated(item)
            if not isinstance(type_, SchemaType) or (first is not None and type_.info is not first.info):
                return False
            first = type_
        return first is not None

    def _instances(self, items: Sequence[ast.ListItem]) -> list[Type]:
        for item in items:
            assert isinstance(item, ast.SchemaExpr)
            type_ = self.instantiated(item)
            self.expression_within(item.config, (type_, None))
        return [ANY]

    def instantiated(self, node: ast.SchemaExpr) -> Type:
        """The type of what stands before the braces."""
        raise NotImplementedError

    def list_if(self, node: ast.ListIf) -> Type:
        self.expression(node.cond)
        otherwise: Type = ANY
        if node.orelse:
            [alone] = node.orelse if len(node.orelse) == 1 else [None]
            if isinstance(alone, ast.ListIf):
                otherwise = self.list_if(alone)
            else:
                self.contexts.append(self._context_of("[]"))
                otherwise = common([self.expression(item) for item in node.orelse])
                self.contexts.pop()
        body = common([self.expression(item) for item in node.body])
        return common([otherwise, body])

    def starred(self, node: ast.Starred) -> Type:
        found = self.expression(node.value)
        item, allowed = _unpacked_item(found)
        if not allowed:
            message = f"only list, dict, schema object can be used * unpacked, got {item}"
            self.compile_error(message, self.span(node.value))
        return item

    # ------------------------------------------------------------ comprehensions

    @contextmanager
    def loops(self, clauses: Sequence[ast.CompClause]) -> Iterator[None]:
        self.enter()
        for clause in clauses:
            iterated = self.expression(clause.iter)
            self._loop_targets(clause.targets)
            if iterated is not ANY:
                self._loop_types(clause.targets, iterated, self.span(clause.iter))
            for cond in clause.conds:
                self.expression(cond)
        yield
        self.leave()

    def _loop_targets(self, targets: Sequence[ast.Name]) -> None:
        for target in targets[:2]:
            self.loop_names.add(target.id)
            self.bind(target.id, ANY, self.span(target))
        if len(targets) > 2:
            message = f"the number of loop variables is {len(targets)}, which can only be 1 or 2"
            self.compile_error(message, Span(self.path, targets[1].end, targets[2].end))

    def _loop_types(self, targets: Sequence[ast.Name], iterated: Type, place: Span) -> None:
        first: Type = VOID
        second: Type = VOID
        for type_ in iterated.members if isinstance(iterated, UnionType) else (iterated,):
            if isinstance(type_, ListType) or type_.flags & STR_FLAG:
                item = type_.item if isinstance(type_, ListType) else STR
                if len(targets) > 1:
                    first, second = common([INT, first]), common([item, second])
                else:
                    first = common([item, first])
            elif type_.flags & CONFIG:
                first, second = common([config_key(type_), first]), common([config_value(type_), second])
            else:
                if type_ is not ANY:
                    self.compile_error(f"'{type_}' object is not iterable", place)
                continue
            names = self.scope.names
            names[targets[0].id].type = widened(first)
            if len(targets) > 1:
                names[targets[1].id].type = widened(second)

    def quantifier(self, node: ast.Quantifier) -> Type:
        iterated = self.expression(node.iter)
        self.enter()
        self._loop_targets(node.targets)
        self._loop_types(node.targets, iterated, self.span(node.iter))
        if node.cond is not None:
            self.aside(node.cond)
        item = self.expression(node.body)
        self.leave()
        match node.op:
            case ast.QuantifierOp.FILTER:
                return iterated
            case ast.QuantifierOp.MAP:
                return ListType(item)
            case _:
                return BOOL

    def aside(self, node: ast.Expr) -> Type:
        """The type of an expression whose unknown names are reported where the walk was last, as officially."""
        raise NotImplementedError

    def list_comprehension(self, node: ast.ListComp) -> Type:
        self.contexts.append(self._context_of("[]"))
        with self.loops(node.clauses):
            if isinstance(node.element, ast.Starred):
                message = "list unpacking cannot be used in list comprehension"
                self.compile_error(message, self.span(node.element))
            item = self.expression(node.element)
        self.contexts.pop()
        return ListType(item)

    def config_comprehension(self, node: ast.ConfigComp) -> Type:
        entry = node.entry
        if isinstance(entry, ast.Unpack):
            message = "dict unpacking cannot be used in dict comprehension"
            self.compile_error(message, self.span(entry.value))
            with self.loops(node.clauses):
                value = self.expression(entry.value)
            return DictType(config_key(value), value)
        with self.loops(node.clauses):
            key_node, value_node = _computed_key(entry)
            key = self.expression(key_node)
            self._must_be_key(key, key_node)
            pushed = self._push_key(entry) if value_node is entry.value else 0
            value = self.expression(value_node)
            self._pop(pushed)
        return DictType(key, value)

    # ------------------------------------------------------------ configurations

    def config(self, node: ast.Config) -> Type:
        return self._entries(node.items)

    def config_if(self, node: ast.ConfigIf) -> Type:
        self.expression(node.cond)
        body = self._entries(node.body)
        if not node.orelse:
            return body
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.ConfigIf):
            return common([body, self.config_if(node.orelse[0])])
        return common([body, self._entries(node.orelse)])

    def _entries(self, items: Sequence[ast.ConfigItem]) -> DictType:
        self.enter()
        keys: list[Type] = []
        values: list[Type] = []
        known: dict[str, Entry] = {}
        is_typed = self.context is not None
        around = self._items, self._item
        self._items = items
        for item in items:
            self.before_item(item)
            self._item = item
            if isinstance(item, ast.Entry):
                key = item.key
                if is_typed or item.index is not None or type(key) is not ast.Name:
                    self._entry(item, keys, values, known)
                else:
                    self._named_entry(item, key, keys, values, known)
            else:
                self._unpacked(item, keys, values, known)
        self._items, self._item = around
        self.leave()
        return DictType.of_entries(keys, values, known)

    def must_have_attributes(self, schema: SchemaInfo, config: ast.Config) -> None:
        """Reports the attributes that an instance needs and is written without.

        Entries of the same key beside it are merged with it. Where more may be given than is written out, by what
        the configuration is made of, by the body of a schema or by an index signature, the run tells.
        """
        if not schema.required or self.schema is not None or self.rules.missing_attributes:
            return
        if self._is_admitted_by_signature() or not all(map(_key_of, config.items)):
            return
        given = _keys(config)
        missing = [name for name in schema.required if name not in given]
        if not missing:
            return
        beside = self._given_beside()
        for name in missing:
            if name not in beside:
                message = f"attribute '{name}' of {schema.name} is required and can't be None or Undefined"
                self.compile_error(message, self.span(config))

    def _is_admitted_by_signature(self) -> bool:
        """Whether the walk is in the value of an entry for a schema with an index signature."""
        around = self.contexts[-2] if len(self.contexts) > 1 else None
        return around is not None and isinstance(around[0], SchemaType) and around[0].info.signature is not None

    def _given_beside(self) -> set[str]:
        """The keys of the other values that the entry around is merged with."""
        key = _key_of(self._item)
        if not key:
            return set()
        return {name for item in self._items if _key_of(item) == key for name in _keys_of_value(item)}

    def before_item(self, item: ast.ConfigItem) -> None:
        """Called with each entry, which may be of another file."""

    def _named_entry(
        self, item: ast.Entry, key: ast.Name, keys: list[Type], values: list[Type], known: dict[str, Entry]
    ) -> None:
        """As `_entry`, for a name of whose value no type is expected: nearly all entries of data are such."""
        name, place = key.id, Span(self.path, key.start, key.end)
        value = self.expression(item.value)
        if name in self.loop_names:
            keys.append(self.expression_within(key, None))
            self._must_be_key(keys[-1], key)
        else:
            keys.append(LiteralType(name))
        type_ = common([known[name].type, value]) if name in known else value
        known[name] = Entry(widened(type_), place)
        self.scope.names[name] = Binding(type_, place)
        values.append(value)
        self._must_be_list(item, value)

    def _entry(self, item: ast.Entry, keys: list[Type], values: list[Type], known: dict[str, Entry]) -> None:
        value = self._checked_value(item)
        pushed = self._push_key(item)
        key_node = item.key
        if item.index is not None and isinstance(key_node, ast.Name) and _is_constant(item.index, ast.Int):
            if value is None:
                value = self.expression(item.value)
            keys.append(STR)
            values.append(value if item.op is ast.ConfigOp.INSERT else ListType(value))
        else:
            if isinstance(key_node, ast.Name) and item.index is None:
                if value is None:
                    value = self.expression(item.value)
                name: str | None = key_node.id
                if key_node.id in self.loop_names:
                    key = self.expression_within(key_node, None)
                    self._must_be_key(key, key_node)
                else:
                    key = LiteralType(key_node.id)
            else:
                name = key_node.value if isinstance(key_node, ast.Str) and item.index is None else None
                key = self._key(item)
                if value is None:
                    value = self.expression(item.value)
                self._must_be_key(key, key_node)
            if name is not None:
                place = self.span(key_node)
                type_ = common([known[name].type, value]) if name in known else value
                known[name] = Entry(widened(type_), place)
                self.scope.names[name] = Binding(type_, place)
            keys.append(key)
            values.append(value)
        self._must_be_list(item, value)
        self._pop(pushed)

    def _must_be_list(self, item: ast.Entry, value: Type) -> None:
        if item.op is ast.ConfigOp.INSERT and value is not ANY and not value.flags & LIST_FLAG:
            message = f"only list type can in inserted, got '{value}'"
            self.report(Code.ILLEGAL_ATTRIBUTE, message, self.span(item.value))

    def _key(self, item: ast.Entry) -> Type:
        key = self.expression_within(item.key, None)
        if item.index is None:
            return key
        return self.item(key, item.index, self.span(item.key))

    def _must_be_key(self, type_: Type, node: ast.Node) -> None:
        if type_ is not ANY and not is_key(type_):
            message = f"A attribute must be string type, got '{type_}'"
            self.report(Code.ILLEGAL_ATTRIBUTE, message, self.span(node))

    def _checked_value(self, item: ast.Entry) -> Type | None:
        """The type of the value once it is checked against the type expected of it; None where there is none."""
        if self.context is None:
            return None
        match item.key:
            case ast.Name(id=name) if item.index is None or _is_constant(item.index):
                pass
            case ast.Str(value=name) if item.index is None:
                pass
            case _:
                return None
        place = self.span(item.key)
        if name:
            self.check_key(name, self.context[0], place, None)
        context = self._context_of(name)
        value = self.expression_within(item.value, context)
        if context is not None:
            self.must_fit(value, context[0], place, context[1])
        return value

    def _unpacked(
        self, item: ast.Unpack | ast.ConfigIf, keys: list[Type], values: list[Type], known: dict[str, Entry]
    ) -> None:
        if isinstance(item, ast.Unpack):
            value, place = self.expression(item.value), self.span(item.value)
        else:
            value, place = self.config_if(item), self.span(item)
        self._check_spread(value, place)
        if value is ANY or value.flags & NONE_FLAG:
            values.append(value)
        elif isinstance(value, DictType):
            keys.append(value.key)
            values.append(value.value)
            known.update(value.attributes)
        elif isinstance(value, SchemaType):
            keys.append(STR)
            values.append(value.info.value_type)
            for name, attribute in value.info.attributes.items():
                if attribute.span is not None:
                    known[name] = Entry(attribute.type, attribute.span)
        elif isinstance(value, UnionType) and all_of(value, CONFIG):
            keys.append(common([config_key(member) for member in value.members]))
            values.append(common([config_value(member) for member in value.members]))
        else:
            self.compile_error(f"only dict and schema can be used ** unpack, got '{value}'", place)

    def _check_spread(self, value: Type, place: Span) -> None:
        """Checks what is known of a configuration that is written elsewhere against the type expected here."""
        if self.context is None:
            return
        expected = self.context[0]
        if isinstance(value, SchemaType) and isinstance(expected, SchemaType):
            # Schemas refer to each other in circles: each pair is compared once.
            pair = (value.info, expected.info)
            if value.info.extends(expected.info) or pair in self._spreading:
                return
            self._spreading.add(pair)
            self._check_members(value, place)
            self._spreading.discard(pair)
        else:
            self._check_members(value, place)

    def _check_members(self, value: Type, place: Span) -> None:
        pairs: Iterator[tuple[str, Type, Span | None]]
        if isinstance(value, DictType):
            pairs = ((name, entry.type, entry.span) for name, entry in value.attributes.items())
        elif isinstance(value, SchemaType):
            pairs = ((name, each.type, each.span) for name, each in value.info.attributes.items())
        else:
            return
        for name, type_, defined in pairs:
            if not name:
                continue
            assert self.context is not None
            self.check_key(name, self.context[0], place, defined)
            context = self._context_of(name)
            if context is not None:
                self.must_fit(type_, context[0], place, context[1], defined)
                self.contexts.append(context)
                self._check_spread(type_, place)
                self.contexts.pop()

    def _pop(self, count: int) -> None:
        for _ in range(count):
            self.contexts.pop()


def _computed_key(entry: ast.Entry) -> tuple[ast.Expr, ast.Expr]:
    """The key and value of the entry of a comprehension, where `x.name: v` has the value of `x.name` as its key."""
    key, value = entry.key, entry.value
    while isinstance(value, ast.Config) and not value.written:
        [inner] = value.items
        assert isinstance(inner, ast.Entry)
        name = inner.key
        assert isinstance(name, ast.Name)
        key = ast.Selector(key.start, name.end, key, name.id, False, name.start)
        value = inner.value
    return key, value


def _key_of(item: ast.ConfigItem | None) -> str:
    """The key of an entry for a whole value as far as it is written out; "" where it is not."""
    match item:
        case ast.Entry(index=None, key=ast.Name(id=name)) | ast.Entry(index=None, key=ast.Str(value=name)):
            return name
        case _:
            return ""


def _keys(config: ast.Config) -> set[str]:
    return {key for item in config.items if (key := _key_of(item))}


def _keys_of_value(item: ast.ConfigItem) -> set[str]:
    match item:
        case ast.Entry(value=ast.Config() as config) | ast.Entry(value=ast.SchemaExpr(config=ast.Config() as config)):
            return _keys(config)
        case _:
            return set()


def _is_constant(index: ast.Expr, *kinds: type[ast.Expr]) -> bool:
    """Whether an index is a number, of one of the kinds if some are given."""
    if isinstance(index, ast.Unary):
        index = index.operand
    return isinstance(index, kinds or (ast.Int, ast.Float))


def _of_members(union: UnionType, key: str) -> list[Type]:
    found: list[Type] = []
    for member in union.members:
        if isinstance(member, SchemaType):
            attribute = member.info.attribute(key)
            if attribute is not None:
                found.append(attribute.type)
            elif member.info.signature is not None:
                found.append(member.info.signature.value)
        elif isinstance(member, DictType):
            found.append(member.value)
    return found


def _unpacked_item(type_: Type) -> tuple[Type, bool]:
    """What `*` makes of a value, and whether it may be used on it."""
    if type_ is ANY or type_.flags & NONE_FLAG:
        return type_, True
    if isinstance(type_, ListType):
        return type_.item, True
    if type_.flags & CONFIG:
        return config_key(type_), True
    if isinstance(type_, UnionType):
        items = [_unpacked_item(member) for member in type_.members]
        return common([item for item, _ in items]), all(allowed for _, allowed in items)
    return ANY, False

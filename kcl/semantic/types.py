"""Types as the checker infers them, and the two questions it asks: may one stand for another, what is common to many.

Basic types are single objects, so identity answers most comparisons. `str(type)` is how messages spell a type;
a literal's type carries its value (`int(1)`), a variable never has such a type (`widened`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kcl.diagnostics import Span
from kcl.records import dataclass, field
from kcl.syntax import ast
from kcl.unread import Unread

NONE_FLAG: Final = 1
ANY_FLAG: Final = 2
INT_FLAG: Final = 4
FLOAT_FLAG: Final = 8
BOOL_FLAG: Final = 16
STR_FLAG: Final = 32
LITERAL_FLAG: Final = 64
LIST_FLAG: Final = 128
DICT_FLAG: Final = 256
SCHEMA_FLAG: Final = 512
UNION_FLAG: Final = 1024
MULTIPLIER_FLAG: Final = 2048
FUNCTION_FLAG: Final = 4096
MODULE_FLAG: Final = 8192
VOID_FLAG: Final = 16384

NUMBER: Final = INT_FLAG | FLOAT_FLAG
CONFIG: Final = DICT_FLAG | SCHEMA_FLAG
ITERABLE: Final = STR_FLAG | LIST_FLAG | DICT_FLAG | SCHEMA_FLAG
_SCALAR: Final = INT_FLAG | FLOAT_FLAG | BOOL_FLAG | STR_FLAG
_OPEN: Final = ANY_FLAG | NONE_FLAG | UNION_FLAG
_WITH_PARTS: Final = LIST_FLAG | SCHEMA_FLAG | MULTIPLIER_FLAG | FUNCTION_FLAG
_LITERALS: Final = frozenset(LITERAL_FLAG | flag for flag in (INT_FLAG, BOOL_FLAG, STR_FLAG))
_MOST_ALTERNATIVES: Final = 64
"""So many types other than literals are told apart in one union; more are `any`, since each is compared with each."""


class Type:
    """A type without parts. `flags` say of what kind it is; a literal has the flag of its kind as well."""

    __slots__ = ("_text", "flags")

    def __init__(self, flags: int, text: str) -> None:
        self.flags = flags
        self._text = text

    def __str__(self) -> str:
        return self._text

    @property
    def full(self) -> str:
        """As messages spell it where schemas are told with their package."""
        return str(self)


ANY: Final = Type(ANY_FLAG, "any")
NONE: Final = Type(NONE_FLAG, "NoneType")
VOID: Final = Type(VOID_FLAG, "void")
INT: Final = Type(INT_FLAG, "int")
FLOAT: Final = Type(FLOAT_FLAG, "float")
BOOL: Final = Type(BOOL_FLAG, "bool")
STR: Final = Type(STR_FLAG, "str")
_BY_FLAG: Final = {INT_FLAG: INT, FLOAT_FLAG: FLOAT, BOOL_FLAG: BOOL, STR_FLAG: STR}
_LITERAL_FLAGS: Final = {
    int: INT_FLAG | LITERAL_FLAG,
    float: FLOAT_FLAG | LITERAL_FLAG,
    bool: BOOL_FLAG | LITERAL_FLAG,
    str: STR_FLAG | LITERAL_FLAG,
}


class LiteralType(Type):
    """The type of one value."""

    __slots__ = ("value",)

    def __init__(self, value: int | float | str | bool) -> None:
        self.value = value
        self.flags = _LITERAL_FLAGS[type(value)]

    @property
    def base(self) -> Type:
        return _BY_FLAG[self.flags ^ LITERAL_FLAG]

    def __str__(self) -> str:
        return f"{self.base}({_plain(self.value) if isinstance(self.value, float) else self.value})"


def _plain(value: float) -> str:
    """A float without exponent and without a fraction of zero."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN"}.get(str(value), str(value))
    from decimal import Decimal  # takes long to load, and few programs have such literals

    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


class MultiplierType(Type):
    """`units.NumberMultiplier`, or one such number such as `1Ki` when `number` is given."""

    __slots__ = ("number",)

    def __init__(self, number: str | None = None) -> None:
        super().__init__(MULTIPLIER_FLAG, f"number_multiplier({number})" if number else "number_multiplier")
        self.number = number


MULTIPLIER: Final = MultiplierType()


class ListType(Type):
    __slots__ = ("item",)

    def __init__(self, item: Type) -> None:
        self.flags = LIST_FLAG
        self.item = item

    def __str__(self) -> str:
        return f"[{self.item}]"

    @property
    def full(self) -> str:
        return f"[{self.item.full}]"


@dataclass(slots=True)
class Entry:
    """What is known of one key of a dictionary."""

    type: Type
    span: Span


class DictType(Type):
    """`attributes` holds the keys that are known by name; empty for a type that was written."""

    __slots__ = ("_key", "_made_of", "_value", "attributes", "is_data", "is_variable", "variable")

    def __init__(self, key: Type | None, value: Type | None, attributes: dict[str, Entry] | None = None) -> None:
        """Without `key` and `value`, see the class methods."""
        self.flags = DICT_FLAG
        self._key = key
        self._value = value
        self._made_of: tuple[Sequence[Type], Sequence[Type]] = (), ()
        """Types of keys and of values, until somebody asks what they have in common."""
        self.attributes = attributes or {}
        self.is_data = False
        """Whether there is nothing in it that schemas have to do with."""
        self.is_variable = False
        """Whether this is the type of a variable: its own."""
        self.variable: DictType | None = None
        """The type of a variable that holds such a value, once it was looked up: types nest deeply."""

    @classmethod
    def of_entries(cls, keys: Sequence[Type], values: Sequence[Type], attributes: dict[str, Entry]) -> DictType:
        """The type of a configuration with entries of these types.

        What they have in common is looked for when somebody asks, which of most data nobody does. Among schemas it
        may be something else by then, so with them it is done at once.
        """
        if not all(map(_is_data, values)):
            return cls(common(keys), common(values), attributes)
        made = cls(None, None, attributes)
        made._made_of = keys, values
        made.is_data = True
        return made

    @classmethod
    def of_variable(cls, given: DictType) -> DictType:
        """The type of a variable that is first given a value of type `given`."""
        if given._key is None:
            made = cls(None, None, given.attributes)
            made._made_of = given._made_of
            made.is_data = True
        else:
            made = cls(widened(given.key), widened(given.value), given.attributes)
        made.is_variable = True
        return made

    @property
    def key(self) -> Type:
        if self._key is None:
            self._find()
        assert self._key is not None
        return self._key

    @property
    def value(self) -> Type:
        if self._value is None:
            self._find()
        assert self._value is not None
        return self._value

    def _find(self) -> None:
        key, value = map(common, self._made_of)
        self._key, self._value = (widened(key), widened(value)) if self.is_variable else (key, value)
        self._made_of = (), ()

    def __str__(self) -> str:
        return f"{{{self.key}:{self.value}}}"

    @property
    def full(self) -> str:
        return f"{{{self.key.full}:{self.value.full}}}"


class UnionType(Type):
    """`of_one` is the type all members are literals of; None if there is no such type, or nobody has looked."""

    __slots__ = ("_known", "members", "of_one")

    def __init__(self, members: Sequence[Type], of_one: Type | None = None) -> None:
        self.flags = UNION_FLAG
        self.members = members
        self.of_one = of_one
        self._known: frozenset[object] | None = None

    def has(self, member: Type) -> bool:
        """Whether this very member is among those of a union, which may have thousands."""
        if len(self.members) < _FEW_MEMBERS:
            return False
        if self._known is None:
            self._known = frozenset(map(_identity, self.members))
        return _identity(member) in self._known

    def __str__(self) -> str:
        return " | ".join(map(str, self.members))

    @property
    def full(self) -> str:
        return " | ".join(member.full for member in self.members)


_FEW_MEMBERS: Final = 32
"""Members that are gone through one by one."""


@dataclass(slots=True)
class Parameter:
    """One parameter of a function; `span` is None where it was not written in KCL."""

    name: str
    type: Type
    has_default: bool
    span: Span | None = None


class FunctionType(Type):
    """A lambda, a library function, or how a schema is called. A variadic one takes any arguments."""

    __slots__ = ("params", "result", "variadic")

    def __init__(self, params: Sequence[Parameter], result: Type, *, variadic: bool = False) -> None:
        self.flags = FUNCTION_FLAG
        self.params = params
        self.result = result
        self.variadic = variadic

    def __str__(self) -> str:
        return f"({', '.join(str(param.type) for param in self.params)}) -> {self.result}"


VARIADIC: Final = FunctionType((), ANY, variadic=True)


@dataclass(slots=True)
class Attribute:
    """What a schema declares of one attribute."""

    type: Type
    optional: bool
    span: Span | None
    """Where it is declared; None for one that was only assigned to."""


@dataclass(slots=True)
class Signature:
    """The index signature of a schema."""

    key_name: str | None
    key: Type
    value: Type
    any_other: bool

    def __str__(self) -> str:
        name = "" if self.key_name is None else f"{self.key_name}: "
        return f"[{name}{'...' if self.any_other else ''}{self.key}]: {self.value}"


class _UnreadInfo(Unread):
    __slots__ = ("_read",)


@dataclass(slots=True, eq=False)
class SchemaInfo(_UnreadInfo):
    """One schema, mixin, protocol or rule. Filled in while its package is checked, not changed after that."""

    name: str
    package: str
    """Dotted path; "" for the main package."""
    is_mixin: bool
    is_protocol: bool
    is_rule: bool
    base: SchemaInfo | None = None
    protocol: SchemaInfo | None = None
    mixins: list[SchemaInfo] = field(default_factory=list)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    function: FunctionType = VARIADIC
    signature: Signature | None = None
    required: tuple[str, ...] = ()
    """Attributes that every instance must be written with, as far as the declaration alone tells that: none where
    anything else (a base, a mixin, a statement, an index signature) may give them a value."""

    @property
    def full(self) -> str:
        return f"{self.package}.{self.name}" if self.package else self.name

    def attribute(self, name: str) -> Attribute | None:
        """The attribute as the schema, or else a base of it, or else its protocol, declares it."""
        current: SchemaInfo | None = self
        seen = 0
        while current is not None:
            found = current.attributes.get(name)
            if found is not None:
                return found
            current = current.base or current.protocol
            seen += 1
            if seen > 1000:  # bases that inherit from each other are reported elsewhere
                return None
        return None

    def extends(self, other: SchemaInfo) -> bool:
        current: SchemaInfo | None = self
        seen = 0
        while current is not None and seen <= 1000:
            if current is other or current.full == other.full:
                return True
            current = current.base
            seen += 1
        return False

    @property
    def value_type(self) -> Type:
        return ANY if self.signature is None else self.signature.value


class SchemaType(Type):
    """A schema itself, or (`is_instance`) a value made of it."""

    __slots__ = ("info", "is_instance")

    def __init__(self, info: SchemaInfo, is_instance: bool) -> None:
        self.flags = SCHEMA_FLAG
        self.info = info
        self.is_instance = is_instance

    def __str__(self) -> str:
        return self.info.name

    @property
    def full(self) -> str:
        return self.info.full


# ---------------------------------------------------------------- relations


def subsumed(left: Type, right: Type, left_any: bool = False) -> bool:
    """Whether every value of `left` is one of `right`. `left_any`: `any` fits whatever is expected."""
    if left is right:
        return True
    of_left, of_right = left.flags, right.flags
    if of_right & ANY_FLAG or of_left & NONE_FLAG or (left_any and of_left & ANY_FLAG):
        return True
    if of_left & LITERAL_FLAG and of_left & of_right & _SCALAR and not of_right & LITERAL_FLAG:
        return True  # "a" for a str; what follows would come to the same
    if isinstance(left, UnionType):
        return all(subsumed(member, right) for member in left.members)
    if isinstance(right, UnionType):
        return right.has(left) or any(subsumed(left, member) for member in right.members)
    if isinstance(left, SchemaType):
        return isinstance(right, SchemaType) and left.info.extends(right.info)
    if of_left & INT_FLAG and of_right & FLOAT_FLAG:
        return True
    if isinstance(left, MultiplierType) and isinstance(right, MultiplierType):
        return right.number is None or left.number == right.number
    if isinstance(left, LiteralType):
        return _literal_subsumed(left, right)
    if isinstance(left, ListType) and isinstance(right, ListType):
        return subsumed(left.item, right.item, left_any)
    if isinstance(left, DictType) and isinstance(right, DictType):
        return subsumed(left.key, right.key, left_any) and subsumed(left.value, right.value, left_any)
    if of_left & STR_FLAG and of_right & STR_FLAG:
        return True
    if isinstance(left, FunctionType) and isinstance(right, FunctionType):
        return (
            len(left.params) == len(right.params)
            and all(
                subsumed(theirs.type, ours.type, left_any)
                for ours, theirs in zip(left.params, right.params, strict=True)
            )
            and subsumed(left.result, right.result, left_any)
        )
    return False


def _literal_subsumed(left: LiteralType, right: Type) -> bool:
    if isinstance(right, LiteralType):
        return left.flags == right.flags and left.value == right.value
    if not right.flags & _SCALAR:
        return False
    if right is FLOAT and not left.flags & STR_FLAG:
        return True
    # The official compiler looks for the name of the type in the spelling of the literal's type, so that `"point"`
    # passes for an int here; the run tells.
    return str(right) in str(left)


def assignable(type_: Type, expected: Type) -> bool:
    return not type_.flags & (VOID_FLAG | MODULE_FLAG) and subsumed(type_, expected, True)


def is_upper_bound(upper: Type, lower: Type) -> bool:
    return subsumed(lower, upper)


def common(types: Sequence[Type]) -> Type:
    """The least type that has all values of all `types`; `any` for none of them."""
    if len(types) == 1 and not types[0].flags & (UNION_FLAG | VOID_FLAG):
        return types[0]
    kinds = {type_.flags for type_ in types}
    if len(kinds) == 1 and not kinds.isdisjoint(_LITERALS):
        return _of_literals(types)
    flat = _alternatives(types)
    if not flat:
        return ANY
    if len(flat) == 1:
        return flat[0]
    if any(type_.flags & ANY_FLAG for type_ in flat):
        return ANY
    redundant = _redundant(flat)
    if redundant is None:
        return ANY
    if redundant:
        flat = _without(flat, redundant)
    return flat[0] if len(flat) == 1 else UnionType(flat)


def _of_literals(types: Iterable[Type]) -> Type:
    """What literals of one type have in common: the keys of a configuration are nearly always such."""
    flat: dict[object, LiteralType] = {}
    for type_ in types:
        assert isinstance(type_, LiteralType)
        flat.setdefault(type_.value, type_)
    members = list(flat.values())
    return members[0] if len(members) == 1 else UnionType(members, members[0].base)


def _alternatives(types: Iterable[Type]) -> list[Type]:
    """All types with the members of unions in their place; the first of equal ones, but of dictionaries all."""
    flat: dict[object, Type] = {}
    pending = list(reversed(list(types)))
    while pending:
        type_ = pending.pop()
        flags = type_.flags
        if isinstance(type_, LiteralType):
            flat.setdefault((flags, type_.value), type_)
        elif isinstance(type_, UnionType):
            pending.extend(reversed(type_.members))
        elif flags & _WITH_PARTS:
            flat.setdefault(_identity(type_), type_)
        elif not flags & VOID_FLAG:
            flat.setdefault(type_, type_)
    return list(flat.values())


def _identity(type_: Type) -> object:
    """Equal for types that are equal in every part; a dictionary, whose keys have places, equals only itself."""
    if isinstance(type_, LiteralType):
        return type_.flags, type_.value
    if isinstance(type_, ListType):
        return "list", _identity(type_.item)
    if isinstance(type_, SchemaType):
        return type_.info, type_.is_instance
    if isinstance(type_, MultiplierType):
        return "multiplier", type_.number
    if isinstance(type_, FunctionType):
        return "function", tuple(_identity(param.type) for param in type_.params), _identity(type_.result)
    return type_


def _redundant(types: Sequence[Type]) -> set[int] | None:
    """Indexes of types that others say already; None when there are too many to compare.

    Literals are compared with other types only: lists of literals are long.
    """
    redundant: set[int] = set()
    literals = [index for index, type_ in enumerate(types) if isinstance(type_, LiteralType)]
    others = [index for index, type_ in enumerate(types) if not isinstance(type_, LiteralType)]
    if len(others) > _MOST_ALTERNATIVES:
        return None
    for position, index in enumerate(others):
        for other in others[position + 1 :]:
            redundant |= _lesser(types, index, other)
    for other in others:
        for index in literals:
            redundant |= _lesser(types, min(index, other), max(index, other))
    if any(types[index].flags & FLOAT_FLAG for index in literals):
        # A whole number passes for a float, even for one of another value.
        redundant.update(index for index in literals if types[index].flags & INT_FLAG)
    return redundant


def _lesser(types: Sequence[Type], first: int, second: int) -> set[int]:
    if _apart(types[first].flags, types[second].flags):
        return set()
    if subsumed(types[first], types[second]):
        return {first}
    return {second} if subsumed(types[second], types[first]) else set()


def _apart(flags: int, others: int) -> bool:
    """Whether the flags of two types tell already that neither is subsumed in the other."""
    either = flags | others
    if either & _OPEN or flags & others & ~LITERAL_FLAG:
        return False
    if flags & _SCALAR and others & _SCALAR:
        return not either & LITERAL_FLAG and either & NUMBER != NUMBER
    return True


def _without(types: Sequence[Type], redundant: set[int]) -> list[Type]:
    """The types but those at some indexes; the last takes the place of one that goes, as official lists do it."""
    kept = list(types)
    places = list(range(len(types)))
    at = {index: index for index in places}
    for index in sorted(redundant):
        place = at[index]
        moved = places[-1]
        kept[place] = kept[-1]
        places[place] = moved
        at[moved] = place
        kept.pop()
        places.pop()
    return kept


def widened(type_: Type) -> Type:
    """The type of a variable that is first given a value of this type."""
    flags = type_.flags
    if flags & LITERAL_FLAG and isinstance(type_, LiteralType):
        return type_.base
    if flags & NONE_FLAG:
        return ANY
    if isinstance(type_, ListType):
        item = widened(type_.item)
        return type_ if item is type_.item else ListType(item)
    if isinstance(type_, DictType):
        if type_.is_variable:
            return type_
        if type_.variable is None:
            type_.variable = DictType.of_variable(type_)
        return type_.variable
    if isinstance(type_, UnionType):
        return type_.of_one or common([widened(member) for member in type_.members])
    return type_


def _is_data(type_: Type) -> bool:
    """Whether a type is told wholly by what it is written as, without any schema."""
    if isinstance(type_, DictType):
        return type_.is_data
    if isinstance(type_, ListType):
        return _is_data(type_.item)
    return bool(type_.flags & (_SCALAR | NONE_FLAG | ANY_FLAG)) or (
        isinstance(type_, UnionType) and type_.of_one is not None
    )


def all_of(type_: Type, flags: int) -> bool:
    """Whether the type, or each member of the union it is, has one of the flags."""
    if isinstance(type_, UnionType):
        return all(member.flags & flags for member in type_.members)
    return bool(type_.flags & flags)


def is_key(type_: Type) -> bool:
    if isinstance(type_, UnionType):
        return all(map(is_key, type_.members))
    return bool(type_.flags & STR_FLAG)


CONSTANTS: Final[dict[str, Type]] = {
    "ANY": ANY,
    "NONE": NONE,
    "VOID": VOID,
    "INT": INT,
    "FLOAT": FLOAT,
    "BOOL": BOOL,
    "STR": STR,
    "MULTIPLIER": MULTIPLIER,
    "VARIADIC": VARIADIC,
}
"""The types that are single objects, by the names they have in this module."""
BASIC: Final = {
    ast.BasicTypeName.ANY: ANY,
    ast.BasicTypeName.BOOL: BOOL,
    ast.BasicTypeName.INT: INT,
    ast.BasicTypeName.FLOAT: FLOAT,
    ast.BasicTypeName.STR: STR,
}

"""The values a KCL program computes with.

Scalars are Python's own: `None`, `bool`, `int`, `float`, `str`. `UNDEFINED` is a value of its own, different from
`None`: it says "nothing was said here" and never appears in output. Containers are subclasses of `list` and `dict`, so
that reading them costs what Python's own cost, with slots beside the data for what KCL adds: the operator an entry was
written with, the index an insertion asks for, and the *sites* (source positions) that gave the entry its value.

Values are immutable once they are bound to a name: an operation that changes one builds another, sharing what it did
not touch. Whoever creates a container owns it until it hands it on.

Two traps. KCL's `True` is not `1`, Python's is: compare with `operations.equals`, never with `==`, and test for
numbers with `type(value) is int`. `Undefined` and `None` are both falsy but not equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from kcl.diagnostics import Span
from kcl.records import dataclass, field
from kcl.semantic.signatures import LibraryTypes

# KCL is dynamically typed at run time; the alias says where a KCL value is meant.
Value: TypeAlias = Any

# Indexes into the site table of one evaluation, the most decisive first. An entry nobody wrote has no sites.
Sites: TypeAlias = tuple[int, ...]

UNION: Final = 0  # `key: value`, merged with what is there
OVERRIDE: Final = 1  # `key = value`, replaces what is there
INSERT: Final = 2  # `key += value`, extends the list that is there


class Undefined:
    """The type of `UNDEFINED`; there is one instance."""

    __slots__ = ()
    _instance: Undefined | None = None

    def __new__(cls) -> Undefined:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "Undefined"

    def __copy__(self) -> Undefined:
        return self

    def __deepcopy__(self, memo: object) -> Undefined:
        return self


UNDEFINED: Final = Undefined()
SCALARS: Final = frozenset({str, int, float, bool, type(None), Undefined})
"""The types of values that hold no other."""


class KList(list[Value]):
    """A KCL list. `sites` is parallel to the items, or None when no item has a position of its own."""

    __slots__ = ("sites",)

    def __init__(self, items: Iterable[Value] = (), sites: list[Sites] | None = None) -> None:
        super().__init__(items)
        self.sites = sites


class KDict(dict[str, Value]):
    """A KCL config or dict: values by key, in the order the keys were first stored.

    `operators` holds the entries not written with `:` (`OVERRIDE`, `INSERT`), `indexes` the list index of entries
    written `key[index] op value`, `sites` the positions that decided each entry. All three are None while empty.
    `holder` are the positions that chose this container as a whole, by naming it, and so also its entries.
    """

    __slots__ = ("holder", "indexes", "operators", "sites")

    def __init__(self, items: Mapping[str, Value] | Iterable[tuple[str, Value]] = ()) -> None:
        if items:
            super().__init__(items)
        self.operators: dict[str, int] | None = None
        self.indexes: dict[str, int] | None = None
        self.sites: dict[str, Sites] | None = None
        self.holder: Sites = ()

    def copy(self) -> KDict:
        """A shallow copy that shares nothing mutable with this one but the values."""
        result = KDict(self)
        result.holder = self.holder
        result.operators = dict(self.operators) if self.operators else None
        result.indexes = dict(self.indexes) if self.indexes else None
        result.sites = dict(self.sites) if self.sites else None
        return result

    def operator(self, key: str) -> int:
        return self.operators.get(key, UNION) if self.operators else UNION

    def index(self, key: str) -> int | None:
        """The list index an entry was written with, None for the whole value."""
        return self.indexes.get(key) if self.indexes else None

    def sites_of(self, key: str) -> Sites:
        """The positions that decided an entry, those that chose the whole container last.

        Where every attribute of every instance passes, these lines are written out: the call takes longer than they do.
        """
        own = self.sites.get(key, ()) if self.sites else ()
        return own + self.holder if self.holder else own

    def held(self, holder: Sites) -> KDict:
        """This container as it is when a place chooses it by its name."""
        result = self.copy()
        result.holder = holder + self.holder
        return result


class SchemaInstance(KDict):
    """An instance of a schema: its attributes, and what is needed to build it again when it is merged with more config.

    `config_keys` names the attributes that were given from outside, `args` and `kwargs` are the schema's parameters.
    `required` holds the declared attributes that must have a value, in order. `origin` is where the instance was
    written, None for one that came of converting a dict. `complete` says that it has been found to lack nothing.
    """

    __slots__ = ("args", "complete", "config_keys", "kwargs", "origin", "required", "schema")

    def __init__(self, schema: SchemaDescription) -> None:
        self.operators = self.indexes = self.sites = None
        self.holder = ()
        self.complete = False
        self.schema = schema
        self.config_keys: tuple[str, ...] = ()
        self.args: Sequence[Value] = ()
        self.kwargs: Mapping[str, Value] = {}
        self.required: Sequence[str] = ()
        self.origin: Span | None = None

    def copy(self) -> SchemaInstance:
        result = SchemaInstance(self.schema)
        result.update(self)
        result.holder = self.holder
        result.operators = dict(self.operators) if self.operators else None
        result.indexes = dict(self.indexes) if self.indexes else None
        result.sites = dict(self.sites) if self.sites else None
        result.config_keys, result.args, result.kwargs = self.config_keys, self.args, self.kwargs
        result.required, result.origin = self.required, self.origin
        return result


class SchemaDescription(Protocol):
    """What a value needs to know of its schema. The evaluator's schema types satisfy it."""

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str:
        """Dotted path of the package it is declared in, `__main__` for the main package."""

    @property
    def lineage(self) -> Sequence[SchemaDescription]:
        """The schema, its base, its base's base and so on."""

    @property
    def marked(self) -> Sequence[str]:
        """The attributes that it declares itself, no base and no mixin, with `@info(type="attr")`."""

    def rebuild(self, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], origin: Span | None) -> Value:
        """A new instance of this schema from `config`."""

    def rebuild_changed(
        self, left: SchemaInstance, changed: Iterable[str], config: KDict, origin: Span | None
    ) -> Value:
        """The same from what `left` was given, with `changed` keys."""

    def made_before(self, left: object, right: KDict, how: int, origin: Span | None) -> Value | None:
        """The instance that was made of the same two before, where that is as good as another."""

    def remember(self, left: object, right: KDict, how: int, origin: Span | None, made: Value) -> None:
        """To be told of an instance that was made of two."""


@dataclass(frozen=True, slots=True)
class NumberMultiplier:
    """A number with a unit suffix, `1Ki`. `value` is the product, `raw` the number as written."""

    value: int | float
    raw: int
    suffix: str

    def __bool__(self) -> bool:
        return self.value != 0

    def __str__(self) -> str:
        return f"{self.raw}{self.suffix}"


class ValueFailure(Exception):
    """An operation on values that cannot be done, with no position yet: the evaluator adds the one it is at.

    Library functions raise it with the message for the user.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CallContext(Protocol):
    """What a library function may know of, and do to, the evaluation that calls it."""

    @property
    def options(self) -> Mapping[str, Value]:
        """The top-level arguments (`-D`, settings files) by name."""

    @property
    def file(self) -> str:
        """Path of the KCL file the call stands in."""

    @property
    def package(self) -> str:
        """Dotted path of the package the call stands in, `__main__` for the main package."""

    def call(self, function: Value, args: Iterable[Value]) -> Value:
        """Calls a KCL function value (lambda, schema, built-in)."""

    def acts(self) -> None:
        """To be called before something outside is changed: what happens from here on happens once."""

    def log(self, text: str) -> None:
        """Adds to what `print` has written."""

    def emit(self, text: Callable[[], str]) -> None:
        """Replaces the program's own output by what `text` answers (`manifests.yaml_stream`); the last call counts.

        It is asked for the text when somebody wants it, which may be long after, or never.
        """

    def emit_values(self, documents: Iterable[Value]) -> None:
        """The documents behind `emit`, kept as values so that callers need not read the text back."""

    def type_name(self, value: Value, full: bool = False) -> str:
        """What `typeof` answers."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """A library function: called with positional and keyword arguments that are KCL values, answers one.

    With `contextual` the function takes a `CallContext` before the arguments. Functions of `str` take the string first.
    `capture` names what an answer depends on besides its arguments (`"time"`, `"random"`, `"environment"`, `"file"`).
    """

    name: str
    function: Callable[..., Value]
    contextual: bool = False
    capture: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """The functions and modules a program can use without importing a file."""

    builtins: Mapping[str, Builtin] = field(default_factory=dict)
    string_methods: Mapping[str, Builtin] = field(default_factory=dict)
    modules: Mapping[str, Mapping[str, Builtin | Value]] = field(default_factory=dict)
    types: LibraryTypes = field(default_factory=LibraryTypes)
    """The same as the checker sees it."""


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """An imported package or system module as a value: `import a.b as c` binds `c` to it."""

    path: str


@dataclass(frozen=True, slots=True)
class Method:
    """A library function bound to the value it was taken from: `"a".upper`."""

    receiver: Value
    builtin: Builtin

    @property
    def name(self) -> str:
        return self.builtin.name

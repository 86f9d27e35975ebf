"""What generated code calls for the cases that are not worth a line of their own."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from kcl.diagnostics import Span
from kcl.evaluator.functions import Lambda
from kcl.evaluator.parameters import Arguments
from kcl.evaluator.runtime import Runtime, StartOver
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.schemas import require_attributes
from kcl.evaluator.union import configured, joined_sites
from kcl.evaluator.value import INSERT, OVERRIDE, UNDEFINED, UNION, KDict, SchemaInstance, Sites, Value

_SCALARS = frozenset({str, int, float, bool})
_NONE: Mapping[str, Any] = {}


def replaced(config: KDict, name: str) -> bool:
    """Whether a configuration that has `name` takes no notice of the attribute's default."""
    return config.operators is not None and config.operators.get(name) == OVERRIDE and config.index(name) is None


def replacement(
    config: KDict, name: str, type_: RuntimeType | None, sites: Sites, origin: Span | None
) -> tuple[Value, Sites]:
    """An attribute that `config` has instead of its default, whose `sites` count after the configuration's own."""
    value = config[name]
    if type_ is not None:
        value = pack(type_, value, origin)
    own = config.sites.get(name, ()) if config.sites and not config.holder else config.sites_of(name)
    return value, joined_sites(own, sites) if own and sites else own or sites


def merged(
    config: KDict, name: str, default: Value, type_: RuntimeType | None, origin: Span | None, runtime: Runtime
) -> Value:
    """An attribute's default, already of its type, with the configuration merged over it."""
    value = config[name]
    if type(value) in _SCALARS and config.operator(name) != INSERT and config.index(name) is None:
        if type_ is None or type_.accepts(value):
            return value
    own = config.sites.get(name) if config.sites and not config.holder else config.sites_of(name)
    place = runtime.table.span(own[0]) if own else origin
    value = configured(default, config, name, place)
    return value if type_ is None else pack(type_, value, place)


def given(
    config: KDict,
    name: str,
    default: Value,
    sites: Sites,
    type_: RuntimeType | None,
    origin: Span | None,
    runtime: Runtime,
) -> tuple[Value, Sites]:
    """The same with its sites, of which the default has `sites`."""
    return merged(config, name, default, type_, origin, runtime), joined_sites(config.sites_of(name), sites)


def packed(type_: RuntimeType, value: Value, sites: Sites, runtime: Runtime) -> Value:
    """A default as a member of its type."""
    return pack(type_, value, runtime.table.span(sites[0]) if sites else None)


class LastJoined:
    """What one place in generated code has joined the last time: other sites with its own."""

    __slots__ = ("first", "joined", "own")

    def __init__(self, own: Sites) -> None:
        self.own = own
        self.first: Sites = ()
        self.joined = own

    def join(self, first: Sites) -> Sites:
        self.first, self.joined = first, joined_sites(first, self.own)
        return self.joined


class Following:
    """What follows from the sites of one attribute in generated code: those of the last time that they are `first`.

    `own` are the sites that they are joined with, one after the other, to `joined`. `all` is what is made of these, in
    the order in which the code takes it.
    """

    __slots__ = ("all", "first", "joined", "own")

    def __init__(self) -> None:
        self.own: list[Sites] = []
        self.first: object = None
        self.joined: list[Sites] = []
        self.all: tuple[object, ...] = ()

    def join(self, first: Sites) -> list[Sites]:
        """The sites joined with each of `own`."""
        self.first, self.joined = first, [joined_sites(first, own) for own in self.own]
        return self.joined


class LastSites:
    """The sites of what one place in generated code made the last time, and what they are of (`key`).

    Dicts in the key are those of values, which stay as they are once they were handed on; so they are not copied.
    """

    __slots__ = ("key", "sites")

    def __init__(self) -> None:
        self.key: object = None
        self.sites: dict[str, Sites] | list[Sites] = {}


def with_told(sites: dict[str, Sites], names: Iterable[str], config: KDict, told: Iterable[Sites]) -> dict[str, Sites]:
    """The `sites` of an instance with those `told` in it: of the attributes among `names` that `config` has."""
    sites.update(zip([name for name in names if name in config], told, strict=True))
    return sites


class LastOperators:
    """The operators of the instance that one place in generated code made the last time, which nobody changes.

    They follow from what they are `of`: the keys of the configuration, its operators, and which of the attributes
    `unsure` are Undefined. `chosen` are the operators while nothing is configured.
    """

    __slots__ = ("_chosen", "_names", "_unsure", "of", "operators")

    def __init__(self, chosen: Mapping[str, int], unsure: Sequence[str], names: Container[str]) -> None:
        self._chosen, self._unsure, self._names = chosen, unsure, names
        self.of: object = None
        self.operators: dict[str, int] | None = None

    def settle(self, of: tuple[Any, ...], config: KDict) -> None:
        """Makes them those of what `of` says. Starts over if `config` has a key that is no attribute."""
        _, _, *unset = of
        operators = dict(self._chosen)
        for name, is_unset in zip(self._unsure, unset, strict=True):
            if is_unset:
                del operators[name]
        if settle_operators(operators, config, self._names):
            raise StartOver
        self.of = of
        self.operators = operators or None


class LastChangedOperators:
    """The same for an instance that is made of another, whose operators come first in what they are `of`.

    Then come the keys of the configuration, all of which override, and which `computed` attributes are Undefined.
    """

    __slots__ = ("_computed", "of", "operators")

    def __init__(self, computed: Sequence[str]) -> None:
        self._computed = computed
        self.of: object = None
        self.operators: dict[str, int] = {}

    def settle(self, of: tuple[Any, ...]) -> None:
        """Makes them those of what `of` says."""
        before, keys, *unset = of
        operators = dict(before or ())
        for name, is_unset in zip(self._computed, unset, strict=True):
            if is_unset:
                operators.pop(name, None)
            else:
                operators[name] = OVERRIDE
        operators.update(dict.fromkeys(keys, OVERRIDE))
        self.of = of
        self.operators = operators


def settle_operators(operators: dict[str, int], config: KDict, names: Container[str]) -> list[str]:
    """From the operators of attributes that nobody configured to those of an instance of `config`.

    Answers the keys that are not in `names`, the attributes.
    """
    extra = []
    for key in config:
        if key not in names:
            extra.append(key)
            continue
        operator = config.operator(key)
        if operator != UNION:
            operators[key] = operator
        else:
            operators.pop(key, None)
    return extra


def configured_default(
    config: KDict, name: str, default: Value, type_: RuntimeType | None, origin: Span | None, runtime: Runtime
) -> Value:
    """An attribute that `config` has, over a default that is a scalar of the type or Undefined."""
    value, operators = config[name], config.operators
    if (
        type(value) in _SCALARS
        and (operators is None or operators.get(name) != INSERT)
        and config.indexes is None
        and (type_ is None or type_.accepts(value))
    ):
        return value
    if replaced(config, name):
        return value if type_ is None else pack(type_, value, origin)
    return merged(config, name, default, type_, origin, runtime)


def sites_given(sites: dict[str, Sites], config: KDict, declared: Mapping[str, Sites]) -> dict[str, Sites]:
    """The `sites` of an instance's attributes, those that `config` has joined with its own.

    That is for attributes whose sites are `declared`, which are left of a default that `config` replaces.
    """
    own, operators = config.sites or _NONE, config.operators or _NONE
    is_whole = not config.indexes and not config.holder
    for name in config:
        if name in declared:
            if is_whole:  # almost always, so without the calls it takes
                replaces, given = operators.get(name) == OVERRIDE, own.get(name, ())
            else:
                replaces, given = replaced(config, name), config.sites_of(name)
            default = declared[name] if replaces else sites[name]
            sites[name] = joined_sites(given, default) if given and default else given or default
    return sites


def require(
    instance: SchemaInstance,
    config: KDict,
    unsure: Iterable[str],
    required: Container[str],
    holding: Container[str],
    runtime: Runtime,
) -> None:
    """Starts over if an attribute is missing: one of `unsure`, or a `required` one that `config` takes away.

    So it does for instances inside what `config` gave the attributes in `holding`.
    """
    none_counts = runtime.dialect.explicit_none_is_a_value
    for name in unsure:
        value = instance[name]
        if value is UNDEFINED or (value is None and not (none_counts and name in config)):
            raise StartOver
    for name in config:
        value = instance.get(name)
        if name in required and (value is UNDEFINED or (value is None and not none_counts)):
            raise StartOver
        if name in holding and isinstance(value, (list, dict)):
            require_attributes(value, runtime, instance.origin)


def arguments(
    values: list[Value],
    origins: list[Sites],
    named_origins: dict[str, Sites],
    places: Sequence[Sites],
    named_places: Mapping[str, Sites],
) -> Arguments:
    """The positional arguments of a call, with all that is told of where arguments come from."""
    args = Arguments(values)
    args.origins, args.places = origins, places
    args.named_origins, args.named_places = named_origins, named_places
    return args


def sites_of_answer(runtime: Runtime, callee: Value, value: Value, sites: Sites) -> Sites:
    """The sites of what a call answered; `sites` are those of what it was given."""
    if isinstance(value, (list, dict)):
        return ()
    if type(callee) is Lambda and runtime.origin:
        return runtime.origin
    return sites

"""Parameters of lambdas, schemas and rules, and how arguments are bound to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcl.diagnostics import Code, KclError, Span, error
from kcl.evaluator.environments import Environment, Tracked
from kcl.evaluator.lexical import Scope, Variable
from kcl.evaluator.lowering import lower_value
from kcl.evaluator.runtime import Where
from kcl.evaluator.runtime_types import RuntimeType, pack, pack_whole
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import joined_sites
from kcl.evaluator.value import Sites, Value
from kcl.records import dataclass
from kcl.syntax import ast


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    slot: int
    type: RuntimeType | None
    default: Tracked | None
    span: Span
    variable: Variable


class Arguments(list[Value]):
    """The positional arguments of a call; for them and the keyword arguments where each came from and stands."""

    __slots__ = ("named_origins", "named_places", "origins", "places")

    origins: list[Sites]
    places: Sequence[Sites]
    named_origins: dict[str, Sites]
    named_places: Mapping[str, Sites]

    def sites(self, key: int | str) -> Sites:
        """The sites of an argument, by position or name."""
        if isinstance(key, int):
            return joined_sites(self.origins[key], self.places[key])
        return joined_sites(self.named_origins[key], self.named_places[key])


class Parameters:
    """The parameters of one callable, in order."""

    __slots__ = ("_items", "_missing_is_none")

    def __init__(self, items: Sequence[Parameter], missing_is_none: bool) -> None:
        self._items = items
        self._missing_is_none = missing_is_none

    @property
    def types(self) -> tuple[RuntimeType | None, ...]:
        """The declared types, in order; None where none is written."""
        return tuple(item.type for item in self._items)

    def check_call(self, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> None:
        """Raises KclError when there are arguments too many, too few or of other names."""
        items = self._items
        if len(args) == len(items) and not kwargs:
            return
        if len(args) > len(items):
            takes = f'"{name}" takes {len(items)} positional argument but {len(args)} were given'
            raise KclError((error(Code.COMPILE, takes, where.argument(len(items))[0]),))
        known = [item.name for item in items]
        for key in kwargs:
            if key not in known:
                import difflib  # only mistakes need it

                close = difflib.get_close_matches(key, known, n=1)
                hint = f", did you mean '{close[0]}'?" if close else ""
                message = f"\"{name}\" got an unexpected keyword argument '{key}'{hint}"
                raise KclError((error(Code.COMPILE, message, where.argument(f"{key}=")[0]),))
        if self._missing_is_none:
            return
        required = sum(item.default is None for item in items)
        missing = [item for item in items[len(args) :] if item.default is None and item.name not in kwargs]
        if missing:
            message = f"expected {_count(required)}, found {required - len(missing)}"
            raise KclError((error(Code.COMPILE, message, where.span),))

    def check_types(self, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> None:
        """Raises ValueFailure at the first argument that does not fit its parameter's type."""
        for index, item in enumerate(self._items):
            if item.type is not None:
                if index < len(args):
                    pack_whole(item.type, args[index], where.span)
                elif item.name in kwargs:
                    pack_whole(item.type, kwargs[item.name], where.span)

    def bind(
        self, environment: Environment, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where | None
    ) -> None:
        """Puts the arguments where the code reads the parameters.

        Raises ValueFailure for one of the wrong type. `where` is the call.
        """
        given = len(args)
        for index, item in enumerate(self._items):
            key: int | str = index
            if index < given:
                value = args[index]
            elif item.name in kwargs:
                value, key = kwargs[item.name], item.name
            else:
                sites: Sites = ()
                value = None
                if item.default is not None:
                    value, sites = item.default(environment)
                if item.type is not None:
                    value = pack(item.type, value, None)
                environment[item.slot] = value
                if item.variable.sites_slot is not None:
                    environment[item.variable.sites_slot] = sites
                continue
            if item.variable.sites_slot is not None:
                # The entries of a container keep theirs; that it is handed over says nothing of them.
                scalar = isinstance(args, Arguments) and not isinstance(value, (list, dict))
                environment[item.variable.sites_slot] = args.sites(key) if scalar else ()  # type: ignore[attr-defined]
            if item.type is not None and (item.type.converts or not item.type.accepts(value)):
                value = pack_whole(item.type, value, None if where is None else where.span)
            environment[item.slot] = value


def _count(number: int) -> str:
    return f"{number} positional argument{'' if number == 1 else 's'}"


def lower_parameters(params: Sequence[ast.Param], scope: Scope) -> Parameters:
    """Declares the parameters in `scope` and compiles their defaults, each of which sees those before it."""
    items = []
    for param in params:
        default = None
        if param.default is not None:
            default = lower_value(param.default, scope, scope.module.site(param, SiteKind.DEFAULT, param.default))
        variable = scope.declare(param.name)
        type_ = None if param.type is None else lower_type(param.type, scope.module)
        items.append(Parameter(param.name, variable.place(), type_, default, scope.module.where(param).span, variable))
    return Parameters(items, scope.module.runtime.dialect.missing_argument_is_none)

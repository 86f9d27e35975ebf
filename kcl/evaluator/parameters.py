"""Parameters of lambdas, schemas and rules, and how arguments are bound to them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kcl.diagnostics import Code, KclError, Span, error
from kcl.evaluator.lexical import Scope
from kcl.evaluator.lowering import lower
from kcl.evaluator.runtime import Environment, Evaluate
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.value import UNDEFINED, Value
from kcl.syntax import ast


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    slot: int
    type: RuntimeType | None
    default: Evaluate | None


class Parameters:
    """The parameters of one callable, in order."""

    __slots__ = ("_items", "_missing_is_none")

    def __init__(self, items: Sequence[Parameter], missing_is_none: bool) -> None:
        self._items = items
        self._missing_is_none = missing_is_none

    def check_call(self, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], origin: Span | None) -> None:
        """Raises KclError when there are arguments too many, too few or of other names."""
        items = self._items
        if len(args) > len(items):
            takes = f'"{name}" takes {len(items)} positional argument but {len(args)} were given'
            raise KclError((error(Code.COMPILE, takes, origin),))
        known = [item.name for item in items]
        for key in kwargs:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f", did you mean '{close[0]}'?" if close else ""
                raise KclError(
                    (error(Code.COMPILE, f"\"{name}\" got an unexpected keyword argument '{key}'{hint}", origin),)
                )
        if self._missing_is_none:
            return
        required = sum(item.default is None for item in items)
        missing = [item for item in items[len(args) :] if item.default is None and item.name not in kwargs]
        if missing:
            message = f"expected {_count(required)}, found {required - len(missing)}"
            raise KclError((error(Code.COMPILE, message, origin),))

    def bind(self, environment: Environment, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        """Puts the arguments where the code reads the parameters. Raises ValueFailure for one of the wrong type."""
        given = len(args)
        for index, item in enumerate(self._items):
            if index < given:
                value = args[index]
            elif item.name in kwargs:
                value = kwargs[item.name]
            elif item.default is not None:
                value = item.default(environment)
            else:
                value = None
            if item.type is not None and value is not None and value is not UNDEFINED:
                value = pack(item.type, value, None)
            environment[item.slot] = value


def _count(number: int) -> str:
    return f"{number} positional argument{'' if number == 1 else 's'}"


def lower_parameters(params: Sequence[ast.Param], scope: Scope) -> Parameters:
    """Declares the parameters in `scope` and compiles their defaults, each of which sees those before it."""
    items = []
    for param in params:
        default = None if param.default is None else lower(param.default, scope)
        variable = scope.declare(param.name)
        type_ = None if param.type is None else lower_type(param.type, scope.module)
        items.append(Parameter(param.name, variable.place(), type_, default))
    return Parameters(items, scope.module.runtime.dialect.missing_argument_is_none)

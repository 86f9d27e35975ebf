"""What a name means where it stands: the scopes of compiled code, and how a name is found in them.

From the inside out a name is looked up among loop variables and a lambda's parameters and locals, then (in a schema
body) among the attributes of the instance, then among the keys of the configurations it stands in that have been
evaluated already, then among the schema's parameters, the package's globals and the built-in functions.

Locals live in numbered slots of an `Environment`. A lambda gets its own environment; the outer variables it uses are
copied into it where the lambda is created.
"""

from __future__ import annotations

from collections.abc import Callable

from kcl.evaluator.runtime import UNSET, Environment, Evaluate, ModuleContext
from kcl.evaluator.value import Value


class Unit:
    """Code that runs in one environment; `size` is how many slots it takes, known when all of it is compiled."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 1

    def new_slot(self) -> int:
        self.size += 1
        return self.size - 1

    def environment(self, frame: Value) -> Environment:
        environment: Environment = [UNSET] * self.size
        environment[0] = frame
        return environment


class Variable:
    """A local variable. `definite` says it always has a value where it is visible.

    The key of a configuration entry becomes one; it gets a slot only if some expression reads it. `sites_slot` holds
    the sites of a loop variable's value, if some tracked expression asks for them.
    """

    __slots__ = ("definite", "sites_slot", "slot", "unit")

    def __init__(self, unit: Unit, definite: bool) -> None:
        self.unit = unit
        self.definite = definite
        self.slot: int | None = None
        self.sites_slot: int | None = None

    def sites_place(self) -> int:
        if self.sites_slot is None:
            self.sites_slot = self.unit.new_slot()
        return self.sites_slot

    def place(self) -> int:
        if self.slot is None:
            self.slot = self.unit.new_slot()
        return self.slot


class Scope:
    """One level of nesting while code is compiled. The root of every chain is a `GlobalScope`."""

    __slots__ = ("module", "parent", "unit", "variables")

    def __init__(self, module: ModuleContext, unit: Unit, parent: Scope | None) -> None:
        self.module = module
        self.unit = unit
        self.parent = parent
        self.variables: dict[str, Variable] = {}

    def declare(self, name: str, definite: bool = True) -> Variable:
        variable = self.variables[name] = Variable(self.unit, definite)
        return variable


class GlobalScope(Scope):
    """Statements of a file outside schemas and lambdas; it has no locals of its own."""

    __slots__ = ()

    def __init__(self, module: ModuleContext, unit: Unit) -> None:
        super().__init__(module, unit, None)


class SchemaScope(Scope):
    """The body of a schema or rule: its variables are the parameters, its attributes are found in the frame."""

    __slots__ = ()


class LoopScope(Scope):
    """Comprehensions and quantifiers: the loop variables."""

    __slots__ = ()


class ConfigScope(Scope):
    """A configuration literal: the keys of the entries compiled so far."""

    __slots__ = ()


class LambdaScope(Scope):
    """A lambda: parameters and locals, and `captures`, the outer variables it copies: (outer slot, own slot)."""

    __slots__ = ("_captured", "captures")

    def __init__(self, module: ModuleContext, unit: Unit, parent: Scope) -> None:
        super().__init__(module, unit, parent)
        self.captures: list[tuple[int, int]] = []
        self._captured: dict[Variable, int] = {}

    def capture(self, variable: Variable, outer_slot: int) -> int:
        """The slot in this lambda's environment that holds a copy of an outer variable."""
        slot = self._captured.get(variable)
        if slot is None:
            slot = self._captured[variable] = self.unit.new_slot()
            self.captures.append((outer_slot, slot))
        return slot


def child(scope: Scope, kind: type[Scope]) -> Scope:
    """A nested scope in the same environment."""
    return kind(scope.module, scope.unit, scope)


def loop_variable(scope: Scope, name: str) -> Variable | None:
    """The variable of that name of a loop around this place, not beyond a lambda."""
    current: Scope | None = scope
    while current is not None and not isinstance(current, LambdaScope):
        if isinstance(current, LoopScope) and name in current.variables:
            return current.variables[name]
        current = current.parent
    return None


def is_local(scope: Scope, name: str) -> bool:
    """Whether the name is certainly a loop variable, parameter or local of a lambda here."""
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, (LoopScope, LambdaScope, SchemaScope)) and name in current.variables:
            return True
        current = current.parent
    return False


def in_schema(scope: Scope) -> bool:
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, SchemaScope):
            return True
        current = current.parent
    return False


def local_slot(scope: Scope, name: str) -> int | None:
    """The slot of a variable declared in this very scope or an enclosing one of the same lambda, for assignment."""
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, (LoopScope, LambdaScope)) and name in current.variables:
            return current.variables[name].place()
        if isinstance(current, LambdaScope):
            return None
        current = current.parent
    return None


def reader(scope: Scope, name: str, otherwise: Callable[[], Evaluate]) -> Evaluate:
    """Code that reads the name from `scope`; `otherwise` makes the code for a name that is not found inside it."""
    slots, attribute_at = _candidates(scope, name)
    if slots and slots[-1][1]:
        read = _definite(slots.pop()[0])
    else:
        read = otherwise()
    for position in range(len(slots), -1, -1):
        if position == attribute_at:
            read = _attribute(name, read)
        if position:
            read = _local(slots[position - 1][0], read)
    return read


def _candidates(scope: Scope, name: str) -> tuple[list[tuple[int, bool]], int | None]:
    """The (slot, definite) the name may be in, innermost first, and before which of them the attributes come."""
    slots: list[tuple[int, bool]] = []
    crossed: list[LambdaScope] = []
    attribute_at: int | None = None
    inside_lambda = 0
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, SchemaScope):
            attribute_at = inside_lambda
        variable = current.variables.get(name)
        if variable is not None:
            slot = variable.place()
            for lambda_scope in reversed(crossed):
                slot = lambda_scope.capture(variable, slot)
            slots.append((slot, variable.definite))
            if variable.definite:
                if attribute_at is None and not isinstance(current, ConfigScope):
                    return slots, None
                if not isinstance(current, SchemaScope):
                    return slots, attribute_at
        if isinstance(current, LambdaScope):
            crossed.append(current)
            inside_lambda = len(slots)
        current = current.parent
    return slots, attribute_at


def _definite(slot: int) -> Evaluate:
    return lambda environment: environment[slot]


def _local(slot: int, otherwise: Evaluate) -> Evaluate:
    def read(environment: Environment) -> Value:
        value = environment[slot]
        return otherwise(environment) if value is UNSET else value

    return read


def _attribute(name: str, otherwise: Evaluate) -> Evaluate:
    def read(environment: Environment) -> Value:
        frame = environment[0]
        if name in frame.final or name in frame.setters:
            return frame.read(name)
        return otherwise(environment)

    return read

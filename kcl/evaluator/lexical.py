"""What a name means where it stands: the scopes of compiled code, and how a name is found in them.

From the inside out a name is looked up among loop variables and a lambda's parameters and locals, then (in a schema
body) among the attributes of the instance, then among the keys of the configurations it stands in that have been
evaluated already, then among the schema's parameters, the package's globals and the built-in functions.

Locals live in numbered slots of an `Environment`. A lambda gets its own environment; the outer variables it uses are
copied into it where the lambda is created.
"""

from __future__ import annotations

from collections.abc import Callable

from kcl.evaluator.environments import UNSET, Environment, Evaluate
from kcl.evaluator.runtime import ModuleContext, Runtime
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
    the sites of its value, if some tracked expression asks for them.
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
        self._captured: dict[tuple[Variable, bool], int] = {}

    def capture(self, variable: Variable, outer_slot: int, sites: bool = False) -> int:
        """The slot in this lambda's environment that holds a copy of an outer variable, or of its sites."""
        slot = self._captured.get((variable, sites))
        if slot is None:
            slot = self._captured[variable, sites] = self.unit.new_slot()
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


def local_variable(scope: Scope, name: str) -> Variable | None:
    """The variable of that name declared in this very scope or an enclosing one of the same lambda, for assignment."""
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, (LoopScope, LambdaScope)) and name in current.variables:
            return current.variables[name]
        if isinstance(current, LambdaScope):
            return None
        current = current.parent
    return None


def reader(scope: Scope, name: str, otherwise: Callable[[], Evaluate], *, tracked: bool = False) -> Evaluate:
    """Code that reads the name from `scope`; `otherwise` makes the code for a name that is not found inside it.

    Tracked code leaves the sites of a local variable in `Runtime.origin`, too.
    """
    slots, attribute_at = candidates(scope, name, tracked)
    runtime = scope.module.runtime
    if slots and slots[-1][1]:
        slot, _, sites_slot = slots.pop()
        read = _definite(slot) if sites_slot is None else _tracked_definite(slot, sites_slot, runtime)
    else:
        read = otherwise()
    for position in range(len(slots), -1, -1):
        if position == attribute_at:
            read = _attribute(name, read)
        if position:
            slot, _, sites_slot = slots[position - 1]
            read = _local(slot, read) if sites_slot is None else _tracked_local(slot, sites_slot, read, runtime)
    return read


# Where a name may be: its slot, whether it always has a value there, and the slot of its sites where they are wanted.
Candidate = tuple[int, bool, int | None]


def candidates(scope: Scope, name: str, tracked: bool) -> tuple[list[Candidate], int | None]:
    """The places the name may be in, innermost first, and before which of them the attributes come."""
    slots: list[Candidate] = []
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
            sites_slot = variable.sites_place() if tracked else None
            for lambda_scope in reversed(crossed):
                slot = lambda_scope.capture(variable, slot)
                if sites_slot is not None:
                    sites_slot = lambda_scope.capture(variable, sites_slot, sites=True)
            slots.append((slot, variable.definite, sites_slot))
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


def _tracked_definite(slot: int, sites_slot: int, runtime: Runtime) -> Evaluate:
    def read(environment: Environment) -> Value:
        sites = environment[sites_slot]
        runtime.origin = () if sites is UNSET else sites
        return environment[slot]

    return read


def _tracked_local(slot: int, sites_slot: int, otherwise: Evaluate, runtime: Runtime) -> Evaluate:
    def read(environment: Environment) -> Value:
        value = environment[slot]
        if value is UNSET:
            return otherwise(environment)
        sites = environment[sites_slot]
        runtime.origin = () if sites is UNSET else sites
        return value

    return read


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

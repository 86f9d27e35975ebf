"""What the instances of a schema share, and the frame that one of them is built in.

A schema is a stack of levels (`schemas.py` says of which). Its layout has the statements of all of them by the
attribute that they set; a frame runs them for one instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kcl.diagnostics import Span
from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.lexical import SchemaScope, Unit
from kcl.evaluator.parameters import Parameters
from kcl.evaluator.runtime import Runtime
from kcl.evaluator.runtime_types import RuntimeType, Schema
from kcl.evaluator.scopes import LazyScope, Setter
from kcl.evaluator.statements import Body
from kcl.evaluator.value import KDict, SchemaInstance, Value
from kcl.records import dataclass, field

# Makes an instance: (schema, configuration, arguments, keyword arguments, where it was written).
Build = Callable[[Schema, KDict, Sequence[Value], Mapping[str, Value], Span | None], SchemaInstance]
# Makes an instance of another: (schema, the other, its configuration with some keys changed, where that was written).
Rebuild = Callable[[Schema, SchemaInstance, KDict, Span | None], SchemaInstance]


@dataclass(frozen=True, slots=True)
class IndexSignatureCode:
    """`[name: str]: T = default`, compiled."""

    name: str | None
    type: RuntimeType
    default: Evaluate | None


@dataclass(slots=True)
class CompiledBody:
    """One schema's own part, compiled: what a level runs.

    `statements` are run in order when an instance is built; `setters` belong to each attribute in order of the
    statements, `types` holds for each of them the type declared by that statement, None for an assignment.
    """

    unit: Unit
    scope: SchemaScope
    body: Body
    parameters: Parameters
    setters: dict[str, list[Setter]]
    types: dict[str, list[RuntimeType | None]]
    optional: dict[str, bool]
    statements: list[Callable[[Environment, SchemaFrame, Mapping[str, int]], None]]
    checks: list[Evaluate]
    decorators: list[Callable[[Environment, SchemaFrame], None]]
    index_signature: IndexSignatureCode | None


@dataclass(slots=True)
class Level:
    """A schema's own part as it stands in the stack of another: `first` tells which setter of a name is its first."""

    schema: Schema
    body: CompiledBody
    first: dict[str, int] = field(default_factory=dict)

    def bind(self, frame: SchemaFrame) -> Environment:
        environment = self.body.unit.environment(frame)
        self.body.parameters.bind(environment, frame.args, frame.kwargs, None)
        return environment


@dataclass(slots=True)
class SchemaLayout:
    """Everything about a schema that its instances share."""

    levels: list[Level]
    setters: dict[str, list[Setter]]
    types: dict[str, list[RuntimeType | None]]
    declared: frozenset[str]
    required: tuple[str, ...]
    index_signature: IndexSignatureCode | None
    index_signature_level: int
    build: Build | None = None
    """Generated code that makes an instance; None while, or where, there is none."""
    built: int = 0
    """How many instances were made so far, or TRIED."""
    certain: frozenset[str] = frozenset()
    """Attributes that are never None or Undefined, as far as `build` knows."""
    is_function: bool = False
    """Whether `build` is known to make nothing but what follows from the configuration, and to do nothing else."""
    rebuilds: dict[tuple[str, ...], int | Rebuild | None] = field(default_factory=dict)
    """By the keys that a union changes, code that makes an instance of another; or how many unions there were."""


class SchemaFrame(LazyScope):
    """The attributes of one schema instance while, and after, it is built.

    `config` is what the instance was written with. There is an environment for each level of the schema (its bases,
    itself, its mixins), since each has its own parameters.
    """

    __slots__ = ("_environments", "args", "config", "instance", "kwargs", "layout")

    runtime: Runtime

    def __init__(
        self,
        runtime: Runtime,
        layout: SchemaLayout,
        instance: SchemaInstance,
        config: KDict,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
    ) -> None:
        super().__init__(runtime, layout.setters)
        self.layout = layout
        self.instance = instance
        self.config = config
        self.args = args
        self.kwargs = kwargs
        self._environments: list[Environment | None] = [None] * len(layout.levels)

    def environment(self, setter: Setter) -> Environment:
        self.first = self.layout.levels[setter.level].first
        return self.level_environment(setter.level)

    def level_environment(self, level: int) -> Environment:
        found = self._environments[level]
        if found is None:
            found = self._environments[level] = self.layout.levels[level].bind(self)
        return found

    def release(self) -> None:
        """Lets go of the environments, which refer back to this, once the instance is built."""
        self._environments = [None] * len(self._environments)

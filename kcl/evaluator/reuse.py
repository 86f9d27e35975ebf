"""Parts of an evaluation that come to the same again after an edit, taken from the evaluation before.

A part is the right side of a statement, or an instance that a schema makes of other instances alone. What it comes to
follows from its code, from what it is given, and from variables of imported packages, which stay while these do
(`prepared`). So while all of them are the very objects they were, its value is that of the last time, places included:
code of an edited file is other code. Whatever else a part has read, or done besides making a value, is counted in
`Runtime.beyond`: a variable of the main package, `instances()`, a file, something printed. Such a part is evaluated
again each time. What `instances()` counts of a part is added in the order in which it was made.

Only the last evaluation is asked, and only that of the same main package: a loop over many stacks keeps the values of
the last alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from kcl.evaluator.instances import Instances
from kcl.evaluator.value import SchemaInstance, Sites
from kcl.records import dataclass

V = TypeVar("V")
Place: TypeAlias = tuple[str, int, int]
"""A file, where something begins in it, and where it ends."""
_Key: TypeAlias = tuple[object, ...]


class Module(Protocol):
    """The file whose code runs; `runtime.ModuleContext` is one."""

    package: str
    path: str


class Evaluation(Protocol):
    """What is asked of the evaluation; `runtime.Runtime` is one."""

    beyond: int
    depth: int
    instances: Instances
    origin: Sites
    schema_depth: int
    schema_expression_depth: int

    @property
    def module(self) -> Module | None: ...


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part came to, and at which depth of nested calls it began.

    `given` are the objects by whose identities it is found: they are held, so that no others take these.
    """

    given: tuple[object, ...]
    value: Any
    origin: Sites
    instances: list[tuple[SchemaInstance, str]]
    depth: int


class Parts:
    """The parts of the last evaluation, and those of the one that runs."""

    def __init__(self, runtime: Evaluation) -> None:
        self._runtime = runtime
        self._before: dict[_Key, _Part] = {}
        self._now: dict[_Key, _Part | None] = {}

    def end(self) -> None:
        """Ends an evaluation: what it did not come by of the one before is forgotten."""
        self._before = {key: part for key, part in self._now.items() if part is not None}
        self._now = {}

    def part(self, given: tuple[object, ...], evaluate: Callable[[], V], place: Place | None = None) -> V:
        """What `evaluate` answers, which follows from the objects `given`, or what it answered the last time.

        `place` is where it happens, for what is told of that. Leaves in `Runtime.origin` what `evaluate` did.
        """
        runtime = self._runtime
        file = runtime.module
        # what is required of instances is a matter of what is around
        around = file and (file.package, file.path), runtime.schema_depth, runtime.schema_expression_depth
        key = (place, around, *map(id, given))
        if key in self._now:  # a statement may run twice, and what it makes counts each time
            return evaluate()
        known = self._before.get(key)
        if known is not None and known.depth >= runtime.depth:  # so that it reaches no limit of nested calls
            self._now[key] = known
            runtime.instances.extend(known.instances)
            runtime.origin = known.origin
            value: V = known.value
            return value
        self._now[key] = None
        beyond, made = runtime.beyond, len(runtime.instances)
        value = evaluate()
        if runtime.beyond == beyond:
            self._now[key] = _Part(given, value, runtime.origin, runtime.instances.since(made), runtime.depth)
        return value

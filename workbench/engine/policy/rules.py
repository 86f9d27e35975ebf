"""What a rule is: which parameters it takes, what it looks at.

A rule is a function of its parameters that returns what looks: `(Subject) → violations`. So a parameter that is wrong
is told when the file is read, whatever the stacks have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import UNKNOWN, Body, KubernetesId, ResourceId, refers, unknown_paths
from workbench.engine.changes import Change
from workbench.engine.plan import Plan
from workbench.engine.plan_age import other_clock
from workbench.engine.policy.findings import Violation
from workbench.engine.spec import Spec
from workbench.project import Stack
from workbench.project.errors import BrokenFile


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule looks at. `plan` is there for the rules that need one; `looks_at` leaves out kinds.

    `bodies` has each resource with every body it will have: more than one where references come to other values from
    place to place. What only applying decides is `UNKNOWN` in it, or a reference where nothing was planned.
    """

    stack: Stack
    spec: Spec
    bodies: Mapping[ResourceId, tuple[Body, ...]]
    now: datetime
    plan: Plan | None = None
    looks_at: Callable[[ResourceId], bool] = field(default=lambda id_: True, repr=False)

    def moments(self) -> Iterator[tuple[str, datetime]]:
        """Yields what time it is: by this machine's clock, then by those of the plan's clusters that say another time.

        The first one is unnamed. Which one is wrong nobody knows, so what holds has to hold by all of them.
        """
        yield "", self.now
        for name, each in self.plan.identities.items() if self.plan is not None else ():
            if other := other_clock(each):
                yield name, self.now + other

    def resources(self) -> Iterator[tuple[ResourceId, Body]]:
        for id_, bodies in self.bodies.items():
            if self.looks_at(id_):
                for body in bodies:
                    yield id_, body

    def objects(self) -> Iterator[tuple[KubernetesId, Body]]:
        """The same without what Terraform makes."""
        for id_, body in self.resources():
            if isinstance(id_, KubernetesId):
                yield id_, body

    def steps(self) -> Iterator[Change]:
        """What the plan does."""
        for each in self.plan.steps() if self.plan is not None else ():
            if self.looks_at(each.address.id):
                yield each


Look = Callable[[Subject], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`about` is one sentence, `parameters` says what `with` takes. `needs_plan`: it is not asked of a Spec alone."""

    name: str
    about: str
    parameters: str
    build: Callable[[Parameters], Look]
    needs_plan: bool = False


class Parameters:
    """What `with` says, taken piece by piece; raises `BrokenFile` for what is missing, of another kind or unknown."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._left, self._where = dict(values), where
        self._known: list[str] = []

    def wrong(self, message: str, hint: str = "") -> BrokenFile:
        return BrokenFile(message, where=self._where, hint=hint)

    def lacking(self, message: str) -> BrokenFile:
        """Once all were asked for: what is said under another name is told first."""
        self.end()
        return self.wrong(message)

    def take(self, name: str) -> Any:
        """Returns None where it is not said."""
        self._known.append(name)
        return self._left.pop(name, None)

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Without a default there have to be some."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
            raise self.wrong(f"with: {name} needs to be a list of texts")
        return tuple(value)

    def whole(self, name: str) -> int | None:
        value = self.take(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise self.wrong(f"with: {name} needs to be a whole number, got {value!r}")
        return value

    def flag(self, name: str) -> bool:
        value = self.take(name)
        if value not in (None, True, False) or (isinstance(value, int) and not isinstance(value, bool)):
            raise self.wrong(f"with: {name} needs to be true or false, got {value!r}")
        return bool(value)

    def text(self, name: str) -> str:
        value = self.take(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"with: {name} needs to be text, got {value!r}")
        return value or ""

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.take(name)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(f"with: {name} needs to be a mapping")
        return value or {}

    def mappings(self, name: str) -> tuple[Mapping[str, Any], ...]:
        value = self.take(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.wrong(f"with: {name} needs to be a list of mappings")
        return tuple(value)

    def end(self) -> None:
        if self._left:
            known = f"known: {', '.join(self._known)}" if self._known else "it takes none"
            raise self.wrong(f"with: unknown parameter {next(iter(self._left))!r}; {known}")


def build(rule: Rule, values: Mapping[str, Any], where: str) -> Look:
    """Raises `BrokenFile` for parameters that the rule does not take."""
    parameters = Parameters(values, where)
    look = rule.build(parameters)
    parameters.end()
    return look


def is_decided(value: Any) -> bool:
    """Whether a value is known before it is applied."""
    return value is not UNKNOWN and not refers(value) and not any(True for _ in unknown_paths(value))

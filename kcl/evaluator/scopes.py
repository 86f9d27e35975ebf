"""Scopes whose variables do not depend on the order they are written in.

A variable of a package or a schema is what its *setters* make it: the statements that assign it, in order. Reading it
runs the last one; when that statement reads the variable itself, it gets what the setters before it make, and so on.
A setter inside an `if` that is not taken assigns nothing, and the one before it decides. Every setter runs at most
once in a scope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kcl.evaluator.environments import NOT_ASSIGNED, Environment, Evaluate
from kcl.evaluator.value import UNDEFINED, Sites, Value
from kcl.loader.program import MAIN_PACKAGE
from kcl.syntax import ast


class Evaluation(Protocol):
    """What a scope needs of the evaluation that it belongs to; `runtime.Runtime` is one."""

    beyond: int
    origin: Sites
    schema_depth: int
    packages: dict[str, PackageScope]


class Setter:
    """A statement as far as it assigns one variable.

    `level` is the index of the schema level it belongs to, `index` its place among the setters of its variable; `run`
    answers the value or NOT_ASSIGNED and leaves the value's sites in `Runtime.origin`. `first` tells, for a statement
    of a package, where the setters of its file begin among those of each name, `augments` whether it is one like `+=`,
    `unites` whether it is one like `a: A {}`, `reaches` whether it is one like `_a.b = 1`.
    """

    __slots__ = ("_compile", "_run", "augments", "first", "level", "reaches", "unites")

    def __init__(
        self,
        compile_: Callable[[], Evaluate],
        level: int = 0,
        first: Mapping[str, int] | None = None,
        augments: bool = False,
        unites: bool = False,
        reaches: bool = False,
    ) -> None:
        self.augments = augments
        self.unites = unites
        self.reaches = reaches
        self._compile = compile_
        self.first: Mapping[str, int] = {} if first is None else first
        self._run: Evaluate | None = None
        self.level = level

    @property
    def run(self) -> Evaluate:
        if self._run is None:
            self._run = self._compile()
        return self._run

    def at_level(self, level: int) -> Setter:
        """The same statement as part of another schema that inherits or mixes in the one it was written in."""
        return Setter(lambda: self.run, level)


class LazyScope(ABC):
    """Variables computed when they are read. `final` holds those that are settled."""

    __slots__ = ("_memo", "_running", "final", "first", "pinned", "runtime", "setters", "shared", "sites")

    def __init__(self, runtime: Evaluation, setters: Mapping[str, Sequence[Setter]]) -> None:
        self.runtime = runtime
        self.setters = setters
        self.final: dict[str, Value] = {}
        self.sites: dict[str, Sites] = {}
        self._memo: dict[tuple[str, int], tuple[Value, Sites]] = {}
        self._running: dict[str, int] = {}
        # While the condition of an `if` is evaluated: for what it assigns, the setter whose predecessors count.
        self.pinned: Mapping[str, int] = {}
        # Where the setters of the statements that are being run begin among those of each name.
        self.first: Mapping[str, int] = {}
        # Values of statements that assign several variables at once, by the statement's identity.
        self.shared: dict[int, Value] = {}

    @abstractmethod
    def environment(self, setter: Setter) -> Environment:
        """The variables to run a setter with."""

    def read(self, name: str) -> Value:
        """The value of one of the scope's own variables; its sites are left in `Runtime.origin`."""
        final = self.final
        if name in self.pinned:
            return self._value(name, self.setters[name], self.pinned[name] - 1)
        if name in final:
            self.runtime.origin = self.sites.get(name, ())
            return final[name]
        setters = self.setters[name]
        level = self._running.get(name)
        if level is not None and not self._starts_again(name):
            return self._value(name, setters, level - 1)
        value = self._value(name, setters, len(setters) - 1)
        final[name] = value
        self.sites[name] = self.runtime.origin
        return value

    def _starts_again(self, name: str) -> bool:
        """Whether a variable whose setter is running is computed from the beginning for who reads it."""
        return False

    def previous(self, name: str) -> Value:
        """For a setter that is running: what the setters before it make of its variable."""
        return self._value(name, self.setters[name], self._running[name] - 1)

    def is_reached(self) -> bool:
        """Whether the setter that runs is a statement whose turn it is: all conditions on the way to it hold."""
        return False

    def running(self, name: str) -> int:
        """The index of the setter of the name that is running."""
        return self._running[name]

    def force(self, name: str, index: int) -> Value:
        """Runs one setter unless it has run; answers what it assigned or NOT_ASSIGNED."""
        return self._result(name, self.setters[name], index)[0]

    def _value(self, name: str, setters: Sequence[Setter], index: int) -> Value:
        while index >= 0:
            value, sites = self._result(name, setters, index)
            if value is not NOT_ASSIGNED:
                self.runtime.origin = sites
                return value
            index -= 1
        self.runtime.origin = ()
        return UNDEFINED

    def _result(self, name: str, setters: Sequence[Setter], index: int) -> tuple[Value, Sites]:
        key = (name, index)
        found = self._memo.get(key)
        if found is not None:
            return found
        running, pinned = self._running, self.pinned
        outer = running.get(name)
        running[name] = index
        self.pinned = {}
        setter = setters[index]
        try:
            value = setter.run(self.environment(setter))
        finally:
            self.pinned = pinned
            if outer is None:
                del running[name]
            else:
                running[name] = outer
        result = (value, self.runtime.origin)
        self._memo[key] = result
        return result


class PackageScope(LazyScope):
    """The global variables of a package. `types` holds its schemas and rules, `aliases` its type aliases."""

    __slots__ = (
        "_aside",
        "_ordered",
        "_outcomes",
        "_own",
        "_present",
        "_settled",
        "aliases",
        "modules",
        "path",
        "types",
    )

    def __init__(self, runtime: Evaluation, path: str) -> None:
        super().__init__(runtime, {})
        # The variable of the statement that is being run, while nothing that it reads is being computed.
        self._ordered: str | None = None
        # What variables amount to that others read while they were not finished.
        self._outcomes: dict[str, tuple[Value, Sites]] = {}
        # What variables hold whose statements, run in order, see something else than who reads them.
        self._present: dict[str, tuple[Value, Sites]] = {}
        # Variables whose statements are not to begin with what came of reading them: what readers see was settled by
        # a statement in its turn, or they were read inside of a configuration, comprehension, lambda or schema.
        self._settled: set[str] = set()
        self._aside: set[str] = set()
        # Whether the statement that is being run has read its own variable.
        self._own = False
        self.path = path
        self.types: dict[str, Any] = {}
        self.aliases: dict[str, Any] = {}
        self.modules: list[Any] = []

    def forget_values(self) -> None:
        """As if nothing had been evaluated yet. In place, since compiled code refers to the scope."""
        if self._memo or self.final or self.shared or self._running or self.pinned:
            self.final, self.sites, self._memo, self._running, self.shared = {}, {}, {}, {}, {}
        self.pinned, self.first, self._ordered, self._outcomes = {}, {}, None, {}
        self._present, self._settled, self._aside, self._own = {}, set(), set(), False

    def dissolve(self) -> None:
        """Takes a scope apart that is not needed any more: it and its code refer to each other, and would wait for
        the search for garbage, which takes longer than the run they are of."""
        self.forget_values()
        self.setters, self.types, self.aliases, self.modules = {}, {}, {}, []

    @property
    def results(self) -> int:
        """How many statements have been run for their variables."""
        return len(self._memo)

    def environment(self, setter: Setter) -> Environment:
        # The compiled statement makes its own variables: how many it needs is known only once it is compiled.
        self.first = setter.first
        return []

    def force(self, name: str, index: int) -> Value:
        """Runs one setter, as the statement that is next in the order of the file.

        It also runs if a variable before it has needed it already. That changes no value, but the instances it builds
        count again: `instances()` is known to answer so for variables that are used before they are declared.

        What the statement reads is computed as if it had not started. So where two variables read each other, the
        first statement sees what the second makes of an unfinished value of its own. All but the output keep that
        value, which is what the official compiler answers.

        A statement that makes its variable out of what it was (`_a += 1`, `_a = _a + 1`) settles what is read below it,
        until the next that does: what others assign meanwhile is seen by the statements of the variable alone. Where
        somebody read the variable before, which ran all of its statements, such a statement begins with what came of
        that, and only the last of them is seen. So does a unification, which is seen in the output alone.
        """
        key = (name, index)
        found = self._memo.pop(key, None)
        setters = self.setters[name]
        setter = setters[index]
        is_read = name in self.final and name not in self._settled and name not in self._aside
        shows = setter.reaches and self._shows(name)
        self._own = setter.augments or shows
        self._running[name], self._ordered, self.pinned = index, name, {}
        try:
            value = setter.run(self.environment(setter))
        finally:
            self._ordered = None
            del self._running[name]
        made = value, self.runtime.origin
        unfinished = key in self._memo
        if found is not None or not unfinished:
            self._memo[key] = found or (value, self.runtime.origin)
        if value is not NOT_ASSIGNED:
            self._outcomes.pop(name, None)
            if unfinished and found is None:
                self._outcomes[name] = (value, self.runtime.origin)
                if setter.augments and isinstance(value, (dict, list)):
                    # What everybody has is one container, which grows.
                    self._memo[key] = self._outcomes[name]
                    self.final[name], self.sites[name] = self._outcomes[name]
            if len(setters) > 1 or setter.unites:
                self._keep(name, made, setter, is_read=is_read, is_last=shows or index == len(setters) - 1)
        return self._memo[key][0]

    def _keep(self, name: str, made: tuple[Value, Sites], setter: Setter, *, is_read: bool, is_last: bool) -> None:
        """Keeps what a statement made of a variable, for whom `force` says."""
        self._present[name] = made
        if is_read and setter.unites:
            self._outcomes[name] = made
        if self._own and not is_read and name not in self.final:
            self._settled.add(name)
        if self._own and (name in self._settled or (is_read and is_last)):
            self.final[name], self.sites[name] = made

    def read(self, name: str) -> Value:
        final = self.final
        if self.path == MAIN_PACKAGE:
            self.runtime.beyond += 1
        if name in self.pinned:
            if name in final and not self._running:
                self.runtime.origin = self.sites.get(name, ())
                return final[name]
        elif name == self._ordered and not self._starts_again(name):
            self._own = True
            return self.previous(name)
        elif name not in final:
            value = super().read(name)
            if name in final:
                self._present[name] = value, self.runtime.origin
            return value
        return super().read(name)

    def read_inside(self, name: str) -> Value:
        """What `read` answers, for code within a scope of its own: variables of the package hold what they held."""
        final = self.final
        if self.path == MAIN_PACKAGE:
            self.runtime.beyond += 1
        if name in self.pinned or name == self._ordered:
            return self.read(name)
        if name in final:
            self.runtime.origin = self.sites.get(name, ())
            return final[name]
        value = super().read(name)
        if name in final:
            self._aside.add(name)
        return value

    def read_in_schema(self, name: str) -> Value:
        """What a variable holds by now, for the body of a schema; where it holds nothing yet, what `read` answers."""
        present = self._present.get(name)
        if present is None:
            return self.read_inside(name)
        if self.path == MAIN_PACKAGE:
            self.runtime.beyond += 1
        self.runtime.origin = present[1]
        return present[0]

    def _shows(self, name: str) -> bool:
        """Whether what readers see is the value that the variable holds: what is changed in it they see too."""
        return name in self.final and name in self._present and self._present[name][0] is self.final[name]

    def is_reached(self) -> bool:
        return self._ordered is not None

    def previous(self, name: str) -> Value:
        if self.path == MAIN_PACKAGE:
            self.runtime.beyond += 1
        present = self._present.get(name) if name == self._ordered else None
        if present is None:
            return super().previous(name)
        self.runtime.origin = present[1]
        return present[0]

    def outcome(self, name: str) -> tuple[Value, Sites]:
        """What the program amounts to for a variable, and where it comes from."""
        found = self._outcomes.get(name)
        return found or (self.read(name), self.sites.get(name, ()))

    def _starts_again(self, name: str) -> bool:
        return name == self._ordered and self.runtime.schema_depth > 0  # what attributes read is not their own variable

    def _result(self, name: str, setters: Sequence[Setter], index: int) -> tuple[Value, Sites]:
        ordered = self._ordered
        if ordered is None:
            return super()._result(name, setters, index)
        level = self._running.pop(ordered)
        self._ordered = None
        try:
            return super()._result(name, setters, index)
        finally:
            self._ordered, self._running[ordered] = ordered, level

    def member(self, name: str) -> Value:
        """A schema, rule or type alias of the package as a value; Undefined for an alias of no schema."""
        while name in self.aliases and name not in self.types:
            context, alias = self.aliases[name]
            if not isinstance(alias.value, ast.NamedType):
                return UNDEFINED
            *package, name = alias.value.names
            if package:
                imported = context.imports.get(package[0])
                if imported is None or imported.package not in self.runtime.packages:
                    return UNDEFINED
                return self.runtime.packages[imported.package].member(name)
        return self.types.get(name, UNDEFINED)

"""Compiles what a union makes of an instance: `base | {quota.memory = "1Gi"}` builds the instance again, from what it
was given and what is new, though most attributes can only become what they are.

An attribute is a function of what was given for it and of the attributes that its default reads. So for one set of
keys that a union changes, the attributes divide in two: those that are among the keys, or read one that is, are
computed; the others are taken over from the instance before, values and sites. Computed as well is what is more than
such a function: what makes instances or calls something, which may be counted or print, and what reads a variable of
the package, which may be one that is just being computed; and all that reads an attribute which is computed. Checks
hold for the whole instance, and all of them are made again.

Only plain schemas have such code: every attribute is declared, and nothing else stands in a body. The others are built
again as a whole.
"""

from __future__ import annotations

from kcl.compiler import values
from kcl.compiler.containers import TooDeep
from kcl.compiler.pure import is_plain
from kcl.compiler.schemas import Lazy, Unordered, Writer
from kcl.compiler.setters import Setter, may_hold_instances
from kcl.compiler.source import CodeOf, compiled
from kcl.compiler.writing import names_in
from kcl.diagnostics import KclError
from kcl.evaluator.layouts import Rebuild
from kcl.evaluator.schema_lowering import literal_default
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.value import UNDEFINED, Sites
from kcl.syntax import ast

_HEAD = "def rebuild(schema, left, config, origin):"


def compile_changes(schema: SchemaType, changed: frozenset[str], code_of: CodeOf = compiled) -> Rebuild | None:
    """The function that builds an instance of `schema` again in which a union has changed these keys."""
    try:
        writer = _Changes(schema, changed)
        return writer.rebuilding(code_of) if writer.is_plain else None
    except (Lazy, Unordered, TooDeep, KclError):
        return None


class _Changes(Writer):
    """Writes the function for one schema and one set of keys."""

    def __init__(self, schema: SchemaType, changed: frozenset[str]) -> None:
        super().__init__(schema, set())
        self._simple = {}
        self._changed = changed
        self._computed = self._all_computed()
        self._taken = [name for name in self.setters if name not in self._computed]
        self._settled.update((name, len(self.setters[name]) - 1) for name in self._taken)

    @property
    def is_plain(self) -> bool:
        """Whether attributes are declared and nothing else stands in the bodies."""
        if self._dynamic or self.layout.index_signature is not None or not self._changed <= self.setters.keys():
            return False
        for level in self.layout.levels:
            node = level.schema.node
            if node.params or level.body.decorators or not all(map(is_plain, node.body)):
                return False
        return len(self._taken) > 0

    def _all_computed(self) -> set[str]:
        computed = {name for name in self.setters if name in self._changed or not self._is_function(name)}
        return computed | {name for name, reached in self._reach.items() if not computed.isdisjoint(reached)}

    def _is_function(self, name: str) -> bool:
        """Whether an attribute is nothing but a function of what is given and of other attributes."""
        for setter in self.setters[name]:
            variables = setter.scope.module.scope.setters
            if setter.creates or any(each in variables and each not in self.setters for each in setter.reads()):
                return False
        return True

    def rebuilding(self, code_of: CodeOf) -> Rebuild | None:
        source = self.source
        self._begin()
        with source.tried():
            self._made("left.args", "left.kwargs")
            source.line("instance.update(left)")
            source.line("instance.sites = places = left.sites")
            for name in self._taken:
                if name in self._read_names():
                    found = f"places.get({name!r}, ()) if places else ()"
                    source.line(f"{self._value(name)} = instance[{name!r}]; {self._sites(name)} = {found}")
                    self._lead(name)
            for level in self.layout.levels:
                source.line(f"{source.constant(self.runtime)}.module = {source.constant(level.schema.module)}")
                for statement in level.schema.node.body:
                    for place in level.body.body.of(statement):
                        if place.name in self._computed:
                            self._settle(place.name, level.first[place.name] + place.index)
            self._finish()
        self._end()
        if self._frame_line() is not None:
            return None
        return source.function("rebuild", _HEAD, self.schema.package, self.schema.name, code_of)

    def _read_names(self) -> set[str]:
        """What the code that is written may read."""
        read = {name for each in self._computed for setter in self.setters[each] for name in setter.reads()}
        read.update(name for level in self.layout.levels for name in names_in(level.schema.node.checks))
        return read

    def _declaration(self, setter: Setter, statement: ast.SchemaAttr) -> None:
        if setter.name not in self._changed:
            super()._declaration(setter, statement)
            return
        name = setter.name  # a union overrides it: the default does not count
        own = setter.scope.module.site(statement, SiteKind.DEFAULT, statement.value)
        has_default = statement.value is not None or literal_default(statement) is not None
        declared: Sites = own if has_default else ()
        self._follows(name, "()", declared)
        self._replacement(setter, self.expressions.sites(declared))

    def _instance(self) -> None:
        source = self.source
        computed = [name for name in self.setters if name in self._computed]
        entries = ", ".join(f"{name!r}: {self._value(name)}" for name in computed)
        source.line(f"instance.update({{{entries}}})")
        defaults = [name for name in computed if name not in self._changed]
        unset = "".join(f"{self._value(name)} is {source.constant(UNDEFINED)}, " for name in defaults)
        last = source.constant(values.LastChangedOperators(defaults))
        self._give_operators(last, f"(left.operators, keys, {unset})")
        self._give_sites(computed, last, "places")

    def _require(self) -> None:
        held = [f"instance[{name!r}]" for name, setters in self.setters.items() if may_hold_instances(setters)]
        self._require_all(self.layout.certain, held, frozenset())

"""What is known of a schema's attributes before its function is written (`schemas.py` says what for)."""

from __future__ import annotations

from kcl.compiler.setters import COMPUTED, Setter, decorators, reachable, scalar_default, shows
from kcl.compiler.writing import names_in
from kcl.evaluator.layouts import SchemaLayout
from kcl.evaluator.value import UNDEFINED, Value
from kcl.syntax import ast


class Attributes:
    """Of all levels of one schema. `lazy` are those that were found to be left to the lazy scope."""

    def __init__(self, layout: SchemaLayout, lazy: set[str]) -> None:
        self._layout = layout
        params = [param.name for level in layout.levels for param in level.schema.node.params]
        self.own_names = frozenset((*layout.setters, *params))
        self.setters = self._setters()
        """By attribute, in the order in which they run."""
        self.showing = self._count_showing()
        """How many statements may make instances or print."""
        self.reach = self._all_reach()
        """The attributes that each needs, however indirectly."""
        self.is_circular = any(name in reached for name, reached in self.reach.items())
        complex_ = {name for name, setters in self.setters.items() if not all(each.is_straight for each in setters)}
        self.dynamic = lazy | complex_
        """The attributes left to the lazy scope: those that are lazy, and those not assigned simply."""
        simple = self._all_simple()
        # A template pays where it is most of an instance.
        self.simple = simple if 2 * len(simple) > len(self.setters) else {}
        """The defaults of attributes that are written as one scalar or not at all, and that nothing reads."""

    def _setters(self) -> dict[str, list[Setter]]:
        found: dict[str, list[Setter]] = {name: [] for name in self._layout.setters}
        for number, level in enumerate(self._layout.levels):
            for name, places in level.body.body.assigning.items():
                for place in places:
                    index = len(found[name])
                    type_ = self._layout.types[name][index]
                    found[name].append(Setter(number, level, place, type_, index, self.own_names))
        return found

    def _count_showing(self) -> int:
        others = [
            statement
            for level in self._layout.levels
            for statement in level.schema.node.body
            if not level.body.body.of(statement) and shows(statement, level.schema.module, self.own_names)
        ]
        return len(others) + sum(each.creates for setters in self.setters.values() for each in setters)

    def _all_reach(self) -> dict[str, set[str]]:
        reads = {
            name: {other for setter in setters for other in setter.reads() if other in self.setters and other != name}
            for name, setters in self.setters.items()
        }
        return {name: reachable(name, reads) for name in reads}

    def _all_simple(self) -> dict[str, Value]:
        if self._layout.index_signature is not None:
            return {}
        read = {name for setters in self.setters.values() for setter in setters for name in setter.reads()}
        for level in self._layout.levels:
            node = level.schema.node
            rest = [each for each in node.body if not isinstance(each, (ast.SchemaAttr, ast.Assign))]
            read.update(names_in([*node.checks, *decorators(node), *rest]))
        found = {}
        for name, (setter, *others) in self.setters.items():
            statement = setter.assigning.statement
            if others or name in read or name in self.dynamic or setter.assigning.conditions:
                continue
            if not isinstance(statement, ast.SchemaAttr):
                continue
            default = scalar_default(statement)
            fits = setter.type is None or (not setter.type.converts and setter.type.accepts(default))
            if default is not COMPUTED and (default is UNDEFINED or fits):
                found[name] = default
        return found

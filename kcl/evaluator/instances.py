"""The instances that an evaluation has made, in order, for `Schema.instances()`."""

from __future__ import annotations

from collections.abc import Iterable

from kcl.evaluator.value import SchemaDescription, SchemaInstance


class Instances:
    """A list of instances, each with the package that made it; they are sorted by schema when somebody asks."""

    __slots__ = ("_by_schema", "_made", "_sorted")

    def __init__(self) -> None:
        self._made: list[tuple[SchemaInstance, str]] = []
        self._by_schema: dict[int, list[tuple[str, SchemaInstance]]] = {}
        self._sorted = 0

    def __len__(self) -> int:
        return len(self._made)

    def add(self, instance: SchemaInstance, caller: str) -> None:
        self._made.append((instance, caller))

    def extend(self, made: Iterable[tuple[SchemaInstance, str]]) -> None:
        self._made += made

    def since(self, number: int) -> list[tuple[SchemaInstance, str]]:
        """Those after the first `number`."""
        return self._made[number:]

    def of(self, schema: SchemaDescription) -> list[tuple[str, SchemaInstance]]:
        """Those of a schema and of all that descend from it, each with the package that counts as having made it.

        For a base that is the package of the schema which descends from it.
        """
        for instance, by in self._made[self._sorted :]:
            for each in instance.schema.lineage:
                self._by_schema.setdefault(id(each), []).append((by, instance))
                by = each.package
        self._sorted = len(self._made)
        return self._by_schema.get(id(schema), [])

"""Sets of field paths, as `metadata.managedFields` records them.

A path element is the text that FieldsV1 uses: `f:name` for a member, `k:{"name":"main"}` for a list element by its
keys, `v:"x"` for a scalar in a set, `i:0` for a position. Keeping the text makes elements hashable and encoding free;
JSON inside is normalised (sorted keys, no spaces), so equal elements have equal texts.
A set knows its `members` at this level, and sets below its `children`; an element may be in both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runtimes.base.documents import load_json
from runtimes.sandbox.schema.types import Type

Path = tuple[str, ...]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def member(name: str) -> str:
    return f"f:{name}"


def keyed(keys: Mapping[str, Any]) -> str:
    return f"k:{_json(keys)}"


def scalar(value: object) -> str:
    return f"v:{_json(value)}"


def _go_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def element_text(element: str) -> str:
    """As messages show it: `.name`, `[name="main"]`, `[="x"]`, `[0]`."""
    kind, rest = element[0], element[2:]
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            return "[" + ",".join(f"{name}={_go_text(value)}" for name, value in load_json(rest).items()) + "]"
        case "v":
            return f"[={_go_text(load_json(rest))}]"
    return f"[{rest}]"


def path_text(path: Iterable[str]) -> str:
    return "".join(element_text(element) for element in path)


def _order(value: object) -> tuple[int, Any]:
    """A total order over scalars of mixed kinds: numbers, texts, booleans, null."""
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
    return (3, 0)


def _rank(element: str) -> tuple[Any, ...]:
    """The order elements are listed in: members by name, then list elements by keys, set values, positions."""
    kind, rest = element[0], element[2:]
    match kind:
        case "f":
            return (0, rest)
        case "k":
            return (1, tuple((name, _order(value)) for name, value in load_json(rest).items()))
        case "v":
            return (2, _order(load_json(rest)))
    return (3, int(rest or 0))


class FieldSet:
    """See the module. Operations give new sets and leave their operands alone; parts may be shared between sets."""

    __slots__ = ("children", "members")

    def __init__(self, members: set[str] | None = None, children: dict[str, FieldSet] | None = None) -> None:
        self.members: set[str] = members if members is not None else set()
        self.children: dict[str, FieldSet] = children if children is not None else {}

    @staticmethod
    def of(*paths: Sequence[str]) -> FieldSet:
        """A set of the given paths, each a sequence of member names: `of(("metadata", "name"))`."""
        made = FieldSet()
        for path in paths:
            made.insert(tuple(member(name) for name in path))
        return made

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return self.members == other.members and self.children == other.children

    __hash__ = None  # type: ignore[assignment]  # it is mutable while it is built

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(path_text(path) for path in self)})"

    def insert(self, path: Path) -> None:
        """Add a path, not the root. Only for a set that is being built: children must not be shared."""
        at = self
        for element in path[:-1]:
            at = at.children.setdefault(element, FieldSet())
        if path:
            at.members.add(path[-1])

    def has(self, path: Path) -> bool:
        at: FieldSet | None = self
        for element in path[:-1]:
            at = at.children.get(element) if at is not None else None
        return at is not None and bool(path) and path[-1] in at.members

    def __iter__(self) -> Iterator[Path]:
        """All paths: those of this level first, each level in the order of its elements."""
        for element in sorted(self.members, key=_rank):
            yield (element,)
        for element in sorted(self.children, key=_rank):
            for rest in self.children[element]:
                yield (element, *rest)

    def below(self, element: str) -> FieldSet | None:
        return self.children.get(element)

    def union(self, other: FieldSet) -> FieldSet:
        children = dict(self.children)
        for element, theirs in other.children.items():
            ours = children.get(element)
            children[element] = theirs if ours is None else ours.union(theirs)
        return FieldSet(self.members | other.members, children)

    def intersection(self, other: FieldSet) -> FieldSet:
        children = {
            element: both
            for element, ours in self.children.items()
            if (theirs := other.children.get(element)) is not None and (both := ours.intersection(theirs))
        }
        return FieldSet(self.members & other.members, children)

    def difference(self, other: FieldSet) -> FieldSet:
        """The paths of this set that are not in `other`; what is below a path of `other` stays."""
        children: dict[str, FieldSet] = {}
        for element, ours in self.children.items():
            theirs = other.children.get(element)
            left = ours if theirs is None else ours.difference(theirs)
            if left:
                children[element] = left
        return FieldSet(self.members - other.members, children)

    def without(self, other: FieldSet) -> FieldSet:
        """As `difference`, and without all that is below a path of `other`."""
        children: dict[str, FieldSet] = {}
        for element, ours in self.children.items():
            if element in other.members:
                continue
            theirs = other.children.get(element)
            left = ours if theirs is None else ours.without(theirs)
            if left:
                children[element] = left
        return FieldSet(self.members - other.members, children)

    def with_named_fields(self, type_: Type | None) -> FieldSet:
        """With every struct field on the way to a path as a path too: owning `a.b` of a struct is owning `a`.

        Elements of maps and lists are not added: those are owned only where they were said to be.
        """
        members = set(self.members)
        children: dict[str, FieldSet] = {}
        for element, below in self.children.items():
            child: Type | None = None
            if type_ is not None and element.startswith("f:") and type_.map is not None:
                child = type_.map.member(element[2:])
                if element[2:] in type_.map.fields:
                    members.add(element)
            elif type_ is not None and element.startswith("k:") and type_.list is not None:
                child = type_.list.element
            children[element] = below.with_named_fields(child)
        return FieldSet(members, children)

    def encode(self) -> dict[str, Any]:
        """FieldsV1."""
        out: dict[str, Any] = {}
        for element in sorted(self.members | self.children.keys(), key=_rank):
            below = self.children.get(element)
            if below is None:
                out[element] = {}
            else:
                out[element] = {".": {}, **below.encode()} if element in self.members else below.encode()
        return out

    @staticmethod
    def decode(fields: Mapping[str, Any]) -> FieldSet:
        """From FieldsV1; raises ValueError for what is none. An element with nothing below it is a member."""
        made = FieldSet()
        for key, below in fields.items():
            if key == ".":
                continue  # the caller has taken it
            if len(key) < 2 or key[1] != ":" or not isinstance(below, Mapping):
                raise ValueError(f"not a path element: {key!r}")
            element = f"{key[:2]}{_json(load_json(key[2:]))}" if key[0] in "kv" else key
            if "." in below or not below:
                made.members.add(element)
            inner = FieldSet.decode(below)
            if inner:
                made.children[element] = inner
        return made

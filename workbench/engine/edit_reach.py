"""What an edit of the source changes in its own stack besides what it was made for.

One line may set fields of several resources: a default of a schema, a value that a lambda gives to each of its objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from runtimes.base import FieldPath, ResourceId, starts_with
from workbench.engine.diff import same
from workbench.engine.field_edit import is_same
from workbench.engine.fields import MISSING, find, position
from workbench.engine.spec import Spec

Field = tuple[ResourceId, FieldPath]


def missed(spec: Spec, wanted: Mapping[Field, Any]) -> Field | None:
    """Returns the first field that does not have its value, None if all have: one line may set two of them."""
    for (id_, path), value in wanted.items():
        resource = spec.get(id_)
        if resource is None or not is_same(find(resource.attributes, path), value):
            return id_, path
    return None


def besides(before: Spec, after: Spec, meant: Collection[Field]) -> tuple[Field, ...]:
    """Returns the fields that differ and are not meant, elements of lists counted.

    The whole resource, with an empty path, where only one of the two has it.
    """
    return tuple(_besides(before, after, meant))


def _besides(before: Spec, after: Spec, meant: Collection[Field]) -> Iterator[Field]:
    for id_ in dict.fromkeys(each.id for spec in (before, after) for each in spec):
        old, new = before.get(id_), after.get(id_)
        if old is None or new is None:
            yield id_, ()
            continue
        own = [_counted(new.attributes, path) for of, path in meant if of == id_]
        for path in _changed(old.attributes, new.attributes, ()):
            if not any(starts_with(path, each) or starts_with(each, path) for each in own):
                yield id_, path


def _changed(before: Any, after: Any, path: FieldPath) -> Iterator[FieldPath]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from _changed(before.get(key, MISSING), after.get(key, MISSING), (*path, str(key)))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changed(one, other, (*path, index))
    elif before is not after and not same(before, after):
        yield path


def _counted(body: Any, path: FieldPath) -> FieldPath:
    """The path with the elements of its lists counted, as far as it leads."""
    found: FieldPath = ()
    for step in path:
        if isinstance(step, str):
            body = body.get(step) if isinstance(body, Mapping) else None
            found = (*found, step)
            continue
        index = position(body, step)
        if index is None:
            return found
        body, found = body[index], (*found, index)
    return found

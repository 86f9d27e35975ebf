"""Places where an edit could be written: files, variables, and keys below them.

What a value that is not there would have to be written into is told by nothing. So places are proposed, the likeliest
first, and who asks tries each until one does what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from kcl import api
from kcl.records import dataclass, replace
from runtimes.base import FieldPath, ResourceId, format_path
from workbench.engine.errors import EditFailed
from workbench.engine.fields import MISSING, find
from workbench.engine.spec import SourceSite, Spec
from workbench.engine.whatif import WhatIf
from workbench.project import Stack


@dataclass(frozen=True, slots=True)
class Place:
    """A key of a variable in a file; the last of `keys` is the one that is written."""

    file: Path
    variable: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditPlaces:
    """`read` are the files that the stack was compiled from."""

    edits: WhatIf
    stack: Stack
    read: Set[Path]

    def is_own(self, place: Place) -> bool:
        return place.file.parent == self.stack.directory

    def enclosing(self, site: SourceSite) -> api.Enclosing | None:
        """Returns what leads to a site; None where no names alone do, or the file is not of the repository."""
        try:
            return api.enclosing_at(self.edits.text(site.file), site.line, site.column)
        except (ValueError, EditFailed):
            return None

    def overriding(self, found: api.Enclosing) -> Iterator[Place]:
        """Yields places of the stack's own files where what is written in another file may be overridden."""
        configured = list(self._configured())
        if not found.is_schema:
            yield from (
                Place(file, name, found.keys) for file, name, above, _ in configured if name == found.name and not above
            )
            return
        attributes = {
            each: None
            for file in sorted(self.read)
            if file.suffix == ".k" and file.is_relative_to(self.edits.root)
            for each in api.attributes_of(self.edits.text(file), found.name)
        }
        for file, name, above, schema in configured:
            if schema.rpartition(".")[2] == found.name:
                yield Place(file, name, (*above, *found.keys))
        for file, name, above, _ in configured:
            yield from (Place(file, name, (*above, each, *found.keys)) for each in attributes)
        for file, name, above, _ in configured:
            yield Place(file, name, (*above, *found.keys))

    def adding(self, spec: Spec, id_: ResourceId, path: FieldPath) -> Iterator[Place]:
        """Yields places that may give a resource a field it does not have.

        First where what is around it is written, then beside its siblings, then where either may be overridden, and
        last the configurations of the stack's own files under the last names of the path. Raises `EditFailed` where
        an element of a list would have to be added.
        """
        resource = spec.get(id_)
        body = None if resource is None else resource.attributes
        depth = next(each for each in range(len(path), -1, -1) if find(body, path[:each]) is not MISSING)
        around, rest = path[:depth], path[depth:]
        names = tuple(each for each in rest if isinstance(each, str))
        if len(names) != len(rest):
            name = format_path(path[: depth + 1])
            raise EditFailed(f"there is no {name}", where=str(id_), hint="elements of lists are added by hand")
        found = list(dict.fromkeys(self._around(spec, id_, around, names)))
        yield from (Place(file, each.name, each.keys) for file, each in found if not each.is_schema)
        for _, each in found:
            yield from self.overriding(each)
        words = tuple(each for each in path if isinstance(each, str))
        for length in range(len(names), len(words) + 1):
            for file, name, above, _ in self._configured():
                yield Place(file, name, (*above, *words[-length:]))

    def _around(
        self, spec: Spec, id_: ResourceId, around: FieldPath, names: tuple[str, ...]
    ) -> Iterator[tuple[Path, api.Enclosing]]:
        """Yields files with what would lead to the field, by where the field around it and its siblings are written."""
        for site in spec.own_chain(id_, around):
            found = self.enclosing(site)
            if found is not None:
                yield site.file, replace(found, keys=(*found.keys, *names))
        resource = spec.get(id_)
        body = None if resource is None else find(resource.attributes, around)
        for sibling in body if isinstance(body, Mapping) else ():
            for site in spec.own_chain(id_, (*around, sibling)):
                found = self.enclosing(site)
                if found is not None and found.keys[-1:] == (sibling,):
                    yield site.file, replace(found, keys=(*found.keys[:-1], *names))

    def _configured(self) -> Iterator[tuple[Path, str, tuple[str, ...], str]]:
        for file in sorted(self.read):
            if file.suffix == ".k" and file.parent == self.stack.directory:
                yield from ((file, *each) for each in api.configured(self.edits.text(file)))

"""What a program amounts to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from kcl.diagnostics import Diagnostic
from kcl.emit import json_text, yaml_stream
from kcl.evaluator.dialect import Dialect
from kcl.evaluator.sites import Site
from kcl.loader import Manifest
from kcl.records import dataclass, field
from kcl.syntax import ast

if TYPE_CHECKING:
    from pathlib import Path


class Provenance(Protocol):
    """Where the values of a result come from: as they were evaluated, or as that was kept."""

    @property
    def user_files(self) -> frozenset[str]:
        """The files of the main package: what a user writes, as opposed to the models it is written in."""

    def lookup(self, document: int, path: Sequence[str | int]) -> tuple[Site, ...]:
        """The places that decided the value at `path` of an output document, the most decisive first.

        A value that has no place of its own answers with that of the closest container that has one. Empty when the
        document or path does not exist, or nothing in the source is known to have decided it.
        """

    def schema(self, document: int, path: Sequence[str | int]) -> str | None:
        """The name of the schema the value at `path` is an instance of, None for anything else."""


@dataclass(frozen=True)
class RunResult:
    """What a program amounts to."""

    documents: tuple[Any, ...]
    """Plain values (None, bool, int, float, str, list, dict), one for each YAML document, in order."""
    provenance: Provenance
    """`lookup(document index, path)`: the source positions behind a value, the most decisive first."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings; errors are raised."""
    sources: Mapping[str, str]
    """Text by path of every source file of the program. Of a result that was kept they are read when asked for, which
    raises SourceChanged for a file that is another by then."""
    dependency_names: frozenset[str] = field(repr=False)
    printed: str
    """What `print` wrote."""
    dialect: Dialect
    manifest: Manifest
    emitted: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    """The text of the program's own output (`manifests.yaml_stream`), when it made one."""
    sort_keys: bool = False
    trees: Mapping[str, ast.Module] = field(default_factory=lambda: MappingProxyType({}), repr=False, compare=False)
    """What the texts of the main package were parsed to, by path; empty for a result that was kept."""
    is_of_files: bool = False
    """Whether files, options and settings alone decide it: no time, chance, environment or plugin. Only told of runs
    that were asked for variables."""

    @cached_property
    def dependencies(self) -> frozenset[Path]:
        """Absolute paths of all files read, or looked for in vain: while they stay the same, so does the result."""
        from pathlib import Path  # takes long to load, and a command asks for no dependencies

        return frozenset(map(Path, self.dependency_names))

    def yaml(self) -> str:
        """The documents as the official tools print them, `---` between them."""
        if self.emitted is not None:
            return self.emitted()
        return yaml_stream(self.documents, sort_keys=self.sort_keys)

    def json(self, *, indent: int = 4) -> str:
        """The documents as JSON, one after the other."""
        return "".join(json_text(item, indent=indent, sort_keys=self.sort_keys) + "\n" for item in self.documents)

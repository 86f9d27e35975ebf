"""A stack's KCL → its Spec.

The language is synchronous and pure, so it runs on a worker thread; what comes back is complete: the Spec, warnings,
and every file it was read from (which later tells what an edit touches).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kcl.diagnostics import Diagnostic
from workbench.engine.errors import EngineError
from workbench.engine.spec import Spec


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """What may vary between two compilations of one stack.

    `options` are `-D name=value`, values as text. `settings` are files as given with `-Y`, relative to the stack's
    folder. `overlay` replaces or adds file contents by absolute path; files on disk are never touched.
    """

    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    settings: tuple[str, ...] = ()
    overlay: Mapping[Path, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)


@dataclass(frozen=True, slots=True)
class CompiledStack:
    """`diagnostics` are warnings, `dependencies` every file read, `log` what the program printed."""

    spec: Spec
    diagnostics: tuple[Diagnostic, ...]
    dependencies: frozenset[Path] = field(repr=False)
    seconds: float
    log: str = ""


class CompileFailed(EngineError):
    """The KCL is wrong. `diagnostics` are the findings, `rendered` the same as text with source lines and carets.

    `message` is the first finding and `where` its `file:line:column`.
    """

    def __init__(self, message: str, *, where: str, diagnostics: tuple[Diagnostic, ...], rendered: str) -> None:
        super().__init__(message, where=where, hint="correct the source; nothing was sent to a cluster")
        self.diagnostics, self.rendered = diagnostics, rendered


__all__ = ["Any", "CompileFailed", "CompileInputs", "CompiledStack"]

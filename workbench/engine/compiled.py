"""What goes into a compilation and what comes out of it, for those that have it done elsewhere.

The language is not imported here: screens and a `wb diff` start without it, as another process compiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from kcl.diagnostics import Diagnostic, Position
from kcl.records import dataclass, field
from workbench.engine.errors import EngineError
from workbench.engine.spec import Spec


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """What may vary between two compilations of one stack.

    `options` are `-D name=value`, values as text. `settings` are files as given with `-Y`, relative to the stack's
    folder. `overlay` replaces or adds file contents by absolute path; files on disk are never touched.
    """

    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    settings: tuple[str, ...] = ()
    overlay: Mapping[Path, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def plain(self) -> CompileInputs:
        """The same as plain dictionaries, which any process can be sent."""
        return CompileInputs(dict(self.options), self.settings, dict(self.overlay))

    def overlaid(self, path: Path) -> str | None:
        """Returns the text that a file has instead of its own, by whatever name it is edited; None without one."""
        if not self.overlay:
            return None
        found = self.overlay.get(path)
        if found is None and self._may_lead(path, (each.name for each in self.overlay)):
            found = self.overlay.get(path.resolve())
        return found

    def overlaid_in(self, folder: Path) -> frozenset[Path]:
        """Returns the files of a folder that have another text, or are there only in the overlay, by its name."""
        if not self.overlay:
            return frozenset()
        folders = {each.parent for each in self.overlay}
        if self._may_lead(folder, (each.name for each in folders)):
            names = (folder, folder.resolve())
            return frozenset(folder / each.name for each in self.overlay if each.parent in names)
        return frozenset()

    def _may_lead(self, path: Path, names: Iterable[str]) -> bool:
        """Whether links may lead a path to one of these names: it ends as it is written, unless it is a link itself."""
        return path.name in names or path.is_symlink()


@dataclass(frozen=True, slots=True)
class CompiledStack:
    """`diagnostics` are warnings, `dependencies` every file read, `log` what the program printed."""

    spec: Spec
    diagnostics: tuple[Diagnostic, ...]
    dependencies: frozenset[Path] = field(repr=False)
    seconds: float
    log: str = ""


class CompileFailed(EngineError):
    """The KCL is wrong. `diagnostics` are the findings, `rendered` the same as text with source lines and carets, and
    what plugins printed.

    `message` is the first finding and `where` its `file:line:column`. `places` are where the findings are, None for one
    that is at no place.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str,
        diagnostics: tuple[Diagnostic, ...],
        rendered: str,
        hint: str = "",
        places: tuple[Position | None, ...] = (),
    ) -> None:
        codes = " ".join(dict.fromkeys(each.code.number for each in diagnostics))
        hint = hint or f"correct the source (`kcl explain {codes}` says more); nothing was sent to a cluster"
        super().__init__(message, where=where, hint=hint)
        self.diagnostics, self.rendered, self.places = diagnostics, rendered, places

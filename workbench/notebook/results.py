"""What the verbs return: the engine's value, a DataFrame of it, and a view.

A result at the end of a cell is HTML, text and JSON, so that a saved notebook reads well anywhere; only what goes on is
a widget, while it does (`boards`). `widget()` gives any result as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.engine.changes import Change, FieldChange, Problem, StackDiff, Summary
from workbench.engine.compiled import CompiledStack
from workbench.engine.masking import Seal
from workbench.engine.release import Release, StepState
from workbench.notebook.views import Picture, Tab, html, text
from workbench.present import clusters, documents, durations, explain
from workbench.present import diff as present_diff
from workbench.present import spec as present_spec
from workbench.present.glyphs import UNICODE
from workbench.present.reconcile import short_id
from workbench.present.rows import Column, Row, Table
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from workbench.notebook.live import LiveView
    from workbench.notebook.runs import Plan
    from workbench.notebook.workspace import StackHandle

_SEAL = Seal.random()

UNIFIED_COLUMNS = (Column("Change", grow=True), Column("Note"), Column("Source"))
_SIDE_WIDTH = 60
SIDES_COLUMNS = (Column("Field"), Column("Live"), Column("Configuration"), Column("Source"))
PROVENANCE_COLUMNS = (Column("Field"), Column("Set by"), Column("Through"))


class Shown(ABC):
    """Anything a cell may end with."""

    name: str
    """What the JSON of the mimebundle is: `application/vnd.wb.NAME+json`."""

    @property
    @abstractmethod
    def df(self) -> pd.DataFrame:
        """The result as a table; columns and dtypes are those of `frames`."""

    @abstractmethod
    def _picture(self) -> Picture: ...

    @abstractmethod
    def _document(self) -> dict[str, Any]: ...

    def widget(self) -> LiveView:
        """Returns the view as a widget of its own, to be placed among others."""
        from workbench.notebook.live import LiveView, payload

        return LiveView(picture=payload(self._picture()))

    def __repr__(self) -> str:
        return text(self._picture())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        picture = self._picture()
        return {
            "text/plain": text(picture),
            "text/html": html(picture),
            f"application/vnd.wb.{self.name}+json": self._document(),
        }


class Compiled(Shown):
    """What a stack yields. `spec["Deployment/web"]` finds a resource by id, or by Kind/name where that is unique."""

    name = "spec"

    def __init__(self, compiled: CompiledStack, clusters: tuple[str, ...], roots: present_diff.Roots) -> None:
        self.value, self._clusters, self._roots = compiled, clusters, roots

    def __len__(self) -> int:
        return len(self.value.spec)

    def __iter__(self) -> Iterator[ResourceView]:
        return (ResourceView(self, str(each.id)) for each in self.value.spec)

    def __getitem__(self, name: str) -> ResourceView:
        return ResourceView(self, str(explain.find(self.value.spec, name).id))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"{each.code.title}: {each.message}" for each in self.value.diagnostics)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.spec(
            self.value.spec,
            self._clusters,
            self._roots[-1],
            _SEAL.knowing(self.value.spec.secrets, self.value.spec.rules),
        )

    def _picture(self) -> Picture:
        spec = self.value.spec
        head = line(
            Span(spec.stack, Tone.STRONG),
            f"  {counted(len(spec), 'resource')} from {counted(len(self.value.dependencies), 'file')}",
            f" in {self.value.seconds:.2f} s",
        )
        warnings = (line(Span(f"{UNICODE.finding} {each}", Tone.WARN)) for each in self.warnings)
        listed = Table(present_spec.RESOURCE_COLUMNS, present_spec.resource_rows(spec))
        whole = Table(
            (Column("Resource"), Column("Source")),
            tuple(row for each in spec for row in _resource_rows(self, str(each.id))),
        )
        return Picture((head, *warnings), (Tab("Resources", listed), Tab("YAML", whole)))

    def _document(self) -> dict[str, Any]:
        spec = self.value.spec
        return {
            "apiVersion": "wb/v1",
            "kind": "Spec",
            "stack": spec.stack,
            "resources": present_spec.masked_documents(spec),
        }


class ResourceView(Shown):
    """One resource of a compiled stack: `yaml` with secrets masked, `source` of a field."""

    name = "resource"

    def __init__(self, compiled: Compiled, id_: str) -> None:
        self._compiled, self.id = compiled, id_

    @property
    def yaml(self) -> str:
        return "\n".join(str(row.cells[1]) for row in self._rows())

    @property
    def df(self) -> pd.DataFrame:
        found = self._compiled.df
        return found[found["id"] == self.id].reset_index(drop=True)

    def explain(self, path: str) -> Note:
        """Returns the value of a field and the chain of source lines behind it."""
        root = self._compiled._roots[-1]
        return Note(Picture(tuple(explain.lines(self._compiled.value.spec, self.id, path, root))))

    def _rows(self) -> tuple[Row, ...]:
        spec = self._compiled.value.spec
        return present_spec.yaml_rows(explain.find(spec, self.id), spec, *self._compiled._roots)

    def _picture(self) -> Picture:
        table = Table(present_spec.YAML_COLUMNS, self._rows())
        return Picture((line(Span(self.id, Tone.STRONG)),), (Tab("YAML", table),))

    def _document(self) -> dict[str, Any]:
        spec = self._compiled.value.spec
        found = (each for each in present_spec.masked_documents(spec) if each["id"] == self.id)
        return {"apiVersion": "wb/v1", "kind": "Resource", **next(found)}


class Note:
    """Lines that have no table behind them."""

    def __init__(self, picture: Picture) -> None:
        self._shown = picture

    def __repr__(self) -> str:
        return text(self._shown)

    def _repr_html_(self) -> str:
        return html(self._shown)


class Diff(Shown):
    """Configuration against live.

    False only where nothing differs and everything that was asked has said so: a diff made while a cluster was away is
    true, though it may list nothing.
    """

    name = "diff"

    def __init__(self, found: StackDiff, stack: StackHandle, roots: present_diff.Roots) -> None:
        self.value, self._stack, self._roots = found, stack, roots
        self._now = datetime.now(UTC)

    def __bool__(self) -> bool:
        return self.value.is_different or not self.value.is_certain

    def __len__(self) -> int:
        return sum(1 for _ in self.value.different())

    @property
    def summary(self) -> Summary:
        return self.value.summary

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(self.value.different())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be found out: clusters that do not answer, resources that they refuse."""
        return self.value.problems

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.diff(self.value, self._roots[-1])

    def plan(self) -> Plan:
        """Plans what this shows: the same stack and inputs, looked at again."""
        return self._stack.plan()

    def _picture(self) -> Picture:
        found = self.value
        places = (*found.clusters, found.workspace)
        head = (
            line(Span(found.stack, Tone.STRONG), Span(f"  {', '.join(filter(None, places))}", Tone.ENVIRONMENT)),
            *clusters.lines(found.identities),
            present_diff.summary_line(found.summary, UNICODE, is_certain=found.is_certain),
        )
        foot = tuple(present_diff.remark_lines(found, UNICODE))
        tabs = diff_tabs(self.changes, found, self._roots, self._now) if self else ()
        return Picture(head, tabs, foot)

    def _document(self) -> dict[str, Any]:
        return documents.diff(self.value, self._roots[-1])


def diff_tabs(changes: Iterable[Change], found: StackDiff, roots: present_diff.Roots, now: datetime) -> tuple[Tab, ...]:
    """Returns the three ways to read a diff: unified, side by side, and where each value comes from."""
    every = tuple(changes)
    unified = tuple(row for each in every for row in _unified(each, found, roots, now))
    sides = tuple(row for each in every for row in _sides(each, roots))
    provenance = tuple(row for each in every for row in _provenance(each, roots))
    return (
        Tab("Unified", Table(UNIFIED_COLUMNS, unified)),
        Tab("Side by side", Table(SIDES_COLUMNS, sides)),
        Tab("Provenance", Table(PROVENANCE_COLUMNS, provenance)),
    )


def _unified(change: Change, found: StackDiff, roots: present_diff.Roots, now: datetime) -> Iterator[Row]:
    for row in present_diff.change_rows((change,)):
        what, _, note = row.cells
        yield Row(row.key, (what, note, Line()), foldable=True)
    for row in present_diff.detail_rows(change, found.spec, roots, UNICODE, now):
        yield Row(row.key, (row.cells[0], Line(), row.cells[1]), depth=1)


def _sides(change: Change, roots: present_diff.Roots) -> Iterator[Row]:
    from runtimes.base import format_path

    yield Row(change.address, (short_id(change.address), Line(), Line(), Line()), foldable=True)
    for each in change.fields:
        source = line(Span(present_diff.source_text(each.source, *roots), Tone.SOURCE))
        before, after = _columns(each)
        yield Row(each.path, (line(format_path(each.path)), before, after, source), depth=1)


def _columns(field: FieldChange) -> tuple[Line, Line]:
    """Returns what differs in a field, lines below each other, as it is live and as it is configured."""
    found = list(present_diff.field_lines(field, _SIDE_WIDTH, UNICODE))
    return _below([each.before for each in found]), _below([each.after for each in found])


def _below(lines: Iterable[Line | None]) -> Line:
    shown = [each for each in lines if each is not None]
    newline = (Span("\n"),)
    return Line(
        tuple(span for number, each in enumerate(shown) for span in (*(newline if number else ()), *each.spans))
    )


def _provenance(change: Change, roots: present_diff.Roots) -> Iterator[Row]:
    from runtimes.base import format_path

    yield Row(change.address, (short_id(change.address), Line(), Line()), foldable=True)
    for each in change.fields:
        sites = [f"{site.relative_to(roots[-1])}{f' ({site.kind})' if site.kind else ''}" for site in each.source]
        first = line(Span(sites[0], Tone.SOURCE)) if sites else line(Span("no line says it", Tone.MUTED))
        yield Row(each.path, (line(format_path(each.path)), first, line(", ".join(sites[1:]))), depth=1)


def _resource_rows(compiled: Compiled, id_: str) -> Iterator[Row]:
    view = ResourceView(compiled, id_)
    yield Row(id_, (line(Span(id_, Tone.STRONG)), Line()), foldable=True)
    for row in view._rows():
        yield Row((id_, row.key), (row.cells[1], row.cells[0]), depth=1)


class Releases(Shown):
    """What was released of a stack, newest first."""

    name = "releases"
    _COLUMNS = (Column("#", right=True), Column("Phase"), Column("Who"), Column("Started"), Column("Took", right=True))

    def __init__(self, stack: str, found: tuple[Release, ...]) -> None:
        self._stack, self.value = stack, found

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.value)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.releases(self.value)

    def _picture(self) -> Picture:
        head = line(Span(self._stack, Tone.STRONG), f"  {len(self.value)} releases on this machine")
        table = Table(self._COLUMNS, tuple(_release_row(each) for each in self.value))
        return Picture((head,), (Tab("Releases", table),))

    def _document(self) -> dict[str, Any]:
        return {
            "apiVersion": "wb/v1",
            "kind": "Releases",
            "stack": self._stack,
            "releases": [
                {
                    "revision": each.revision,
                    "phase": each.phase.value,
                    "plan": each.plan,
                    "user": each.user,
                    "host": each.host,
                    "started": each.started.isoformat(),
                    "failed": each.count(StepState.FAILED),
                }
                for each in self.value
            ],
        }


def _release_row(each: Release) -> Row:
    took = durations.short((each.finished - each.started).total_seconds()) if each.finished else ""
    tone = Tone.GOOD if each.phase == "succeeded" else Tone.WARN
    cells = (
        line(str(each.revision)),
        line(Span(each.phase.value, tone)),
        line(f"{each.user}@{each.host}"),
        line(f"{each.started:%Y-%m-%d %H:%M:%S}Z"),
        line(took),
    )
    return Row(each.revision, cells)


def roots_of(root: Path, project: Path) -> present_diff.Roots:
    """Names sources from the project's folder where they lie in it, else from the repository's."""
    return project, root

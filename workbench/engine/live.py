"""Live objects of any kind: which kind is meant, what each cluster lists of it, whose each object is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import (
    FieldOwner,
    FieldPath,
    KubernetesId,
    LiveResource,
    Occurrence,
    Resource,
    RuntimeFailure,
    RuntimeType,
)
from runtimes.base.metrics import Usage
from runtimes.base.tables import LiveKind, LiveRow, LiveTable, TableReport
from workbench.engine.errors import EngineError
from workbench.engine.fields import plain_steps
from workbench.engine.masking import Seal, masked, secret_values, sensitive_paths
from workbench.engine.placement import PROJECT, STACK, ownership
from workbench.engine.scrubbing import masked_text
from workbench.project import StackPath


class UnknownKind(EngineError):
    """No cluster that answered serves a kind of this name."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is known of a kind in one cluster: `table` as it was `at` a time, None where it never said anything.

    `is_watched`: every change until then is in it; otherwise it is a list that is read again now and then. While
    `is_listing`, more of it is on its way. `failure` is why nothing newer is known.
    """

    cluster: str
    table: LiveTable | None = None
    at: datetime | None = None
    is_watched: bool = False
    is_listing: bool = False
    failure: RuntimeFailure | None = None
    usage: Mapping[tuple[str, str], Usage] | None = None
    """What each uses, by namespace and name; None where nobody measures it, or it is not known."""

    def reported(self, report: TableReport, table: LiveTable | None) -> Listing:
        """Returns it after a report, of which `table` is what may be shown. What was known before a failure is old, and
        not nothing."""
        if report.table is None and self.is_listing:
            return Listing(self.cluster, failure=report.failure)  # a beginning is no list
        if report.table is None:
            return replace(self, is_watched=False, failure=report.failure)
        return Listing(self.cluster, table, report.at, report.is_watched, report.is_listing, report.failure)


class TableScrubber:
    """Takes secrets out of one table again and again, looking only at what is new: of ten thousand rows few change."""

    def __init__(self) -> None:
        self._by: tuple[frozenset[str], SecretRules] | None = None
        self._raw: LiveTable | None = None
        self._shown: LiveTable | None = None
        self._rows: dict[KubernetesId, tuple[LiveRow, LiveRow]] = {}
        self._texts: dict[str, str] = {}

    def scrubbed(self, table: LiveTable, secrets: frozenset[str], rules: SecretRules) -> LiveTable:
        if self._by != (secrets, rules):
            self._by, self._raw, self._rows, self._texts = (secrets, rules), None, {}, {}
        if table is not self._raw or self._shown is None:
            rows = {each.id: self._row(each, secrets, rules) for each in table.rows}
            self._raw, self._rows = table, rows
            self._shown = replace(table, rows=tuple(shown for _, shown in rows.values()))
        return self._shown

    def _row(self, row: LiveRow, secrets: frozenset[str], rules: SecretRules) -> tuple[LiveRow, LiveRow]:
        known = self._rows.get(row.id)
        if known is not None and known[0] is row:
            return known
        cells = tuple(self._text(each, secrets, rules) for each in row.cells)
        labels = {key: self._text(each, secrets, rules) for key, each in row.labels.items()}
        is_same = cells == row.cells and labels == row.labels
        return row, row if is_same else replace(row, cells=cells, labels=labels)

    def _text(self, text: str, secrets: frozenset[str], rules: SecretRules) -> str:
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            found = self._texts[text] = masked_text(text, secrets, rules)
        return found


_MOST_TEXTS = 100_000


def find_kind(name: str, kinds: Iterable[LiveKind]) -> LiveKind | None:
    """Returns the kind that goes by a name, None where none does: by its plural before its other names, and of the
    core and the built-in groups before any that somebody defined."""
    wanted = name.strip().lower()
    found = [each for each in kinds if wanted in each.names]
    return min(found, key=lambda each: _precedence(each, wanted), default=None)


def _precedence(kind: LiveKind, wanted: str) -> tuple[bool, bool, bool, str]:
    is_built_in = "." not in kind.group or kind.group.endswith(".k8s.io")
    return kind.plural != wanted, bool(kind.group), not is_built_in, kind.api_version


def unknown_kind(name: str, kinds: Iterable[LiveKind], silent: Sequence[str]) -> UnknownKind:
    """`silent` are clusters, and versions of kinds, of which nobody says what they have."""
    names = sorted({each for kind in kinds for each in kind.names})
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    doubt = f"; {', '.join(silent)} did not answer, and may serve it" if silent else ""
    hint = f"did you mean {' or '.join(near)}?" if near else "kinds go by what kubectl calls them: pods, deploy, crd"
    return UnknownKind(f"no cluster that answered serves {name!r}{doubt}", hint=hint)


def owners(stacks: Iterable[StackPath]) -> Callable[[Mapping[str, str]], StackPath | None]:
    """Returns what finds the stack whose labels an object carries, of those there are."""
    by_labels = {(labels[PROJECT], labels[STACK]): each for each in stacks for labels in (ownership(each),)}

    def owner(labels: Mapping[str, str]) -> StackPath | None:
        return by_labels.get((labels.get(PROJECT, ""), labels.get(STACK, "")))

    return owner


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object as a cluster has it, secrets masked: `body` without the book-keeping of who owns which field.

    `owners` names for each owned leaf, by plain indexes, who set it and when, the last one first. `events` are what was
    reported of it, None where that could not be read, for the reason `events_failure`. All its times are by a clock
    that was `ahead` of this machine's by so much, but for `read_at`.
    """

    cluster: str
    id: KubernetesId
    uid: str
    read_at: datetime
    body: Mapping[str, Any] = field(repr=False)
    owners: Mapping[FieldPath, tuple[FieldOwner, ...]] = field(default_factory=dict)
    events: tuple[Occurrence, ...] | None = None
    events_failure: RuntimeFailure | None = None
    ahead: timedelta = timedelta()

    @property
    def containers(self) -> tuple[str, ...]:
        """The containers of a pod in the order they run; none of anything else."""
        spec = self.body.get("spec")
        parts = spec if isinstance(spec, Mapping) and self.id.kind == "Pod" else {}
        every = (each for name in _CONTAINERS for each in parts.get(name) or () if isinstance(each, Mapping))
        return tuple(str(each.get("name")) for each in every)


_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def shown(
    cluster: str, live: LiveResource, read_at: datetime, secrets: frozenset[str], rules: SecretRules = BUILT_IN
) -> LiveObject:
    """Returns an object as it may be shown. `secrets` are texts that are masked wherever they are."""
    id_ = live.id
    assert isinstance(id_, KubernetesId), "a cluster has no others"
    metadata = live.observed.get("metadata")
    kept = (
        {key: each for key, each in metadata.items() if key != "managedFields"} if isinstance(metadata, Mapping) else {}
    )
    body = {**live.observed, "metadata": kept}
    own = secret_values([Resource(id_, RuntimeType.KUBERNETES, live.body)], rules)
    hidden = (*live.hidden, *sensitive_paths(id_, body, rules))
    seal = Seal.random().knowing(secrets | own, rules)
    owners: dict[FieldPath, list[FieldOwner]] = {}
    for each in live.owners:
        steps = plain_steps(body, each.path)
        if len(steps) == len(each.path):  # else the field is not there any more
            owners.setdefault(steps, []).append(each)
    newest = {path: tuple(sorted(found, key=_when, reverse=True)) for path, found in owners.items()}
    return LiveObject(cluster, id_, live.identity.uid, read_at, masked(body, hidden, seal), newest, ahead=live.ahead)


def _when(owner: FieldOwner) -> float:
    return owner.when.timestamp() if owner.when is not None else 0.0

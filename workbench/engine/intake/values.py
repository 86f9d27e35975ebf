"""What an intake is about, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import Body, FieldPath, KubernetesId
from workbench.engine.changes import Change
from workbench.engine.errors import EngineError
from workbench.engine.plan import Plan
from workbench.project import Stack, StackPath


class NothingToImport(EngineError):
    """There is no object of which a stack could be made."""


class ImportRefused(EngineError):
    """Nothing is written, as it would overwrite something, or would not say what is there."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the new stack goes: `folder` is the project's, absolute. `cluster` and `namespace` are empty where nobody
    said them; then placements of the repository decide."""

    root: Path
    folder: Path
    path: StackPath
    cluster: str = ""
    namespace: str = ""

    @property
    def directory(self) -> Path:
        return self.folder / self.path.stack


@dataclass(frozen=True, slots=True)
class Found:
    """An object as a configuration would say it, with what of it was decided by whom (`notes`)."""

    id: KubernetesId
    body: Body = field(repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object that is not taken in; `name` is its kind and name, or where it stands in a file."""

    name: str
    why: str


class Kept(StrEnum):
    """Where a secret is to be kept: a reference of the environment, or an option of the program."""

    ENVIRONMENT = "environment"
    OPTION = "option"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that is not written to any file. `name` is that of the variable (`WB_SECRET_...`) or option."""

    id: KubernetesId
    path: FieldPath
    kept: Kept
    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Intake:
    """`files` are new, by absolute path; `objects` are what the stack will have, by variable.

    `placement` are the lines that the user has to add to clusters.yaml, empty where it covers the stack. `unlisted` are
    kinds of which nothing is known.
    """

    source: str
    destination: Destination
    stack: Stack
    objects: Mapping[str, Found]
    skipped: tuple[Skipped, ...]
    secrets: tuple[Secret, ...]
    files: Mapping[Path, str] = field(repr=False)
    appended: Mapping[Path, str] = field(default_factory=dict, repr=False)
    """Whole new texts of files that are there and get lines more."""
    placement: str = ""
    unlisted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    modelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which objects (`Deployment/web`) a component of the repository's models says, by `variable: Schema`."""
    unmodelled: tuple[Skipped, ...] = ()
    """Why the models do not say what they might: the component, or the objects as a whole."""

    @property
    def options(self) -> dict[str, str]:
        return {each.name: each.value for each in self.secrets if each.kept is Kept.OPTION}

    @property
    def variables(self) -> dict[str, str]:
        return {each.name: each.value for each in self.secrets if each.kept is Kept.ENVIRONMENT}


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """What the first plan of an imported stack does. `claimed` objects only get the labels that say whose they are."""

    plan: Plan = field(repr=False)
    claimed: tuple[Change, ...]
    changed: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no field changes, and that is known: labels of ownership are all that an apply writes."""
        return not self.changed and self.is_known

    @property
    def is_known(self) -> bool:
        return not self.plan.problems


def without_nulls(value: Any) -> Any:
    """A field that is null is one that is not said."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Returns a body as dicts and lists, whatever mappings and sequences it is made of: so bodies are compared."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value

"""What `wb.` methods take."""

from __future__ import annotations

from kcl.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Outputs:
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Compile:
    """`options` are values of KCL's `option()`, as texts; `settings` files as `-Y` takes them."""

    stack: str = ""
    options: dict[str, str] = field(default_factory=dict, repr=False)
    settings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Diff(Compile):
    clusters: list[str] = field(default_factory=list)
    server_dry_run: bool = False
    dry_run_all: bool = False
    drift: bool = False


@dataclass(frozen=True, slots=True)
class Impact:
    files: list[str] = field(default_factory=list)
    git: str = ""
    live: bool = False
    options: dict[str, str] = field(default_factory=dict, repr=False)
    settings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explain(Compile):
    resource: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Set(Compile):
    """`values` are texts by path, null for a field to take away."""

    resource: str = ""
    values: dict[str, str | None] = field(default_factory=dict, repr=False)
    where: str = "auto"
    write: bool = False


@dataclass(frozen=True, slots=True)
class PlanOf(Compile):
    clusters: list[str] = field(default_factory=list)
    force: bool = False
    no_prune: bool = False
    accept_lost: bool = False
    adopt: bool = False
    take_away: bool = False
    dry_run_all: bool = False
    only: list[str] = field(default_factory=list)
    skip: list[str] = field(default_factory=list)
    replace: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Apply:
    """`plan` is the id of a plan that `wb.plan` made here; `confirm` the phrase that it asks for."""

    plan: str = ""
    confirm: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Watch(Compile):
    """`timeout_seconds` 0 means what the settings say."""

    clusters: list[str] = field(default_factory=list)
    timeout_seconds: int = 0

"""In which order a change goes out, where the repository says so: `rollout.yaml` at its root.

stages:
  - name: pre
    stacks: ["*/pre"]                 # globs over project/stack
  - name: gray
    stacks: ["*/prod"]
    clusters: [east]                  # globs; all that a stack goes to, if left out
    components: [web, "api-*"]        # globs; all
    batches: [1, 25%, 100%]           # so many targets are done after each; 100%, if left out
    max_unavailable: 10%              # of the targets of the stage, over all clusters
    ready_for: 10m                    # so long all of it is ready before the next stage begins
    approval: true                    # somebody has to say that it may begin
    timeout: 15m                      # so long a batch has to become ready
  - {name: prod, stacks: ["*/prod"], batches: [10%, 50%, 100%]}

A target is one component of a stack in one cluster. It is done in the first stage that it is in. When changes may be
made at all is a policy (`change-windows`), as for every plan.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import is_named, only_keys, read_mapping, text_at, texts_at

ROLLOUT_FILE: Final = "rollout.yaml"
DEFAULT_TIMEOUT_SECONDS: Final = 600.0
_KEYS: Final = (
    *("name", "stacks", "clusters", "components", "batches"),
    *("max_unavailable", "ready_for", "approval", "timeout"),
)
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%")
_SPAN: Final = re.compile(r"([0-9]{1,6})(s|m|h)")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_LONGEST_SECONDS: Final = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Share:
    """A number of targets, or a percentage of them."""

    amount: float
    is_percent: bool

    def of(self, total: int) -> int:
        """Returns how many of `total` it is: a part of one counts as one, and there are no more than all."""
        return min(total, math.ceil(total * self.amount / 100) if self.is_percent else int(self.amount))

    def __str__(self) -> str:
        return f"{self.amount:g}{'%' if self.is_percent else ''}"


ALL: Final = Share(100, True)


@dataclass(frozen=True, slots=True)
class StageRule:
    """One entry. Times are in seconds. `batches` say how many targets are done after each, and end with all."""

    name: str
    stacks: tuple[str, ...]
    clusters: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    batches: tuple[Share, ...] = (ALL,)
    max_unavailable: Share = ALL
    ready_seconds: float = 0.0
    needs_approval: bool = False
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def concerns(self, stack: str) -> bool:
        return _is_one(stack, self.stacks)

    def has(self, cluster: str, component: str) -> bool:
        """Whether a component of one of its stacks is in it; what belongs to no component goes with the others."""
        return (not self.clusters or _is_one(cluster, self.clusters)) and (
            not self.components or _is_one(component, self.components)
        )


def read_rollout(root: Path, path: Path | None = None) -> tuple[StageRule, ...]:
    """Reads the stages of a repository, or of a file that somebody named; raises `BrokenFile`."""
    file = path or root / ROLLOUT_FILE
    if not is_named(file):
        hint = "write one, such as `stages: [{name: all, stacks: ['*/prod'], batches: [1, 100%]}]`"
        raise BrokenFile("there is no such file, so it is not known in which order", where=str(file), hint=hint)
    content = read_mapping(file)
    only_keys(content, ("stages",), str(file))
    entries = content.get("stages")
    if not isinstance(entries, list) or not entries:
        raise BrokenFile("stages needs to be a list with at least one stage", where=str(file))
    stages = tuple(_stage(each, f"{file}: stage {number}", file) for number, each in enumerate(entries, 1))
    names: set[str] = set()
    for each in stages:
        if each.name in names:
            raise BrokenFile(f"two stages are called {each.name}", where=str(file), hint="give each its own name")
        names.add(each.name)
    return stages


def refuse_unmatched(rules: Iterable[StageRule], stacks: Iterable[str]) -> None:
    """Raises `BrokenFile` for globs of which no stack is one: whoever wrote them meant some."""
    every = tuple(stacks)
    for rule in rules:
        for glob in rule.stacks:
            if not any(fnmatchcase(each, glob) for each in every):
                known = ", ".join(every[:5]) + (", ..." if len(every) > 5 else "")
                raise BrokenFile(
                    f"no stack is {glob!r}",
                    where=f"{ROLLOUT_FILE}: stage {rule.name}",
                    hint=f"stacks: {known or 'none'}",
                )


def _stage(entry: Any, where: str, path: Path) -> StageRule:
    if not isinstance(entry, dict):
        raise BrokenFile("needs to be a mapping", where=where)
    only_keys(entry, _KEYS, where)
    try:
        name = text_at(entry, "name", path)
        stacks, clusters, components = (texts_at(entry, key, path) for key in ("stacks", "clusters", "components"))
        if not _NAME.fullmatch(name) or not stacks:
            raise BrokenFile("needs a name of letters, digits, '-', '_' and '.', and stacks", where=where)
        for key, given in (("clusters", clusters), ("components", components)):
            if key in entry and not given:
                raise BrokenFile(f"an empty list of {key} means none", where=where, hint="leave it out for all")
        approval = entry.get("approval", False)
        if not isinstance(approval, bool):
            raise BrokenFile(f"approval needs to be true or false, got {approval!r}", where=where)
        return StageRule(
            name,
            stacks,
            clusters,
            components,
            _batches(entry["batches"]) if "batches" in entry else (ALL,),
            _share(entry["max_unavailable"], "max_unavailable") if "max_unavailable" in entry else ALL,
            _span(entry["ready_for"], "ready_for") if "ready_for" in entry else 0.0,
            approval,
            _span(entry["timeout"], "timeout") if "timeout" in entry else DEFAULT_TIMEOUT_SECONDS,
        )
    except BrokenFile as error:
        raise BrokenFile(error.message, where=where, hint=error.hint) from None


def _batches(value: Any) -> tuple[Share, ...]:
    if not isinstance(value, list) or not value:
        raise BrokenFile("batches needs to be a list such as [1, 25%, 100%]")
    shares = tuple(_share(each, "batches") for each in value)
    # what is said in numbers and in percent can only be compared when the targets are known
    for unit in (True, False):
        same = [each.amount for each in shares if each.is_percent is unit]
        if any(later <= earlier for earlier, later in pairwise(same)):
            raise BrokenFile(
                f"batches say how many targets are done after each, so they need to grow, got {_told(shares)}",
                hint="such as [1, 25%, 100%]",
            )
    return shares if shares[-1] == ALL else (*shares, ALL)


def _share(value: Any, key: str) -> Share:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000:
        return Share(value, False)
    if isinstance(value, str) and (found := _PERCENT.fullmatch(value)) and 0 < float(found[1]) <= 100:
        return Share(float(found[1]), True)
    raise BrokenFile(f"{key} needs numbers from 1 or percentages up to 100%, got {value!r}")


def _span(value: Any, key: str) -> float:
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise BrokenFile(f"{key} needs a time such as 90s, 10m or 2h, of 7 days at most, got {value!r}")
    return float(seconds)


def _told(shares: Iterable[Share]) -> str:
    return f"[{', '.join(map(str, shares))}]"


def _is_one(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in globs)

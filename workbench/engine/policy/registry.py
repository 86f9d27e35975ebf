"""The registry of rules: what a policy may name.

Packages add rules by entry points of the group `konfig_workbench.policy_rules`, each a `Rule`; installing one is
trusting it, a repository can't.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kcl.records import replace
from workbench.engine.policy import of_plans, of_specs
from workbench.engine.policy.rules import Rule
from workbench.project.errors import BrokenFile

ENTRY_POINTS: Final = "konfig_workbench.policy_rules"


def all_rules() -> Mapping[str, Rule]:
    """Returns the rules of the workbench by name, and those that installed packages add; the former win."""
    return {**{each.name: each for each in _added()}, **_own()}


def find_rule(name: str, where: str) -> Rule:
    """Raises `BrokenFile` where there is none of this name."""
    found = _own().get(name) or next((each for each in _added(name) if each.name == name), None)
    if found is None:
        raise BrokenFile(f"there is no rule {name!r}", where=where, hint="`wb policy --rules` lists them")
    return found


def _own() -> dict[str, Rule]:
    return {each.name: each for each in (*of_specs.RULES, *of_plans.RULES)}


def _added(name: str = "") -> Iterator[Rule]:
    from importlib.metadata import entry_points

    for each in entry_points(group=ENTRY_POINTS):
        if name and each.name != name:
            continue
        found = each.load()
        if not isinstance(found, Rule):
            raise BrokenFile("is no rule", where=f"entry point {each.name} of {ENTRY_POINTS}")
        yield replace(found, name=each.name)

"""The keys that lead from anywhere to each screen of the workbench, of the repository of `shop` and what is live."""

from __future__ import annotations

import importlib
import pkgutil

from workbench.tui import screens
from workbench.tui.frame import Frame

Keys = tuple[str, ...]


def every_screen() -> frozenset[str]:
    """The names of the classes of all screens there are."""
    for module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}."):
        importlib.import_module(module.name)
    return frozenset(_below(Frame))


def _below(cls: type[Frame]) -> set[str]:
    return {name for each in cls.__subclasses__() for name in (each.__name__, *_below(each))}


def typed(command: str) -> Keys:
    return ("escape", "escape", "colon", *command, "enter")


WAYS: dict[str, tuple[Keys, ...]] = {
    "BrowseScreen": (typed("stack web/prod"),),
    "SpecScreen": (typed("spec web/prod"),),
    "DiffScreen": (typed("diff web/prod"),),
    "IgnoreScreen": (typed("diff web/prod"), ("right_curly_bracket", "colon", *"ignore they may", "enter")),
    "PlanScreen": (typed("plan web/prod"),),
    "StepScreen": (typed("plan web/prod"), ("enter",)),
    "ReachScreen": (typed("plan web/prod"), ("b",)),
    "ReconcileScreen": (typed("watch web/prod"),),
    "ObjectScreen": (typed("watch web/prod"), ("enter",)),
    "TimelineScreen": (typed("watch web/prod"), ("T",)),
    "WhatIfScreen": (typed("whatif web/prod"),),
    "ReleasesScreen": (typed("releases web/prod"),),
    "ReleaseChangesScreen": (typed("releases web/prod"), ("d",)),
    "ReplayScreen": (typed("releases web/prod"), ("p",)),
    "FleetScreen": (typed("fleet"),),
    "DriftScreen": (typed("drift"),),
    "AdoptScreen": (typed("drift"), ("A",)),
    "RolloutsScreen": (typed("rollouts"),),
    "RolloutPlanScreen": (typed("rollout"),),
    "RecoveryScreen": (typed("recover a=b"),),
    "LiveScreen": (typed("pods@hz web-prod"),),
    "LiveObjectScreen": (typed("pods@hz web-prod"), ("enter",)),
    "RelationsScreen": (typed("pods@hz web-prod"), ("u",)),
    "LogsScreen": (typed("pods@hz web-prod"), ("l",)),
    "LiveActsScreen": (typed("pods@hz web-prod"), ("asterisk", "colon", *"delete", "enter")),
    "AnswerScreen": (typed("spec web/prod"), ("u",)),
    "ForwardsScreen": (typed("forwards"),),
    "CommandLogScreen": (typed("log"),),
    "BookmarksScreen": (typed("bookmark here"), typed("bookmarks")),
    "OutputScreen": (typed("shout"),),
}
"""Bursts of keys by the name of a screen's class: each once what the one before asked for is there. `:shout` is a
command of the user's own."""

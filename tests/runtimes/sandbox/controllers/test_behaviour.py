"""The simulated controllers do what real ones were recorded doing: same ends, same invariants, same kinds of events."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from . import timeline
from .simulation import Simulation
from .timeline import Object, View

SETTINGS: Object = yaml.safe_load((Path(__file__).parent / "scenarios.yaml").read_text("utf-8"))
NAMES = timeline.names()
LOOPS = ("crash", "oom", "missing", "partial", "flap", "fail")


def nodes_of(scenario: Object) -> list[str]:
    """The nodes there were at the beginning."""
    if "nodes" in scenario:
        return list(scenario["nodes"])
    name = scenario["scenario"]
    if name in SETTINGS["nodes"]:
        return list(SETTINGS["nodes"][name])
    made = {
        a["manifest"]["metadata"]["name"] for a in scenario["actions"] if a.get("manifest", {}).get("kind") == "Node"
    }
    found = {entry["name"] for entry in scenario["timeline"] if entry["kind"] == "Node"}
    for entry in scenario["timeline"]:
        if entry["kind"] == "Pod" and entry["type"] != "DELETED":
            found.add(entry["object"]["spec"].get("nodeName", "<node>"))
    return sorted(found - made - {"<node>"}) or ["node-1", "node-2"]


def ends_in_a_loop(scenario: Object) -> bool:
    """Its last state is one of several that alternate."""
    images = str(scenario["actions"])
    return any(f"-{tag}'" in images for tag in LOOPS)


def begin_of(invariant: Object, scenario: Object, played: Simulation) -> int:
    """The index of our own entries that corresponds to the recording's `from`: an action's, or a label's moment."""
    if "from" not in invariant:
        return 0
    for action, index in zip(scenario["actions"], played.acted_at, strict=True):
        if action["after_event"] == invariant["from"]:
            return index
    for label in scenario["labels"]:
        if label["n"] == invariant["from"]:
            view = View(scenario["top"])
            for index, entry in enumerate(played.entries):
                view.take(entry.type, entry.kind, entry.name, entry.object)
                if view.holds(label["when"]):
                    return index + 1
    return 0


def check_invariant(invariant: Object, scenario: Object, played: Simulation) -> None:
    view, begin, reached = View(scenario["top"]), begin_of(invariant, scenario, played), 0
    order = invariant.get("order", [])
    for index, entry in enumerate(played.entries):
        view.take(entry.type, entry.kind, entry.name, entry.object)
        if index < begin:
            continue
        at = f"{invariant['say']}: after {entry.type} {entry.reference}"
        assert "always" not in invariant or view.holds(invariant["always"]), at
        assert "never" not in invariant or not view.holds(invariant["never"]), at
        while reached < len(order) and view.holds(order[reached]):
            reached += 1
    assert reached == len(order), f"{invariant['say']}: never {order[reached]}"


@pytest.mark.parametrize("name", NAMES)
def test_controllers_do_what_real_ones_did(name: str) -> None:
    if name in SETTINGS["not_simulated"]:
        pytest.skip(SETTINGS["not_simulated"][name])
    scenario = timeline.load(name)
    played = Simulation(scenario, nodes_of(scenario))
    played.play()
    reached, kept = played.settle()
    wanted, got = timeline.recorded_end(scenario.get("end") or ()), played.summary()
    assert reached, f"missing: {list((wanted - got).elements())}\nunexpected: {list((got - wanted).elements())}"
    assert kept or ends_in_a_loop(scenario), "the end was left again"
    for invariant in scenario.get("invariants") or ():
        if "to" not in invariant:
            check_invariant(invariant, scenario, played)
    # What repeats itself may be told a little earlier or later than it was recorded, but nothing else may be told.
    told = timeline.reasons(scenario["timeline"])
    assert played.told_by_then - timeline.RACES <= told
    assert told - timeline.RACES <= played.told()


@pytest.mark.parametrize("name", NAMES)
def test_our_reading_of_a_recording_gives_the_end_it_tells(name: str) -> None:
    scenario = timeline.load(name)
    wanted = timeline.recorded_end(scenario.get("end") or ())
    assert timeline.summary(timeline.fold(scenario["timeline"])) == wanted

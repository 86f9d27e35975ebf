"""Readiness, judged by what a real control plane was recorded doing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Status
from runtimes.kubernetes import health, tree, why
from runtimes.kubernetes.fields import parsed_time
from runtimes.kubernetes.objects import Objects
from runtimes.kubernetes.trimming import trimmed
from tests.runtimes.kubernetes import recorded

SCENARIOS = [pytest.param(path, id=recorded.name_of(path)) for path in recorded.files()]


def test_the_truth_table_has_150_recordings_and_more() -> None:
    assert len(list(recorded.OWN.glob("*/*.yaml"))) >= 100
    if not recorded.FOLDER.exists():
        pytest.skip(f"no recordings in {recorded.FOLDER}")
    assert len(SCENARIOS) >= 150


@pytest.mark.parametrize("path", SCENARIOS)
def test_says_what_the_labels_say(path: Path) -> None:
    data = recorded.scenario(path)
    differences = []
    for label in data["labels"]:
        state = recorded.moment(data, label["n"])
        objects, live, now = state.indexed(), state.get(label["object"]), recorded.at(label["after_ms"])
        status = health.assess(live, objects, now).health.status if live else Status.NOT_FOUND
        blocking = why.blocking(live, objects, now) if live else None
        named = str(blocking.ref) if blocking else None
        is_right = status == label["status"] and ("blocking" not in label or named in label["blocking"])
        if not is_right and "debatable" not in label:
            differences.append((label["n"], label["status"], str(status), label.get("blocking"), named))
    assert differences == []


def test_agrees_with_most_of_the_debatable_labels_too() -> None:
    """The labels follow the rules that we follow; where experts differ we hold to the rules all the same."""
    asked = agreed = 0
    for path in recorded.files():
        data = recorded.scenario(path)
        for label in (each for each in data["labels"] if "debatable" in each):
            state = recorded.moment(data, label["n"])
            live = state.get(label["object"])
            now = recorded.at(label["after_ms"])
            status = health.assess(live, state.indexed(), now).health.status if live else Status.NOT_FOUND
            asked += 1
            agreed += status == label["status"]
    assert asked and agreed >= 0.95 * asked, (agreed, asked)


@pytest.mark.parametrize("path", SCENARIOS)
def test_what_a_watch_leaves_out_is_looked_at_by_nothing(path: Path) -> None:
    data = recorded.scenario(path)
    for label in data["labels"]:
        state, now = recorded.moment(data, label["n"]), recorded.at(label["after_ms"])
        live = state.get(label["object"])
        held = Objects(map(trimmed, state.objects.values()), map(trimmed, state.events))
        if live is not None:
            assert tree.build(trimmed(live), held, now) == tree.build(live, state.indexed(), now)
            assert why.blocking(trimmed(live), held, now) == why.blocking(live, state.indexed(), now)


@pytest.mark.parametrize("path", SCENARIOS)
def test_no_moment_raises_and_every_explanation_names_an_object_that_is_there(path: Path) -> None:
    data = recorded.scenario(path)
    state = recorded.Moment()
    for entry in data["timeline"]:
        state.feed(entry)
        now = recorded.at(entry["after_ms"])
        objects = state.indexed()
        for live in state.objects.values():
            verdict = health.assess(live, objects, now)
            blocking = why.blocking(live, objects, now)
            assert (blocking is None) == (verdict.health.status is Status.CURRENT)
            if blocking is not None:
                assert state.get(str(blocking.ref)) is not None
                assert blocking.message and blocking.evidence


@pytest.mark.parametrize("path", SCENARIOS)
def test_a_deployment_is_current_only_when_the_observed_generation_is_whole(path: Path) -> None:
    data = recorded.scenario(path)
    state = recorded.Moment()
    for entry in data["timeline"]:
        state.feed(entry)
        for (kind, _), live in state.objects.items():
            if kind != "Deployment":
                continue
            verdict = health.assess(live, state.indexed(), recorded.at(entry["after_ms"]))
            if verdict.health.status is Status.CURRENT:
                wanted, counts = live["spec"].get("replicas", 1), live["status"]
                assert counts["observedGeneration"] == live["metadata"]["generation"]
                assert counts.get("updatedReplicas", 0) == counts.get("replicas", 0) == wanted
                assert counts.get("availableReplicas", 0) == wanted


def test_objects_with_anything_missing_are_judged_without_raising() -> None:
    """Servers leave out what is empty, and fields may be null: every part of a recorded object may be absent."""
    now = recorded.START
    judged = 0
    replacements: tuple[Any, ...] = (None, {}, [], "text")
    for path in recorded.files()[::17]:
        data = recorded.scenario(path)
        state = recorded.moment(data, len(data["timeline"]) // 2)
        for (kind, name), live in state.objects.items():
            for part in ("metadata", "spec", "status"):
                for replacement in replacements:
                    broken = {**json.loads(json.dumps(live)), part: replacement}
                    others = [each for key, each in state.objects.items() if key != (kind, name)]
                    objects = Objects([*others, broken], state.events)
                    assert health.assess(broken, objects, now).health.status in Status
                    why.blocking(broken, objects, now)
                    judged += 1
    assert judged > 100


def test_times_of_recordings_are_parsed() -> None:
    assert parsed_time("2025-01-01T00:00:03Z") is not None

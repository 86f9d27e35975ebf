"""A plan as lines: what refuses comes first where room is short, what takes its time says how long."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from runtimes.base import Address, KubernetesId, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.engine.world import World, deployment, namespace, resource
from workbench.engine.changes import Gap, Problem
from workbench.engine.events import Action, Event, StepFinished, StepProgress, StepStarted
from workbench.present import documents, plan
from workbench.present.diff import gap_lines, problem_lines
from workbench.present.glyphs import UNICODE


def world() -> World:
    return World(workspace=FakeWorkspace())


AT = datetime(2026, 1, 1, tzinfo=UTC)
DB, NET = Address("terraform", thing("db")), Address("terraform", thing("net"))


async def test_what_refuses_comes_first_and_what_passed_in_one_line() -> None:
    there = world()
    there.workspace = Unreachable("no terraform here", hint="install it")
    made = await there.plan(namespace(), resource("db"))
    lines = [str(each) for each in plan.guards(made, UNICODE, compact=True)]
    assert lines[0] == "✗ terraform plans: no"
    assert "no terraform here" in lines[1] and "install it" in lines[2]
    assert lines[-1] == "✓ clusters answer, dry run accepted, no conflicts, writing allowed"
    assert len(list(plan.guards(made, UNICODE))) > len(lines)


async def test_a_field_of_a_program_is_not_to_be_put_into_the_configuration_again_and_again() -> None:
    for manager, is_program in (("kubectl-edit", False), ("kube-controller-manager", True)):
        there = World()
        await there.release(namespace(), deployment("web", replicas=2))
        there.hz.edit(KubernetesId("apps/v1", "Deployment", "shop", "web"), ("spec", "replicas"), 7, manager=manager)
        made = await there.plan(namespace(), deployment("web", replicas=2))
        lines = [str(each) for each in plan.refusal(made, UNICODE)]
        assert any("--force" in each for each in lines)
        said = f"→ what {manager} sets again by itself is left to it by `ignore` in project.yaml"
        assert (lines[-1] == said) == is_program


async def test_a_step_says_why_it_replaces_or_makes_again() -> None:
    there = world()
    await there.release(namespace(), resource("db", zone="a"), resource("net"))
    assert isinstance(there.workspace, FakeWorkspace)
    del there.workspace.cloud[thing("net")]
    made = await there.plan(namespace(), resource("db", zone="b"), resource("net"))
    lines = [str(each) for each in plan.lines(made, UNICODE)]
    assert any("± thing db @terraform  replace: zone cannot be changed in place" in each for each in lines)
    assert any("+ thing net @terraform  somebody deleted it since the last apply" in each for each in lines)


def test_what_takes_its_time_is_told_until_it_ends() -> None:
    namespace_ = Address("hz", KubernetesId("v1", "Namespace", "", "pay"))
    events: tuple[Event, ...] = (
        StepStarted(AT, namespace_, Action.CREATE),
        StepStarted(AT, DB, Action.CREATE),
        StepStarted(AT, NET, Action.CREATE),
        StepProgress(AT, NET, Action.CREATE, 3.0),
        StepProgress(AT, DB, Action.CREATE, 10.0, "a backup"),
        StepProgress(AT, DB, Action.CREATE, 20.0, "a backup"),
        StepFinished(AT, NET, Action.CREATE, 4.0),
    )
    assert plan.running(events) == (namespace_, DB)
    assert [str(each) for each in plan.going_on(events, UNICODE)] == ["◐ create thing db @terraform: a backup  20s"]


async def test_what_no_cluster_checked_is_not_said_to_have_passed() -> None:
    there = World({"hz": FakeCluster("hz"), "sh": Unreachable("connection refused")})
    made = await there.plan(namespace())
    shown = [str(each) for each in plan.guards(made, UNICODE)]
    assert shown[0] == "✗ clusters answer: no (sh)"
    assert shown[1:3] == ["? dry run accepted: not known of sh", "? no conflicts: not known of sh"]
    assert documents.plan(made, Path())["guards"][1]["passed"] is None
    assert next(str(each) for each in plan.refusal(made, UNICODE)).endswith(
        "refused by: clusters answer. Nothing was applied."
    )


async def test_clusters_are_not_spoken_of_where_none_is_asked() -> None:
    there = World({}, workspace=FakeWorkspace())
    made = await there.plan(resource("db"))
    assert [each.name for each in made.guards] == ["terraform plans", "writing allowed"]


def test_of_thousands_that_say_the_same_the_first_are_listed_and_the_rest_counted() -> None:
    def gap(number: int, message: str = "left alone") -> Gap:
        return Gap("hz", message, "adopt them", KubernetesId("v1", "ConfigMap", "shop", f"c-{number}"), exists=True)

    def problem(number: int) -> Problem:
        address = Address("hz", KubernetesId("v1", "ConfigMap", "shop", f"c-{number:04}"))
        return Problem("hz", "Overloaded", "come back later", "try again", address)

    shown = [str(each) for each in gap_lines([*map(gap, range(2_000)), gap(1, "another"), gap(2, "another")], UNICODE)]
    assert shown[9] == "? v1:ConfigMap:shop:c-9@hz: left alone"
    assert shown[10:] == [
        "? v1:ConfigMap:shop:c-1@hz: another",
        "? v1:ConfigMap:shop:c-2@hz: another",
        "? hz: 1990 more: left alone",
        f"  {UNICODE.arrow} adopt them",
    ]
    shown = [str(each) for each in problem_lines(map(problem, range(2_000)), UNICODE)]
    assert len(shown) == 12 and shown[10] == "? hz: 1990 more: come back later"
    assert len(list(gap_lines(map(gap, range(20)), UNICODE))) == 21, "few are all listed"

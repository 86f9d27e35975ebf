"""An API that refuses, delays and drops: an apply ends in the configured state, or says which step did not."""

from __future__ import annotations

import pytest

from runtimes.sandbox.api.disturbances import Disturbance
from tests.scenarios.conftest import HANGZHOU, SHANGHAI, Practice, apply, release, settle
from workbench.engine.events import ApplyFinished, StepFailed
from workbench.engine.status import Verdict


@pytest.mark.slow
async def test_busy_servers_only_take_longer(practice: Practice) -> None:
    for each in practice.sandbox.disturbances:
        each.add(Disturbance("too-many-requests", times=3, retry_seconds=1))
        each.add(Disturbance("unavailable", verbs=("get", "list"), times=3, retry_seconds=1))
    session = practice.session()
    stack = session.select("gateway/dev")
    await release(session, stack)
    assert (await session.plan(stack)).is_empty


async def test_what_became_of_a_write_whose_answer_never_came_is_looked_for(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/dev")
    plan = await session.plan(stack)
    practice.sandbox.disturbances[HANGZHOU].add(Disturbance("drop", verbs=("patch",), resource="configmaps", times=1))
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome == "succeeded"
    assert (await session.plan(stack)).is_empty


async def test_answers_that_never_come_are_a_failed_step_and_the_next_plan_knows_more(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/dev")
    plan = await session.plan(stack)
    disturbances = practice.sandbox.disturbances[HANGZHOU]
    disturbances.add(Disturbance("drop", verbs=("patch",), resource="configmaps"))
    events = await apply(session, plan)
    disturbances.clear()
    assert {each.kind for each in events if isinstance(each, StepFailed)} == {"Unreachable"}
    end = events[-1]
    assert isinstance(end, ApplyFinished) and end.outcome == "partial"
    await release(session, stack)
    assert (await session.plan(stack)).is_empty


async def test_watches_that_break_are_taken_up_again(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/prod")
    for cluster in (HANGZHOU, SHANGHAI):
        practice.sandbox.disturbances[cluster].add(Disturbance("drop", verbs=("watch",), times=12, seconds=0.2))
    await release(session, stack)
    assert (await settle(session, stack, seconds=40)).verdict is Verdict.READY

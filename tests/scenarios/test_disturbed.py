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


async def test_an_answer_that_never_came_is_a_failed_step_and_the_next_plan_knows_more(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/dev")
    plan = await session.plan(stack)
    practice.sandbox.disturbances[HANGZHOU].add(Disturbance("drop", verbs=("patch",), resource="configmaps", times=1))
    events = await apply(session, plan)
    (failed,) = [each for each in events if isinstance(each, StepFailed)]
    assert failed.kind == "Unreachable"
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

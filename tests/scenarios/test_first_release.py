"""Every production stack goes from nothing to ready in both clusters, and is then as configured."""

from __future__ import annotations

import pytest

from tests.scenarios.conftest import Practice, release, settle
from workbench.engine.release import Phase
from workbench.engine.status import Verdict


@pytest.mark.parametrize("name", ["gateway/prod", "ledger/prod", "catalog/dev"])
async def test_from_nothing_to_ready(practice: Practice, name: str) -> None:
    session = practice.session()
    stack = session.select(name)
    plan = await release(session, stack)
    assert plan.summary.create == len(plan.spec) * len(stack.clusters)
    tree = await settle(session, stack)
    assert tree.verdict is Verdict.READY, tree.why
    again = await session.plan(stack)
    assert again.is_empty and not again.problems
    assert not [field for change in again.changes for field in change.fields], "no noise from defaults or controllers"
    (record,) = session.releases(stack)
    assert record.phase is Phase.SUCCEEDED
    assert all(each.uid for each in record.resources.values())

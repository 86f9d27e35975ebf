"""What a workspace plan says of an attribute that another resource refers to."""

from __future__ import annotations

import pytest

from runtimes.base import Identity, LiveResource, PlannedAction, Prediction, Reference, ResourcePlan, TerraformId
from workbench.engine import values
from workbench.engine.values import NoSuchValue

BUCKET = TerraformId("sandbox", "sandbox", "sandbox_bucket", "invoices")
LIVE = LiveResource(
    BUCKET,
    Identity("invoices", "1"),
    body={"versioning": False},
    observed={"versioning": False, "url": "https://invoices.example"},
)


def plan(action: PlannedAction) -> ResourcePlan:
    return ResourcePlan(Prediction(BUCKET, LIVE, {"versioning": True}), action)


@pytest.mark.parametrize("action", [PlannedAction.UPDATE, PlannedAction.IMPORT, PlannedAction.MOVE, PlannedAction.NONE])
def test_what_a_change_in_place_leaves_alone_is_as_it_was(action: PlannedAction) -> None:
    assert values.of_plan(plan(action), Reference(BUCKET, ("url",))).value == "https://invoices.example"
    assert values.of_plan(plan(action), Reference(BUCKET, ("versioning",))).value is True


def test_a_new_object_has_nothing_of_the_old_one() -> None:
    with pytest.raises(NoSuchValue, match="url has no value"):
        values.of_plan(plan(PlannedAction.REPLACE), Reference(BUCKET, ("url",)))

"""What references stand for, while planning."""

from __future__ import annotations

import base64

import pytest

from runtimes.base import (
    UNKNOWN,
    Identity,
    KubernetesId,
    LiveResource,
    PlannedAction,
    Prediction,
    Reference,
    Resource,
    ResourcePlan,
    RuntimeType,
    TerraformId,
)
from workbench.engine import values
from workbench.engine.values import NoSuchValue, Value

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


SECRET = Resource(
    KubernetesId("v1", "Secret", "pay", "db"),
    RuntimeType.KUBERNETES,
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": "pay"},
        "data": {"USER": "YW5u"},
        "stringData": {"URL": f"$kusion_path.{BUCKET}.url", "MODE": "rw"},
    },
)


def test_a_reference_in_a_secret_is_where_the_object_will_have_it_though_it_is_not_known_yet() -> None:
    filled = values.fill(SECRET, {str(BUCKET): BUCKET}, lambda reference: Value(UNKNOWN, is_secret=True))

    assert "stringData" not in filled.resource.attributes
    assert filled.resource.attributes["data"] == {"USER": "YW5u", "MODE": "cnc=", "URL": UNKNOWN}
    assert filled.unknown == filled.referenced == filled.secret == (("data", "URL"),)
    asked = values.for_dry_run(filled).attributes
    assert base64.b64decode(asked["data"]["URL"]) == b"known-after-apply"

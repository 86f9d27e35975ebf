"""Whether pods follow the template of their workload, and what a plan says where they do not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workbench.engine.world import World, deployment, namespace
from workbench.engine.plan import Plan
from workbench.engine.pod_updates import held_back

ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}


def with_spec(image: str, kind: str, **spec: Any) -> dict[str, Any]:
    body = deployment("web", image=image)
    return {**body, "kind": kind, "spec": {**body["spec"], **spec}}


async def planned(kind: str, **spec: Any) -> Plan:
    world = World()
    await world.release(namespace(), with_spec("web:1", kind, **spec))
    return await world.plan(namespace(), with_spec("web:2", kind, **spec))


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("StatefulSet", ON_DELETE, "stay as they are until somebody deletes them (updateStrategy OnDelete)"),
        ("DaemonSet", ON_DELETE, "stay as they are until somebody deletes them (updateStrategy OnDelete)"),
        ("Deployment", {"paused": True}, "stay as they are as long as it is paused"),
        (
            "StatefulSet",
            {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            "stay as they are as long as the partition is 2",
        ),
        ("StatefulSet", {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}}, "are replaced"),
        ("StatefulSet", {}, "are replaced"),
        ("Deployment", {"paused": False}, "are replaced"),
    ],
)
async def test_a_plan_says_what_happens_to_pods(kind: str, spec: dict[str, Any], said: str) -> None:
    plan = await planned(kind, **spec)
    (note,) = [each for each in plan.notes if "pods" in each]
    assert note == f"{kind} shop/web @hz: its pods {said}"
    assert plan.summary.restarts == (said == "are replaced")


async def test_who_leaves_the_template_alone_hears_nothing_of_pods() -> None:
    world = World()
    await world.release(namespace(), with_spec("web:1", "StatefulSet", replicas=1, **ON_DELETE))
    plan = await world.plan(namespace(), with_spec("web:1", "StatefulSet", replicas=2, **ON_DELETE))
    assert not [each for each in plan.notes if "pods" in each]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"spec": None},
        {"spec": {"paused": "True", "updateStrategy": "OnDelete"}},
        {"spec": {"replicas": 0, "updateStrategy": {"rollingUpdate": {"partition": 0}}}},
        {"spec": {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": None}}}},
    ],
)
def test_a_body_of_another_shape_holds_nothing_back(body: object) -> None:
    assert [held_back(kind, body) for kind in ("Deployment", "StatefulSet", "DaemonSet")] == ["", "", ""]

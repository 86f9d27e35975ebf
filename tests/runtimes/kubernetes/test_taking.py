"""What others put into an object goes with one apply, and nothing else of it."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.base import (
    ApplyRequest,
    Basis,
    FieldPath,
    KubernetesId,
    ListKey,
    LiveResource,
    Moved,
    PlanRequest,
    Prediction,
    ReadRequest,
    format_path,
)
from tests.runtimes.kubernetes.conftest import Place, resource

STRATEGIC = "application/strategic-merge-patch+json"
PATH = "/apis/apps/v1/namespaces/$NS/deployments/web"
CONTAINER = ("spec", "template", "spec", "containers", ListKey((("name", "main"),)))
BY_HAND: dict[str, Any] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "by hand"}, "finalizers": ["acme.io/hold"]},
    "spec": {
        "minReadySeconds": 7,
        "template": {
            "metadata": {"annotations": {"restarted": "now"}},
            "spec": {
                "nodeSelector": {"disk": "ssd"},
                "containers": [
                    {"name": "main", "env": [{"name": "DEBUG", "value": "1"}, {"name": "OTHER", "value": "2"}]},
                    {"name": "shell", "image": "example/shell:v1", "args": ["-c", "sleep"]},
                ],
            },
        },
    },
}


async def changed(place: Place, body: dict[str, Any], by_hand: dict[str, Any] = BY_HAND) -> LiveResource:
    await place.apply(body)
    await place.write("PATCH", PATH, by_hand, manager="kubectl-edit", content_type=STRATEGIC)
    live = await place.runtime.read(ReadRequest(KubernetesId.of(body)))
    assert live is not None
    return live


def of_others(live: LiveResource) -> frozenset[FieldPath]:
    return frozenset(each.path for each in live.owners if each.manager == "kubectl-edit")


async def predicted(place: Place, body: dict[str, Any], taken_away: frozenset[FieldPath] = frozenset()) -> Prediction:
    return await place.runtime.plan(PlanRequest(resource(body), taken_away=taken_away))


async def generation(place: Place) -> int:
    return int((await place.write("PATCH", PATH, {}))["metadata"]["generation"])


async def test_all_of_it_goes_with_one_change_and_as_predicted(place: Place) -> None:
    body = place.deployment()
    untouched = (await place.apply(body)).body
    live = await changed(place, body)
    wanted = of_others(live)
    assert (await predicted(place, body)).after == live.body, "an apply leaves it there"
    before = await generation(place)

    prediction = await predicted(place, body, wanted)
    made = await place.runtime.apply(ApplyRequest(resource(body), live.identity, taken_away=wanted))

    assert prediction.basis is Basis.DRY_RUN
    assert made.body == prediction.after == untouched
    assert await generation(place) == before + 1, "the pods restart once"
    assert {each.manager for each in made.owners} == {"workbench"}
    assert (await predicted(place, body)).basis is Basis.OWNERSHIP, "nothing is left to be done"


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "labels", "team"),
        ("metadata", "finalizers", 0),
        ("spec", "minReadySeconds"),
        ("spec", "template", "spec", "nodeSelector"),  # a map that is owned as a whole
        (*CONTAINER, "env", ListKey((("name", "DEBUG"),)), "value"),
    ],
    ids=format_path,
)
async def test_one_field_goes_and_the_rest_stays_theirs(place: Place, path: FieldPath) -> None:
    body = place.deployment()
    live = await changed(place, body)
    prediction = await predicted(place, body, frozenset({path}))
    made = await place.runtime.apply(ApplyRequest(resource(body), live.identity, taken_away=frozenset({path})))
    assert made.body == prediction.after != live.body
    left = of_others(made)
    assert path not in left
    # of an element all that is left is its key, which goes with it
    assert of_others(live) - left <= {path, (*path[:-1], "name"), path[:-1]}


async def test_what_another_program_applies_too_goes_from_it_as_well(place: Place) -> None:
    body = place.deployment()
    await place.apply(body)
    theirs = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"team": "a"}}}
    await place.write("PATCH", PATH, theirs, manager="other", content_type="application/apply-patch+yaml")
    live = await changed(place, body, {"metadata": {"labels": {"team": "a"}}})
    path: FieldPath = ("metadata", "labels", "team")
    made = await place.runtime.apply(ApplyRequest(resource(body), live.identity, taken_away=frozenset({path})))
    assert "team" not in made.body["metadata"]["labels"]


async def test_what_was_changed_since_is_not_written(place: Place) -> None:
    body = place.deployment()
    live = await changed(place, body)
    await place.write("PATCH", PATH, {"spec": {"replicas": 5}}, manager="kubectl-scale")
    with pytest.raises(Moved):
        await place.runtime.apply(ApplyRequest(resource(body), live.identity, taken_away=of_others(live)))
    now = await place.runtime.read(ReadRequest(KubernetesId.of(body)))
    assert now is not None and of_others(now) == of_others(live)


async def test_a_path_that_nobody_owns_takes_nothing(place: Place) -> None:
    body = place.deployment()
    live = await changed(place, body)
    nowhere: frozenset[FieldPath] = frozenset({("spec", "paused"), ("metadata", "labels", "app")})
    assert (await predicted(place, body, nowhere)).after == live.body
    made = await place.runtime.apply(ApplyRequest(resource(body), live.identity, taken_away=nowhere))
    assert made.body == live.body

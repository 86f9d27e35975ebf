"""What an edit changes besides what it is for."""

from __future__ import annotations

from typing import Any

from runtimes.base import KubernetesId, ListKey
from tests.workbench.engine.world import config_map, deployment, spec_of
from workbench.engine.edit_reach import besides

WEB, API = (KubernetesId("apps/v1", "Deployment", "shop", name) for name in ("web", "api"))
IMAGE = ("spec", "template", "spec", "containers", ListKey((("name", "main"),)), "image")


def two(image: str, replicas: int = 1, **more: Any) -> Any:
    return spec_of(*(deployment(name, image=image, replicas=replicas, **more) for name in ("web", "api")))


def test_what_the_same_line_sets_elsewhere_is_found_and_what_is_meant_is_not() -> None:
    image = ("spec", "template", "spec", "containers", 0, "image")
    assert besides(two("a"), two("b"), [(WEB, IMAGE)]) == ((API, image),)
    assert besides(two("a"), two("b"), [(WEB, IMAGE), (API, IMAGE)]) == ()
    assert besides(two("a"), two("b", 2), [(WEB, IMAGE), (API, IMAGE)]) == (
        (WEB, ("spec", "replicas")),
        (API, ("spec", "replicas")),
    )
    assert besides(two("a"), two("a"), []) == ()


def test_a_list_of_another_length_and_a_resource_that_comes_or_goes_count() -> None:
    one, other = (spec_of(config_map(name, {"a": "1"})) for name in ("x", "y"))
    assert [str(id_) for id_, path in besides(one, other, []) if path == ()] == [
        "v1:ConfigMap:shop:x",
        "v1:ConfigMap:shop:y",
    ]
    few, more = two("a", command=["x"]), two("a", command=["x", "y"])
    assert [path[-1] for _, path in besides(few, more, [])] == ["command", "command"]

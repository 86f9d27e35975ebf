"""A simulated cluster with controllers on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.controllers import Controllers, start

Object = dict[str, Any]


class World:
    """A cluster, its controllers and their clock, with short words for what tests do."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster("test", self.clock, seed=1)
        self.controllers: Controllers = start(self.cluster, self.clock, seed=1)
        self.pass_seconds(2)

    @property
    def faults(self) -> Any:
        return self.controllers.faults

    def pass_seconds(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def create(self, resource: str, body: Object) -> Object:
        return self.cluster.create(resource, "default", body, manager="test")

    def patch(self, resource: str, name: str, patch: Object) -> Object:
        return self.cluster.patch(resource, "default", name, patch, "strategic", manager="test")

    def get(self, resource: str, name: str) -> Object:
        return self.cluster.get(resource, "default", name)

    def pods(self, **labels: str) -> list[Object]:
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        return self.cluster.list("pods", "default", selector).items

    def events(self, reason: str) -> list[Object]:
        return [event for event in self.cluster.list("events", "default").items if event["reason"] == reason]

    def deployment(self, name: str = "web", replicas: int = 2, image: str = "shop/web:1.0", **spec: Any) -> Object:
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "app", "image": image}]}}
        selector = {"matchLabels": {"app": name}}
        body = {"replicas": replicas, "selector": selector, "template": template, **spec}
        return self.create("deployments.apps", {"metadata": {"name": name}, "spec": body})

    def set_image(self, name: str, image: str) -> None:
        containers = [{"name": "app", "image": image}]
        self.patch("deployments.apps", name, {"spec": {"template": {"spec": {"containers": containers}}}})


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.controllers.stop()


def conditions(obj: Object) -> dict[str, str]:
    """`Status/Reason` by type."""
    return {
        each["type"]: f"{each['status']}/{each.get('reason', '')}" for each in obj["status"].get("conditions") or ()
    }


def waiting(pod: Object) -> str:
    """The reason for which the first container waits, "" if it does not."""
    state = pod["status"]["containerStatuses"][0]["state"]
    return str(state.get("waiting", {}).get("reason", ""))

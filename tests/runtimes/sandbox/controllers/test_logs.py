"""What containers seem to have printed."""

from __future__ import annotations

import pytest

from runtimes.sandbox import logs
from runtimes.sandbox.errors import ApiError

from .conftest import World


def printed(world: World, image: str, seconds: float, *, previous: bool = False) -> list[str]:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "app", "image": image}]}}
    world.create("pods", pod)
    world.pass_seconds(seconds)
    lines = logs.lines(world.get("pods", "p"), previous=previous, now=world.clock.now(), faults=world.faults)
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    return [line.text for line in lines]


def test_a_server_starts_and_answers(world: World) -> None:
    lines = printed(world, "shop/web:1.0", 25)
    assert lines[0] == "shop/web:1.0: starting"
    assert lines[-1] == "GET /healthz 200"


def test_a_crash_explains_itself_at_the_end(world: World) -> None:
    assert printed(world, "shop/web:1.0-crash", 4)[-1] == "exit status 1"


def test_the_previous_run_is_kept(world: World) -> None:
    lines = printed(world, "shop/web:1.0-crash", 2, previous=True)
    assert "fatal: cannot start: required setting DATABASE_URL is not set" in lines


@pytest.mark.parametrize(
    ("image", "previous", "message"),
    [
        ("web:1-missing", False, r'container "app" in pod "p" is waiting to start: .*(pull)'),
        ("web:1", True, 'previous terminated container "app" in pod "p" not found'),
    ],
)
def test_a_container_that_did_not_run_has_no_log(world: World, image: str, previous: bool, message: str) -> None:
    with pytest.raises(ApiError, match=message) as refused:
        printed(world, image, 2, previous=previous)
    assert refused.value.code == 400


def test_a_container_must_be_named_where_there_are_two(world: World) -> None:
    containers = [{"name": "app", "image": "web:1"}, {"name": "proxy", "image": "proxy:1"}]
    pod = world.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    with pytest.raises(ApiError, match=r"choose one of: \[app proxy\]"):
        logs.lines(pod, now=world.clock.now())

"""A write whose answer is overdue: one of a version of its object is sent once more, a creation is given up first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtimes.base import ApplyRequest, KubernetesId, Moved, ReadRequest, Unreachable
from runtimes.kubernetes.hedging import LatencyEstimate
from runtimes.kubernetes.transport import Transport
from runtimes.sandbox.api.disturbances import Disturbance

from .conftest import Place, resource

_PATCH = ("patch",)


@pytest.fixture
async def impatient(sandboxed: Place) -> Place:
    """Every answer that does not come at once is overdue."""
    _transport(sandboxed)._write_latency = LatencyEstimate(0.05, 0.05)
    return sandboxed


def _transport(place: Place) -> Transport:
    return place.runtime._client._transport


def _stall(place: Place, seconds: float) -> Disturbance:
    assert place.sandbox is not None
    return place.sandbox.disturbances[0].add(Disturbance("delay", _PATCH, times=1, seconds=seconds))


def _writes(place: Place) -> list[Any]:
    """Returns what is written of the settings from now on, as it comes."""
    assert place.sandbox is not None
    found: list[Any] = []
    place.sandbox.clusters[0].subscribe(
        lambda change: found.append(change.object) if change.object["metadata"]["name"] == "settings" else None
    )
    return found


async def test_an_update_that_is_stuck_is_done_by_the_second_request_and_once(impatient: Place) -> None:
    await impatient.apply(impatient.config_map(a="1"))
    stuck, writes = _stall(impatient, 60), _writes(impatient)
    live = await impatient.apply(impatient.config_map(a="2"))
    assert stuck.times == 0 and live.body["data"] == {"a": "2"}
    assert [each["data"] for each in writes] == [{"a": "2"}]


async def test_of_two_writes_of_one_version_the_server_carries_out_one(place: Place) -> None:
    """What makes a second request harmless; where the first is carried out late, it is the one that is refused."""
    before = await place.apply(place.config_map(a="1"))
    client, id_ = place.runtime._client, KubernetesId("v1", "ConfigMap", place.namespace, "settings")
    body = place.config_map(a="2")
    version = before.identity.version.partition("/")[0]
    body["metadata"] |= {"uid": before.identity.uid, "resourceVersion": version}
    after, _ = await client.apply(id_, body)
    with pytest.raises(Moved):
        await client.apply(id_, body)
    live = await client.get(id_)
    assert live is not None and live["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"] != version


async def test_a_creation_that_nobody_gives_up_is_sent_once(impatient: Place) -> None:
    """Sent again, it could bring back what somebody deleted in between."""
    assert impatient.sandbox is not None
    met, counts = impatient.sandbox.disturbances[0].met, []
    for name, seconds in (("one", 0.0), ("two", 0.3)):
        _stall(impatient, seconds)
        before = met.total()
        await impatient.runtime.apply(ApplyRequest(resource(impatient.config_map(name)), None))
        counts.append(met.total() - before)
    assert counts[0] == counts[1]
    assert await impatient.runtime.read(ReadRequest(KubernetesId("v1", "ConfigMap", impatient.namespace, "two")))


async def test_a_creation_that_is_overdue_can_be_given_up_and_sent_again(sandboxed: Place) -> None:
    _transport(sandboxed)._write_latency = LatencyEstimate(0.3, 0.3)
    stuck, writes = _stall(sandboxed, 1.0), _writes(sandboxed)
    request = ApplyRequest(resource(sandboxed.config_map(a="1")), None, gives_up_after=1.0)
    with pytest.raises(Unreachable, match="given up") as given_up:
        await sandboxed.runtime.apply(request)
    assert given_up.value.is_uncertain and not writes
    live = await sandboxed.runtime.apply(ApplyRequest(request.resource, None))
    await asyncio.sleep(1.0)  # the sandbox goes on with what a client gave up, where a real server drops it
    assert stuck.times == 0
    assert [each["metadata"]["uid"] for each in writes] == [live.identity.uid], "the late one met an object"


async def test_what_is_overdue_three_times_is_waited_for_longer(impatient: Place) -> None:
    _stall(impatient, 0.1)
    request = ApplyRequest(resource(impatient.config_map(a="1")), None, gives_up_after=20.0)
    assert (await impatient.runtime.apply(request)).body["data"] == {"a": "1"}


async def test_a_read_that_is_told_to_come_back_later_has_not_failed(sandboxed: Place) -> None:
    """A read is given up after some failures; what the server put off is none of them."""
    assert sandboxed.sandbox is not None
    await sandboxed.apply(sandboxed.config_map(a="1"))
    for effect, times in (("too-many-requests", 3), ("internal-error", 1), ("unavailable", 3), ("truncate", 1)):
        disturbance = Disturbance(effect, ("get",), "configmaps", times=times, retry_seconds=0)  # type: ignore[arg-type]  # a literal
        sandboxed.sandbox.disturbances[0].add(disturbance)
    id_ = KubernetesId("v1", "ConfigMap", sandboxed.namespace, "settings")
    live = await sandboxed.runtime.read(ReadRequest(id_))
    assert live is not None and live.body["data"] == {"a": "1"}
    assert all(each.times == 0 for each in sandboxed.sandbox.disturbances[0].active)

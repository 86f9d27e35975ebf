"""Releases of many resources: in pieces, read back as they were, and refused before they begin where they can't end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runtimes.base import Address, KubernetesId, RuntimeType
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import Action, ApplyFinished, Event, Outcome, StepFailed, StepFinished
from workbench.engine.release import Phase, Release, ReleasedResource, StepState, fold
from workbench.project import ProjectName, StackName, StackPath
from workbench.release import packing
from workbench.release.packing import Place, pack, unpack

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PLACE = Place("releases", StackPath(ProjectName("big"), StackName("prod")), "repo")


def begun(resources: int) -> Release:
    found = {}
    for number in range(resources):
        address = Address("hz", KubernetesId("v1", "ConfigMap", "shop", f"settings-{number}"))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": address.id.name}, "data": {"a": "x" * 40}}
        found[address] = ReleasedResource(
            address, RuntimeType.KUBERNETES, Action.CREATE, StepState.INTENDED, "", body, None
        )
    return Release("big/prod", 7, Phase.APPLYING, "p-1", "ann", "box", NOW, None, found)


def ended(release: Release, *, fails: bool) -> Release:
    events: list[Event] = []
    for each in release.resources:
        if fails:
            events.append(StepFailed(NOW, each, Action.CREATE, 1.5, "Rejected", "no such class", "name another"))
        else:
            events.append(StepFinished(NOW, each, Action.CREATE, 1.5, "00000000-0000-0000-0000-000000000000"))
    return fold(release, *events, ApplyFinished(NOW, Outcome.SUCCEEDED, 7, 9.5, len(events), 0, 0))


@pytest.mark.parametrize("fails", [False, True])
def test_what_may_begin_can_be_written_when_it_ends(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    release = begun(200)
    with monkeypatch.context() as small:
        small.setattr(packing, "MOST_RECORD_BYTES", 0)
        with pytest.raises(ReleaseFailure, match=r"too large: (\d+) bytes, and 0 may be read") as refused:
            pack(release, PLACE)
    needed = int(refused.value.message.split()[5])
    monkeypatch.setattr(packing, "MOST_RECORD_BYTES", needed)
    pack(release, PLACE)
    whole = pack(ended(release, fails=fails), PLACE)
    monkeypatch.setattr(packing, "MOST_RECORD_BYTES", needed - 1)
    with pytest.raises(ReleaseFailure, match="too large"):
        pack(release, PLACE)
    assert packing.unpacked(b"".join(each.data["record"] for each in (whole[-1], *whole[:-1])))


def test_a_release_of_many_resources_is_read_back_from_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PIECE_BYTES", 600)
    release = replace(ended(begun(300), fails=False), warnings=())
    secrets = [replace(each, version="1") for each in pack(release, PLACE, version="1")]
    assert 3 < len(secrets) <= packing.MOST_PIECES and all(len(each.data["record"]) <= 600 for each in secrets)
    (entry,) = unpack(secrets, PLACE)
    assert entry.load() == release

"""A session whose kubeconfig or clusters.yaml is changed under it: it goes where it went, and says so."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtimes.base import ClusterIdentity
from tests.workbench.session.machines import CLUSTERS, Machines, apply, machines
from workbench import connections


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Machines]:
    async with machines(tmp_path) as found:
        yield found


async def test_a_session_says_where_it_goes_and_not_where_the_files_lead_by_now(
    fleet: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = fleet.session("ann")
    kubeconfig = fleet.home / "admin.kubeconfig"
    plan = await ann.plan(ann.select("web/dev"))
    assert ann.clusters_led_elsewhere() == ()
    content = json.loads(kubeconfig.read_text())
    first, second = content["contexts"][:2]
    first["context"]["cluster"] = second["context"]["cluster"]
    kubeconfig.write_text(json.dumps(content))

    place = ann.clusters()["hz"]
    one, two = fleet.sandbox.urls
    assert isinstance(place, ClusterIdentity) and place.server == one
    (said,) = ann.clusters_led_elsewhere()
    assert f"hz leads to context sandbox-1, {two}" in said and f"stays with context sandbox-1, {one}" in said
    monkeypatch.setattr(connections, "_MOMENT_SECONDS", 0.0)
    for found in (await ann.diff(ann.select("web/dev")), await ann.plan(ann.select("web/dev"))):
        assert said in found.warnings, "a notebook shows what it was given, and asks for nothing else"
    await apply(ann, plan)
    assert fleet.sandbox.clusters[0].find("configmaps", "web-dev", "front") is not None
    assert fleet.sandbox.clusters[1].find("configmaps", "web-dev", "front") is None
    other = fleet.at("ben", kubeconfig).clusters()["hz"]
    assert isinstance(other, ClusterIdentity) and other.server == two, "who begins now goes there"

    kubeconfig.unlink()
    assert any("hz leads nowhere now" in each for each in ann.clusters_led_elsewhere())


async def test_a_name_that_clusters_yaml_gives_away_or_up_is_said(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await ann.plan(ann.select("web/dev"))
    file = fleet.root("ann") / "clusters.yaml"
    file.write_text(CLUSTERS.replace("hz: {context: sandbox-1}", "hz: {context: sandbox-2}"))
    (said,) = ann.clusters_led_elsewhere()
    assert "hz leads to context sandbox-2" in said
    file.write_text(
        CLUSTERS.replace("hz: {context: sandbox-1}, ", "").replace("[hz, sh]", "[sh]").replace("[hz]", "[sh]")
    )
    (said,) = ann.clusters_led_elsewhere()
    assert "clusters.yaml names no hz any more" in said

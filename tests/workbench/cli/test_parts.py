"""`--only` and `--skip` of `wb plan`, `wb apply` and `wb rollback` on two sandbox clusters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workbench.cli.conftest import Place
from tests.workbench.cli.test_rolling_back import settled
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow


async def test_a_part_is_planned_saved_applied_and_what_is_left_is_told(place: Place, tmp_path: Path) -> None:
    saved = tmp_path / "part.json"
    ended = await place("plan", "web/dev", "--only", "kind=ConfigMap", "--out", saved)
    assert ended.code == ExitCode.OK
    assert "left out: create Deployment" in ended.out and "comes along" in ended.out
    document = json.loads((await place("plan", "web/dev", "--only", "kind=ConfigMap", "-o", "json")).out)
    assert document["part"]["only"] == ["kind=ConfigMap"]
    assert "Deployment" in str(document["part"]["leftOut"]) and "Namespace" in str(document["part"]["along"])
    for more in (["--only", "kind=Secret"], ["--force"], ["--cluster", "hz"], ["--dry-run-all"]):
        unheard = await place("apply", saved, *more, "--yes")
        assert unheard.code == ExitCode.USAGE and more[0] in unheard.err, "a plan is not changed by options"
    applied = await place("apply", saved, "--yes")
    assert applied.code == ExitCode.OK, "what was left out is not waited for: " + applied.text
    assert place.names("configmaps") and not place.names("deployments.apps")
    assert "a part (--only kind=ConfigMap)" in (await place("release", "list", "web/dev")).out

    ended = await place("plan", "web/dev", "--only", "kind=ConfigMap", "--detailed-exitcode")
    assert ended.code == ExitCode.CHANGES and "nothing to change in what was chosen" in ended.out
    ended = await place("plan", "web/dev", "--only", "kind=ConfigMap", "-o", "json")
    assert json.loads(ended.out)["status"] == "partial"
    ended = await place("apply", "web/dev", "--yes", "--timeout", "60")
    assert ended.code == ExitCode.OK, ended.text
    ended = await place("plan", "web/dev", "--detailed-exitcode")
    assert ended.code == ExitCode.OK, ended.text


async def test_what_is_replaced_is_another_object_afterwards(place: Place, tmp_path: Path) -> None:
    await place.released()
    await settled(place)
    saved = tmp_path / "replace.json"
    names = [each["metadata"]["name"] for each in place.sandbox.clusters[0].list("configmaps").items]
    (name,) = {*names} - {"kube-root-ca.crt"}
    before = place.live("configmaps", "web-dev", name)["metadata"]["uid"]
    ended = await place("plan", "web/dev", "--replace", f"ConfigMap/{name}", "--out", saved)
    assert ended.code == ExitCode.OK and "replace: its replacement was requested" in ended.out, ended.text
    ended = await place("apply", saved, "--yes", "--no-watch")
    assert ended.code == ExitCode.OK, ended.text
    assert place.live("configmaps", "web-dev", name)["metadata"]["uid"] != before
    await settled(place)
    assert (await place("plan", "web/dev", "--detailed-exitcode")).code == ExitCode.OK


async def test_what_fits_nothing_changes_nothing(place: Place) -> None:
    for selector in ("Deployment/wbe", "kind=Deploymant", "web"):
        for option in ("--only", "--skip", "--replace"):
            ended = await place("apply", "web/dev", option, selector, "--yes")
            assert ended.code == ExitCode.ERROR and selector in ended.err
    assert not place.names("deployments.apps")


async def test_a_rollback_of_a_part_is_no_release_that_all_returned_to(place: Place) -> None:
    await place.released()
    place.edit("web/base/base.k", '{COLOUR = "red"}', '{COLOUR = "blue"}')
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await place.released()
    await settled(place)
    ended = await place("rollback", "web/dev", "--only", "kind=ConfigMap", "--yes", "--no-watch")
    assert ended.code == ExitCode.OK and "left out: update Deployment" in ended.out, ended.text
    assert "COLOUR': 'red'" in str([each["data"] for each in place.sandbox.clusters[0].list("configmaps").items])
    newest = json.loads((await place("release", "list", "web/dev", "-o", "json")).out)["releases"][0]
    assert newest["part"] == "--only kind=ConfigMap" and not newest["rolledBackTo"]

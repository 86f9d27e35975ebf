"""`wb rollback` and `wb release diff` on two sandbox clusters: what a release had, from its record."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.api.disturbances import Disturbance
from tests.workbench.cli.conftest import Place
from workbench.engine.release import Phase
from workbench.exit_codes import ExitCode
from workbench.release.encoding import decode, encode

pytestmark = pytest.mark.slow

CANARY = "canary-4f1d"
SERVERS = ("uid", "resourceVersion", "managedFields", "generation", "creationTimestamp")


async def applied(place: Place, confirm: str = "yes") -> None:
    ended = await place("apply", "web/dev", "--confirm", confirm, "--no-watch")
    assert ended.code == 0, ended.text
    await settled(place)


async def settled(place: Place) -> None:
    """Waits until controllers write no more: what is planned meanwhile is out of date when it is applied."""
    async with asyncio.timeout(60):
        while any(  # noqa: ASYNC110 - the server tells nobody
            each["status"].get("observedGeneration") != each["metadata"]["generation"]
            or each["status"].get("readyReplicas") != each["spec"]["replicas"]
            or each["status"].get("replicas") != each["spec"]["replicas"]
            for each in place.sandbox.clusters[0].list("deployments.apps").items
        ):
            await asyncio.sleep(0.02)


def said(place: Place) -> dict[str, Any]:
    """Returns all that is live of web/dev, but for what the server owns."""
    found = {}
    for kind in ("deployments.apps", "configmaps", "secrets", "namespaces"):
        for each in place.sandbox.clusters[0].list(kind).items:
            metadata = {name: value for name, value in each["metadata"].items() if name not in SERVERS}
            metadata.get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
            if "web-dev" in (metadata.get("namespace"), metadata["name"]):
                content = {name: value for name, value in each.items() if name not in ("status", "metadata")}
                found[f"{kind}/{metadata['name']}"] = {**content, "metadata": metadata}
    return found


async def test_a_rollback_brings_back_what_a_release_had(place: Place) -> None:
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    place.edit("web/base/base.k", '{COLOUR = "red"}', '{COLOUR = "blue", SIZE = "9"}')
    await applied(place)
    assert said(place) != before

    dry = await place("rollback", "web/dev", "--dry-run")
    assert dry.code == 0 and "rolls back to release #1" in dry.out and "~2 update" in dry.out, dry.text
    ended = await place("rollback", "web/dev", "--yes", "--no-watch", "--reason", "INC-7")
    assert ended.code == 0, ended.text
    await settled(place)
    assert said(place) == before
    assert "would go forward again" in ended.err
    assert (await place("diff", "web/dev")).code == ExitCode.DIFFERENT

    listed = await place("release", "list", "web/dev")
    assert "rolled back to #1: INC-7" in listed.out.splitlines()[1]
    (newest, *_) = (await place("release", "list", "web/dev", "-o", "json")).json()["releases"]
    assert (newest["revision"], newest["rolledBackTo"], newest["reason"]) == (3, 1, "INC-7")
    assert "rolled back to #1" in (await place("release", "show", "web/dev")).out

    again = await place("rollback", "web/dev", "--yes")
    assert again.code == ExitCode.ERROR and "no release before 1" in again.text, "not to the one it came from"
    assert (await place("rollback", "web/dev", "--to", "2", "--yes", "--no-watch")).code == 0
    assert (await place("diff", "web/dev")).code == ExitCode.OK


async def test_it_needs_no_configuration_that_compiles(place: Place) -> None:
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await applied(place)
    (place.root / "web/dev/main.k").write_text("no KCL {")
    ended = await place("rollback", "web/dev", "--yes", "--no-watch")
    assert ended.code == 0, ended.text
    assert said(place) == before, "secrets were taken from what is live"
    assert CANARY not in ended.text


async def test_what_came_after_is_deleted_and_what_was_deleted_is_there_again(place: Place) -> None:
    main = place.root / "web/dev/main.k"
    alone = main.read_text()
    other = '\nother: server.Server {\n    name = "other"\n    image = "other:1"\n    token = "canary-0b0b"\n}\n'
    main.write_text(("" if "models.server" in alone else "import models.server\n") + alone + other)
    await applied(place)
    with_other = said(place)
    assert "deployments.apps/other" in with_other
    main.write_text(alone)
    await applied(place, "web/dev")
    without = said(place)
    assert "deployments.apps/other" not in without

    ended = await place("rollback", "web/dev", "--yes")
    assert ended.code == ExitCode.REFUSED and "Secret:web-dev:other" in ended.err, "its secret is nowhere any more"
    assert "canary" not in ended.text and said(place) == without
    main.write_text(("" if "models.server" in alone else "import models.server\n") + alone + other)
    assert (await place("rollback", "web/dev", "--to", "1", "--yes", "--no-watch")).code == 0
    await settled(place)
    assert said(place) == with_other
    main.write_text(alone)
    ended = await place("rollback", "web/dev", "--to", "2", "--yes", "--no-watch")
    assert ended.code == ExitCode.REFUSED and "give --confirm 'web/dev'" in ended.err, "3 of 7 are deleted"
    assert (await place("rollback", "web/dev", "--to", "2", "--confirm", "web/dev", "--no-watch")).code == 0
    assert said(place) == without


async def test_a_secret_that_nobody_has_any_more_is_refused_by_field(place: Place) -> None:
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", CANARY, "canary-5a5a")
    await applied(place)
    after = said(place)
    ended = await place("rollback", "web/dev", "--yes")
    assert ended.code == ExitCode.REFUSED, ended.text
    assert "Secret" in ended.err and "data." in ended.err and "keeps a digest only" in ended.err
    assert said(place) == after and "canary" not in ended.text and "sealed:" not in ended.text
    place.edit("web/base/base.k", "canary-5a5a", CANARY)
    assert (await place("rollback", "web/dev", "--yes", "--no-watch")).code == 0
    assert said(place) == before


async def test_a_saved_rollback_is_bound(place: Place, tmp_path: Path) -> None:
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await applied(place)
    saved = tmp_path / "back.plan"
    assert (await place("rollback", "web/dev", "--out", saved)).code == 0
    assert said(place) != before and CANARY not in saved.read_text()
    place.sandbox.clusters[0].patch(
        "deployments.apps", "web-dev", "front", {"spec": {"paused": True}}, "merge", manager="kubectl-edit"
    )
    assert (await place("apply", saved, "--yes", "--no-watch")).code == ExitCode.STALE
    place.sandbox.clusters[0].patch(
        "deployments.apps", "web-dev", "front", {"spec": {"paused": None}}, "merge", manager="kubectl-edit"
    )
    ended = await place("apply", saved, "--yes", "--no-watch")
    if ended.code == ExitCode.STALE:
        pytest.fail(ended.text)
    assert said(place) == before


@pytest.mark.parametrize("change", ["torn", "gone", "forged"])
async def test_a_release_that_is_not_there_or_not_whole_is_refused(place: Place, change: str) -> None:
    for image in ("front:1", "front:2"):
        if image != "front:1":
            place.edit("web/base/base.k", "front:1", image)
        await applied(place)
    (record,) = (place.root.parent / "state").rglob("1.json")
    text = record.read_text()
    match change:
        case "torn":
            record.write_text(text[: len(text) // 2])
        case "gone":
            record.unlink()
        case "forged":
            record.write_text(text.replace("front:1", "evil:1"))
    after = said(place)
    for arguments in (("rollback", "web/dev", "--to", "1", "--yes"), ("rollback", "web/dev", "--yes")):
        ended = await place(*arguments)
        assert ended.code == ExitCode.ERROR and "release" in ended.err, ended.text
    assert said(place) == after
    compared = await place("release", "diff", "web/dev", "1", "2")
    assert compared.code == ExitCode.DIFF_FAILED and compared.out == ""
    listed = await place("release", "list", "web/dev")
    assert ("release 1 is recorded and can't be read" in listed.err) is (change != "gone"), listed.text
    shown = await place("release", "show", "web/dev", "--revision", "1")
    assert shown.code == ExitCode.ERROR and ("can't be read" in shown.err) is (change != "gone"), shown.text


async def test_what_is_not_recorded_any_more_between_releases_is_said(place: Place) -> None:
    for image in ("front:1", "front:2", "front:3"):
        if image != "front:1":
            place.edit("web/base/base.k", f"front:{int(image[-1]) - 1}", image)
        await applied(place)
    (record,) = (place.root.parent / "state").rglob("2.json")
    record.unlink()
    listed = await place("release", "list", "web/dev")
    assert listed.code == ExitCode.OK and "not recorded any more: #2" in listed.err, listed.text
    document = (await place("release", "list", "web/dev", "-o", "json")).json()
    assert (document["unrecorded"], document["unreadable"]) == ([2], [])
    back = await place("rollback", "web/dev", "--dry-run")
    assert back.code == ExitCode.OK and "rolls back to release #1" in back.out, back.text
    assert "release 2 is not recorded any more: whether that was a good one is not known" in back.text


async def test_a_release_that_did_not_succeed_is_no_target(place: Place) -> None:
    await applied(place)
    (record,) = (place.root.parent / "state").rglob("1.json")
    place.edit("web/base/base.k", "front:1", "front:2")
    await applied(place)
    record.write_bytes(encode(replace(decode(record.read_bytes()), phase=Phase.PARTIAL)))
    assert (await place("rollback", "web/dev", "--yes")).code == ExitCode.ERROR
    ended = await place("rollback", "web/dev", "--to", "1", "--yes")
    assert ended.code == ExitCode.REFUSED and "did not succeed" in ended.err
    compared = await place("release", "diff", "web/dev")
    assert compared.code == ExitCode.DIFFERENT and "did not succeed" in compared.err


async def test_diff_of_releases(place: Place) -> None:
    alone = await place("release", "diff", "web/dev")
    assert alone.code == ExitCode.DIFF_FAILED and "comparing takes two" in alone.err
    await applied(place)
    same = await place("release", "diff", "web/dev", "1")
    assert (same.code, same.err) == (ExitCode.OK, ""), same.text
    assert same.out.strip() == "web/dev: release 1 → the configuration: the same  4 unchanged"
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await applied(place)
    place.edit("web/base/base.k", CANARY, "canary-5a5a")
    await applied(place)

    image = await place("release", "diff", "web/dev", "1", "2")
    assert image.code == ExitCode.DIFFERENT and "front:1 → front:2" in image.out
    assert "release 1 → release 2: ~1 changed  3 unchanged" in image.out
    secret = await place("release", "diff", "web/dev")
    assert secret.code == ExitCode.DIFFERENT and "masked#" in secret.out
    document = (await place("release", "diff", "web/dev", "-o", "json")).json()
    (change,) = [each for each in document["changes"] if "Secret" in each["id"]]
    (field,) = change["fields"]
    assert field["masked"] and field["before"] != field["after"]
    for ended in (image, secret):
        assert "canary" not in ended.text and "sealed:" not in ended.text
    assert "canary" not in json.dumps(document) and "sealed:" not in json.dumps(document)
    assert base64.b64encode(b"canary").decode()[:7] not in json.dumps(document)
    assert (await place("release", "diff", "web/dev", "1")).code == ExitCode.DIFFERENT
    assert (await place("release", "diff", "web/dev", "1", "9")).code == ExitCode.DIFF_FAILED


async def test_killed_in_the_middle_it_goes_on_to_where_it_went(place: Place) -> None:
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    place.edit("web/base/base.k", '{COLOUR = "red"}', '{COLOUR = "blue", SIZE = "9"}')
    await applied(place)
    for when in ("update ConfigMap", "to confirm"):
        place.sandbox.disturbances[0].add(
            Disturbance("delay", verbs=("patch",), resource="deployments.apps", seconds=2)
        )
        await asyncio.to_thread(kill_once, when, "rollback", "web/dev", "--yes")
        place.sandbox.disturbances[0].clear()
    phases = [each.split()[:2] for each in (await place("release", "list", "web/dev")).out.splitlines()[1:]]
    assert len(phases) > 2 and phases[0][1] != "succeeded", phases
    ended = await place("rollback", "web/dev", "--yes", "--no-watch")
    assert ended.code == 0 and "rolls back to release #1" in ended.out, ended.text
    assert said(place) == before


def kill_once(when: str, *arguments: str) -> None:
    """Runs `wb` in a process of its own, and kills it as soon as `when` is printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "workbench", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        shown = next((line for line in process.stdout if when in line), None)
        process.kill()
    assert shown is not None, "it ended before"


async def test_another_machine_rolls_back_what_the_clusters_have(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_REPOSITORY", "example.org/shop")
    monkeypatch.setenv("WB_RELEASES", "clusters")
    await applied(place)
    before = said(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await applied(place)
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "another"))
    compared = await place("release", "diff", "web/dev")
    assert compared.code == ExitCode.DIFFERENT and "front:1 → front:2" in compared.out
    ended = await place("rollback", "web/dev", "--yes", "--no-watch")
    assert ended.code == 0, ended.text
    assert said(place) == before


async def test_a_release_of_another_cluster_of_the_same_name_is_not_returned_to(place: Place) -> None:
    await applied(place)
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    await applied(place)
    text = (place.root / "clusters.yaml").read_text()
    (place.root / "clusters.yaml").write_text(text.replace("hz: {context: one}", "hz: {context: two}"))
    ended = await place("rollback", "web/dev", "--to", "1", "--yes")
    assert ended.code == ExitCode.REFUSED and "the rollback goes to hz" in ended.err, ended.text
    assert "web-dev" not in place.names("namespaces", 1)

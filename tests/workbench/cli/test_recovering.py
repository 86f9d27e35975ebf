"""`wb run` and `wb audit` on two sandbox clusters: what they print and how they end."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from tests.workbench.cli.command import Ended
from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

PROGRAM = """import manifests

_hosts = option("hostnames").split(",")
manifests.yaml_stream([{
    kind = "Recovery"
    name = "app-recovery"
    operation = "restart"
    hosts = [
        {hostname = each.split("=")[0], cluster = "hz", namespace = "shop", pod = each.split("=")[1]}
        for each in _hosts
    ]
    unresolved = ["h-lost"]
    limits = {maxPods = 5, maxFraction = 1.0, timeoutSeconds = int(option("wait", default="20")), stopAfter = 2}
    reason = option("incident", default="")
}])
"""


def pods(place: Place) -> list[dict[str, Any]]:
    found = place.sandbox.clusters[0].list("pods", "shop").items
    return [each for each in found if not each["metadata"].get("deletionTimestamp")]


async def running(place: Place, replicas: int = 2) -> str:
    """Returns the option `hostnames` for pods that are ready."""
    cluster = place.sandbox.clusters[0]
    cluster.create("namespaces", None, {"metadata": {"name": "shop"}})
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    cluster.create("deployments.apps", "shop", {"metadata": {"name": "web"}, "spec": spec})
    async with asyncio.timeout(20):
        while True:
            if (cluster.get("deployments.apps", "shop", "web").get("status") or {}).get("readyReplicas") == replicas:
                break
            await asyncio.sleep(0.05)
    (place.root / "ops").mkdir()
    (place.root / "ops" / "AppRecovery.k").write_text(PROGRAM)
    return ",".join(f"h-{number}={each['metadata']['name']}" for number, each in enumerate(pods(place)))


def phrase(shown: Ended) -> str:
    """Returns what the preview asks for."""
    found = re.search(r'--confirm "(.*)"', shown.err)
    assert found, shown.text
    return found[1]


async def test_run_shows_first_and_recovers_with_the_phrase(place: Place) -> None:
    hosts = await running(place)
    before = {each["metadata"]["uid"] for each in pods(place)}
    given = ("run", Path("ops/AppRecovery.k"), "-D", f"hostnames={hosts}", "-D", "incident=INC-5")
    shown = await place(*given)
    assert shown.code == ExitCode.OK, shown.text
    assert "restart 2 pods" in shown.out and "Deployment/web" in shown.out and "h-lost: unknown" in shown.out
    assert {each["metadata"]["uid"] for each in pods(place)} == before
    confirm = ("--confirm", phrase(shown), "--allow-unresolved")

    refused = await place(*given, "--confirm", "restart 2 pods")
    assert refused.code == ExitCode.REFUSED and phrase(shown) in refused.err
    assert {each["metadata"]["uid"] for each in pods(place)} == before

    done = await place(*given, *confirm)
    assert done.code == ExitCode.OK, done.text
    assert "app-recovery partial" in done.out and ": 1 unknown, 2 recovered, the rest is accepted" in done.out
    assert before.isdisjoint(each["metadata"]["uid"] for each in pods(place))

    again = await place(*given, *confirm)
    assert again.code == ExitCode.OK and "done before" in again.out
    strict = await place(*given, *confirm[:2])
    assert strict.code == ExitCode.PARTIAL and "not recovered: h-lost" in strict.err

    trail = await place("audit", "--verify")
    assert trail.code == ExitCode.OK and "intact" in trail.out and "INC-5" in trail.out
    entries = (await place("audit", "-o", "json")).json()["entries"]
    assert all("context one, https://127.0.0.1:" in each["identity"] for each in entries if each["cluster"] == "hz")
    assert {each["origin"] for each in entries} == {"cli"}
    assert [each["confirm"] for each in entries if each["result"] == "begun"] == [phrase(shown)] * 3


async def test_run_tells_what_never_became_ready(place: Place) -> None:
    hosts = await running(place)
    place.sandbox.faults[0].stop("kube-scheduler")
    given = ("run", "ops/AppRecovery.k", "-D", f"hostnames={hosts}", "-D", "wait=1")
    confirm = phrase(await place(*given))
    ended = await place(*given, "--confirm", confirm, "-o", "json")
    assert ended.code == ExitCode.NOT_READY, ended.text
    assert ended.json()["counts"] == {"unknown": 1, "unverified": 2}
    again = await place(*given, "--confirm", confirm, "--allow-unresolved", "--no-require-all")
    assert again.code == ExitCode.NOT_READY and "is not seen to work" in again.out


async def test_a_recovery_that_recovers_nothing_never_ends_well(place: Place) -> None:
    """Whatever was typed and whatever is accepted."""
    hosts = await running(place)
    before = {each["metadata"]["uid"] for each in pods(place)}
    file = place.root / "ops" / "AppRecovery.k"
    given = ("run", "ops/AppRecovery.k", "-D", "incident=INC-6", "-D")
    confirm = phrase(await place(*given, f"hostnames={hosts}"))
    no_host = PROGRAM.replace("for each in _hosts", "for each in []").replace('["h-lost"]', "[]")
    for trouble, program, named in (
        ("no host is known", PROGRAM.replace("pod = each", 'state = "unknown", pod = each'), hosts),
        ("no pod is there", PROGRAM, "h-1=gone-1,h-2=gone-2"),
        ("no host is named", no_host, ""),
        ("the cluster is dead", PROGRAM, hosts),
    ):
        file.write_text(program)
        if trouble == "the cluster is dead":
            place.sandbox._listening[0].close()
        for typed in (confirm, "yes"):
            run = (*given, f"hostnames={named}", "--confirm", typed, "--allow-unresolved", "--no-require-all")
            assert (await place(*run)).code not in (ExitCode.OK, ExitCode.PARTIAL), trouble
        shown = await place(*given, f"hostnames={named}")
        assert "nothing to do" not in shown.text and "nothing can be done" in shown.text, trouble
    assert (await place(*given, f"hostnames={hosts}", "-o", "json")).json()["status"] == "nothing-can-be-done"
    assert {each["metadata"]["uid"] for each in pods(place)} == before


async def test_run_says_what_is_wrong_with_its_file(place: Place) -> None:
    ended = await place("run", "ops/Nothing.k")
    assert ended.code == ExitCode.ERROR and "there is no such file" in ended.err
    (place.root / "ops").mkdir(exist_ok=True)
    ended = await place("run", "ops")
    assert ended.code == ExitCode.ERROR and "it is a folder, not a file" in ended.err
    os.mkfifo(place.root / "waits.k")
    ended = await place("run", "waits.k")
    assert ended.code == ExitCode.ERROR and "it is no regular file" in ended.err
    (place.root / "empty.k").write_text("a = 1\n")
    ended = await place("run", "empty.k")
    assert ended.code == ExitCode.ERROR and "exactly one document of kind Recovery" in ended.err


async def test_run_says_where_its_program_is_wrong_and_keeps_secrets(place: Place) -> None:
    (place.root / "wrong.k").write_text('a: int = option("token")\n')
    ended = await place("run", "wrong.k", "-D", "token=canary-8d1f")
    assert ended.code == ExitCode.ERROR and "wrong.k:1" in ended.err
    assert "canary" not in ended.text

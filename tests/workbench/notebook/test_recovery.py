"""Recovering hosts from a notebook, without a notebook: cells as calls."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtimes.base import KubernetesId, StatusNode
from tests.workbench.notebook.conftest import Place
from tests.workbench.notebook.test_facade import assert_shape
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.notebook import Workspace, recovery_frames
from workbench.notebook.recovery import Recovery, Unresolved
from workbench.notebook.runs import Unfinished

PROGRAM = """
_known = {known}
_names = option("hostnames").split(",")
recovery = {{
    kind = "Recovery"
    name = "app-recovery"
    operation = "restart"
    reason = option("incident", default="")
    hosts = [{{hostname = name}} | _known[name] for name in _names if name in _known]
    unresolved = [name for name in _names if name not in _known]
    limits = {{maxPods = 20, maxFraction = 1.0, batch = 3, timeoutSeconds = 30}}
}}
"""


def pods(node: StatusNode) -> Iterator[StatusNode]:
    if node.ref.kind == "Pod":
        yield node
    for child in node.children:
        yield from pods(child)


@pytest.fixture
def hosts(workspace: Workspace, place: Place) -> list[str]:
    """Hostnames of all pods of `cart`, over both clusters, and the program that knows them.

    Pods of the test before may be on their way out, and a budget allows nothing before it learned that others arrived.
    """
    workspace["checkout/prod"].watch(timeout="30s").wait()
    (place.root / "ops").mkdir(exist_ok=True)
    began = time.monotonic()
    while True:
        known = inventory(workspace)
        (place.root / "ops" / "Recover.k").write_text(PROGRAM.format(known=json.dumps(known)))
        found = workspace.recovery("ops/Recover.k", hostnames=known).pods
        if found["action"].notna().all() and set(found["cluster"]) == {"hangzhou", "shanghai"}:
            return list(known)
        assert time.monotonic() - began < 30, found[["pod", "state", "error"]].values.tolist()
        time.sleep(0.1)


def inventory(workspace: Workspace) -> dict[str, dict[str, str]]:
    stack = workspace["checkout/prod"]
    tree = workspace.call(lambda: workspace.session.status(stack.value))
    return {
        f"h-{each.address.cluster}-{number}": {
            "cluster": each.address.cluster,
            "namespace": pod.ref.namespace,
            "pod": pod.ref.name,
            "uid": pod.ref.uid,
        }
        for each in tree.resources
        if each.tree and isinstance(each.address.id, KubernetesId)
        if (each.address.id.kind, each.address.id.name) == ("Deployment", "cart")
        for number, pod in enumerate(pods(each.tree))
    }


def declared(workspace: Workspace, hosts: list[str], incident: str) -> Recovery:
    return workspace.recovery("ops/Recover.k", hostnames=hosts, incident=incident)


def test_hosts_lead_to_pods_over_clusters(workspace: Workspace, hosts: list[str]) -> None:
    recovery = declared(workspace, [*hosts, "h-nowhere"], "INC-1")

    found = recovery.resolve()
    assert_shape(found.df, recovery_frames.HOSTS)
    assert list(found.df["hostname"]) == [*hosts, "h-nowhere"]
    assert recovery.unresolved == ("h-nowhere",)
    with pytest.raises(Unresolved, match="h-nowhere"):
        recovery.resolve(allow_unresolved=False)

    preview = recovery.preview()
    assert_shape(preview.df, recovery_frames.PODS)
    known = preview.df[preview.df["pod"].notna()]
    assert set(known["cluster"]) == {"hangzhou", "shanghai"}
    assert set(known["owner"]) == {"Deployment/cart"}
    assert set(known["action"]) == {"evict"}
    assert (known["pdb_allowed"] >= 0).all()
    assert f"restart {len(hosts)} pods" in repr(preview)


def test_limits_given_here_replace_those_of_the_program(workspace: Workspace, hosts: list[str]) -> None:
    recovery = workspace.recovery("ops/Recover.k", hostnames=hosts, max_pods=2)

    assert recovery.phrase.startswith("restart 2 pods ")
    assert recovery.value.limits.batch == 3
    held = recovery.pods.query("state == 'over the limit of pods'")
    assert len(held) == len(hosts) - 2


def test_a_run_is_dry_unless_told_otherwise(workspace: Workspace, hosts: list[str]) -> None:
    recovery = declared(workspace, hosts, "INC-2")
    before = list(recovery.pods["pod"])

    run = recovery.run()
    assert recovery.verify() is run and run.outcome == "dry run"
    assert recovery.report().df["state"].eq("to do").all()

    recovery.resolve()
    assert list(recovery.pods["pod"]) == before


@pytest.mark.parametrize("confirm", ["", "yes", "restart 1 pods", "restart 6 pods 000000"])
def test_nothing_is_restarted_without_the_exact_phrase(workspace: Workspace, hosts: list[str], confirm: str) -> None:
    recovery = declared(workspace, hosts, "INC-3")

    with pytest.raises(ConfirmationRequired, match="needs confirmation"):
        recovery.run(dry_run=False, confirm=confirm)

    assert not any(each.reason == "INC-3" for each in workspace.audit().value)


def test_what_was_not_run_has_no_report(workspace: Workspace, hosts: list[str]) -> None:
    with pytest.raises(Unresolved, match="nothing was run"):
        declared(workspace, hosts, "INC-4").report()


def test_hosts_are_recovered_verified_and_accounted_for(
    workspace: Workspace, hosts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    recovery = declared(workspace, [*hosts, "h-nowhere"], "INC-5")
    before = set(recovery.pods["pod"].dropna())

    run = recovery.run(dry_run=False, confirm=recovery.phrase)
    recovery.verify(timeout="60s").raise_if_failed(allow_unresolved=True)
    with pytest.raises(Unfinished, match="not recovered: h-nowhere"):
        run.raise_if_failed()

    out = capsys.readouterr().out
    assert out.count("✓ evict") == len(hosts) and "app-recovery partial" in out
    assert_shape(run.df, recovery_frames.PODS)
    done = run.df[run.df["pod"].notna()]
    assert set(done["state"]) == {"recovered"}
    assert before.isdisjoint(done["new_pod"]) and done["ready_s"].notna().all()
    assert_shape(run.timeline, recovery_frames.TIMELINE)
    assert run.timeline["recovered"].iloc[-1] == len(hosts)
    assert run.plot()._repr_png_().startswith(b"\x89PNG")

    report = recovery.report()
    assert list(report.df["hostname"]) == [*hosts, "h-nowhere"]
    assert report.df.set_index("hostname")["state"]["h-nowhere"] == "unknown"
    assert "| h-nowhere | unknown |" in report.markdown.replace("\\", "")

    assert recovery.run(dry_run=False, confirm=recovery.phrase) is run, "the finished cell does nothing again"
    again = declared(workspace, [*hosts, "h-nowhere"], "INC-5")
    assert again.phrase == "", "nor does the whole notebook"
    once_more = again.run(dry_run=False, confirm=recovery.phrase).wait()
    once_more.raise_if_failed(allow_unresolved=True)
    with pytest.raises(Unfinished):
        once_more.raise_if_failed()
    with pytest.raises(Refused, match="confirms nothing"):
        declared(workspace, [*hosts, "h-nowhere"], "INC-5").run(dry_run=False, confirm="restart 1 pod")


def test_a_run_that_can_do_nothing_fails_whatever_is_accepted(workspace: Workspace, hosts: list[str]) -> None:
    recovery = declared(workspace, ["h-nowhere", "h-nobody"], "INC-9")
    run = recovery.run(dry_run=False).wait()
    for require_all in (True, False):
        with pytest.raises(Unfinished, match="failed"):
            run.raise_if_failed(require_all=require_all, allow_unresolved=True)
    with pytest.raises(Refused, match="confirms nothing"):
        declared(workspace, ["h-nowhere"], "INC-9").run(dry_run=False, confirm="restart 1 pod")


def test_the_audit_trail_has_what_was_written_and_is_intact(workspace: Workspace, hosts: list[str]) -> None:
    recovery = workspace.recovery("ops/Recover.k", hostnames=hosts[:1], incident="INC-6")
    recovery.run(dry_run=False, confirm=recovery.phrase)
    recovery.verify(timeout="60s").raise_if_failed()

    audit = workspace.audit()

    assert_shape(audit.df, recovery_frames.AUDIT)
    mine = audit.df[audit.df["reason"] == "INC-6"]
    assert set(mine["origin"]) == {"notebook"} and set(mine["user"]) == {"sre"}
    assert len(mine) >= 2
    assert audit.check.is_intact and "intact" in repr(audit)
    assert len(workspace.audit(limit=1)) == 1


def test_a_stopped_recovery_starts_nothing_more(workspace: Workspace, hosts: list[str]) -> None:
    recovery = workspace.recovery("ops/Recover.k", hostnames=hosts, incident="INC-7", batch=1, per_owner=1)

    run = recovery.run(dry_run=False, confirm=recovery.phrase)
    run.stop()
    run.wait(timeout="60s")

    assert run.outcome == "stopped"
    assert "not tried" in set(run.df["state"])
    with pytest.raises(Unfinished):
        run.raise_if_failed()


def test_the_widget_asks_and_a_wrong_phrase_runs_nothing(
    workspace: Workspace, hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_WIDGETS", "on")
    recovery = declared(workspace, hosts[:1], "INC-8")
    run = recovery.run(dry_run=False)
    view = run._view
    assert view.ask["phrase"].startswith("restart 1 pod ") and run.outcome == "not confirmed"

    view._handle_custom_msg({"kind": "confirm", "text": "restart 2 pods"}, [])
    with pytest.raises(ConfirmationRequired):
        run._await(None)
    assert run.may_begin

    view._handle_custom_msg({"kind": "confirm", "text": view.ask["phrase"]}, [])
    run.wait(timeout="60s").raise_if_failed()
    assert run.outcome == "recovered"


def test_a_name_from_a_cluster_can_not_become_markup(workspace: Workspace, place: Place) -> None:
    evil = "<img src=x onerror=alert(1)>"
    (place.root / "ops").mkdir(exist_ok=True)
    (place.root / "ops" / "Evil.k").write_text(
        f'recovery = {{kind = "Recovery", name = "{evil}", operation = "restart", unresolved = ["{evil}"]}}\n'
    )
    recovery = workspace.recovery(Path("ops/Evil.k"))

    for shown in (recovery.resolve(), recovery.preview(), recovery.run().wait(), recovery.report()):
        assert "<img" not in shown._repr_mimebundle_()["text/html"]
    assert "<img" not in recovery.report().markdown.replace("\\<", "")

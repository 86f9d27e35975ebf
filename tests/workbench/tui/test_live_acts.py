"""Acts on a live object from its screen: typed, confirmed by a phrase, and seen to happen on a sandbox cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from runtimes.base import Budget, Forbidden, KubernetesId, NodePod, NodePods, PodTarget
from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import names, sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, released, says, until
from workbench.engine.draining import Losses, blocked, drain
from workbench.engine.live_acts import BadAct, LiveAct, LiveRequest, acts_of, consequence
from workbench.tui.running import ACT
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.whatif import Editor, WhatIfScreen
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

__all__ = ["sandbox"]


def is_asked(app: Any) -> bool:
    return bool(app.screen.query_one(TypedConfirmation).is_asked)


@SIZES
async def test_a_workload_is_scaled_after_its_phrase_and_nothing_less(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    cluster = sandbox.clusters[0]

    def replicas() -> int:
        found = cluster.find("deployments.apps", "web-prod", "front")
        assert found is not None
        return int(found["spec"]["replicas"])

    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        before = replicas()
        await pilot.press("colon", *"scale 4", "enter")
        assert not isinstance(app.screen, LiveObjectScreen), "nothing is acted on that is not seen"
        await pilot.press("colon", *"deploy@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "replicas:"))
        await pilot.press("colon", *"scale many", "enter")
        assert not is_asked(app)
        await pilot.press("colon", *"scale 4", "enter")
        await until(pilot, lambda: is_asked(app))
        assert says(app, "web/prod has it") and says(app, "drift") and says(app, "scale web-prod/front@hz to 4")
        await pilot.press("enter", *"yes", "enter", "escape")
        assert not is_asked(app) and replicas() == before
        await pilot.press("colon", "up", "enter")
        await until(pilot, lambda: is_asked(app))
        app.screen.query_one("#phrase", Input).value = "scale web-prod/front@hz to 4"
        await pilot.press("enter")
        await until(pilot, lambda: says(app, "replicas: 4"))
        assert replicas() == 4
        trail = [(each.action, each.result) for each in app.session.audit().entries()]
        assert trail[:2] == [("live scale", "done"), ("live scale", "started")]
        assert app.command_log.acts[-1].line.endswith("scale --replicas 4 deployment.v1.apps/front -n web-prod")


@SIZES
async def test_instead_of_an_act_the_line_of_the_field_is_edited_in_a_what_if(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        cluster = sandbox.clusters[0]
        cluster.create(
            "configmaps", "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "alone"}}
        )
        await pilot.press("colon", *"deploy@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "image: "))
        await pilot.press("colon", *"scale 4", "enter")
        await until(pilot, lambda: is_asked(app))
        assert says(app, "escape, then i, edits it in a What-if")
        await pilot.press("escape")
        yaml = app.screen.query_one("#yaml", ResourceTable)
        yaml.cursor = next(number for number, row in enumerate(yaml.shown) if "image: " in str(row.cells[1]))
        opened_at: list[tuple[Path, int]] = []
        app.edit = lambda file, line: opened_at.append((file, line))  # type: ignore[method-assign]
        await pilot.press("s")
        await until(pilot, lambda: bool(opened_at))
        file, number = opened_at[0]
        assert "image" in file.read_text().splitlines()[number - 1]
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        editor = app.screen.query_one(Editor)
        await until(pilot, lambda: editor.text == file.read_text() and editor.cursor_location == (number - 1, 0))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen))
        await pilot.press("escape", "escape", "colon", *"configmaps@hz default", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and "alone" in names(app))
        app.screen.query_one("#objects", ResourceTable).cursor = names(app).index("alone")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "kind: ConfigMap"))
        await pilot.press("i")
        await until(pilot, lambda: any("the labels of no stack" in each.message for each in app._notifications))
        assert isinstance(app.screen, LiveObjectScreen)


def drained(sandbox: Sandbox) -> str:
    """Returns a node that a pod of `front` is on; one that nothing makes again is put there too."""
    cluster = sandbox.clusters[0]
    front = next(
        each for each in cluster.list("pods", "web-prod").items if each["metadata"]["name"].startswith("front")
    )
    node = str(front["spec"]["nodeName"])
    spec = {
        "nodeName": node,
        "containers": [{"name": "c", "image": "web:1"}],
        "volumes": [{"name": "x", "emptyDir": {}}],
    }
    cluster.create("pods", "default", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lonely"}, "spec": spec})
    return node


def on(sandbox: Sandbox, node: str) -> set[str]:
    pods = (pod for space in ("web-prod", "default") for pod in sandbox.clusters[0].list("pods", space).items)
    there = (
        each for each in pods if each["spec"].get("nodeName") == node and "deletionTimestamp" not in each["metadata"]
    )
    return {each["metadata"]["name"].split("-")[0] for each in there}


async def open_node(app: Any, pilot: Any, node: str) -> None:
    await pilot.press("colon", *"nodes@hz", "enter")
    await until(pilot, lambda: isinstance(app.screen, LiveScreen) and node in names(app))
    app.screen.query_one("#objects", ResourceTable).cursor = names(app).index(node)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "kind: Node"))


async def ask(app: Any, pilot: Any, command: str, phrase: str) -> None:
    await pilot.press("colon", *command, "enter")
    await until(pilot, lambda: is_asked(app))
    assert says(app, phrase)
    app.screen.query_one("#phrase", Input).value = phrase
    await pilot.press("enter")


@SIZES
async def test_a_drain_names_what_is_lost_evicts_the_rest_and_is_undone_by_uncordon(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app, cluster = workbench(tmp_path), sandbox.clusters[0]
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        node = drained(sandbox)
        await open_node(app, pilot, node)
        assert says(app, ":cordon, :uncordon, :drain") and not says(app, ":scale")
        await pilot.press("colon", *"drain", "enter")
        await until(pilot, lambda: is_asked(app))
        assert says(app, "GONE FOR GOOD, as nothing makes it again: default/lonely")
        assert says(app, "DATA LOST in emptyDir: default/lonely")
        app.screen.query_one("#phrase", Input).value = f"drain {node}@hz"
        await pilot.press("enter", "escape")
        assert {"front", "lonely"} <= on(sandbox, node)
        await ask(app, pilot, "drain", f"drain {node}@hz losing 1 bare pod, 1 with local data")
        await until(pilot, lambda: not on(sandbox, node) and says(app, "unschedulable: true"))
        trail = [each for each in app.session.audit().entries() if each.action == "live drain"]
        await until(pilot, lambda: app.session.audit().entries()[0].result == "done")
        trail = [each for each in app.session.audit().entries() if each.action == "live drain"]
        assert {each.target for each in trail if each.result == "evicted"} >= {"default/lonely"}
        assert trail[-1].result == "started"
        said = f"drain {node} --ignore-daemonsets --force --delete-emptydir-data"
        assert app.command_log.acts[-1].line.endswith(said)
        await ask(app, pilot, "uncordon", f"uncordon {node}@hz")
        await until(pilot, lambda: not says(app, "unschedulable: true"))
        assert not cluster.get("nodes", None, node)["spec"].get("unschedulable")


async def test_a_drain_stops_at_a_budget_says_so_and_leaves_the_node_cordoned(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.session.acting.DRAIN_SECONDS", 0.0)
    app, cluster = workbench(tmp_path), sandbox.clusters[0]
    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        node = drained(sandbox)
        cluster.delete("pods", "default", "lonely")
        spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "front"}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": spec}
        cluster.create("poddisruptionbudgets.policy", "web-prod", body)
        await open_node(app, pilot, node)
        await pilot.press("colon", *"drain", "enter")
        await until(pilot, lambda: is_asked(app))
        assert says(app, "budget all allows none now)")
        await pilot.press("escape")
        await until(
            pilot, lambda: "lonely" not in {each["metadata"]["name"] for each in cluster.list("pods", "default").items}
        )
        await ask(app, pilot, "drain", f"drain {node}@hz")
        await until(
            pilot,
            lambda: any(
                "held back by disruption budgets: web-prod/front" in each.message for each in app._notifications
            ),
        )
        assert "front" in on(sandbox, node) and cluster.get("nodes", None, node)["spec"]["unschedulable"]
        assert app.session.audit().entries()[0].result == "failed"


async def test_a_drain_is_not_left_before_it_ends_and_is_stopped_from_wherever_its_node_is_open(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    app, cluster = workbench(tmp_path), sandbox.clusters[0]
    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        node = drained(sandbox)
        cluster.delete("pods", "default", "lonely")
        spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "front"}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": spec}
        cluster.create("poddisruptionbudgets.policy", "web-prod", body)
        await until(
            pilot, lambda: "lonely" not in {each["metadata"]["name"] for each in cluster.list("pods", "default").items}
        )
        await open_node(app, pilot, node)
        await ask(app, pilot, "drain", f"drain {node}@hz")
        await until(pilot, lambda: bool(cluster.get("nodes", None, node)["spec"].get("unschedulable")))
        began = app.screen
        await pilot.press("escape")
        assert app.screen is began and any("it goes on: K stops it" in each.message for each in app._notifications)
        await open_node(app, pilot, node)
        assert app.screen is not began and says(app, "K stops it")
        await pilot.press("K")
        await until(pilot, lambda: all(each.is_finished for each in app.workers if each.group.startswith(ACT)))
        await pilot.press("escape", "escape", "escape")
        assert app.screen is not began and not began.is_attached
        assert "front" in on(sandbox, node) and cluster.get("nodes", None, node)["spec"]["unschedulable"]


async def test_a_pod_is_evicted_and_one_that_nothing_makes_again_only_by_its_own_phrase(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    app, cluster = workbench(tmp_path), sandbox.clusters[0]
    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        drained(sandbox)
        await pilot.press("colon", *"pods@hz default", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["lonely"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "kind: Pod"))
        await ask(app, pilot, "evict", "evict default/lonely@hz losing 1 bare pod, 1 with local data")
        await until(pilot, lambda: says(app, "it is not there any more") or says(app, "deletionTimestamp"))
        assert app.command_log.acts[-1].line == ""
        trail = [(each.action, each.result) for each in app.session.audit().entries()]
        assert trail[:2] == [("live evict", "done"), ("live evict", "started")]
    assert cluster.find("deployments.apps", "web-prod", "front") is not None


def pod(name: str, **fields: Any) -> NodePod:
    return NodePod(PodTarget("shop", name, name), **fields)


def test_what_stays_on_a_drained_node_and_what_a_budget_holds_back() -> None:
    none, one = Budget("shop", "tight", 0), Budget("shop", "loose", 1)
    unhealthy = Budget("shop", "odd", 0, allows_unhealthy=True)
    found = drain(
        NodePods(
            (
                pod("agent", controller="DaemonSet/agent"),
                pod("etcd", is_static=True),
                pod("going", is_terminating=True),
                pod("done", is_finished=True, local_data=("x",)),
                pod("web", controller="ReplicaSet/web", budgets=(none,)),
                pod("sick", controller="ReplicaSet/web", is_ready=False, budgets=(unhealthy,)),
                pod("both", controller="ReplicaSet/web", budgets=(one, one)),
            ),
            Forbidden("no right to list them"),
        )
    )
    assert [each.target.name for each in found.evicted] == ["done", "web", "sick", "both"]
    assert found.stays == (("going already", 1), ("of DaemonSets", 1), ("static pods", 1))
    assert found.losses == Losses() and str(found.losses) == "", "one that ended has nothing to lose"
    assert [blocked(each)[:12] for each in found.evicted] == ["", "budget tight", "", "budgets loos"]
    said = list(found.said())
    assert any("no right to list them" in each for each in said) and "4 pods are evicted" in said[0]


def test_acts_fit_their_kinds_and_phrases_name_what_is_lost() -> None:
    node, lone = KubernetesId("v1", "Node", "", "n1"), KubernetesId("v1", "Pod", "shop", "p")
    assert acts_of(node) == (LiveAct.DELETE, LiveAct.CORDON, LiveAct.UNCORDON, LiveAct.DRAIN)
    assert acts_of(lone) == (LiveAct.DELETE, LiveAct.EVICT)
    losses = Losses.of_body("u", {"metadata": {}, "spec": {"volumes": [{"emptyDir": {}}]}})
    request = LiveRequest(LiveAct.EVICT, "hz", lone, "u", losses=losses)
    assert request.phrase == "evict shop/p@hz losing 1 bare pod, 1 with local data"
    assert "gone for good" in consequence(request, None)
    for act, id_ in (
        (LiveAct.DRAIN, lone),
        (LiveAct.EVICT, node),
        (LiveAct.EVICT, KubernetesId("acme/v1", "Pod", "a", "b")),
    ):
        with pytest.raises(BadAct):
            LiveRequest(act, "hz", id_, "u")

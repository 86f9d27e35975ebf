"""The Recovery screen by keyboard alone, over a sandbox cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.sandbox.server import Sandbox
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

PROGRAM = """import manifests

_pods = option("pods").split(",")
manifests.yaml_stream([{
    kind = "Recovery"
    name = "app-recovery"
    operation = "restart"
    hosts = [{hostname = "h-" + each[-5:], cluster = "hz", namespace = "shop", pod = each} for each in _pods]
    unresolved = ["h-lost"]
    limits = {maxFraction = 1.0, timeoutSeconds = 20}
}])
"""


def live(sandbox: Sandbox) -> list[dict[str, Any]]:
    found = sandbox.clusters[0].list("pods", "shop").items
    return [each for each in found if not each["metadata"].get("deletionTimestamp")]


async def started(sandbox: Sandbox, replicas: int) -> str:
    cluster = sandbox.clusters[0]
    cluster.create("namespaces", None, {"metadata": {"name": "shop"}})
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    cluster.create("deployments.apps", "shop", {"metadata": {"name": "web"}, "spec": spec})
    async with asyncio.timeout(20):
        while True:
            if (cluster.get("deployments.apps", "shop", "web").get("status") or {}).get("readyReplicas") == replicas:
                return ",".join(each["metadata"]["name"] for each in live(sandbox))
            await asyncio.sleep(0.05)


def workbench(folder: Path, sandbox: Sandbox, **settings: Any) -> WorkbenchApp:
    root = folder / "konfig"
    (root / "ops").mkdir(parents=True)
    (root / "kcl.mod").write_text('[package]\nname = "konfig"\n')
    (root / "clusters.yaml").write_text(
        "clusters: {hz: {context: sandbox-1}}\n"
        'placements: [{stacks: ["*"], clusters: [hz], environment: prod, protected: true}]\n'
    )
    (root / "ops" / "AppRecovery.k").write_text(PROGRAM)
    sandbox.write_kubeconfig(folder / "kubeconfig")
    found = Settings(folder, folder, kubeconfig=str(folder / "kubeconfig"), user="ann", host="box", **settings)
    return WorkbenchApp(Session.open(root, settings=found))


def shown(app: WorkbenchApp) -> str:
    lines = []
    for each in app.screen.query("ToneText, ResourceTable"):
        if isinstance(each, ToneText) and each.display:
            lines += [str(text) for text in each.lines]
        if isinstance(each, ResourceTable):
            lines += [" ".join(str(cell) for cell in row.cells) for row in each.shown] or [each.empty]
    return "\n".join(lines)


def painted(app: WorkbenchApp) -> str:
    """What is on the screen, cell by cell."""
    width, height = app.size
    lines = app.screen._compositor.render_strips(app.size)
    assert len(lines) == height and width
    return "\n".join(each.text for each in lines)


async def until(pilot: Pilot[Any], app: WorkbenchApp, reached: Callable[[], bool]) -> None:
    for _ in range(1000):
        await pilot.pause(0.02)
        if reached():
            return
    raise AssertionError("the screen did not come to it:\n" + shown(app))


async def command(pilot: Pilot[Any], app: WorkbenchApp, text: str) -> None:
    await pilot.press("colon")
    prompt = app.screen.query_one(Prompt)
    prompt.value = text
    await pilot.press("enter")


@pytest.mark.parametrize("size", [(80, 24), (130, 40)], ids=["80x24", "130x40"])
async def test_look_confirm_run_and_come_back(tmp_path: Path, size: tuple[int, int]) -> None:
    async with Sandbox() as sandbox:
        pods = await started(sandbox, 3)
        before = {each["metadata"]["uid"] for each in live(sandbox)}
        app = workbench(tmp_path, sandbox)
        async with app.session, app.run_test(size=size) as pilot:
            await pilot.pause()
            await command(pilot, app, f"recover pods={pods}")
            await until(pilot, app, lambda: "restart 3 pods" in shown(app))
            assert "Deployment/web" in shown(app) and "h-lost: unknown" in shown(app)
            drawn = painted(app)
            for said in ("Ready", "PDB", "Action", "State", "3/3", "Node", "Owner", " PROD "):
                assert said in drawn, f"what is to be confirmed is not seen: {said}"
            assert all(pod[-5:] in drawn for pod in pods.split(","))

            await pilot.press("a")
            app.screen.query_one("#phrase", Input).value = "restart 2 pods"
            await pilot.press("enter")
            await pilot.pause(0.1)
            assert {each["metadata"]["uid"] for each in live(sandbox)} == before
            assert app.recovering.job is not None and app.recovering.job.found is not None
            app.screen.query_one("#phrase", Input).value = app.recovering.job.found.phrase
            await pilot.press("enter")
            await pilot.press("escape")  # it goes on without its screen
            await command(pilot, app, "recover")
            await until(pilot, app, lambda: "app-recovery partial" in shown(app))
            assert shown(app).count("✓ recovered") == 3
            await pilot.press("r")
            await until(pilot, app, lambda: "nothing can be done" in shown(app))
        assert before.isdisjoint(each["metadata"]["uid"] for each in live(sandbox))


async def test_a_broken_program_is_told_on_the_screen(tmp_path: Path) -> None:
    async with Sandbox() as sandbox:
        app = workbench(tmp_path, sandbox)
        async with app.session, app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            await command(pilot, app, "recover ops/Nothing.k")
            await until(pilot, app, lambda: "there is no such file" in shown(app))
            await pilot.press("a")
            assert not app.screen.query_one("#confirm").has_class("asked")

"""What is asked of the object under the cursor: the lines behind a field, who set it live, what names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from runtimes.base import KubernetesId, Unreachable
from runtimes.base.relations import Presence
from runtimes.kubernetes.relations import among
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, released, says, shown, until
from workbench.tui import asking
from workbench.tui.screens.answer import AnswerScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.widgets.resource_table import ResourceTable

__all__ = ["sandbox"]
FRONT = KubernetesId("apps/v1", "Deployment", "web-prod", "front")


async def spec_at(app: Any, pilot: Pilot[Any], id_: KubernetesId) -> None:
    await pilot.press("escape", "escape", "colon", *"spec web/prod", "enter")
    await until(pilot, lambda: isinstance(app.screen, SpecScreen) and says(app, "Deployment"))
    app.screen.query_one("#resources", ResourceTable).move_to(id_)
    await pilot.pause()


async def answered(app: Any, pilot: Pilot[Any], text: str) -> None:
    await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and says(app, text))


@SIZES
async def test_a_field_is_explained_and_who_set_it_is_told_of_each_cluster(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app, edited = workbench(tmp_path), []
    async with app.session, app.run_test(size=size) as pilot:
        app.edit = lambda file, line: edited.append((file.name, line))  # type: ignore[method-assign]
        await released(pilot)
        hz, scaled = sandbox.clusters[0], {"spec": {"replicas": 7}}
        hz.patch("deployments.apps", "web-prod", "front", scaled, "merge", manager="kubectl-scale")
        sandbox.disturbances[1].add(Disturbance("unavailable", verbs=("get",), retry_seconds=0))
        await spec_at(app, pilot, FRONT)
        await pilot.press("colon", *"explain spec.replicas", "enter")
        await answered(app, pilot, "set by ")
        assert any("main.k:" in each or "base.k:" in each for each in shown(app))
        table = app.screen.query_one("#answer", ResourceTable)
        table.move_to(("site", 0))
        await pilot.press("s")
        assert edited and edited[0][0] in ("main.k", "base.k")
        assert app.command_log.acts[-1].line.startswith("wb explain web/prod ")
        await pilot.press("escape", "colon", *"explain Deployment/front spec.nothing", "enter")
        await answered(app, pilot, "has no field 'spec.nothing'")
        await spec_at(app, pilot, FRONT)
        await pilot.press("colon", *"who spec.replicas", "enter")
        await answered(app, pilot, "kubectl-scale")
        assert any("spec.replicas" in each and "kubectl-scale" in each for each in shown(app))
        assert says(app, "asking sh ..."), "one that does not answer holds up none of the others"
        failure = Unreachable("refused", target="sh")
        said = [str(row.cells[0]) for row in asking.who_rows(app, "sh", failure, (), 2)]
        assert said[0] == "@sh" and "not known: " in said[1], "what could not be read is no absence"
        sandbox.disturbances[1].clear()
        await spec_at(app, pilot, FRONT)
        await pilot.press("colon", *"who status.nothing", "enter")
        await answered(app, pilot, "no manager is on record for it")


async def test_on_spec_u_shows_what_of_the_stack_names_it_and_asks_no_cluster(tmp_path: Path, sandbox: Sandbox) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        for each in sandbox.disturbances:
            each.add(Disturbance("unavailable", retry_seconds=0))
        await spec_at(app, pilot, FRONT)
        await pilot.press("u")
        await answered(app, pilot, "in what the stack says")
        assert says(app, "Refers to") and says(app, "Used by")


def _object(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    version = {"Deployment": "apps/v1", "Ingress": "networking.k8s.io/v1"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **fields}


def test_objects_name_and_select_each_other_without_a_cluster() -> None:
    container = {"name": "c", "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "elsewhere"}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    web = _object("Deployment", "web", spec={"template": template})
    settings, door = _object("ConfigMap", "settings"), _object("Service", "door", spec={"selector": {"app": "web"}})
    other = _object("Service", "other", spec={"selector": {"app": "other"}})
    every = (web, settings, door, other)
    of_web, of_settings, of_door = (among(each, every) for each in (web, settings, door))
    assert {(each.id.name, each.presence) for each in of_web.refers_to} == {
        ("settings", Presence.THERE),
        ("elsewhere", Presence.UNKNOWN),
    }
    assert [(each.id.name, each.how) for each in of_web.used_by] == [("door", "selects its pods")]
    assert [(each.id.name, each.how) for each in of_settings.used_by] == [("web", "environment of c")]
    assert [(each.id.name, each.how) for each in of_door.refers_to] == [("web", "selects its pods")]
    assert among(other, every).used_by == () == among(other, every).refers_to

"""What a live object has to do with others, on sandbox clusters: owners, owned, references, users, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtimes.base import Forbidden, KubernetesId
from runtimes.base.relations import Presence, Related, Relations, roots
from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import MAP, names, sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, opened, released, says, shown, until
from workbench.present import relations
from workbench.present.glyphs import UNICODE
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.relations import RelationsScreen
from workbench.tui.widgets.resource_table import ResourceTable

__all__ = ["sandbox"]
HOSTILE = "[red]x[/]\x1b[31m"
MOUNTING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "mounting", "labels": {"app": "mounting"}},
    "spec": {
        "containers": [{"name": "c", "image": "web:1", "envFrom": [{"secretRef": {"name": "absent"}}]}],
        "volumes": [{"name": "files", "configMap": {"name": "front"}}],
    },
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "door"},
    "spec": {"selector": {"app": "mounting"}, "ports": [{"port": 80}]},
}


async def open_related(app: Any, pilot: Any, command: str, name: str) -> None:
    await pilot.press("colon", *command, "enter")
    await until(pilot, lambda: isinstance(app.screen, LiveScreen) and name in names(app))
    app.screen.query_one("#objects", ResourceTable).cursor = names(app).index(name)
    await pilot.press("u")
    await until(pilot, lambda: isinstance(app.screen, RelationsScreen) and says(app, "Used by"))


@SIZES
async def test_from_a_deployment_to_its_pods_and_from_a_map_to_what_mounts_it(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app, cluster = workbench(tmp_path), sandbox.clusters[0]
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        cluster.create("pods", "web-prod", MOUNTING)
        cluster.create("services", "web-prod", SERVICE)
        await open_related(app, pilot, "deploy@hz web-prod", "front")
        table = app.screen.query_one("#related", ResourceTable)
        depths = [
            row.depth for row in table.rows if str(row.cells[0]).startswith(("Deployment/", "ReplicaSet/", "Pod/"))
        ]
        assert depths[:3] == [1, 2, 3]
        await pilot.press("escape", "escape")
        await open_related(app, pilot, "configmaps@hz web-prod", "front")
        assert any("Pod/mounting" in each and "volume files" in each for each in shown(app))
        table = app.screen.query_one("#related", ResourceTable)
        table.cursor = next(number for number, row in enumerate(table.shown) if "mounting" in str(row.cells[0]))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "kind: Pod"))
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, RelationsScreen) and says(app, "Secret/absent"))
        assert any("Secret/absent" in each and "NOT THERE" in each for each in shown(app))
        assert any("ConfigMap/front" in each and "NOT THERE" not in each for each in shown(app))
        assert any("Service/door" in each and "selects it" in each for each in shown(app))


async def test_what_reconcile_shows_is_found_by_its_labels(tmp_path: Path, sandbox: Sandbox) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"watch web/prod", "enter")
        await until(pilot, lambda: says(app, "Deployment front @hz") and says(app, "Secret"))
        await pilot.press("slash", *"-l app=front", "enter")
        objects = app.screen.query_one("#objects", ResourceTable)
        await until(pilot, lambda: {row.depth for row in objects.shown} >= {0, 1, 2} or bool(objects.folded))
        found = [str(row.cells[0]) for row in objects.shown if row.depth == 0]
        assert [each for each in found if "Deployment front" in each] and not any("Secret" in each for each in found)
        assert not says(app, "-l finds nothing")


async def test_kinds_that_may_not_be_listed_are_named_and_the_rest_is_shown(tmp_path: Path, sandbox: Sandbox) -> None:
    cluster, group = sandbox.clusters[0], "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "some"}, "rules": rules}
    subjects = [{"kind": "User", "name": "viewer", "apiGroup": group}]
    binding = {"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "some", "apiGroup": group}}
    cluster.create(f"clusterroles.{group}", "", role)
    bound = {"apiVersion": f"{group}/v1", "metadata": {"name": "some"}, "subjects": subjects, **binding}
    cluster.create(f"clusterrolebindings.{group}", "", bound)
    cluster.create("configmaps", "default", {**MAP, "metadata": {"name": "front"}})
    cluster.create("pods", "default", MOUNTING)
    sandbox.write_kubeconfig(tmp_path / "kubeconfig", "viewer")
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await open_related(app, pilot, "configmaps@hz default", "front")
        assert says(app, "may not be listed, and may use it: CronJob, DaemonSet, Deployment, EndpointSlice")
        assert any("Pod/mounting" in each and "volume files" in each for each in shown(app))


def related(kind: str, name: str, **fields: Any) -> Related:
    return Related(KubernetesId("v1", kind, "shop", name), uid=name, **fields)


def test_the_tree_has_owners_above_and_says_what_is_missing_or_not_known() -> None:
    found = Relations(
        owners=(related("ReplicaSet", "set"), related("Deployment", "web", presence=Presence.MISSING)),
        owned=(related("Claim", "a"), related("Volume", "b", owner="a")),
        refers_to=(
            related("Secret", "gone", presence=Presence.MISSING),
            related("Secret", "may-be", presence=Presence.MISSING, is_optional=True),
            related("Node", "n", presence=Presence.UNKNOWN),
        ),
        used_by=(related("Loop", "one", owner="two"), related("Loop", "two", owner="one"), related("X", HOSTILE)),
        not_known=(("RoleBinding", Forbidden("no")),),
    )
    rows = relations.rows(found, KubernetesId("v1", "Pod", "shop", "p"))
    said = [("  " * row.depth + "  ".join(map(str, row.cells))).rstrip() for row in rows]
    assert said[:6] == [
        "Owners and what is owned",
        "  Deployment/web    NOT THERE",
        "    ReplicaSet/set",
        "      Pod/p    this",
        "        Claim/a",
        "          Volume/b",
    ]
    assert "  Secret/gone    NOT THERE" in said and "  Secret/may-be    not there, may be so" in said
    assert "  Node/n    not known whether it is there" in said
    assert not any("\x1b" in each for each in said) and any("[red]x[/]" in each for each in said)
    of_node = relations.rows(Relations(used_by=(related("Pod", "p"),)), KubernetesId("v1", "Node", "", "n"))
    assert str(of_node[-1].cells[0]) == "Pod/shop/p", "a namespace is named where it is another"
    assert [each.uid for each in roots(found.used_by)] == [HOSTILE], "a ring of owners has no root"
    (line,) = relations.not_known(found, UNICODE)
    assert str(line).endswith("may not be listed, and may use it: RoleBinding")

"""What pods and nodes use, beside them in the lists: where it is measured, where it is not, where it is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtimes.base import KubernetesId
from runtimes.base.metrics import Usage
from runtimes.base.tables import LiveColumn, LiveKind, LiveRow, LiveTable
from runtimes.kubernetes.metrics import measured_usage
from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import names, sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, opened, released, says, until
from workbench.engine.live import Listing
from workbench.present import live
from workbench.tui.screens.live import LiveScreen
from workbench.tui.widgets.resource_table import ResourceTable

__all__ = ["sandbox"]
GROUP = "metrics.k8s.io"


def served(kind: str, plural: str, scope: str) -> dict[str, Any]:
    """As metrics-server serves it, here as a custom resource."""
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, as a test"},
        },
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": anything}],
        },
    }


def measure(sandbox: Sandbox) -> None:
    cluster = sandbox.clusters[0]
    definitions = "customresourcedefinitions.apiextensions.k8s.io"
    cluster.create(definitions, "", served("PodMetrics", "pods", "Namespaced"))
    for pod in cluster.list("pods", "web-prod").items:
        usage = [{"name": "a", "usage": {"cpu": "250m", "memory": "100Mi"}}, {"usage": {"cpu": "2", "memory": "1Gi"}}]
        body = {"apiVersion": f"{GROUP}/v1beta1", "kind": "PodMetrics", "containers": usage}
        cluster.create(f"pods.{GROUP}", "web-prod", {**body, "metadata": {"name": pod["metadata"]["name"]}})


@SIZES
async def test_pods_have_what_they_use_beside_them_where_it_is_measured(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        measure(sandbox)
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"pods web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and says(app, "2250m 1124Mi"))
        # where nobody measures it that is said, and is no error
        await until(pilot, lambda: says(app, "no metrics-server: sh"))
        titles = [each.title for each in app.screen.query_one("#objects", ResourceTable).columns]
        assert titles[titles.index("Age") + 1 : titles.index("Age") + 3] == ["CPU", "Memory"]
        await pilot.press("escape", "colon", *"configmaps@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and "front" in names(app))
        assert not says(app, "metrics-server") and not says(app, "CPU")


async def test_what_may_not_be_read_is_said_beside_the_list(tmp_path: Path, sandbox: Sandbox) -> None:
    cluster, group = sandbox.clusters[0], "rbac.authorization.k8s.io"
    definitions = "customresourcedefinitions.apiextensions.k8s.io"
    cluster.create(definitions, "", served("NodeMetrics", "nodes", "Cluster"))
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "some"}, "rules": rules}
    subjects = [{"kind": "User", "name": "viewer", "apiGroup": group}]
    binding = {"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "some", "apiGroup": group}}
    cluster.create(f"clusterroles.{group}", "", role)
    bound = {"apiVersion": f"{group}/v1", "metadata": {"name": "some"}, "subjects": subjects, **binding}
    cluster.create(f"clusterrolebindings.{group}", "", bound)
    sandbox.write_kubeconfig(tmp_path / "kubeconfig", "viewer")
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"nodes@hz", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and len(names(app)) > 0)
        await until(pilot, lambda: says(app, "what is used in hz is not known: nodes.metrics.k8s.io is forbidden"))


def test_usage_is_summed_over_containers_and_not_known_where_a_part_is_not() -> None:
    parts = [{"usage": {"cpu": "1500u", "memory": "2Ki"}}, {"usage": {"cpu": "1", "memory": "1Ki"}}]
    assert measured_usage({"containers": parts}) == Usage(1002, 3072)
    assert measured_usage({"usage": {"cpu": "1", "memory": "1Mi"}}) == Usage(1000, 1 << 20)
    for broken in ({"usage": {"cpu": "nonsense", "memory": "1"}}, {"usage": 7}, {"usage": {"cpu": "1"}}, {}):
        assert measured_usage({"containers": [*parts, broken]}) is None
    assert measured_usage({}) is None


def test_a_row_is_made_again_when_what_it_uses_is_another() -> None:
    now, kind = datetime(2026, 1, 1, tzinfo=UTC), LiveKind("v1", "Pod", "pods", True)
    rows = tuple(LiveRow(KubernetesId("v1", "Pod", "shop", name), name, (name,)) for name in ("one", "other"))
    table, made = LiveTable(kind, (LiveColumn("Name"),), rows), live.LiveRows(lambda labels: None)

    def cells(usage: dict[tuple[str, str], Usage] | None, order: str = "") -> list[list[str]]:
        listings = (Listing("hz", table, now, True, usage=usage),)
        return [[str(cell) for cell in row.cells] for row in made.rows(listings, now, order=order)]

    assert cells(None) == [["one", "shop", "hz", ""], ["other", "shop", "hz", ""]]
    known = {("shop", "one"): Usage(2000, 5 << 20)}
    assert cells(known) == [["one", "2000m", "5Mi", "shop", "hz", ""], ["other", "", "", "shop", "hz", ""]]
    more = {**known, ("shop", "other"): Usage(1, 900 << 20)}
    assert [each[0] for each in cells(more, "CPU")] == ["other", "one"]
    assert [each[0] for each in cells(more, "Memory")] == ["one", "other"]

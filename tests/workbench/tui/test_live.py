"""Live objects of any kind over sandbox clusters: the server's own columns, what is refused, silent, hostile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from kcl.secrecy.rules import BUILT_IN
from runtimes.base import KubernetesId
from runtimes.base.tables import LiveColumn, LiveKind, LiveRow, LiveTable
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from tests.workbench.session.shop import shop
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, opened, released, says, shown, state, until
from workbench.engine.live import Listing, TableScrubber
from workbench.present.live import LiveRows, columns, sort_key
from workbench.present.rows import Row
from workbench.present.text import Tone
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.command_log import CommandLogScreen
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.widgets.resource_table import ResourceTable

HOSTILE = "[red]front[/]\x1b[31m\u202e"
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.acme.io"},
    "spec": {
        "group": "acme.io",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wgt"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
                "additionalPrinterColumns": [
                    {"name": "Flavour", "type": "string", "jsonPath": ".spec.flavour"},
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
                ],
            }
        ],
    },
}


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    tokens = {"admin": "token-of-admin", "viewer": "token-of-viewer"}
    async with Sandbox(names=("one", "two"), clusters=2, tokens=tokens, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        yield sandbox


def workbench(folder: Path, **given: Any) -> WorkbenchApp:
    settings = Settings(
        folder / "state", folder / "state", user="ann", host="box", kubeconfig=str(folder / "kubeconfig"), **given
    )
    return WorkbenchApp(Session(shop(folder / "shop"), settings), open_at="web/prod")


def names(app: WorkbenchApp) -> list[str]:
    return [str(row.cells[0]) for row in app.screen.query_one("#objects", ResourceTable).shown]


def titles(app: WorkbenchApp) -> list[str]:
    return [each.title for each in app.screen.query_one("#objects", ResourceTable).columns]


@SIZES
async def test_pods_of_the_stack_are_listed_as_the_server_prints_them(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: state(app).tree is not None and says(app, "everything is ready"))
        await pilot.press("colon", *"po", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and len(names(app)) == 6)
        await until(pilot, lambda: says(app, "hz 3, watched"))
        assert says(app, "Running") and says(app, "1/1")
        assert titles(app)[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
        assert "Node" not in titles(app)
        await pilot.press("n")
        await until(pilot, lambda: "Node" in titles(app))
        await pilot.press("escape", "colon", *"deployments.apps@hz", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        assert says(app, "web/prod"), "whose it is"
        opened_at: list[tuple[Path, int]] = []
        app.edit = lambda file, line: opened_at.append((file, line))  # type: ignore[method-assign]
        await pilot.press("s")
        await until(pilot, lambda: bool(opened_at))
        assert opened_at[0][0].suffix == ".k"


async def test_custom_resources_go_by_their_short_name_with_their_own_columns(tmp_path: Path, sandbox: Sandbox) -> None:
    cluster = sandbox.clusters[0]
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", "", WIDGETS)
    for number in (2, 10):
        body = {
            "apiVersion": "acme.io/v1",
            "kind": "Widget",
            "metadata": {"name": f"w{number}", "namespace": "default"},
        }
        cluster.create("widgets.acme.io", "default", {**body, "spec": {"flavour": HOSTILE, "size": number}})
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"wgt", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and sorted(names(app)) == ["w10", "w2"])
        assert says(app, "[red]front[/]")
        assert not any("\x1b" in line or "\u202e" in line for line in shown(app))
        await until(pilot, lambda: says(app, "sh: "))  # that it does not serve the kind is said
        await pilot.press("n")
        for _ in range(3):
            await pilot.press("o")
        assert names(app) == ["w2", "w10"], "by number, not by letters"
        await pilot.press("O")
        assert names(app) == ["w10", "w2"]


async def test_a_kind_that_may_not_be_listed_says_so_and_a_cluster_that_falls_silent_keeps_what_it_had(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"namespaces", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app).count("kube-system") == 2)
        sandbox.disturbances[1].add(Disturbance("internal-error"))
        await pilot.press("r")
        await until(pilot, lambda: says(app, "? sh: ") and says(app, "shown is what it had"))
        assert sum(name == "kube-system" for name in names(app)) == 2
        sandbox.disturbances[1].clear()
        await pilot.press("r")
        await until(pilot, lambda: not says(app, "? sh: "))


async def test_what_its_user_may_not_list_is_named(tmp_path: Path, sandbox: Sandbox) -> None:
    sandbox.write_kubeconfig(tmp_path / "kubeconfig", "viewer")
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"secrets", "enter")
        await until(pilot, lambda: says(app, "? hz: may not be listed: "))
        assert names(app) == [] and says(app, "no cluster says what there is")


async def test_a_kind_that_nobody_serves_is_no_empty_list(tmp_path: Path, sandbox: Sandbox) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"deploymets", "enter")
        await until(pilot, lambda: says(app, "no cluster that answered serves 'deploymets'"))
        assert says(app, "did you mean deployments") and says(app, "nothing can be listed")
        await pilot.press("escape")
        await pilot.press("colon", *"pods@nowhere", "enter")
        assert not isinstance(app.screen, LiveScreen)


@pytest.mark.parametrize("typed", ["dif", "plann web/dev", "Watch"])
async def test_a_mistyped_command_asks_no_cluster(tmp_path: Path, sandbox: Sandbox, typed: str) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *("space" if each == " " else each for each in typed), "enter")
        (said,) = [each.message for each in app._notifications]
        meant = {"d": "diff", "p": "plan", "W": "watch"}[typed[0]]
        assert f"did you mean :{meant}?" in said and "@CLUSTER" in said
        assert not isinstance(app.screen, LiveScreen)


def test_cells_are_ordered_as_people_read_them() -> None:
    texts = ["10", "9", "2d4h", "59s", "3m", "Running", "", "1/2", "5 (3m ago)"]
    assert sorted(texts, key=sort_key) == ["1/2", "5 (3m ago)", "9", "10", "59s", "3m", "2d4h", "Running", ""]


@SIZES
async def test_an_object_is_shown_with_who_set_its_fields_its_events_and_its_logs(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        sandbox.clusters[0].patch(
            "deployments.apps", "web-prod", "front", {"spec": {"replicas": 2}}, "merge", manager="kubectl-scale"
        )
        await pilot.press("colon", *"deploy@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "replicas: 2"))
        assert any("kubectl-scale" in each and "replicas: 2" in each for each in shown(app))
        assert any("workbench" in each for each in shown(app)) and not says(app, "managedFields")
        await until(pilot, lambda: says(app, "ScalingReplicaSet"))
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and says(app, "in 2 pods"))
        await pilot.press("escape")
        assert isinstance(app.screen, LiveObjectScreen)


@SIZES
async def test_an_object_is_described_in_a_page_and_is_yaml_again(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        await pilot.press("colon", *"pods@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and bool(names(app)) and says(app, "Running"))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "Controlled by:"))
        page = app.screen.query_one("#page", ResourceTable)
        assert page.has_focus and says(app, "running, since") and says(app, "Tolerations:") and says(app, "Conditions:")
        assert all(len(str(row.cells[0])) <= size[0] for row in page.rows)
        assert not app.screen.query_one("#yaml").display
        assert "kubectl" in app.command_log.acts[-1].line and " describe pod/" in app.command_log.acts[-1].line
        await pilot.press("d")
        await until(pilot, lambda: says(app, "apiVersion: v1"))
        assert not page.display and app.screen.query_one("#yaml").has_focus
        await pilot.press("d", "v")
        assert app.screen.query_one("#events").has_focus


async def test_secrets_of_a_live_object_are_masked_wherever_they_are(tmp_path: Path, sandbox: Sandbox) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"secrets@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and "front" in names(app))
        app.screen.query_one("#objects", ResourceTable).cursor = names(app).index("front")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "token:"))
        text = "\n".join(shown(app))
        assert "canary" not in text and "Y2FuYXJ5" not in text, "neither in clear nor encoded"
        await pilot.press("d")
        await until(pilot, lambda: says(app, "Data:") and says(app, "masked#"))
        text = "\n".join(shown(app))
        assert "canary" not in text and "Y2FuYXJ5" not in text, "nor described"
        sandbox.clusters[0].delete("secrets", "web-prod", "front")
        await pilot.press("r")
        await until(pilot, lambda: says(app, "it is not there any more"))


async def test_a_large_table_is_made_beside_the_screen_and_follows_what_changes(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.tui.screens.live.AT_ONCE", 5)
    cluster = sandbox.clusters[0]
    for number in range(30):
        cluster.create("configmaps", "default", {**MAP, "metadata": {"name": f"map-{number:02}"}})
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"configmaps@hz default", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and "map-29" in names(app))
        await pilot.press("o", "O")
        await until(pilot, lambda: names(app)[0] == "map-29")
        cluster.delete("configmaps", "default", "map-29")
        await until(pilot, lambda: names(app)[0] == "map-28")
        live = cast("LiveScreen", app.screen)
        app.run_command("bookmarks", live)
        app.run_command("log", live)
        await until(pilot, lambda: isinstance(app.screen, CommandLogScreen) and not live.is_current)
        live._wanted.set()  # as by what came just before another screen stood before it
        await until(pilot, lambda: not live._wanted.is_set())
        assert live._built_of is None, "who comes back has the rows made"


MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def test_rows_are_made_again_only_where_something_is_new() -> None:
    now = datetime(2026, 11, 24, tzinfo=UTC)
    kind, had = LiveKind("v1", "Pod", "pods", True), (LiveColumn("Name"), LiveColumn("Status"), LiveColumn("Age"))
    one, other = (
        LiveRow(KubernetesId("v1", "Pod", "shop", name), name, (name, "Running", "3h"), {}, now - timedelta(hours=3))
        for name in ("one", "other")
    )
    table = LiveTable(kind, had, (one, other))
    made = LiveRows(lambda labels: None)
    before = made.rows((Listing("hz", table, now, True),), now)
    assert [str(cell) for cell in before[0].cells] == ["one", "Running", "3h", "shop", "hz", ""]
    moved = replace(table, rows=(one, replace(other, cells=("other", "Error", "3h"))))
    after = made.rows((Listing("hz", moved, now, True),), now)
    assert after[0] is before[0] and str(after[1].cells[1]) == "Error"
    later = made.rows((Listing("hz", moved, now, True),), now + timedelta(hours=1))
    assert str(later[0].cells[2]) == "4h" and later[0].cells[1].spans[0].tone is Tone.MUTED, "old, and says so"
    by_now = made.by_now((Listing("hz", moved, now, True),), now + timedelta(hours=1))
    assert [by_now(each) for each in after] == [*later], "a row alone becomes what it would be among all"
    assert by_now(Row(("sh", one.id), ())) == Row(("sh", one.id), ()), "of a cluster that is not listed"


def test_of_several_clusters_the_column_that_tells_them_apart_stays() -> None:
    now = datetime(2026, 11, 24, tzinfo=UTC)
    table = LiveTable(LiveKind("v1", "Pod", "pods", True), (LiveColumn("Name"), LiveColumn("Age")), ())
    one, other = Listing("hz", table, now, True), Listing("sh", table, now, True)
    ranks = {each.title: each.rank for each in columns((one, other))}
    assert ranks["Cluster"] == 0 < ranks["Namespace"]
    assert {each.title: each.rank for each in columns((one,))}["Cluster"] > 0


def test_a_scrubbed_table_hides_what_became_known_as_a_secret_later() -> None:
    row = LiveRow(KubernetesId("v1", "Pod", "shop", "one"), "1", ("one", "started with canary-4711"), {"a": "b"})
    table = LiveTable(LiveKind("v1", "Pod", "pods", True), (LiveColumn("Name"), LiveColumn("Said")), (row,))
    scrubber = TableScrubber()
    assert scrubber.scrubbed(table, frozenset(), BUILT_IN).rows == (row,)
    hidden = scrubber.scrubbed(table, frozenset({"canary-4711"}), BUILT_IN)
    assert "canary" not in hidden.rows[0].cells[1]

"""The prompt for commands: what was typed before, kinds that clusters serve, and the log of what was done."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from runtimes.base import ClusterIdentity, KubernetesId
from runtimes.base.logs import LogQuery
from runtimes.sandbox.server import Sandbox
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_live import sandbox
from tests.workbench.tui.test_live import workbench as live_workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, opened, says, until, workbench
from workbench.tui import equivalents
from workbench.tui.screens.command_log import CommandLogScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.live import LiveScreen
from workbench.tui.widgets.prompt import Prompt

__all__ = ["sandbox"]


def typed(app: object) -> str:
    return app.screen.query_one(Prompt).value  # type: ignore[attr-defined, no-any-return]


async def test_what_was_typed_before_comes_back_as_far_as_it_begins_like_this(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        for command in ("diff web/dev", "nonsense!", "diff web/prod", "diff web/dev"):
            await pilot.press("colon", *command, "enter")
            await pilot.pause()
        await pilot.press("colon", "up")
        assert typed(app) == "diff web/dev"
        await pilot.press("up", "up")
        assert typed(app) == "nonsense!", "what is typed twice is there once"
        await pilot.press("up")
        assert typed(app) == "nonsense!"
        await pilot.press("escape", "colon", *"diff", "up", "up")
        assert typed(app) == "diff web/prod"
        await pilot.press("down", "down")
        assert typed(app) == "diff"


async def test_kinds_and_clusters_are_completed_as_the_clusters_serve_them(tmp_path: Path, sandbox: Sandbox) -> None:
    app = live_workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon")
        await until(pilot, lambda: bool(app.kind_names))
        await pilot.press(*"statef", "tab")
        assert typed(app) == "statefulset"
        await pilot.press("tab")
        await until(pilot, lambda: says(app, "statefulsets.apps"))
        await pilot.press(*"s@", "tab", "h", "tab")
        assert typed(app) == "statefulsets@hz"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen))
        await pilot.press("colon", *"log", "enter")
        await until(pilot, lambda: isinstance(app.screen, CommandLogScreen))
        assert says(app, "kubectl --context one get statefulsets -A")


@SIZES
async def test_what_was_done_is_listed_with_the_line_that_does_the_same(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("i")
        await pilot.press("escape", "escape", "colon", *"log", "enter")
        await until(pilot, lambda: isinstance(app.screen, CommandLogScreen))
        assert says(app, "wb diff web/prod") and says(app, "no one line does this")
        copied = app.screen.copied()  # type: ignore[attr-defined]
        assert copied == "wb diff web/prod"


def test_lines_name_context_kind_and_namespace_and_are_quoted() -> None:
    place = ClusterIdentity("prod hz", "https://hz")
    deployment = KubernetesId("apps/v1", "Deployment", "shop", "front")
    assert (
        equivalents.show(deployment, place)
        == "kubectl --context 'prod hz' get deployment.v1.apps/front -o yaml --show-managed-fields -n shop"
    )
    pod = KubernetesId("v1", "Pod", "shop", "front; rm -rf")
    assert (
        equivalents.logs(LogQuery(pod, "app", True, None, 300), place)
        == "kubectl --context 'prod hz' logs 'pod/front; rm -rf' -c app -p --since 300s -n shop"
    )
    log = equivalents.CommandLog()
    for number in range(equivalents.MOST_ACTS + 1):
        log.add(datetime.now(UTC), str(number))
    assert len(log.acts) == equivalents.MOST_ACTS and log.acts[0].what == "1"

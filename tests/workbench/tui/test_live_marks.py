"""Several live objects at once: marked, counted, acted on after one phrase that counts for them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import names, sandbox, workbench
from tests.workbench.tui.test_live_acts import is_asked
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, says, shown, until
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_acts import LiveActsScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.widgets.resource_table import ResourceTable

__all__ = ["sandbox"]


def put(sandbox: Sandbox, *names: str) -> None:
    for name in names:
        metadata = {"name": name, "labels": {"tier": name[0]}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        sandbox.clusters[0].create("configmaps", "default", body)


def there(sandbox: Sandbox) -> set[str]:
    found = sandbox.clusters[0].list("configmaps", "default").items
    return {each["metadata"]["name"] for each in found} - {"kube-root-ca.crt"}


async def typed(app: Any, pilot: Pilot[Any], command: str) -> None:
    app.run_command(command, app.screen)
    await pilot.pause()


async def listed(app: Any, pilot: Pilot[Any], *expected: str) -> None:
    await typed(app, pilot, "configmaps@hz default")
    await until(pilot, lambda: isinstance(app.screen, LiveScreen) and set(expected) <= set(names(app)))


def phrase(app: Any) -> str:
    acts = app.screen._acts
    assert acts is not None
    return str(acts.phrase)


async def test_what_a_filter_finds_is_marked_and_deleted_after_one_phrase(tmp_path: Path, sandbox: Sandbox) -> None:
    put(sandbox, "a1", "a2", "a3", "b1")
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await listed(app, pilot, "a1", "b1")
        await typed(app, pilot, "delete")
        assert isinstance(app.screen, LiveScreen), "nothing is marked"
        await pilot.press("slash", *"-l tier=a", "enter", "asterisk", "escape")
        assert says(app, "3 marked")
        await typed(app, pilot, "restart")
        assert isinstance(app.screen, LiveScreen), "a ConfigMap has nothing to restart"
        await typed(app, pilot, "delete")
        await until(pilot, lambda: isinstance(app.screen, LiveActsScreen) and is_asked(app))
        assert phrase(app).startswith("delete 3 ConfigMaps@hz ") and says(app, phrase(app))
        assert says(app, "no stack here is known to own it") and says(app, "default/a2") and not says(app, "b1")
        await pilot.press(*"yes", "enter")
        assert is_asked(app) and len(there(sandbox)) == 4
        await pilot.resize_terminal(*LARGE)
        assert says(app, phrase(app)) and says(app, "default/a2")
        app.screen.query_one("#phrase", Input).value = phrase(app)
        await pilot.press("enter")
        await until(pilot, lambda: says(app, "delete 3 ConfigMaps: 3 done"))
        assert there(sandbox) == {"b1"}, shown(app)
        trail = [(each.action, each.result) for each in app.session.audit().entries()]
        assert trail == [("live delete", "done"), ("live delete", "started")] * 3
        lines = [each.line for each in app.command_log.acts if each.what.startswith("began to delete")]
        assert len(lines) == 3 and all(" delete configmap/a" in each for each in lines)
        await pilot.press("r")
        assert not is_asked(app), "what was done is not asked again"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and not says(app, "marked"))


async def test_a_range_is_marked_what_is_not_shown_is_counted_and_what_is_gone_is_said(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    put(sandbox, "a1", "a2", "a3", "b1")
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await listed(app, pilot, "a1", "b1")
        table = app.screen.query_one("#objects", ResourceTable)
        await pilot.press("V")
        assert not table.marks
        table.cursor = names(app).index("a1")
        await pilot.press("space", "j", "V")
        assert says(app, "3 marked  to type: :delete")
        await pilot.press("slash", *"a1", "enter")
        assert says(app, "3 marked, 2 of them not shown")
        await typed(app, pilot, "delete")
        await until(pilot, lambda: isinstance(app.screen, LiveActsScreen) and is_asked(app))
        assert all(says(app, f"default/{each}") for each in ("a1", "a2", "a3"))
        await pilot.press("escape")
        assert isinstance(app.screen, LiveScreen) and says(app, "3 marked"), "nothing was done"
        assert len(there(sandbox)) == 4
        app.screen.workers.cancel_group(app.screen, "live")
        sandbox.clusters[0].delete("configmaps", "default", "a2")
        await typed(app, pilot, "delete")
        await until(pilot, lambda: isinstance(app.screen, LiveActsScreen) and says(app, "it is not there any more"))
        assert not is_asked(app) and len(there(sandbox)) == 3


async def test_a_read_only_session_does_nothing_to_several(tmp_path: Path, sandbox: Sandbox) -> None:
    put(sandbox, "a1", "a2")
    app = workbench(tmp_path, is_read_only=True)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await listed(app, pilot, "a1", "a2")
        await pilot.press("asterisk")
        await typed(app, pilot, "delete")
        await until(pilot, lambda: isinstance(app.screen, LiveActsScreen) and says(app, "refused: this session is"))
        assert not is_asked(app)
        assert there(sandbox) == {"a1", "a2"} and app.session.audit().entries() == ()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen))


async def test_logs_of_what_is_marked_in_two_clusters_are_one_stream(tmp_path: Path, sandbox: Sandbox) -> None:
    for cluster in sandbox.clusters:
        for name in ("left", "right"):
            spec = {"containers": [{"name": "c", "image": "web:1"}]}
            cluster.create(
                "pods", "default", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
            )
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await typed(app, pilot, "pods default")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and len(names(app)) == 4)
        await pilot.press("asterisk", "l")
        await until(pilot, lambda: isinstance(app.screen, LogsScreen) and says(app, "(4 in 4 pods)"))
        assert says(app, "Pod 4 that were marked @hz, sh")
        await until(pilot, lambda: says(app, "left@hz/c ") and says(app, "right@sh/c "))
        lines = [each.line for each in app.command_log.acts if each.what.startswith("read logs of")]
        assert len(lines) == 4 and len({*lines}) == 4
        sandbox.disturbances[1].add(Disturbance("internal-error"))
        await pilot.press("r")
        await until(pilot, lambda: says(app, "left@hz/c ") and not says(app, "right@sh/c ") and says(app, "? "))

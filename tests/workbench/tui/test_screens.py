"""The screens by keyboard alone, over a repository in KCL and clusters in memory: what they show, what they refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import Blocking, KubernetesId, ObjectRef, Status
from tests.workbench.session.shop import Clusters, shop
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.frame import Frame
from workbench.tui.screens.answer import AnswerScreen
from workbench.tui.state import Reach, StackState
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
FRONT = KubernetesId("apps/v1", "Deployment", "web-prod", "front")
SMALL, LARGE = (80, 24), (120, 40)
SIZES = pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.soak)], ids=["80x24", "120x40"])
"""For what a size changes little: that screens are whole at both is held by `test_every_screen` and the snapshots."""


def workbench(folder: Path, clusters: Clusters, **settings: Any) -> WorkbenchApp:
    root = shop(folder / "shop")
    state = folder / "state"
    for each in clusters.by_name.values():
        each.clock = lambda: NOW
    found = Settings(state, state, user="ann", host="box", **settings)
    session = Session(root, found, connect=clusters, now=lambda: NOW)
    return WorkbenchApp(session, open_at="web/prod", now=lambda: NOW)


async def until(pilot: Pilot[Any], reached: Callable[[], bool], *, looks: int = 500) -> None:
    """Waits for a state of the app; fails after ten seconds, or so many looks."""
    for _ in range(looks):
        await pilot.pause(0.02)
        if reached():
            return
    raise AssertionError("the screen did not come to it: " + "\n".join(shown(pilot.app)))


async def opened(pilot: Pilot[Any]) -> None:
    """Waits until the cursor is on the stack."""
    await until(pilot, lambda: getattr(pilot.app.screen, "shown_state", None) is not None)


def state(app: Any) -> StackState:
    found = app.screen.shown_state
    assert isinstance(found, StackState)
    return found


def shown(app: Any) -> list[str]:
    """What the tables and texts of the screen say."""
    lines: list[str] = []
    for each in app.screen.query("ToneText, ResourceTable"):
        if not each.display:
            continue
        if isinstance(each, ToneText):
            lines += [str(line) for line in each.lines]
        if isinstance(each, ResourceTable):
            lines += [" ".join(str(cell) for cell in row.cells) for row in each.shown] or [each.empty]
    return lines


def says(app: Any, text: str) -> bool:
    return any(text in line for line in shown(app))


async def released(pilot: Pilot[Any]) -> None:
    """Applies the stack once from the plan screen."""
    await opened(pilot)
    await pilot.press("P")
    await until(pilot, lambda: state(pilot.app).plan is not None)
    await confirm(pilot)
    await until(pilot, lambda: bool(state(pilot.app).events) and not state(pilot.app).is_applying)
    await pilot.press("escape")


async def confirm(pilot: Pilot[Any]) -> None:
    await pilot.press("a")
    phrase = pilot.app.screen.query_one("#phrase", Input)
    phrase.value = state(pilot.app).plan.confirmation.phrase or "yes"  # type: ignore[union-attr]
    await pilot.press("enter")


async def confirmed(pilot: Pilot[Any], key: str, word: str) -> None:
    """Presses a key that asks for a word, and types that."""
    await pilot.press(key)
    await until(pilot, lambda: pilot.app.screen.query_one("#confirm").has_class("asked"))
    await pilot.press(*word, "enter")


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
async def test_browse_diff_apply_and_watch_by_keyboard_alone(tmp_path: Path, size: tuple[int, int]) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "+8 create"))
        await pilot.press("P")
        await until(pilot, lambda: says(app, "Deployment web-prod/front @sh"))
        await confirm(pilot)
        await until(pilot, lambda: says(app, "release #1 succeeded"))
        await pilot.press("w")
        await until(pilot, lambda: says(app, "8/8 ready"))
        assert says(app, "everything is ready")
    assert [call for call, _ in clusters["hz"].calls].count("apply") == 4


async def test_the_diff_names_the_line_of_every_field_and_masks_secrets(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        base = app.konfig.root / "web/base/base.k"
        base.write_text(base.read_text().replace("front:1", "front:2").replace("canary-4f1d", "canary-77aa"))
        await pilot.press("d")
        await until(pilot, lambda: says(app, "~4 update"))
        await pilot.press("j", "j")
        await until(pilot, lambda: says(app, "front:2"))
        assert says(app, "base/base.k:5")
        text = "\n".join(shown(app))
        assert "canary" not in text


async def test_a_wrong_phrase_applies_nothing(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None)
        await pilot.press("a")
        await pilot.press(*"yes", "enter")
        assert app.screen.query_one("#confirm").has_class("asked")
        await pilot.press("escape")
        assert not app.screen.query_one("#confirm").has_class("asked")
    assert not clusters["hz"].objects


async def test_a_read_only_session_refuses_to_ask(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_read_only=True)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None)
        await pilot.press("a")
        assert not app.screen.query_one("#confirm").has_class("asked")
        assert says(app, "READ ONLY")


async def test_a_stack_that_the_repository_makes_read_only_takes_its_name_typed(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    file = root / "clusters.yaml"
    file.write_text(file.read_text().replace('stacks: ["*/dev"], ', 'stacks: ["*/dev"], read_only: true, '))
    settings = Settings(tmp_path / "state", tmp_path / "state", user="ann", host="box")
    app = WorkbenchApp(Session(root, settings, connect=Clusters("hz", "sh")), open_at="web/dev")
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("colon", *"plan web/dev", "enter")
        await until(pilot, lambda: state(app).plan is not None)
        await until(pilot, lambda: says(app, "READ ONLY"))
        await pilot.press("a")
        assert not app.screen.query_one("#confirm").has_class("asked")
        await pilot.press("colon", *"allow-writes", "enter")
        assert says(app, "READ ONLY")
        await pilot.press("colon", *"allow-writes web/dev", "enter")
        await until(pilot, lambda: not says(app, "READ ONLY"))
        await pilot.press("r")
        await until(pilot, lambda: bool((made := state(app).plan) and not made.is_refused))
        await pilot.press("a")
        assert app.screen.query_one("#confirm").has_class("asked")


async def test_a_kcl_error_is_shown_and_the_last_good_spec_stays(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: says(app, "Deployment"))
        main = app.konfig.root / "web/prod/main.k"
        main.write_text(main.read_text().replace("replicas = 3", "replicas = "))
        await pilot.press("r")
        await until(pilot, lambda: says(app, "main.k:4"))
        assert says(app, "showing the last good one")
        assert says(app, "Deployment")
        main.write_text(main.read_text().replace("replicas = ", "replicas = 3"))
        await pilot.press("r")
        await until(pilot, lambda: state(app).error is None)


async def test_a_cluster_that_is_down_is_named_and_the_other_is_compared(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "connection refused"))
        assert says(app, "+4 create")
        assert says(app, "is it up?")


async def test_what_blocks_is_under_the_cursor_with_its_reason(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    pod = Blocking(ObjectRef("Pod", "web-prod", "front-1", "u1"), "ImagePullBackOff", "front:1 is not there")
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        clusters["sh"].become(FRONT, Status.FAILED, pod)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "WHY Pod/front-1 @sh ImagePullBackOff: front:1 is not there"))
        objects = app.screen.query_one("#objects", ResourceTable)
        assert str(objects.shown[objects.cursor].cells[0]) == "Deployment front @sh"
        await pilot.press("f")
        await until(pilot, lambda: len(objects.shown) == 1)


async def test_an_edit_over_the_files_shows_its_effect_and_touches_nothing(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        main = app.konfig.root / "web/prod/main.k"
        before = main.read_text()
        await pilot.press("i")
        await until(pilot, lambda: state(app).diff is not None)
        editor = app.screen.query_one("#editor")
        editor.text = before.replace("replicas = 3", "replicas = 7")  # type: ignore[attr-defined]
        await until(pilot, lambda: says(app, "spec.replicas: 3 → 7"))
        assert says(app, "WHAT-IF: main.k")
        assert main.read_text() == before
        await pilot.press("escape")
        await confirmed(pilot, "X", "drop")
        await until(pilot, lambda: says(app, "no difference"))


async def test_an_edit_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    kept = Session.compile

    async def counted(self: Session, stack: Stack, inputs: CompileInputs | None = None) -> CompiledStack:
        compiled.append(stack.name)
        return await kept(self, stack, inputs)

    monkeypatch.setattr(Session, "compile", counted)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: state(app).diff is not None)
        assert compiled == ["web/prod"]
        spec, diff = state(app).compiled, state(app).diff
        assert spec is not None and diff is not None
        assert [each.id for each in diff.spec] == [each.id for each in spec.spec]


async def test_keys_typed_into_the_filter_are_no_actions(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"dev")
        assert app.screen.query_one(Prompt).value == "dev"
        tree = app.screen.query_one("#tree", ResourceTable)
        assert [str(row.cells[0]) for row in tree.shown] == ["web", "dev"]
        await pilot.press("enter", "escape")
        assert len(tree.shown) == 3


async def test_marked_stacks_are_compared_together(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("asterisk", "d")
        await until(pilot, lambda: says(app, "+4") and says(app, "+8"))
        assert type(app.screen).__name__ == "BrowseScreen"


async def test_what_is_copied_holds_no_secret(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: says(app, "Secret"))
        await pilot.press("j", "j")
        await until(pilot, lambda: says(app, "token:"))
        await pilot.press("y")
        assert "kind: Secret" in app.clipboard
        assert "masked#" in app.clipboard
        assert "canary" not in app.clipboard


async def test_a_label_filter_finds_stacks_by_label(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    (tmp_path / "shop/web/dev/stack.yaml").write_text("name: dev\nlabels: {owner: ann}\n")
    app.read_tree()
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"-l owner=ann", "enter")
        tree = app.screen.query_one("#tree", ResourceTable)
        assert [str(row.cells[0]) for row in tree.shown] == ["web", "dev"]


async def test_commands_are_typed_after_a_colon(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"diff web/dev", "enter")
        await until(pilot, lambda: says(app, "Live diff"))
        assert state(app).stack.name == "web/dev"
        await pilot.press("colon", *"nonsense", "enter")
        await pilot.press("colon", *"q", "enter")
    assert app.return_code == 0


LOOKS = {"browse": (), "spec": ("c",), "diff": ("d",), "plan": ("P",), "reconcile": ("w",), "whatif": ("i",)}
LOOKS |= {
    "explain": ("colon", *"explain Deployment/front spec.template.spec", "enter"),
    "used-by": ("G", "u"),
}


def is_worked_out(reach: Reach | None) -> bool:
    return reach is None or reach.error is not None or (reach.report is not None and not reach.is_asking)


async def settled(pilot: Pilot[Any]) -> None:
    """Brings a screen to a state that is the same in every run: work done, times fixed."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await until(pilot, lambda: not any(each.busy for each in app.states.values()))
    await until(pilot, lambda: all(is_worked_out(each.reach) for each in app.states.values()))
    await until(pilot, lambda: not says(app, "..."))
    for each in app.states.values():
        if each.compiled is not None:
            each.compiled = dataclasses.replace(each.compiled, seconds=0.1)
        if each.plan is not None:  # its id is salted
            each.plan = dataclasses.replace(each.plan, id="p-0123456789")
        if each.tree is not None:
            each.tree = dataclasses.replace(each.tree, seconds=12.0)
    app.screen.redraw()  # type: ignore[attr-defined]
    await pilot.pause()


Snapshots = Callable[..., bool]
Before = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
@pytest.mark.parametrize("look", LOOKS)
def test_looks(look: str, size: tuple[int, int], tmp_path: Path, snap_compare: Snapshots) -> None:
    assert snap_compare(looking(tmp_path), terminal_size=size, run_before=going_to(look))


@pytest.mark.parametrize("look", ["diff", "reconcile"])
def test_looks_without_colour(look: str, tmp_path: Path, snap_compare: Snapshots) -> None:
    app = looking(tmp_path, has_color=False)
    assert snap_compare(app, terminal_size=SMALL, run_before=going_to(look))


def looking(folder: Path, **settings: Any) -> WorkbenchApp:
    return workbench(folder, Clusters("hz", "sh"), **settings)


def going_to(look: str) -> Before:
    async def go(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, WorkbenchApp)
        await opened(pilot)
        if look in ("diff", "plan", "reconcile", "whatif"):
            await released(pilot)
            base = app.konfig.root / "web/base/base.k"
            base.write_text(base.read_text().replace("front:1", "front:2"))
        if look == "reconcile":
            clusters = cast("Clusters", app.session._connect)
            pod = Blocking(ObjectRef("Pod", "web-prod", "front-1", "u1"), "ImagePullBackOff", "front:1 is not there")
            clusters["sh"].become(FRONT, Status.FAILED, pod)
        if look in ("explain", "used-by"):  # they are asked on a Spec that is there
            await pilot.press("c")
            await until(pilot, lambda: says(app, "Deployment"))
        await pilot.press(*LOOKS[look])
        if look in ("explain", "used-by"):
            await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and not says(app, "asking ..."))
        await settled(pilot)

    return go


async def test_what_writes_to_a_protected_stack_has_a_border_and_what_shows_it_has_none(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        for stack, screen, is_bordered in (
            ("web/prod", "plan", True),
            ("web/prod", "whatif", True),
            ("web/prod", "diff", False),
            ("web/dev", "plan", False),
        ):
            app.open_stack(next(each for each in app.states.values() if each.stack.name == stack), screen)
            await pilot.pause()
            await until(pilot, lambda: app.screen.query("#body") != [])
            assert isinstance(app.screen, Frame)
            left = {strip.text[0] for strip in app.screen.painted()[2:6]}
            assert (left == {"█"}) is is_bordered, (stack, screen, left)
            await pilot.press("escape")


async def test_what_changes_in_a_burst_is_drawn_once(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.pause()
        drawn = 0
        draw = app.screen.show_state  # type: ignore[attr-defined]

        def counted() -> None:
            nonlocal drawn
            drawn += 1
            draw()

        app.screen.show_state = counted  # type: ignore[attr-defined]
        for _ in range(200):
            for each in app.states.values():
                app.tell(each)
        await until(pilot, lambda: drawn > 0)
        await pilot.pause(0.3)
        assert drawn < 20


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
async def test_a_number_changed_in_a_long_text_is_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    base = app.konfig.root / "web/base/base.k"
    text = " ".join(f"--host={each}.example.com" for each in "abcdefgh")
    base.write_text(base.read_text().replace('"red"', f'"{text} --cpu=100 {text}"'))
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        base.write_text(base.read_text().replace("--cpu=100", "--cpu=200"))
        await pilot.press("d")
        await until(pilot, lambda: says(app, "~2 update"))
        await until(pilot, lambda: says(app, "--cpu=200"))
        fields = app.screen.query_one("#fields", ResourceTable)
        drawn = [fields.render_line(y).text for y in range(fields.size.height)]
        assert any("- " in each and "--cpu=100" in each for each in drawn), drawn
        assert any("+ " in each and "--cpu=200" in each for each in drawn), drawn

"""The user's own keys: what a keymap file may say, what it may not, and that nothing else is changed by it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from rich.color import Color, ColorSystem
from textual.color import Color as TextualColor

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, says, until, workbench
from workbench.project import BrokenFile
from workbench.tui import keymap
from workbench.tui.frame import Frame
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.themes import SIXTEEN, THEMES, fitting
from workbench.tui.user_files import KEYMAP_FILE
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / KEYMAP_FILE).write_text(text)
    return folder


def test_every_key_has_one_name_and_no_screen_has_two_uses_for_one() -> None:
    entries = keymap.entries()
    assert len(entries) > 80
    for place in {each.place for each in entries}:
        names = [each.name for each in entries if each.place == place]
        assert len(names) == len(set(names)), place
    for screen in {each.place for each in entries} - {"prompt", "editor"}:
        uses: dict[str, set[str]] = {}
        for each in entries:
            if each.place in (screen, "everywhere", "tables"):
                for key in each.keys:
                    uses.setdefault(key, set()).add(each.name)
        assert [names for names in uses.values() if len(names) > 1] == [], screen


def test_a_name_without_a_place_is_that_of_every_place(tmp_path: Path) -> None:
    found = keymap.read(written(tmp_path, "watch: [v, ctrl+w]\neverywhere.reload: ctrl+r\n'go-to-source': '@'\n"))
    assert found["browse.watch"] == found["diff.watch"] == "v,ctrl+w"
    assert found["everywhere.reload"] == "ctrl+r" and found["spec.go-to-source"] == "at"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("everywhere.filter: f\nbrowse.marks: m\n", "keymap.yaml:2:1: nothing has the name 'browse.marks'"),
        ("browse.mark: d\n", "d would be both browse.diff and browse.mark"),
        ("everywhere.copy: s\n", "s would be both everywhere.copy and answer.go-to-source"),
        ("browse.mark: u\nbrowse.edit: u\n", "u would be both browse.mark and browse.edit"),
        ("live-object.delete: ctrl+x\n", "'live-object.delete' can't be put on a key: it is typed"),
        ("delete: D\n", "'delete' can't be put on a key: it is typed"),
        ("plan.apply: enter\n", "plan.apply would lie on enter"),
        ("what-if.drop-edits: j\n", "what-if.drop-edits would lie on j"),
        ("plan.stop: space\nplan.leave-out: o\n", "plan.stop would lie on space"),
        ("everywhere.filter: ctrl+i\n", "a terminal sends the same for ctrl+i and tab"),
        ("everywhere.filter: ctrl+c\n", "ctrl+c has a use already"),
        ("tables.down: g\n", "g has a use already"),
        ("everywhere.filter: contrl+f\n", "no key has the name 'contrl+f'"),
        ("everywhere.filter: 7\n", "a key needs to be text, or a list of texts, got 7"),
        ("everywhere.filter: []\n", "a key needs to be text, or a list of texts, got []"),
        ("everywhere.filter: [f, null]\n", "a key needs to be text"),
        ("prompt.complete: a\n", "a is a letter that is typed in the prompt"),
        ("watch: W\nspec.watch: w\n", "spec.watch gets its keys twice"),
        ("- a\n", "needs a mapping at the top"),
        ("a: [\n", "is not valid YAML"),
        ("7: a\n", "nothing has the name 7"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BrokenFile) as caught:
        keymap.read(written(tmp_path, text))
    assert said in str(caught.value) and KEYMAP_FILE in str(caught.value)


def test_a_file_that_is_a_link_or_empty_is_read_and_one_that_cannot_be_is_said(tmp_path: Path) -> None:
    dotfiles = written(tmp_path / "dotfiles", "browse.mark: u\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / KEYMAP_FILE).symlink_to(dotfiles / KEYMAP_FILE)
    assert keymap.read(tmp_path / "config") == {"browse.mark": "u"}
    assert keymap.read(written(tmp_path / "empty", "")) == {} == keymap.read(tmp_path / "none")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / KEYMAP_FILE).symlink_to(tmp_path / "gone")
    with pytest.raises(BrokenFile, match="cannot be read"):
        keymap.read(tmp_path / "dangling")


async def test_keys_do_what_the_file_says_and_no_longer_what_it_took_away(tmp_path: Path) -> None:
    config = written(tmp_path / "config", "browse.diff: v\ntables.down: [J, down]\neverywhere.filter: ctrl+f\n")
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        table = app.screen.query_one("#tree", ResourceTable)
        await pilot.press("home", "j")
        assert table.cursor == 0
        await pilot.press("J", "down")
        assert table.cursor == 2
        await pilot.press("slash")
        assert not app.screen.query_one(Prompt).display
        await pilot.press("ctrl+f")
        assert app.screen.query_one(Prompt).display
        await pilot.press("escape", "d")
        assert isinstance(app.screen, BrowseScreen)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, SpecScreen))


async def test_a_wrong_file_is_named_and_the_default_keys_count(tmp_path: Path) -> None:
    config = written(tmp_path / "config", "browse.diff: v\nbrowse.plan: v\n")
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await opened(pilot)
        said = [each.message for each in app._notifications]
        assert any("keymap.yaml:" in each and "All keys are the default ones" in each for each in said)
        await pilot.press("v")
        assert isinstance(app.screen, BrowseScreen)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))


@pytest.mark.parametrize(
    ("size", "places"),
    [(SMALL, ("diff", "plan", "watch", "whatif", "log")), (LARGE, ("spec", "plan", "releases", "fleet", "drift"))],
    ids=["80x24", "120x40"],
)
async def test_ascii_leaves_no_other_sign_on_any_screen(
    tmp_path: Path, size: tuple[int, int], places: tuple[str, ...]
) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_ascii=True)
    async with app.run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        seen: list[str] = []

        async def look() -> None:
            await pilot.pause()
            seen.append("\n".join(strip.text for strip in app.screen._compositor.render_strips()))

        app.notify("Grüße → 漢字", timeout=60)
        await look()
        for command in places:
            app.run_command(command, cast("Frame", app.screen))
            await until(pilot, lambda: not any(each.busy for each in app.states.values()))
            await look()
            await pilot.press("escape", "escape")
        await pilot.press("question_mark")
        await look()
        await pilot.press("ctrl+p")
        await look()
    assert not [each for text in seen for each in text if not each.isascii()]
    assert any("Gr??e > ????" in text for text in seen), "as many cells as before"


def test_sixteen_colours_leave_every_tone_visible_on_what_is_behind_it() -> None:
    theme = next(each for each in THEMES if each.name == SIXTEEN)
    generated = theme.to_color_system().generate()

    def on_the_terminal(color: TextualColor) -> int:
        found = Color.from_rgb(*color.rgb).downgrade(ColorSystem.STANDARD).number
        assert found is not None
        return found

    foreground = TextualColor.parse(theme.foreground or "")
    texts = [
        TextualColor.parse(generated[f"text-{name}"]) for name in ("primary", "accent", "success", "warning", "error")
    ]
    for behind in (TextualColor.parse(each) for each in (theme.surface or "", theme.panel or "", "#0000aa")):
        dim = behind.blend(foreground, 0.5)
        for text in (*texts, foreground, dim):
            assert on_the_terminal(text) != on_the_terminal(behind), (text, behind)


async def test_a_terminal_of_sixteen_colours_gets_their_theme(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    app.color_system = "standard"
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        assert app.theme == SIXTEEN and says(app, "web")
    assert fitting(has_color=False, color_system="standard") == "wb-mono"
    assert fitting(has_color=True, color_system="truecolor") == "wb-dark"

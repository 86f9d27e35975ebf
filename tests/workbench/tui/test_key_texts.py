"""What sentences on the screens say of keys: those that the user's keymap gives, never the default ones as such."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from textual.widgets import Input

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_keymap import written
from tests.workbench.tui.test_screens import LARGE, opened, says, state, until, workbench
from workbench.cli import demo_command
from workbench.tui import app, keymap
from workbench.tui.frame import Frame
from workbench.tui.widgets.prompt import Prompt

FILES = (*Path(app.__file__).parent.rglob("*.py"), Path(demo_command.__file__))
PLACES = "|".join(sorted({each.place for each in keymap.entries()}))
HOLE = "\0"
"""Stands in a text where something is put in."""
NAMED = re.compile(
    r"(?<![\w'.\-/{%<\0])(?:[b-zA-HJ-Z]|space|enter|escape|tab|home|ctrl\+\S+)(?![\w'.\-=])"  # a letter, by itself
    r"|(?<!\S)[/?*;:'|+{}-](?= (?:and|or|\w+s)\b|: )"  # a sign that does something
    r"|(?<![\w'])(?:a|A|I)(?= (?:opens|asks|begins|shows|approves|runs|applies|adopts|leaves)\b|: )"
)
NO_KEY_OF_OURS = {
    "say how it is called: letters, digits, . _ @ and - without a space",
    f"replaced in {HOLE} places: ctrl+z in the editor takes it back",  # Textual's own, which no keymap moves
    " N",  # of `:scale N`
    f"no command {HOLE}: did you mean :{HOLE}? A kind of that name is :{HOLE}@CLUSTER",
    f" --since {HOLE}s",
    "in the screen: i",  # printed by `wb demo --plain`, where there are no keys
}


def keys_named(text: str) -> list[str]:
    """Returns the keys that a text names by themselves; a number of seconds is none."""
    return [each.group() for each in NAMED.finditer(re.sub(f"{HOLE} ?s(?![a-z])", HOLE, text))]


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yields all texts of a module with their lines, but docstrings, styles and the bindings themselves."""
    tree = ast.parse(source)
    left_out = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Binding", "compile"):
            left_out |= {id(each) for each in ast.walk(node)}
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(each) for each in node.values}
            parts = (each.value if isinstance(each, ast.Constant) else HOLE for each in node.values)
            yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            if not re.search(r"\{[^}]*:[^}]*;", node.value):
                yield node.lineno, node.value


@pytest.mark.parametrize(
    "text",
    [
        "it runs: K stops it",
        "c spec   d diff",
        "; escape goes back",
        "no rows: m sets one",
        "+ and - change that",
        f"{HOLE}: ' goes there",
        "a: apply, b: build",
    ],
)
def test_a_text_that_names_a_key_is_seen(text: str) -> None:
    assert keys_named(text)


@pytest.mark.parametrize("text", ["took 3 s", f"waits {HOLE} s", "a stack's kcl.mod", "did you mean :diff?", "I/O"])
def test_a_text_that_names_none_is_not(text: str) -> None:
    assert not keys_named(text.replace("3 s", f"{HOLE} s"))


def test_no_text_of_the_screens_names_a_default_key() -> None:
    found = [
        f"{file.name}:{number}: {text!r} names {keys}"
        for file in FILES
        for number, text in texts(file.read_text())
        if " " in text and text not in NO_KEY_OF_OURS and (keys := keys_named(text))
    ]
    assert not found, "\n".join(found)


def test_every_name_by_which_a_text_calls_a_key_is_one() -> None:
    names = {each.name for each in keymap.entries()}
    called = {
        text
        for file in FILES
        for _, text in texts(file.read_text())
        if re.fullmatch(rf"(?:{PLACES})\.[a-z-]+", text) and not text.endswith((".yaml", ".py", ".json", ".txt", ".md"))
    }
    assert called <= names and len(called) > 30


async def test_sentences_say_the_keys_that_the_user_has(tmp_path: Path) -> None:
    wanted = """
        everywhere.reload: [ctrl+r, Z]
        everywhere.quit: Q
        plan.watch: ';'
        tables.jump-to-a-row: ctrl+t
        browse.diff: v
        prompt.complete: ctrl+y
    """
    screens = workbench(tmp_path, Clusters("hz", "sh"), config_dir=written(tmp_path / "config", wanted))
    screens._message, screens._first_keys = "hello", {"browse.diff": "live diff", "everywhere.keys": "all keys"}
    async with screens.run_test(size=LARGE, notifications=True) as pilot:
        await opened(pilot)

        def told(text: str) -> bool:
            return any(each.message == text for each in screens._notifications)

        assert told("hello v: live diff, ?: all keys")
        await until(pilot, lambda: says(screens, "c spec   v diff   P plan   w watch"))
        await pilot.press("Q")
        assert told("Q again quits")
        await pilot.press("colon")
        assert "; ctrl+y completes, up recalls" in screens.screen.query_one(Prompt).placeholder
        await pilot.press("escape", "P")
        await until(pilot, lambda: state(screens).plan is not None)
        await pilot.press("a")
        screens.screen.query_one("#phrase", Input).value = state(screens).plan.confirmation.phrase  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: says(screens, "; watches it become ready"))
        await pilot.press("a")
        assert told("this plan was applied: ctrl+r plans again")
        screens.run_command("bookmarks", cast("Frame", screens.screen))
        await until(pilot, lambda: says(screens, "no bookmarks: m sets one where you are"))

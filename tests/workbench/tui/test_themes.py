"""Themes: every tone can be read on what is behind it, in each of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import SMALL, opened, workbench
from workbench.settings import Settings
from workbench.tui.themes import MONO, THEMES

NEEDED = {"wb-contrast": 7.0}
"""https://www.w3.org/TR/WCAG21/#contrast-enhanced; elsewhere 4.5, as https://www.w3.org/TR/WCAG21/#contrast-minimum."""


def _luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

    red, green, blue = map(linear, color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda each: each.name)
def test_texts_of_every_tone_can_be_read(theme: Theme) -> None:
    generated = theme.to_color_system().generate()
    behind = Color.parse(theme.surface or "")
    worst = min(
        contrast(Color.parse(generated[f"text-{name}"]), behind)
        for name in ("primary", "accent", "success", "warning", "error")
    )
    assert worst >= NEEDED.get(theme.name, 4.5)
    assert contrast(Color.parse(theme.foreground or ""), behind) >= 7


async def test_the_theme_of_the_environment_is_begun_with_but_not_without_colour(tmp_path: Path) -> None:
    assert Settings.load({"WB_THEME": "wb-light"}).theme == "wb-light"
    for given, expected in (
        ({"theme": "wb-light"}, "wb-light"),
        ({"theme": "wb-light", "has_color": False}, MONO),
        ({"theme": "wb-lihgt"}, "wb-dark"),
    ):
        app = workbench(tmp_path / expected, Clusters("hz", "sh"), **given)
        async with app.run_test(size=SMALL) as pilot:
            await opened(pilot)
            assert app.theme == expected
            said = [each.message for each in app._notifications]
            assert any("there is no such theme" in each for each in said) == (expected == "wb-dark")

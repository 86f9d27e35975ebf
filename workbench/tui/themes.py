"""Themes: dark, light, high contrast, one for colour-blind eyes, one without colour for NO_COLOR."""

from __future__ import annotations

from textual.theme import Theme

MONO, SIXTEEN = "wb-mono", "wb-16"
SIXTEEN_CLASS = "-sixteen"
"""An app on a terminal of 16 colours has this class: what is blended of two colours is neither of them there."""


def fitting(*, has_color: bool, color_system: str | None) -> str:
    """Returns the name of the theme to begin with, by what rich found that the terminal can show.

    Textual's ANSI themes turn black on black under NO_COLOR: a theme of greys is forced instead.
    """
    if not has_color:
        return MONO
    return SIXTEEN if color_system == "standard" else "wb-dark"


THEMES = (
    Theme(
        name="wb-dark",
        primary="#6ea8fe",
        secondary="#a78bfa",
        accent="#5bc8d8",
        success="#58c282",
        warning="#e5b567",
        error="#ef6b73",
        foreground="#d8dee9",
        background="#14171c",
        surface="#14171c",
        panel="#232831",
        dark=True,
    ),
    Theme(
        name="wb-colorblind",
        primary="#7fb4ff",
        secondary="#b0b0ff",
        accent="#8fd0ff",
        success="#4aa3ff",
        warning="#ffd166",
        error="#ff9f1c",
        foreground="#e6e6e6",
        background="#101418",
        surface="#101418",
        panel="#222a33",
        dark=True,
    ),
    Theme(
        name="wb-light",
        primary="#0b57d0",
        secondary="#6b3fa0",
        accent="#00687a",
        success="#0a6b2d",
        warning="#8a5200",
        error="#b3131f",
        foreground="#1b1f24",
        background="#ffffff",
        surface="#ffffff",
        panel="#e6e9ee",
        dark=False,
    ),
    Theme(
        name="wb-contrast",
        primary="#66b3ff",
        secondary="#d9b3ff",
        accent="#33ffff",
        success="#33ff66",
        warning="#ffff33",
        error="#ff8080",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#262626",
        dark=True,
    ),
    Theme(  # what rich takes the 16 colours of a terminal to be, so that nothing is shown as another one
        name=SIXTEEN,
        primary="#5555ff",
        secondary="#ff55ff",
        accent="#55ffff",
        success="#55ff55",
        warning="#ffff55",
        error="#ff5555",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#0000aa",
        dark=True,
    ),
    Theme(
        name=MONO,
        primary="#c0c0c0",
        secondary="#c0c0c0",
        accent="#d0d0d0",
        success="#d0d0d0",
        warning="#ffffff",
        error="#ffffff",
        foreground="#d0d0d0",
        background="#000000",
        surface="#000000",
        panel="#303030",
        dark=True,
    ),
)

"""Themes: one dark, one for colour-blind eyes, one without colour for NO_COLOR."""

from __future__ import annotations

from textual.theme import Theme

MONO = "wb-mono"

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

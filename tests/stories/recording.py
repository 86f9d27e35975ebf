"""A recording of the screens: each moment whole, as an asciicast that players take, and as an SVG that moves by itself.

An asciicast (version 2, https://docs.asciinema.org/manual/asciicast/v2/) is a line of JSON for the terminal and one for
each thing that is written to it. The SVG has every line that was ever shown once, and says by CSS which moment uses it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from workbench.tui.app import WorkbenchApp

CELL, HEIGHT, SIZE, MARGIN = 8.4, 18, 14, 12
CAPTION = 30

Run = tuple[str, Style]


@dataclass(frozen=True, slots=True)
class Moment:
    """The screen from `at` on, in seconds, line by line; `caption` says what was done."""

    at: float
    caption: str
    lines: tuple[tuple[Run, ...], ...]
    ansi: str


@dataclass
class Recording:
    title: str
    width: int
    height: int
    moments: list[Moment] = field(default_factory=list)
    _at: float = 0.0

    def take(self, app: WorkbenchApp, caption: str, seconds: float = 2.5) -> None:
        """Records what is on the screen now, for so long."""
        update = app.screen._compositor.render_update(full=True)
        console = Console(
            file=io.StringIO(), width=self.width, height=self.height, force_terminal=True, color_system="truecolor",
            legacy_windows=False,
        )  # fmt: skip
        assert update is not None, "a screen that is drawn has something to draw"
        segments = [each for each in console.render(update) if not each.control]
        lines = tuple(
            tuple((each.text, each.style or Style()) for each in line if each.text)
            for line in Segment.split_and_crop_lines(segments, self.width, include_new_lines=False)
        )[: self.height]
        ansi = "\r\n".join("".join(style.render(text) for text, style in line) for line in lines)
        self.moments.append(Moment(self._at, caption, lines, ansi))
        self._at += seconds

    def texts(self) -> list[str]:
        """All that is shown, line by line."""
        return ["".join(text for text, _ in line) for moment in self.moments for line in moment.lines]

    def cast(self) -> str:
        head = {"version": 2, "width": self.width, "height": self.height, "title": self.title}
        lines = [json.dumps(head)]
        for each in self.moments:
            lines.append(json.dumps([each.at, "m", each.caption], ensure_ascii=False))
            lines.append(json.dumps([each.at, "o", f"\x1b[?25l\x1b[H\x1b[2J{each.ansi}"], ensure_ascii=False))
        lines.append(json.dumps([self._at, "o", "\x1b[?25h"]))
        return "\n".join(lines) + "\n"

    def svg(self) -> str:
        """Returns all moments one after the other, for ever; without animation the last one is seen."""
        known: dict[tuple[Run, ...], int] = {}
        frames: list[str] = []
        for number, moment in enumerate(self.moments):
            used = []
            for row, line in enumerate(moment.lines):
                if any(text.strip() or style.bgcolor for text, style in line):
                    name = known.setdefault(line, len(known))
                    used.append(f'<use href="#l{name}" y="{row * HEIGHT}"/>')
            caption = f'<text class="c" x="0" y="{-CAPTION + 14}">{escape(moment.caption)}</text>'
            frames.append(f'<g class="f f{number}">{caption}{"".join(used)}</g>')
        defined = "\n".join(f'<g id="l{name}">{_line(line)}</g>' for line, name in known.items())
        width = self.width * CELL + 2 * MARGIN
        height = self.height * HEIGHT + 2 * MARGIN + CAPTION
        ground = SVG_EXPORT_THEME.background_color.hex
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">\n'
            f"<title>{escape(self.title)}</title>\n<style>{self._style()}</style>\n"
            f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>\n<defs>\n{defined}\n</defs>\n'
            f'<g transform="translate({MARGIN},{MARGIN + CAPTION})">\n' + "\n".join(frames) + "\n</g>\n</svg>\n"
        )

    def _style(self) -> str:
        rules = [
            f"text{{font:{SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}",
            ".c{fill:#8fd3ff;font-weight:bold}.f{visibility:hidden;animation-duration:"
            f"{self._at:g}s;animation-iteration-count:infinite;animation-timing-function:steps(1)}}",
        ]
        last = len(self.moments) - 1
        for number, each in enumerate(self.moments):
            begin = 100 * each.at / self._at
            end = 100.0 if number == last else 100 * self.moments[number + 1].at / self._at
            before = "0%{visibility:hidden}" if number else ""
            after = "" if number == last else f"{end:.3f}%,100%{{visibility:hidden}}"
            rules.append(f"@keyframes k{number}{{{before}{begin:.3f}%{{visibility:visible}}{after}}}")
            rules.append(f".f{number}{{animation-name:k{number}}}")
        rules.append(f"@media (prefers-reduced-motion:reduce){{.f{{animation:none}}.f{last}{{visibility:visible}}}}")
        return "".join(rules)

    def save(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.cast").write_text(self.cast(), encoding="utf-8")
        (folder / f"{name}.svg").write_text(self.svg(), encoding="utf-8")


def _line(runs: Sequence[Run]) -> str:
    """One line at the top; each run has its own place, so that a font of another width moves nothing."""
    drawn: list[str] = []
    column = 0
    for text, style in runs:
        cells = Segment(text).cell_length
        x = f"{column * CELL:.1f}"
        front, ground = _colours(style)
        if ground is not None:
            drawn.append(f'<rect x="{x}" width="{cells * CELL:.1f}" height="{HEIGHT}" fill="{ground}"/>')
        if text.strip():
            weight = ' font-weight="bold"' if style.bold else ""
            shown = text.rstrip(" ")
            lead = len(shown) - len(shown.lstrip(" "))
            at = f"{(column + lead) * CELL:.1f}"
            length = f"{Segment(shown.strip(' ')).cell_length * CELL:.1f}"
            drawn.append(
                f'<text x="{at}" y="{SIZE}" fill="{front}"{weight} textLength="{length}"'
                f' lengthAdjust="spacingAndGlyphs">{escape(shown.strip(" "))}</text>'
            )
        column += cells
    return "".join(drawn)


def _colours(style: Style) -> tuple[str, str | None]:
    theme = SVG_EXPORT_THEME
    front = style.color.get_truecolor(theme) if style.color else theme.foreground_color
    ground = style.bgcolor.get_truecolor(theme, foreground=False) if style.bgcolor else None
    if style.reverse:
        front, ground = ground or theme.background_color, front
    if style.dim:
        under = ground or theme.background_color
        front = ColorTriplet(*((one + two) // 2 for one, two in zip(front, under, strict=True)))
    return front.hex, ground.hex if ground is not None else None

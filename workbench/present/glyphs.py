"""Signs for statuses and operations. Each always stands beside its word, so neither colour nor font is needed."""

from __future__ import annotations

from kcl.records import dataclass
from runtimes.base import Health, Status
from workbench.engine.events import Action
from workbench.present.text import Line, Span, Tone, line


@dataclass(frozen=True, slots=True)
class Glyphs:
    """`name` tells the two sets apart; every sign is one cell wide."""

    name: str
    good: str
    busy: str
    bad: str
    unknown: str
    missing: str
    going: str
    finding: str
    arrow: str
    gap: str
    source: str


UNICODE = Glyphs("unicode", "✓", "◐", "✗", "?", "∅", "‖", "!", "→", "⋯", "←")
ASCII = Glyphs("ascii", "+", "~", "x", "?", "0", "-", "!", "->", "...", "<-")
_PLAIN = str.maketrans({"«": "<", "»": ">", "›": ">", "±": "+-", "…": "...", "⏎": "\\n", "·": "."})


def plain(text: str) -> str:
    """Returns text with the few signs that stand outside of a `Glyphs` (of masked values, say) put in ASCII."""
    return text if text.isascii() else text.translate(_PLAIN)


_STATUS_TONES = {
    Status.CURRENT: Tone.GOOD,
    Status.IN_PROGRESS: Tone.BUSY,
    Status.FAILED: Tone.BAD,
    Status.TERMINATING: Tone.MUTED,
    Status.NOT_FOUND: Tone.MUTED,
    Status.UNKNOWN: Tone.WARN,
}

_STATUS_WORDS = {
    Status.CURRENT: "Ready",
    Status.IN_PROGRESS: "Progressing",
    Status.FAILED: "Failed",
    Status.TERMINATING: "Terminating",
    Status.NOT_FOUND: "Missing",
    Status.UNKNOWN: "Unknown",
}


def status_sign(status: Status, glyphs: Glyphs) -> Span:
    signs = {
        Status.CURRENT: glyphs.good,
        Status.IN_PROGRESS: glyphs.busy,
        Status.FAILED: glyphs.bad,
        Status.TERMINATING: glyphs.going,
        Status.NOT_FOUND: glyphs.missing,
        Status.UNKNOWN: glyphs.unknown,
    }
    return Span(signs[status], _STATUS_TONES[status])


def status_line(health: Health, glyphs: Glyphs) -> Line:
    """Returns the sign and the word, or the reason where there is one: `✗ ImagePullBackOff`."""
    return line(status_sign(health.status, glyphs), " ", Span(status_word(health), _STATUS_TONES[health.status]))


def status_word(health: Health) -> str:
    return health.reason if health.reason and health.status is not Status.CURRENT else _STATUS_WORDS[health.status]


_ACTION_SIGNS = {
    Action.CREATE: ("+", Tone.ADDED),
    Action.UPDATE: ("~", Tone.CHANGED),
    Action.REPLACE: ("±", Tone.WARN),
    Action.DELETE: ("-", Tone.REMOVED),
    Action.IMPORT: ("<", Tone.ADDED),
    Action.MOVE: (">", Tone.CHANGED),
    Action.FORGET: ("x", Tone.REMOVED),
    Action.NONE: ("=", Tone.MUTED),
}


def action_sign(action: Action) -> Span:
    """Returns the sign diffs use: + ~ ± - < > x =. Those that do not speak for themselves (replace, import, move,
    forget) are explained wherever they are shown.
    """
    sign, tone = _ACTION_SIGNS[action]
    return Span(sign, tone)

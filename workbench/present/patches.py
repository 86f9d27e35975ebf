"""Edits that are not written yet, as lines to read: a patch without what is secret in it."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.engine.scrubbing import masked_text
from workbench.engine.spec import Spec
from workbench.engine.whatif import WhatIf
from workbench.present.text import Line, Span, Tone, line

_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED}


def lines(edits: WhatIf, spec: Spec) -> Iterator[Line]:
    """Source lines may have secrets in them, be it beside the edit: they are masked, as wide as several lines."""
    for text in masked_text(edits.patch(), spec.secrets, spec.rules).splitlines():
        tone = Tone.MUTED if text.startswith(("---", "+++", "@@")) else _TONES.get(text[:1], Tone.PLAIN)
        yield line(Span(text, tone))

"""Outputs of a cell that are written again: what runs is shown as it was last seen, also in a notebook that was saved.

A widget is gone once its kernel is: a saved notebook then shows "model not found" in its place. So a board stands in an
output only while its work goes on. Beside it stands a snapshot with its time, written again every few seconds; at the
end the final picture takes the place of the widget. Any thread may write: Jupyter finds an output by its id alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any

Bundle = Mapping[str, Any]


class Output:
    """One output of one cell. The first `show` makes it, below the cell that runs; each further one replaces it."""

    def __init__(self) -> None:
        self._id = ""

    def show(self, bundle: Bundle) -> None:
        from IPython.display import publish_display_data

        is_there = bool(self._id)
        self._id = self._id or secrets.token_hex(8)
        publish_display_data(  # type: ignore[no-untyped-call]  # IPython declares it without types
            dict(bundle), transient={"display_id": self._id}, update=is_there
        )


def snapshot(html: str, text: str, at: datetime) -> Bundle:
    """Returns a picture folded away under the time it was taken at."""
    when = f"snapshot of {at:%Y-%m-%d %H:%M:%S}Z"
    return {
        "text/plain": f"{when}\n{text}",
        "text/html": f"<details><summary>{escape(when)}</summary>{html}</details>",
    }


def ended(at: datetime) -> Bundle:
    """Returns the line that takes the place of the snapshots: what stands above is final."""
    text = f"as of {at:%Y-%m-%d %H:%M:%S}Z"
    return {"text/plain": text, "text/html": f'<div style="opacity:.65">{escape(text)}</div>'}

"""The one widget: lines, tables or trees, a progress bar, a Stop button and a box for a typed confirmation.

One model a view, whatever the number of rows; its JavaScript and CSS are files beside this one and come with the
package. The browser builds text nodes, so what clusters say can't become markup. It never writes a trait: it sends
`{"kind": "confirm", "text": ...}` or `{"kind": "stop"}`, and the handler only hands that to the engine's thread. All
traits are written by that thread alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.notebook.views import Picture, Tab
from workbench.present.text import Line

_HERE = Path(__file__).parent
MOST_ROWS = 5000


class LiveView(anywidget.AnyWidget):
    """`picture` is what `payload` gives; `progress` is [done, failed, total], empty for none.

    `ask` is {"phrase", "reasons", "button"}, empty where nothing is asked. `can_stop` shows the Stop button;
    `is_stopping` says that it was heard. `is_awaited`: a cell blocks on this work, so the kernel may not hear messages,
    and Stop interrupts the cell instead, which stops the work in the same way.
    """

    _esm = _HERE / "live.js"
    _css = _HERE / "live.css"

    picture = traitlets.Dict().tag(sync=True)
    progress: traitlets.List[int] = traitlets.List().tag(sync=True)
    ask = traitlets.Dict().tag(sync=True)
    can_stop = traitlets.Bool(False).tag(sync=True)
    is_stopping = traitlets.Bool(False).tag(sync=True)
    is_awaited = traitlets.Bool(False).tag(sync=True)


def listen(view: LiveView, confirm: Callable[[str], None], stop: Callable[[], None]) -> None:
    """Calls `confirm` and `stop` on whichever thread Jupyter uses; they have to do no more than hand it on."""

    def heard(_: object, content: object, __: object) -> None:
        match content:
            case {"kind": "confirm", "text": str() as text}:
                confirm(text)
            case {"kind": "stop"}:
                stop()

    view.on_msg(heard)


def payload(picture: Picture) -> dict[str, Any]:
    """Returns a picture as JSON: a line is a list of [text, tone]."""
    return {
        "head": _lines(picture.head),
        "tabs": [_tab(each) for each in picture.tabs],
        "foot": _lines(picture.foot),
    }


def _tab(tab: Tab) -> dict[str, Any]:
    return {
        "name": tab.name,
        "columns": [{"title": each.title, "right": each.right, "rank": each.rank} for each in tab.table.columns],
        "rows": [
            {"depth": each.depth, "foldable": each.foldable, "cells": _lines(each.cells)}
            for each in tab.table.rows[:MOST_ROWS]
        ],
        "more": max(0, len(tab.table.rows) - MOST_ROWS),
    }


def _lines(lines: Iterable[Line]) -> list[list[list[str]]]:
    return [[[span.text, span.tone.value] for span in each.spans if span.text] for each in lines]

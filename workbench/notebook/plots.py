"""Pictures for what people would rather look at than read. Made without pyplot: no window, no global state."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE_INCHES = (7.0, 2.2)
_INK, _GOOD, _BAD = "#57606a", "#1a7f37", "#cf222e"


class Chart:
    """A figure that shows itself in any notebook; `figure` is matplotlib's, to be changed or saved."""

    def __init__(self, figure: Figure, words: str) -> None:
        self.figure, self._words = figure, words

    def __repr__(self) -> str:
        return self._words

    def _repr_png_(self) -> bytes:
        target = BytesIO()
        self.figure.savefig(target, format="png", dpi=110)
        return target.getvalue()


def readiness(timeline: pd.DataFrame, title: str) -> Chart:
    """Draws how many resources were ready over the seconds since the watch began, of `frames.TIMELINE`."""
    figure, axes = _figure(title)
    if len(timeline):
        at = timeline["seconds"].astype(float).tolist()
        axes.step(at, timeline["ready"].astype(int).tolist(), where="post", color=_GOOD)
        axes.axhline(int(timeline["total"].iloc[-1]), color=_INK, linestyle=":", linewidth=1)
    axes.set_xlabel("seconds")
    axes.set_ylabel("ready")
    axes.set_ylim(bottom=0)
    last = f": {timeline['ready'].iloc[-1]} of {timeline['total'].iloc[-1]}" if len(timeline) else ""
    return Chart(figure, f"ready resources of {title} over time{last}")


def recovery(timeline: pd.DataFrame, total: int, title: str) -> Chart:
    """Draws how many of `total` steps were recovered, and how many failed, over the seconds of the run."""
    figure, axes = _figure(title)
    at = timeline["seconds"].astype(float).tolist()
    for column, color in (("recovered", _GOOD), ("failed", _BAD)):
        axes.step(at, timeline[column].astype(int).tolist(), where="post", color=color, label=column)
    axes.axhline(total, color=_INK, linestyle=":", linewidth=1)
    axes.set_xlabel("seconds")
    axes.set_ylabel("steps")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right", frameon=False)
    last = f": {timeline['recovered'].iloc[-1]} of {total} recovered" if len(timeline) else ""
    return Chart(figure, f"{title} over time{last}")


def _figure(title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes

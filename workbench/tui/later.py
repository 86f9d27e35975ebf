"""Work of a screen, as Textual's workers take it: begun by them, and not by who asks for it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from textual.worker import WorkType

P = ParamSpec("P")


def later(do: Callable[P, Coroutine[Any, Any, None]], *given: P.args, **named: P.kwargs) -> WorkType[None]:
    """Returns what calls a function when its worker begins.

    A coroutine that is made before would be left, with a warning, by a worker that is cancelled before it begins.
    """
    return partial(do, *given, **named)

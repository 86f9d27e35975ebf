"""The line that opens for `/` and `:` under a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from kcl.records import dataclass
from workbench.tui.key_names import WithNames


def _nothing(_: str) -> tuple[str, ...]:
    return ()


def _common_start(texts: Sequence[str]) -> str:
    # of all texts the first and the last in order differ soonest
    first, last = min(texts), max(texts)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same]


class Prompt(WithNames, Input):
    """While it is open, no key is an action: escape closes it, tab completes, enter submits.

    It never stays on the screen without the focus, where it would look alive and take no key.
    """

    DEFAULT_CSS = """
    Prompt { display: none; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
    Prompt:focus { border: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("tab", "complete", "Complete", show=False),
        Binding("up", "recall(-1)", "Before", show=False),
        Binding("down", "recall(1)", "After", show=False),
    ]

    @dataclass
    class Choices(Message):
        """What the text could become, where tab can't decide."""

        texts: tuple[str, ...]

    @dataclass
    class Closed(Message):
        """It was closed by escape: what was typed does not count."""

        purpose: str

    purpose = ""
    _completions: Callable[[str], Sequence[str]] = staticmethod(_nothing)

    _history: Sequence[str] = ()
    _recalled: int | None = None
    _typed = ""

    def open(
        self,
        purpose: str,
        placeholder: str,
        *,
        completions: Callable[[str], Sequence[str]] = _nothing,
        value: str = "",
        history: Sequence[str] = (),
    ) -> None:
        """`placeholder` stands where nothing is typed. `completions` returns the whole texts that a text may become,
        shortest way first; `history` is what was typed here before, the oldest first."""
        self.purpose, self._completions = purpose, completions
        self._history, self._recalled, self._typed = history, None, ""
        self.placeholder = placeholder
        self.value = value
        self.select_on_focus = False  # what is typed goes on from it
        self.cursor_position = len(value)
        # at once, not after the next refresh: the next key already belongs to the prompt
        self.display = True
        self.screen.set_focus(self)

    def action_close(self) -> None:
        self.display = False
        self.post_message(self.Closed(self.purpose))

    def action_recall(self, by: int) -> None:
        """What was typed before and begins as this does; past the newest it is what was being typed."""
        if self._recalled is None:
            self._typed = self.value
            self._recalled = len(self._history)
        at = self._recalled + by
        while 0 <= at < len(self._history) and not self._history[at].startswith(self._typed):
            at += by
        if at < 0:
            return
        self._recalled = min(at, len(self._history))
        self.value = self._history[at] if at < len(self._history) else self._typed
        self.cursor_position = len(self.value)

    def action_complete(self) -> None:
        """Writes what all completions have in common; offers them where that adds nothing."""
        texts = tuple(self._completions(self.value))
        if not texts:
            return
        common = _common_start(texts)
        if len(common) > len(self.value):
            self.value = common
            self.cursor_position = len(common)
        elif len(texts) > 1:
            self.post_message(self.Choices(texts))

    def on_blur(self) -> None:
        # a terminal window that loses the focus takes it from the prompt too, and gives it back
        if self.app.app_focus:
            self.display = False

"""A question under a screen that only the exact phrase answers with yes."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Input

from kcl.records import dataclass
from workbench.present.text import Line
from workbench.tui.widgets.tone_text import ToneText


class TypedConfirmation(Vertical):
    """Hidden until `ask`. Tells `Confirmed` for the phrase, and `Closed` whenever it is gone, confirmed or not.

    `verb` names the button that does it, `refusal` is said of any other text; a question may have its own.
    """

    DEFAULT_CSS = """
    TypedConfirmation { height: auto; padding: 0 1; display: none; }
    TypedConfirmation.asked { display: block; }
    TypedConfirmation #answer { height: 1; }
    TypedConfirmation #phrase { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
    TypedConfirmation #phrase:focus { border: none; background: $surface-lighten-2; }
    TypedConfirmation Button { min-width: 10; margin-left: 1; }
    """

    @dataclass
    class Confirmed(Message):
        phrase: str

    class Closed(Message):
        pass

    def __init__(self, verb: str, refusal: str, *, id: str = "confirm") -> None:
        super().__init__(id=id)
        self._verb, self._refusal, self._phrase = verb, refusal, ""
        self._said_no = refusal

    def compose(self) -> ComposeResult:
        yield ToneText(id="question", wrap=True)
        with Horizontal(id="answer"):
            yield Input(id="phrase")
            yield Button("Cancel", id="cancel", compact=True)
            yield Button(self._verb, id="confirmed", variant="error", disabled=True, compact=True)

    @property
    def is_asked(self) -> bool:
        return self.has_class("asked")

    def ask(self, question: Line, phrase: str, *, verb: str = "", refusal: str = "") -> None:
        """Shows the question and waits for `phrase`, which is never empty; what was typed before is gone."""
        assert phrase, "an empty phrase would confirm itself"
        self._phrase, self._said_no = phrase, refusal or self._refusal
        self.query_one("#confirmed", Button).label = verb or self._verb
        self.query_one("#question", ToneText).show(question)
        answer = self.query_one("#phrase", Input)
        answer.value = ""
        self.add_class("asked")
        answer.focus()

    def close(self) -> None:
        if self.is_asked:
            self.remove_class("asked")
            self.post_message(self.Closed())

    @property
    def _is_confirmed(self) -> bool:
        return self.is_asked and self.query_one("#phrase", Input).value == self._phrase

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one("#confirmed", Button).disabled = not self._is_confirmed

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._is_confirmed:
            self._confirm()
        else:
            self.notify(self._said_no, severity="warning")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "confirmed" and self._is_confirmed:
            self._confirm()
        else:
            self.close()

    def _confirm(self) -> None:
        self.post_message(self.Confirmed(self._phrase))
        self.close()

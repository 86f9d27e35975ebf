"""The messages of an editor, as pygls takes them, but for what would leave an editor without an answer.

pygls keeps texts of its own and changes them before it hands on an edit, which then is lost where it fails: a place
outside of the text, a file that it reads again. `Session` has the texts, so those are not kept. A request with
parameters that nobody can read gets an error as an answer, and so does one after the end was asked for.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification

_TEXTS: Final = (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.TEXT_DOCUMENT_DID_CLOSE)
_LENGTH: Final = re.compile(rb"(?i)content-length[ \t]*:[ \t]*(\d+)[ \t\r]*\n")
_ANSWERED: Final = "$/answered"
"""Stands for a message of which nothing is left to do."""


class Messages(LanguageServerProtocol):
    """What one editor says, and is told."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for method in _TEXTS:
            del self.fm.builtin_features[method]

    @property
    def was_asked_to_end(self) -> bool:
        """Whether the editor said `shutdown`."""
        return bool(self._shutdown)

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as problem:
            if not isinstance(data.get("id"), int | str) or "method" not in data:
                raise
            self._send_response(data["id"], error=problem.to_response_error())
            return JsonRPCNotification(_ANSWERED, self.VERSION, None)

    def handle_message(self, message: Any) -> None:
        number = getattr(message, "id", None)
        if self._shutdown and number is not None and hasattr(message, "method"):
            problem = JsonRpcInvalidRequest("the editor has said that it ends")
            self._send_response(number, error=problem.to_response_error())
            return
        super().handle_message(message)


class Headers:
    """The bytes of an editor, the lengths of its messages told as pygls wants them told.

    Names of headers are of any case. What stands before one in its line is left of a message that was longer than it
    said: the next message is read all the same.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.read = stream.read

    def readline(self) -> bytes:
        line = self._stream.readline()
        found = _LENGTH.search(line)
        return line if found is None else b"Content-Length: %s\r\n" % found[1]

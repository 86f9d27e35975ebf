"""Characters that a terminal or an eye takes for orders: they are shown, or written as escapes, and never sent.

Control characters clear the screen, set its title, fill the clipboard (OSC 52) or answer as if somebody had typed;
those of a second set do the same in one character (`\\x9b`); bidirectional ones show a text in another order than a
program reads it (https://trojansource.codes); tags are not seen at all. A name, a log line or a file may hold any.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TextIO

_ORDERS: "Final" = (
    *((0x00, 0x1F), (0x7F, 0x9F), (0x061C, 0x061C), (0x200E, 0x200F), (0x2028, 0x202E), (0x2066, 0x2069)),
    *((0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
)
"""First and last of each range. Surrogates are none, and cannot be written either."""
_SEEN: "Final" = {code: "�" for first, last in _ORDERS for code in range(first, last + 1)}
_IN_A_LINE: "Final" = _SEEN | {ord("\t"): "    ", ord("\n"): "⏎"}
_IN_LINES: "Final" = {code: sign for code, sign in _SEEN.items() if code not in (ord("\t"), ord("\n"))}


def harmless(text: str) -> str:
    """Returns one line of text in which every order is seen as a sign."""
    return text if text.isascii() and text.isprintable() else text.translate(_IN_A_LINE)


def harmless_lines(text: str) -> str:
    """As `harmless`, with the line breaks and tabs that it has."""
    return text.translate(_IN_LINES)


def has_orders(text: str) -> bool:
    """Whether a text of one or more lines holds an order; tabs and line breaks are none."""
    if text.isascii() and text.isprintable():
        return False  # nearly every text there is, and a screen asks for each part of each line that it draws
    import re  # the quickest start of `kcl run` does without, and `re` remembers the pattern

    ranges = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ORDERS)
    return re.search(f"(?![\\t\\n])[{ranges}]", text) is not None


def json_escaped(text: str) -> str:
    """Returns a JSON text that says the same with every order in it, which can be in its strings only, as an escape."""
    return text.translate({code: _escape(code) for code in _IN_LINES}) if has_orders(text) else text


def yaml_escaped(text: str) -> str:
    """As `json_escaped`, for a text in double quotes of YAML, which has escapes of its own for what is long."""
    return text.translate({code: _escape(code) if code < 0x10000 else f"\\U{code:08x}" for code in _IN_LINES})


def _escape(code: int) -> str:
    data = chr(code).encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at] << 8 | data[at + 1]:04x}" for at in range(0, len(data), 2))


class WithoutOrders:
    """A stream of text that sends no orders. It has what a writer asks for, and the rest of the stream below it."""

    def __init__(self, stream: "TextIO") -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(harmless_lines(text))

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._stream, name)

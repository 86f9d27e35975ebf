"""Times as the API server reads and writes them, with what it says of a text that is none."""

from __future__ import annotations

import re
from datetime import UTC, datetime

RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
LAYOUT = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00")


def _escaped(text: str) -> str:
    """As Go's times are quoted: by bytes, where they are not plain."""
    return "".join(
        chr(byte)
        if 0x20 <= byte < 0x80 and byte not in b'"\\'
        else f"\\{chr(byte)}"
        if byte in b'"\\'
        else f"\\x{byte:02x}"
        for byte in text.encode(errors="surrogatepass")
    )


def time_text(text: str, *, micro: bool) -> str:
    """A time in UTC as the server writes it: with seconds, or with microseconds. Raises ValueError."""
    layout = "2006-01-02T15:04:05.000000Z07:00" if micro else "2006-01-02T15:04:05Z07:00"
    match = RFC3339.fullmatch(text)
    if match is None:
        rest, wanted = _where_time_fails(text)
        shown, rest = _escaped(text), _escaped(rest)
        raise ValueError(f'parsing time "{shown}" as "{layout}": cannot parse "{rest}" as "{wanted}"')
    if micro and match[7] is None:
        raise ValueError(f'parsing time "{text}" as "{layout}": cannot parse "{match[8]}" as ".000000"')
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
    except ValueError:
        raise ValueError(f'parsing time "{text}": day out of range') from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def _where_time_fails(text: str) -> tuple[str, str]:
    """What is left of `text` where it stops being a time, and the part of the layout that was expected there."""
    at = 0
    for part in LAYOUT[:-1]:
        piece = text[at : at + len(part)]
        if (part.isdigit() and not piece.isdigit()) or (not part.isdigit() and piece != part) or len(piece) < len(part):
            return text[at:], part
        at += len(part)
    return text[at:], LAYOUT[-1]

"""What goes wrong with packages."""

from __future__ import annotations

from typing import Final

from kcl.patterns import pattern

_CREDENTIALS: Final = pattern(r"(?<=//)[^/@\s]+@")


class PackageFailure(Exception):
    """A package cannot be had. The text is for a person; `advice` says what to do, "" when it is plain."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(without_credentials(message))
        self.advice = advice


def without_credentials(text: str) -> str:
    """`text` with names and passwords in addresses replaced: messages are copied into reports."""
    return _CREDENTIALS.sub("***@", text)

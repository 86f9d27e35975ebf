"""Why a patch cannot be applied."""

from __future__ import annotations

from typing import Any


class PatchError(Exception):
    """code: HTTP status. reason "": the plain 500 that the server answers for errors it has no name for."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details


def malformed(message: str) -> PatchError:
    return PatchError(400, "BadRequest", message)


def rejected() -> PatchError:
    """The patch is well formed but does not apply; the server does not say why."""
    return PatchError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def failed(message: str) -> PatchError:
    return PatchError(500, "", message)

"""The official service by the names of its methods: `call("KclService.ExecProgram", {...})`.

The one way in for callers that have messages as JSON: a server, another process. The answers are those of `API`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcl.compat.api import API
from kcl.compat.json_form import document, message
from kcl.compat.methods import INSTEAD, METHODS


class UnknownMethod(KeyError):
    """There is no method of that name; the text names what replaces it, if anything does."""

    def __str__(self) -> str:
        return str(self.args[0])


def writes(method: str, params: object) -> bool:
    """Whether a call may change files."""
    message_ = params if isinstance(params, Mapping) else {}
    if any(message_.get(each) is True for each in ("print_override_ast", "printOverrideAst")):
        return True
    is_dry = any(message_.get(each) is True for each in ("dry_run", "dryRun"))
    return METHODS[method].writes and not is_dry


def call(method: str, params: object, api: API | None = None) -> dict[str, Any]:
    """Answers one call. `params` and the answer are plain data, in the shape of the official messages.

    Raises `UnknownMethod`, `BadMessage` where the parameters are not the message that the method takes, and
    `ServiceError` where it fails, whose text is the report.
    """
    found = METHODS.get(method)
    if found is None:
        instead = f"; {INSTEAD[method]}" if method in INSTEAD else ""
        raise UnknownMethod(f"there is no method {method!r}{instead}")
    sent = None if found.takes is None else message(found.takes, {} if params is None else params)
    return document(found.answer(api or API(), sent))

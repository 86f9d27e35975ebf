"""Showing one secret to a person: after a typed word, on record, and only to the screen that asked."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Final

from kcl.records import dataclass, field
from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import FieldPath
    from workbench.engine.changes import Change, FieldChange

WORD: Final = "reveal"
"""What has to be typed before a secret is shown."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """What one field has in clear: live and configured, None where there is nothing. Its repr shows neither.

    `live_unknown` says why what is live is not known, empty where it is.
    """

    path: FieldPath
    live: str | None = field(default=None, repr=False)
    configured: str | None = field(default=None, repr=False)
    live_unknown: str = ""


class Revealing(Opened):
    async def reveal(self, change: Change, shown: FieldChange, *, confirm: str) -> Revealed:
        """Returns a masked field in clear, its live side as it is now; the audit trail has who asked before it is read.

        Raises `Refused` (a read-only session), `ConfirmationRequired` (anything but the word), or `LocalStateFailure`
        where it can't be put on record; nothing is read then.
        """
        from runtimes.base import format_path
        from workbench.engine.errors import ConfirmationRequired, Refused

        if self.settings.is_read_only:
            raise Refused(["this session is read-only, and shows no secret"], where=str(change.address))
        if confirm != WORD:
            raise ConfirmationRequired(WORD, "a secret will be on the screen")
        self.audit().append(
            self._actor(), self._now(), action="reveal secret", plan="", target=str(change.address.id),
            cluster=change.address.cluster, result="shown", detail=format_path(shown.path), reason=self.reason,
        )  # fmt: skip
        live, unknown = await self._live_value(change, shown)
        body = change.planned if change.planned is not None else change.configured
        return Revealed(shown.path, live, _text(_value(body, shown.path)), unknown)

    async def _live_value(self, change: Change, shown: FieldChange) -> tuple[str | None, str]:
        """Returns what is live, or why that is not known."""
        from runtimes.base import KubernetesId, ReadRequest, RuntimeFailure

        if not isinstance(change.address.id, KubernetesId):
            return None, "what Terraform's state has is not read for this"
        try:
            with self._masking_failures():
                live = await (await self._connections.runtime(change.address.cluster)).read(
                    ReadRequest(change.address.id)
                )
        except RuntimeFailure as error:
            return None, str(error)
        return (None, "") if live is None else (_text(_value(live.body, shown.path)), "")


def _value(body: Any, path: FieldPath) -> Any:
    """Returns what a body has at a path; texts of a Secret as they are written, whatever form the body has them in."""
    from runtimes.base import value_at

    is_of_secret = isinstance(body, dict) and body.get("kind") == "Secret" and path[:1] == ("data",) and len(path) == 2
    if not is_of_secret:
        return value_at(body, path)
    written = value_at(body, ("stringData", path[1]))
    encoded = value_at(body, path)
    if written is not None or not isinstance(encoded, str):
        return written
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return encoded  # bytes, as the object has them


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)

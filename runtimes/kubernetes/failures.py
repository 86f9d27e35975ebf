"""From the API server's Status to our errors.

A code alone does not tell what happened: 409 is a field conflict, a stale version, a missing object with a uid or a
name that is taken; 422 is invalid content or a foreign uid; 403 is a missing right or an exhausted quota; 500 on an
apply is mostly an unknown field. So the reason, the causes and, where the server gives nothing better, the words of
the message decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runtimes.base import (
    Conflict,
    FieldConflict,
    Forbidden,
    Moved,
    NotThere,
    Overloaded,
    Rejected,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)

HIDDEN = "(hidden)"
_CONFLICTING = re.compile(
    r'conflict with "(?P<manager>[^"]*)"(?: with subresource "[^"]*")?(?: using \S+?)?(?: at (?P<when>\S+))?$'
)
_IMMUTABLE = re.compile(
    r"immutable|cannot change roleRef|updates to .* are forbidden|pod updates may not change fields", re.IGNORECASE
)
_UNTYPED = re.compile(
    r"typed patch object|typed live object|schema mismatch|field not declared|duplicate entries for key"
)
_UNREADABLE = re.compile(r"failed to convert new object|unable to convert unstructured object")
# the server quotes refused values: structures in Go's notation over pages, texts in quotation marks, plain words
_STRUCTURE = re.compile(
    r"(?:Invalid value: [\w.\[\]*&]*\{.*\}(?=: ))|(?:&?(?:value\.)?valueUnstructured\{.*?\})", re.DOTALL
)
_QUOTED = re.compile(r'Invalid value: (?:"(?:[^"\\]|\\.)*"|[^\s:"]+)(?=: )')


_DENIED = re.compile(r'admission webhook "[^"]*" denied the request')
_NO_RIGHT = re.compile(r'\b[Uu]ser "[^"]*" cannot ')
CONVERTS = "conversion webhook for "
"""What a server says of a kind whose objects it can't convert: also as 429, as if it were about to be able to."""
_WEBHOOK_AWAY = "a webhook that the cluster asks could not be reached, or failed: look at who serves it"
_TOO_LARGE = "a cluster keeps no object of more than 1.5 MB, which no dry run says: split it"
_NO_DRY_RUN = (
    "without a dry run nobody knows what an apply would do: a webhook without side effects says sideEffects: None in "
    "its configuration"
)


class Expired(RuntimeFailure):
    """The version or continue token is older than what the server remembers (HTTP 410): list again."""


class ConflictingFields(Conflict):
    """A refused apply. `fields` are the server's (path text, manager, time or empty), one a cause."""

    def __init__(self, message: str, fields: tuple[tuple[str, str, str], ...], **where: str) -> None:
        conflicts = tuple(FieldConflict((path.lstrip("."),), manager, when) for path, manager, when in fields)
        super().__init__(message, conflicts=conflicts, **where)
        self.fields = fields


class Immutable(Rejected):
    """Refused only because fields would change that can't be changed in place: those of `causes`."""


class NamespaceMissing(NotThere):
    pass


class Unserved(NotThere):
    """A 404 that does not come as a Status: a server says it of a path that it does not know, and so does a proxy."""


def failure(
    code: int,
    status: Any,
    *,
    target: str,
    subject: str = "",
    context: str = "",
    secrets: Sequence[str] = (),
) -> RuntimeFailure:
    """Returns the error for an answer with this HTTP code.

    `status` is the decoded body where it was JSON, else its text. `secrets` are values that the request held and that
    must not come back in a message; where there are any, values quoted by the server are hidden altogether.
    """
    status = status if isinstance(status, Mapping) else {"message": str(status or "").strip()[:500]}
    message = _safe(status.get("message"), secrets) or f"the server answered {code}"
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    causes = tuple(
        (str(cause.get("field") or ""), _safe(cause.get("message"), secrets), str(cause.get("reason") or ""))
        for cause in details.get("causes") or ()
        if isinstance(cause, Mapping)
    )
    where = {"target": target, "subject": subject}
    if hint := _hint_of_admission(code, message):
        return Rejected(message, causes=_pairs(causes), hint=hint, **where)
    match code:
        case 401:
            who = f"context {context!r}" if context else "the kubeconfig"
            return Unauthenticated(
                "the cluster does not accept the credentials",
                hint=f"log in again: the token or certificate of {who} is refused",
                **where,
            )
        case 403 if "system:anonymous" in message:
            return Unauthenticated(message, hint="the kubeconfig's user has no credentials", **where)
        case 403 if _NO_RIGHT.search(message):
            return Forbidden(message, hint="ask for this right, or use another context", **where)
        case 403:
            return Rejected(message, causes=_pairs(causes), hint=_refusal_hint(message), **where)
        case 404 if details.get("kind") == "namespaces" and f'namespaces "{details.get("name")}"' in message:
            return NamespaceMissing(message, hint="create the namespace first, or add it to the same plan", **where)
        case 404 if not status.keys() & {"kind", "reason", "details"}:
            return Unserved(message, **where)
        case 404:
            return NotThere(message, **where)
        case 409 if any(why == "FieldManagerConflict" for _, _, why in causes):
            hint = "leave these fields to their owner, or force the apply to take them over"
            return ConflictingFields(message, _conflicting(causes), hint=hint, **where)
        case 409:
            return Moved(message, hint="plan again: the object is not the one that was looked at", **where)
        case 410:
            return Expired(message, **where)
        case 422 if causes and all(field == "metadata.uid" for field, _, _ in causes):
            return Moved("the object was deleted and recreated since it was looked at", hint="plan again", **where)
        case 422 if causes and all(_IMMUTABLE.search(text) for _, text, _ in causes):
            return Immutable(
                message,
                causes=_pairs(causes),
                hint="these fields are fixed at creation: the object has to be replaced",
                **where,
            )
        case 429 | 503:
            return Overloaded(message, hint="the API server asks to come back later; try again in a moment", **where)
        case 500 if _UNTYPED.search(message) or _UNREADABLE.search(message):
            return Rejected(message, causes=_pairs(causes), hint="the object does not fit the kind's schema", **where)
        case 504:
            hint = "the API server did not finish in time"
            return Unreachable(message, target=target, subject=subject, hint=hint, is_uncertain=True)
        case 400 | 405 | 406 | 413 | 415 | 422:
            return Rejected(message, causes=_pairs(causes), **where)
    return RuntimeFailure(f"{message} (HTTP {code}{', ' + reason if reason else ''})", **where)


def _hint_of_admission(code: int, message: str) -> str:
    """What to do about an object that the server would take, and its webhooks or its storage do not; else ""."""
    if _DENIED.match(message):
        return "a webhook of the cluster refuses it"  # with whatever code and reason it chose
    if CONVERTS in message:
        return "the webhook that converts the versions of this kind fails: look at who serves it"
    match code:
        case 400 if "does not support dry run" in message:
            return _NO_DRY_RUN
        case 500 if "etcdserver: request is too large" in message:
            return _TOO_LARGE
        case 500 if "webhook" in message and not (_UNTYPED.search(message) or _UNREADABLE.search(message)):
            return _WEBHOOK_AWAY
    return ""


def _safe(text: Any, secrets: Sequence[str]) -> str:
    """What the server said without what the request held of `secrets`, nor what else it quotes where there are any."""
    shown = _STRUCTURE.sub("value", str(text or ""))
    if secrets:
        shown = _QUOTED.sub("value", shown)
    for secret in sorted((secret for secret in secrets if len(secret) >= 4), key=len, reverse=True):
        shown = shown.replace(secret, HIDDEN)
    return shown


def _conflicting(causes: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """The fields that others own: path, manager, and since when where the server says so."""
    return tuple(
        (path, found["manager"], found["when"] or "")
        for path, text, why in causes
        if why == "FieldManagerConflict" and (found := _CONFLICTING.search(text))
    )


def _pairs(causes: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Causes without repetitions: the server names some twice."""
    return tuple(dict.fromkeys((field, text) for field, text, _ in causes))


def _refusal_hint(message: str) -> str:
    if "exceeded quota" in message:
        return "the namespace's quota is used up"
    if "custom resource definition is terminating" in message:
        return "the definition of its kind is being deleted; wait until it is gone"
    if "being terminated" in message:
        return "the namespace is being deleted; wait until it is gone"
    return ""

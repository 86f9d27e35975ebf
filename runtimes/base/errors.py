"""Everything a runtime raises.

    RuntimeFailure
    ├── Unreachable        nobody answered: refused, timed out, name not found, TLS
    ├── Unauthenticated    the credentials were refused (HTTP 401)
    ├── Forbidden          known, but not allowed (HTTP 403)
    ├── NotThere           the resource, its kind or its namespace does not exist (HTTP 404)
    ├── Conflict           somebody else owns a field that would change (HTTP 409 of an apply)
    ├── Moved              the object is not the one the plan was made from: other uid or version
    ├── Rejected           the infrastructure refuses the content: invalid, immutable, admission, quota
    ├── Overloaded         asked to come back later (HTTP 429, 503) until patience ran out
    └── Misconfigured      the settings by which the infrastructure is reached are missing, broken or not allowed

Messages name what and where and are safe to show: bodies and credentials never enter them.
"""

from __future__ import annotations

from kcl.records import dataclass
from runtimes.base.paths import FieldPath


class RuntimeFailure(Exception):
    """`target` is the cluster or workspace, `subject` the resource where there is one; `hint` says what to do."""

    def __init__(self, message: str, *, target: str = "", subject: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.target, self.subject, self.hint = message, target, subject, hint

    def __str__(self) -> str:
        where = " ".join(part for part in (self.subject, f"on {self.target}" if self.target else "") if part)
        return f"{where}: {self.message}" if where else self.message


class Unreachable(RuntimeFailure):
    """`is_uncertain`: a write was sent and its answer was lost, so it may have happened."""

    def __init__(
        self, message: str, *, target: str = "", subject: str = "", hint: str = "", is_uncertain: bool = False
    ) -> None:
        super().__init__(message, target=target, subject=subject, hint=hint)
        self.is_uncertain = is_uncertain


class Unauthenticated(RuntimeFailure):
    pass


class Forbidden(RuntimeFailure):
    pass


class NotThere(RuntimeFailure):
    pass


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field we would set that another manager set to something else. `when` is RFC 3339 in UTC, empty if unknown."""

    path: FieldPath
    manager: str
    when: str = ""


class Conflict(RuntimeFailure):
    def __init__(
        self,
        message: str,
        *,
        conflicts: tuple[FieldConflict, ...] = (),
        target: str = "",
        subject: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, target=target, subject=subject, hint=hint)
        self.conflicts = conflicts


class Moved(RuntimeFailure):
    pass


class OtherVersion(RuntimeFailure):
    """The kind is served, and not in this version: the object may well be there. `served` is a version that is."""

    def __init__(self, message: str, *, served: str, target: str = "", subject: str = "", hint: str = "") -> None:
        super().__init__(message, target=target, subject=subject, hint=hint)
        self.served = served


class Rejected(RuntimeFailure):
    """`causes` are (field, message) pairs as the server gave them."""

    def __init__(
        self,
        message: str,
        *,
        causes: tuple[tuple[str, str], ...] = (),
        target: str = "",
        subject: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, target=target, subject=subject, hint=hint)
        self.causes = causes


class Overloaded(RuntimeFailure):
    pass


class TooMany(RuntimeFailure):
    """There are more objects than who asks has a use for; no more than that many were read."""


class Misconfigured(RuntimeFailure):
    pass

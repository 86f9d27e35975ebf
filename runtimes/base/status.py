"""How far a live resource has come: the six statuses of kstatus, and why.

https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md defines the vocabulary. A timeout is
never a status: a resource that is waited for too long is still `InProgress`.
"""

from __future__ import annotations

from enum import StrEnum

from kcl.records import dataclass


class Status(StrEnum):
    IN_PROGRESS = "InProgress"
    CURRENT = "Current"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    NOT_FOUND = "NotFound"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Health:
    """`reason` is a CamelCase word where the infrastructure gives one (ImagePullBackOff), else empty.

    `is_qualified`: it is Current, and the message says what somebody who reads only that would take for granted.
    """

    status: Status
    reason: str = ""
    message: str = ""
    is_qualified: bool = False

"""What the engine raises when it cannot, or will not, do what it was asked. What a diff finds are values instead."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.records import dataclass
from runtimes.base import Address, FieldConflict, ResourceId
from workbench.project import WorkbenchError


class EngineError(WorkbenchError):
    """The root of this package's errors."""


class EvaluationEnded(EngineError):
    """An evaluation was ended, or its process ended. `where` is the place in the program, empty if it is not known.

    `is_unexplained`: nobody ended it for a limit of its own, as when the machine ran out of memory.
    """

    def __init__(self, message: str, *, where: str = "", hint: str = "", is_unexplained: bool = False) -> None:
        super().__init__(message, where=where, hint=hint)
        self.is_unexplained = is_unexplained


class SpecInvalid(EngineError):
    """Compiled output, or a Spec file, is not a usable Spec: a bad id, one id twice, an unknown dependsOn."""


class DependencyCycle(SpecInvalid):
    """`cycle` starts and ends with the same resource; each one depends on the next, `because` of one field each.

    `because` names `dependsOn` or the field that holds the reference.
    """

    def __init__(self, cycle: Sequence[ResourceId], because: Sequence[str] = (), *, where: str = "") -> None:
        names = [str(each) for each in cycle]
        if set(because) <= {"dependsOn"}:
            what = f"dependsOn goes round in a circle: {' -> '.join(names)}"
        else:
            steps = [f"{name} ({field})" for name, field in zip(names, because, strict=False)]
            what = f"references go round in a circle: {' -> '.join([*steps, names[-1]])}"
        super().__init__(what, where=where, hint="take one of them out")
        self.cycle, self.because = tuple(cycle), tuple(because)


class Refused(EngineError):
    """A guard of the plan says no; `reasons` has one line a guard. Nothing was written."""

    def __init__(self, reasons: Sequence[str], *, where: str = "", hint: str = "") -> None:
        super().__init__("; ".join(reasons), where=where, hint=hint)
        self.reasons = tuple(reasons)


class ConfirmationRequired(EngineError):
    """The plan needs `phrase` typed, or just a yes (`phrase` is then `yes`). Nothing was written."""

    def __init__(self, phrase: str, reason: str, *, where: str = "") -> None:
        super().__init__(f"needs confirmation: {reason}", where=where, hint=f"confirm with: {phrase}")
        self.phrase, self.reason = phrase, reason


@dataclass(frozen=True, slots=True)
class MovedObject:
    """One thing that is no longer what the plan was made from; `what` is a short sentence."""

    address: Address | None
    what: str

    def __str__(self) -> str:
        return f"{self.address}: {self.what}" if self.address else self.what


class StalePlan(EngineError):
    """The world moved since the plan was made; `moved` says what. Nothing was written."""

    def __init__(self, moved: Sequence[MovedObject], *, where: str = "") -> None:
        what = "; ".join(str(each) for each in moved[:5]) + (f" and {len(moved) - 5} more" if len(moved) > 5 else "")
        super().__init__(f"the plan is out of date: {what}", where=where, hint="plan again and look at what changed")
        self.moved = tuple(moved)


class OtherCluster(StalePlan):
    """A cluster is not, or is not known to be, the one that was planned for. Nothing was written."""

    def __init__(self, moved: Sequence[MovedObject], *, where: str = "") -> None:
        super().__init__(moved, where=where)
        self.message = "; ".join(each.what for each in moved)
        self.hint = (
            f"look at what the names of clusters.yaml and the kubeconfig lead to, then: wb plan {where}".rstrip()
        )


class UnresolvedConflict(Refused):
    """Other field managers own fields that the plan would change; `conflicts` names them."""

    def __init__(self, conflicts: Sequence[tuple[Address, FieldConflict]], *, where: str = "") -> None:
        from runtimes.base import format_path

        lines = [
            f"{address}: {format_path(each.path)} is owned by {each.manager}"
            + (f" since {each.when}" if each.when else "")
            for address, each in conflicts
        ]
        super().__init__(lines, where=where, hint="put the live value into the configuration, or plan with force")
        self.conflicts = tuple(conflicts)


class ReleaseFailure(EngineError):
    """The release record cannot be read or written."""


class Locked(EngineError):
    """Somebody else works on this stack; `owner` is `user@host pid N since TIME`."""

    def __init__(
        self, owner: str, *, where: str = "", hint: str = "wait for it, or remove the lock if that process is gone"
    ) -> None:
        super().__init__(f"locked by {owner}", where=where, hint=hint)
        self.owner = owner


class EditFailed(EngineError):
    """A what-if edit cannot be made at that place."""

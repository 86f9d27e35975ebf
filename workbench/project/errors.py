"""The root of everything the workbench refuses or fails at, and what reading a repository may raise."""

from __future__ import annotations

from typing import Any


class WorkbenchError(Exception):
    """`where` is a file, stack or cluster (empty if none); `hint` says what to do. All are safe to show."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors are sent between processes, whatever else they are made with."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[WorkbenchError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> WorkbenchError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class ProjectError(WorkbenchError):
    """The repository cannot be used as it is."""


class NotARepository(ProjectError):
    """No Konfig repository at or above the path."""


class UnknownStack(ProjectError):
    """No stack of that name or path."""


class UnknownCluster(ProjectError):
    """A stack should go to a cluster that the mapping does not name."""


class OutsideRepository(ProjectError):
    """A path of the repository leads out of it, or into its .git; `where` is the path or the link."""


class BrokenFile(ProjectError):
    """project.yaml, stack.yaml or clusters.yaml that cannot be read; `where` is `file:line:column`."""

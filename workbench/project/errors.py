"""The root of everything the workbench refuses or fails at, and what reading a repository may raise."""

from __future__ import annotations


class WorkbenchError(Exception):
    """`where` is a file, stack or cluster (empty if none); `hint` says what to do. All are safe to show."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


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

"""Names of projects and stacks, and the address `project/stack` that people type."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NewType, Self

from kcl.records import dataclass
from workbench.project.errors import UnknownStack

ProjectName = NewType("ProjectName", str)
StackName = NewType("StackName", str)


@dataclass(frozen=True, slots=True, order=True)
class StackPath:
    """A stack by name, unique in its repository; `str` gives `project/stack`."""

    project: ProjectName
    stack: StackName

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses `project/stack`; raises `UnknownStack` for any other form."""
        project, slash, stack = text.strip().rpartition("/")
        if not (project and slash and stack):
            raise UnknownStack(f"{text!r} does not name a stack", hint="write it as project/stack, such as shop/prod")
        return cls(ProjectName(project), StackName(stack))

    def matches(self, glob: str) -> bool:
        """Tells whether a shell glob such as `*/prod` or `shop/*` covers this stack."""
        return fnmatchcase(str(self), glob)

    def __str__(self) -> str:
        return f"{self.project}/{self.stack}"

"""Whom a stack belongs to, as far as the repository says so."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.project.names import StackPath
from workbench.project.tree import KonfigTree

OWNER_LABELS = ("owner", "team")


def owners(tree: KonfigTree) -> Mapping[StackPath, str]:
    """Returns the owner of each stack: the label `owner` or `team` of its stack.yaml, else of project.yaml, else the
    `tenant` there, which repositories of 2023 have. Stacks that nothing is said of are left out."""
    found: dict[StackPath, str] = {}
    for project in tree.projects:
        for stack in project.stacks:
            labels = (each.get(name) for each in (stack.labels, project.labels) for name in OWNER_LABELS)
            if owner := next(filter(None, labels), project.tenant):
                found[stack.path] = owner
    return found

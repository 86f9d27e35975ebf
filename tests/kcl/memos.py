"""What a memo holds, and which packages were checked for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import pytest

from kcl.loader.program import Package
from kcl.memo.queries import Memo, Query
from kcl.semantic.packages import Checker

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def answers(memo: Memo, query: Query[K, V]) -> dict[K, V]:
    """The answers that are there, by key."""
    return {key: cast(V, entry.answer) for key, entry in memo._tables.get(query, {}).items()}


@contextmanager
def walks() -> Iterator[list[str]]:
    """The paths of the packages that are walked through meanwhile."""
    walk, walked = Checker.walk, list[str]()

    def noted(self: Checker, package: Package, *rest: Any) -> Any:
        walked.append(package.path)
        return walk(self, package, *rest)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Checker, "walk", noted)
        yield walked

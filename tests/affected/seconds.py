"""What each test took when it last ran here, kept in `.pytest_cache`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

_KEY = "konfig_workbench/seconds"
_TEST = re.compile(r"^(?:async )?def test_", re.MULTILINE)
_UNKNOWN = 0.2  # for a test that never ran here, about what most take


class Seconds:
    """A plugin of pytest that adds up what each test takes; in the process that hands out tests, not in the others."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "slow" not in report.keywords:
            self.taken[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        cache = session.config.cache
        if cache is not None and self.taken:
            cache.set(_KEY, {**cache.get(_KEY, {}), **{test: round(each, 3) for test, each in self.taken.items()}})


def by_file(root: Path, files: list[str]) -> dict[str, float]:
    """What the tests of each file took that are not marked `slow`; a guess where none of them ran here."""
    try:
        kept: dict[str, float] = json.loads((root / ".pytest_cache/v" / _KEY).read_text("utf-8"))
    except (OSError, ValueError):
        kept = {}
    taken: dict[str, float] = defaultdict(float)
    for test, each in kept.items():
        taken[test.partition("::")[0]] += each
    return {file: taken.get(file) or _UNKNOWN * len(_TEST.findall((root / file).read_text("utf-8"))) for file in files}

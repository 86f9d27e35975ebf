"""What each test took when it last ran here, kept in `.pytest_cache`; `seconds.json` says it where it never did.

`python -m tests.affected.seconds` writes that file from what ran here: after a whole run on a quiet machine.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

_MEASURED = Path(__file__).with_name("seconds.json")
_KEY = "konfig_workbench/seconds"
_TEST = re.compile(r"^(?:async )?def test_", re.MULTILINE)
_UNKNOWN = 0.2  # for a test that was never measured, about what most take


class Seconds:
    """A plugin of pytest that adds up what each test takes; in the process that hands out tests, not in the others."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "slow" not in report.keywords:
            self.taken[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        cache = getattr(session.config, "cache", None)  # none with -p no:cacheprovider
        if cache is not None and self.taken:
            cache.set(_KEY, {**cache.get(_KEY, {}), **{test: round(each, 3) for test, each in self.taken.items()}})


def by_file(root: Path, files: list[str]) -> dict[str, float]:
    """What the tests of each file take that are not marked `slow`, as measured here or elsewhere; else a guess."""
    taken = {**measured(), **_taken_here(root)}
    return {file: taken.get(file) or _UNKNOWN * len(_TEST.findall((root / file).read_text("utf-8"))) for file in files}


def measured() -> dict[str, float]:
    """What the tests of each file took when `seconds.json` was written; those marked `slow` are left out."""
    found: dict[str, float] = json.loads(_MEASURED.read_text("utf-8"))
    return found


def _taken_here(root: Path) -> dict[str, float]:
    try:
        kept: dict[str, float] = json.loads((root / ".pytest_cache/v" / _KEY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    taken: dict[str, float] = defaultdict(float)
    for test, each in kept.items():
        taken[test.partition("::")[0]] += each
    return taken


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    rounded = {file: round(each, 1) for file, each in sorted(_taken_here(root).items()) if (root / file).is_file()}
    _MEASURED.write_text(json.dumps(rounded, indent=0) + "\n", "utf-8")

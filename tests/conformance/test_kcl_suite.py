"""The official KCL suite: every case, through the command line, in one process.

What does not pass stands in kcl_suite_known_failures.txt with its reason; a case listed there that passes fails too,
so that the list never says less than is true.
"""

import os
from pathlib import Path

import pytest

from kcl.api import ParseCache
from tests.conformance.kcl_suite import cases, copied, failure, known_failures
from tests.kcl.conformance import FOLDER, corpus

_SUITE = FOLDER / "kcl-grammar"
_KNOWN = known_failures()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(corpus("kcl-grammar"), tmp_path_factory.mktemp("kcl") / "suite")


@pytest.fixture(scope="module")
def cache() -> ParseCache:
    return ParseCache()


@pytest.mark.parametrize("case", cases(_SUITE) or ["absent"])
def test_case_of_the_official_suite(case: str, suite: Path, cache: ParseCache) -> None:
    reason = failure(suite, case, cache)
    if case in _KNOWN:
        assert reason is not None, f"{case} passes now: take it off the list of known failures"
    else:
        assert reason is None, reason


@pytest.mark.skipif(not _SUITE.is_dir(), reason=f"the corpus is not at {_SUITE}")
def test_known_failures_name_cases_that_exist_and_give_reasons() -> None:
    names = set(cases(_SUITE))
    held_back = os.environ.get("KONFIG_WORKBENCH_CONFORMANCE") is not None
    assert all(_KNOWN.values())
    assert held_back or set(_KNOWN) <= names

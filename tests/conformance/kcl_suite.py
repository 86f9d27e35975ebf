"""Runs the cases of the official KCL suite through our command line and compares as the official harness does.

`python -m tests.conformance.kcl_suite FOLDER` prints the cases whose outcome is not what the list of known failures
says; with `--prune` it also takes those off the list that pass.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcl.api import KCL_0_12, ParseCache
from kcl.cli import main
from kcl.loader import YamlError, load_all_yaml, load_yaml

KNOWN_FAILURES = Path(__file__).with_name("kcl_suite_known_failures.txt")


def cases(folder: Path) -> list[str]:
    """Names (paths below `folder`) of the cases that have something to compare with."""

    def found() -> Iterator[str]:
        for directory, _, files in os.walk(folder):
            if "main.k" in files and ("stdout.golden" in files or "stderr.golden" in files):
                yield Path(directory).relative_to(folder).as_posix()

    return sorted(found())


def known_failures() -> dict[str, str]:
    """Case → why it fails, from the data file; a line is `case: reason`, `#` begins a comment."""
    known = {}
    for line in KNOWN_FAILURES.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            case, _, reason = line.partition(": ")
            known[case] = reason.strip()
    return known


def copied(folder: Path, target: Path) -> Path:
    """A copy of the suite that programs may write into."""
    shutil.copytree(folder, target)
    return target


def failure(folder: Path, case: str, cache: ParseCache) -> str | None:
    """What is wrong with the outcome of a case, None when it is as it should be."""
    directory = folder / case
    settings = directory / "settings.yaml"
    flags = str((load_yaml(settings.read_text()) or {}).get("kcl_options") or "").split() if settings.exists() else []
    stdout, stderr = io.StringIO(), io.StringIO()
    command = ["run", "--dialect", KCL_0_12.name, "main.k", *flags]  # what its goldens were made by
    status = main(command, cwd=directory, stdin=io.StringIO(), stdout=stdout, stderr=stderr, cache=cache)
    if (directory / "stderr.golden").exists():
        return _failure_of_error(directory, status, stderr.getvalue())
    if status != 0:
        return f"exit status {status}:\n{stderr.getvalue()}"
    golden = (directory / "stdout.golden").read_text()
    try:
        ours, expected = _documents(stdout.getvalue()), _documents(golden)
    except YamlError as problem:
        return f"{problem}:\n{stdout.getvalue()}"
    return None if same(ours, expected) else f"printed\n{stdout.getvalue()}\ninstead of\n{golden}"


def _failure_of_error(directory: Path, status: int, stderr: str) -> str | None:
    golden = _without_empty_lines((directory / "stderr.golden").read_text().replace("${CWD}", str(directory)))
    if status == 0:
        return f"no error, expected\n{golden}"
    ours = _without_empty_lines(stderr)
    return None if golden in ours else f"said\n{ours}\ninstead of\n{golden}"


def _without_empty_lines(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


def _documents(text: str) -> list[Any]:
    """The documents that say something, as the official harness reads them."""
    return [document for document in load_all_yaml(text) if document]


def same(left: Any, right: Any) -> bool:
    """Equality of plain data: keys in any order, numbers by value, but True is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or math.isclose(left, right, rel_tol=1e-12)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def _report(folder: Path, prune: bool) -> None:
    """Writes the cases whose outcome is not what the list of known failures says, and a summary."""
    known = known_failures()
    cache = ParseCache()
    passed: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = copied(folder, Path(scratch, "suite"))
        names = cases(copy)
        for case in names:
            reason = failure(copy, case, cache)
            if reason is None:
                passed.append(case)
            if (reason is None) == (case in known):
                shown = "PASSES NOW" if reason is None else reason
                sys.stdout.write(f"=== {case}\n{shown}\n")
    sys.stdout.write(f"{len(passed)} of {len(names)} pass, {len(known)} known failures\n")
    if prune:
        lines = KNOWN_FAILURES.read_text().splitlines(keepends=True)
        KNOWN_FAILURES.write_text("".join(line for line in lines if line.partition(": ")[0] not in passed))


if __name__ == "__main__":
    _report(Path(sys.argv[1]), "--prune" in sys.argv)

"""Examples run as tests: each an evaluation of its own, in a process that is ended when it takes too much."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, TextIO

from kcl.bounded import Allowance
from kcl.loader.folders import package_files
from kcl.source import OsFileSystem
from kcl.tools.doc.documenting import Documentation
from kcl.tools.doc.examples import Counts, Runnable, runnable
from kcl.tools.test.cases import Case
from kcl.tools.test.pool import run_all
from kcl.tools.test.reporting import masked
from kcl.tools.test.worker import CALLER

_INDENT: Final = "  "


def run_examples(
    found: Documentation,
    *,
    cwd: str,
    allowance: Allowance,
    environment: Mapping[str, str],
    packages: Mapping[str, str],
    stdout: TextIO,
) -> Counts:
    """Runs all examples and reports each. Nothing is written but to `stdout`."""
    by_key = {each.key: each for each in found.library.packages}
    modules = {each.root: each for each in found.library.modules}
    every = [
        one
        for each in found.library.examples
        for one in runnable(each, by_key[each.folder], modules[by_key[each.folder].module].name)
    ]
    chosen = [each for each in every if not each.not_run]
    for each in every:
        if each.not_run:
            stdout.write(f"{_head(each, cwd)}: not run: {masked(each.not_run)}\n")
    cases = [_case(each, modules[by_key[each.example.folder].module].root, packages, found) for each in chosen]
    failed = 0
    for index, outcome in run_all(cases, allowance, environment, 1):
        each = chosen[index]
        stdout.write(f"{_head(each, cwd)}: {'PASS' if outcome.passed else 'FAIL'} ({outcome.seconds * 1000:.0f}ms)\n")
        if not outcome.passed:
            failed += 1
            stdout.write(_failure(each, found.masking.text(outcome.failure), cwd))
    return Counts(len(chosen) - failed, failed, len(every) - len(chosen))


def _case(each: Runnable, root: str, packages: Mapping[str, str], found: Documentation) -> Case:
    folder = each.example.folder
    names = () if each.imports_itself else tuple(package_files(folder, OsFileSystem()))
    module = next(one.name for one in found.library.modules if one.root == root).replace("-", "_")
    by_itself = {} if os.path.lexists(os.path.join(root, module)) else {module: root}
    return Case(folder, names, each.example.of, program=each.program, packages={**by_itself, **packages})


def _head(each: Runnable, cwd: str) -> str:
    return masked(f"{os.path.relpath(each.example.path, cwd)}:{each.line}: example of {each.example.of}")


def _failure(each: Runnable, failure: str, cwd: str) -> str:
    """What is said of a failure, about the file that has the example."""
    said = failure.replace(os.path.join(each.example.folder, CALLER), os.path.relpath(each.example.path, cwd))
    return "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in masked(said).rstrip("\n").split("\n"))

"""What `kcl test` and `kcl cover` write of coverage: the same options, table and files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from kcl import whole_file
from kcl.evaluator.coverage import Reached
from kcl.tools.coverage import formats
from kcl.tools.coverage.measuring import Measured, NotMeasured, is_source, measured, percent, source_files


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--of", action="append", default=[], metavar="PATH", help="report on these files, or all below these folders")
    add("--lcov", metavar="FILE", help="write what is reached in LCOV's format")
    add("--coverage-xml", metavar="FILE", help="write what is reached in Cobertura's format")
    add("--fail-under", type=float, metavar="PERCENT", help="fail if less of lines and branches is reached")


def is_asked(arguments: argparse.Namespace) -> bool:
    given = (arguments.lcov, arguments.coverage_xml, arguments.fail_under)
    return bool(arguments.of) or any(each is not None for each in given)


def write(
    arguments: argparse.Namespace,
    command: str,
    folders: Iterable[str],
    reached: Mapping[str, Reached],
    cwd: str,
    stdout: TextIO,
    stderr: TextIO,
) -> bool:
    """Whether all went well: every file could be measured and written, and enough is reached."""
    files, problems = _files(arguments.of, folders, reached, cwd)
    for problem in problems:
        stderr.write(f"{command}: {problem}\n")
    if not files:
        stderr.write(f"{command}: there are no KCL files to report on: name them with --of\n")
        return False

    def name(path: str) -> str:
        shown = os.path.relpath(path, cwd)
        return path if shown.startswith(os.pardir + os.sep) else shown

    stdout.write("\n" + formats.table(files, name))
    well = not problems
    for target, form in ((arguments.lcov, formats.lcov), (arguments.coverage_xml, formats.cobertura)):
        if target is not None:
            try:
                whole_file.save(os.path.join(cwd, target), form(files, name).encode())
            except OSError as problem:
                stderr.write(f"{command}: cannot write {target}: {problem.strerror}\n")
                well = False
    if arguments.fail_under is not None and not percent(files) >= arguments.fail_under:
        stderr.write(f"{command}: {percent(files):.1f}% is reached, less than {arguments.fail_under:g}%\n")
        well = False
    return well


def _files(
    of: Iterable[str], folders: Iterable[str], reached: Mapping[str, Reached], cwd: str
) -> tuple[list[Measured], list[str]]:
    """What `of` names, else the files in the folders and what was reached below `cwd`; and what is wrong with them."""
    paths: dict[str, None] = {}
    problems: list[str] = []
    named = [os.path.normpath(os.path.join(cwd, each)) for each in of]
    for each in named:
        found = list(source_files(each)) if os.path.isdir(each) else [each]
        if not found:
            problems.append(f"{each}: there are no KCL files below it")
        paths.update(dict.fromkeys(found))
    if not named:
        for folder in folders:
            own = sorted(name for name in os.listdir(folder) if is_source(name))
            paths.update(dict.fromkeys(os.path.join(folder, name) for name in own))
        inside = cwd.rstrip(os.sep) + os.sep
        paths.update(dict.fromkeys(sorted(path for path in reached if path.startswith(inside) and is_source(path))))
    files: list[Measured] = []
    for path in paths:
        try:
            files.append(measured(path, reached.get(path)))
        except NotMeasured as problem:
            problems.append(str(problem))
    return files, problems

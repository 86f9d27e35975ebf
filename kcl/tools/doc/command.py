"""`kcl doc`: the command line.

    kcl doc [generate] [PATH...] [-o FOLDER|-] [--format md|html|openapi] [--check] [--force]
    kcl doc --test [PATH...]

Exit status 0; 1 where files could not be read, with --check where pages are not up to date, and with --test where an
example fails; 2 where the command line is wrong or pages could not be written; 5 with --test where nothing was run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from kcl.bounded import Allowance, BadAllowance
from kcl.command_line import HelpPrinted, UsageError, external_packages, parser_class
from kcl.loader import downloaded_folder
from kcl.terminal import harmless
from kcl.tools.doc.documenting import FORMATS, Documentation, documentation
from kcl.tools.doc.examples import Counts
from kcl.tools.doc.output import Difference, bring_up_to_date, difference
from kcl.tools.paths import NoFiles

OK, FAILED, USAGE, NO_EXAMPLES = 0, 1, 2, 5
_STDOUT: Final = "-"
_DEFAULT_FOLDER: Final = "docs"
_GENERATE: Final = "generate"
_EPILOG: Final = """\
examples:
  kcl doc                          all packages of this folder and below it, into the folder docs
  kcl doc models/... --format html -o public
  kcl doc models/frontend -o -     one package, to standard output
  kcl doc --check                  for CI: status 1 if docs is not what would be written
  kcl doc --test                   run the examples of docstrings

exit status: 0, 1 something is missing, not up to date or fails, 2 the command line is wrong or nothing was written,
5 there are no examples
"""


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(
        prog="kcl doc",
        description="Make pages out of schemas, lambdas, variables and their documentation.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="folders, FOLDER/... with all below, files; by default ./...")
    add(
        "-o", "--output", metavar="FOLDER", help=f"where pages are written, by default {_DEFAULT_FOLDER}; - prints them"
    )
    add("--format", type=str.lower, choices=FORMATS, default="md")
    add("--check", action="store_true", help="write nothing; list what is out of date, and fail if anything is")
    add("--test", action="store_true", help="run the examples of docstrings, and write no pages")
    add("--force", action="store_true", help="replace files of these names that kcl doc has not written")
    add("--ignore-deprecated", "--ignore_deprecated", action="store_true", help="leave out what is deprecated")
    add("-E", "--external", action="append", default=[], metavar="NAME=FOLDER", help="the folder of a package")
    add("--deadline", metavar="SECONDS", help="how long one example may take; else KCL_DEADLINE, else 60")
    add("--max-memory", "--max_memory", metavar="SIZE", help="such as 512M or 2G; else KCL_MAX_MEMORY, else 2G")
    add("--file-path", "--file_path", metavar="FOLDER", help="as of the official command: FOLDER/...")
    add("--target", metavar="FOLDER", help="as of the official command: pages are written into FOLDER/docs")
    add("--escape-html", "--escape_html", action="store_true", help="accepted for compatibility: everything is escaped")
    return parser


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Runs the command and returns its exit status."""
    given = list(argv[1:] if argv[:1] == [_GENERATE] else argv)
    try:
        arguments = _parser(stdout).parse_args(given)
        return _run(arguments, os.path.abspath(cwd), environment or {}, stdout, stderr)
    except HelpPrinted:
        return OK
    except UsageError as problem:
        stderr.write(f"{problem}\n")
    except (NoFiles, BadAllowance) as problem:
        stderr.write(f"kcl doc: {problem}\n")
    except OSError as problem:
        where = f"{harmless(os.fsdecode(problem.filename))}: " if problem.filename else ""
        stderr.write(f"kcl doc: {where}{problem.strerror}\n")
    return USAGE


def _run(
    arguments: argparse.Namespace, cwd: str, environment: Mapping[str, str], stdout: TextIO, stderr: TextIO
) -> int:
    packages = external_packages("kcl doc", arguments.external, cwd)
    allowance = Allowance.of_environment(environment).limited(arguments.deadline, arguments.max_memory)
    if arguments.output == _STDOUT and arguments.format == "html":
        raise UsageError("kcl doc: -o - prints one text; pages in HTML are several files, name a folder")
    found = documentation(
        _paths(arguments),
        cwd=cwd,
        form=arguments.format,
        with_deprecated=not arguments.ignore_deprecated,
        packages=packages,
        downloaded=downloaded_folder(environment),
    )
    for each in found.problems:
        stderr.write(f"{harmless(os.path.relpath(each.root, cwd))}/{each}\n")
    status = FAILED if found.problems else OK
    if arguments.test:
        from kcl.tools.doc.running import run_examples  # pages are made without what runs tests

        counts = run_examples(
            found, cwd=cwd, allowance=allowance, environment=environment, packages=packages, stdout=stdout
        )
        return _tested(counts, found, status, stderr)
    if arguments.output == _STDOUT:
        is_one = len(found.library.packages) == 1 and len(found.pages) > 1
        stdout.write("\n".join(each.text for each in (found.pages[1:] if is_one else found.pages)))
        return status
    folder = os.path.join(cwd, _output(arguments))
    shown = os.path.relpath(folder, cwd)
    wanted = {each.name: each.text for each in found.pages}
    differs = difference(folder, wanted, found.suffixes)
    if arguments.check:
        return max(status, _checked(differs, shown, stdout, stderr))
    refused = [each for each in differs.foreign if not (arguments.force and each[1] != "a folder")]
    if refused:
        for name, what in refused:
            stderr.write(f"{harmless(os.path.join(shown, name))}: is {what}: nothing was written\n")
        stderr.write("kcl doc: name another folder with -o, or say --force to replace such files\n")
        return USAGE
    bring_up_to_date(folder, wanted, differs)
    _tell(found, differs, shown, stdout, stderr)
    return status


def _tested(counts: Counts, found: Documentation, status: int, stderr: TextIO) -> int:
    ran = counts.passed + counts.failed
    left_out = f", {counts.not_run} not run" if counts.not_run else ""
    if not ran:
        schemas = sum(len(each.schemas) for each in found.library.packages)
        stderr.write(f"kcl doc: no example of {schemas} schemas was run{left_out}\n")
        return max(status, NO_EXAMPLES)
    stderr.write(f"{ran} examples: {counts.passed} passed, {counts.failed} failed{left_out}\n")
    return FAILED if counts.failed else status


def _paths(arguments: argparse.Namespace) -> list[str]:
    if arguments.file_path is None:
        return arguments.paths or ["./..."]
    if arguments.paths:
        raise UsageError("kcl doc: say either PATH or --file-path")
    return [os.path.join(arguments.file_path, "...")]


def _output(arguments: argparse.Namespace) -> str:
    if arguments.target is None:
        return arguments.output or _DEFAULT_FOLDER
    if arguments.output is not None:
        raise UsageError("kcl doc: say either -o or --target")
    return os.path.join(arguments.target, _DEFAULT_FOLDER)


def _checked(differs: Difference, shown: str, stdout: TextIO, stderr: TextIO) -> int:
    for names, what in (
        (differs.missing, "is not there"),
        (differs.changed, "is not up to date"),
        (differs.stale, "is of a package that is not there"),
        (tuple(name for name, _ in differs.foreign), "is in the way, and not written by kcl doc"),
    ):
        for name in names:
            stdout.write(f"{harmless(os.path.join(shown, name))}: {what}\n")
    if differs.is_none:
        return OK
    stderr.write("kcl doc: run it without --check, with the same paths and options, to bring the pages up to date\n")
    return FAILED


def _tell(found: Documentation, differs: Difference, shown: str, stdout: TextIO, stderr: TextIO) -> None:
    for names, what in ((differs.stale, "removed"), (differs.missing, "new"), (differs.changed, "changed")):
        for name in names:
            stdout.write(f"{harmless(os.path.join(shown, name))}: {what}\n")
    for name, what in differs.foreign:
        stdout.write(f"{harmless(os.path.join(shown, name))}: replaced, was {what}\n")
    schemas = sum(len(each.schemas) for each in found.library.packages)
    written = len(differs.missing) + len(differs.changed) + len(differs.foreign)
    stderr.write(
        f"{len(found.library.packages)} packages, {schemas} schemas: {written} of {len(found.pages)} files written"
        f"{f', {len(differs.stale)} removed' if differs.stale else ''}\n"
    )

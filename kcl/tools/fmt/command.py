"""`kcl fmt`: the command line.

    kcl fmt [PATH... | -] [-R] [--check] [-d] [--lines FIRST:LAST] [--stdin-filename NAME] [-j PROCESSES]

Files that change are written, and named on stdout as the official command does. Exit status 0; 1 where a file could not
be laid out or, with --check, is not; 2 where the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.terminal import harmless
from kcl.tools.fmt.files import Outcome, Wish, decoded, difference, explained, lay_out
from kcl.tools.fmt.formatting import Refused, formatted
from kcl.tools.paths import NoFiles, found

_OK, _FAILED, _USAGE = 0, 1, 2
_STDIN: Final = "-"
_STDIN_NAME: Final = "stdin.k"
_WORTHWHILE_BYTES: Final = 3_000_000
"""Below that starting processes takes longer than they save."""
_MOST_PROCESSES: Final = 16
_EXAMPLES: Final = """\
examples:
  kcl fmt                       the files of this folder
  kcl fmt ./...                 all files of this folder and those below it
  kcl fmt --check --diff ./...  for CI: what would change, and status 1 if anything would
  kcl fmt - <main.k             from standard input to standard output
"""


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
    try:
        arguments = _parsed(argv, stdout)
        if arguments.paths == [_STDIN]:
            return _standard_input(arguments, stdin, stdout, stderr)
        paths = _paths(arguments, os.path.abspath(cwd))
    except HelpPrinted:
        return _OK
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return _USAGE
    except NoFiles as problem:
        stderr.write(f"kcl fmt: {problem}\n")
        return _FAILED
    wish = Wish(not (arguments.check or arguments.diff), arguments.diff, arguments.lines)
    status = _OK
    for outcome in _outcomes(paths, os.path.abspath(cwd), wish, arguments.jobs):
        status = max(status, _tell(outcome, arguments, stdout, stderr))
    return status


def _tell(outcome: Outcome, arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if outcome.problem:
        stderr.write(outcome.problem)
        return _FAILED
    if not outcome.is_changed:
        return _OK
    stdout.write(outcome.diff if arguments.diff else f"{harmless(outcome.path)}\n")
    return _FAILED if arguments.check else _OK


def _standard_input(arguments: argparse.Namespace, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    path = arguments.stdin_filename
    raw = getattr(stdin, "buffer", None)
    try:
        text = stdin.read() if raw is None else decoded(raw.read(), path)
        made = formatted(text, path, arguments.lines)
    except Refused as refusal:
        stderr.write(explained(refusal))
        return _FAILED
    if not (arguments.check or arguments.diff):
        stdout.write(made)
        return _OK
    diff = difference(text, made, path) if arguments.diff else ""
    return _tell(Outcome(path, made != text, diff), arguments, stdout, stderr)


# ------------------------------------------------------------------ files


def _paths(arguments: argparse.Namespace, cwd: str) -> list[str]:
    """The files, each once however it is named."""
    paths: dict[str, str] = {}
    for named in arguments.paths or [os.curdir]:
        for path in found(named, cwd, recursive=arguments.recursive):
            paths.setdefault(os.path.realpath(os.path.join(cwd, path)), path)
    if arguments.lines is not None and len(paths) != 1:
        raise UsageError(f"kcl fmt: --lines is about one file, and these are {len(paths)}")
    return list(paths.values())


def _outcomes(paths: Sequence[str], cwd: str, wish: Wish, jobs: int | None) -> Iterator[Outcome]:
    """In the order of the paths."""
    processes = min(_processes(paths, cwd) if jobs is None else jobs, len(paths))
    if processes < 2:
        yield from (lay_out(path, cwd, wish) for path in paths)
        return
    from concurrent.futures import ProcessPoolExecutor  # no other case needs it
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        count = len(paths)
        yield from pool.map(lay_out, paths, [cwd] * count, [wish] * count, chunksize=max(1, count // (8 * processes)))


def _processes(paths: Sequence[str], cwd: str) -> int:
    total = 0
    for path in paths:
        try:
            total += os.stat(os.path.join(cwd, path)).st_size
        except OSError:
            continue  # reading it will tell why
    return min(_cores(), _MOST_PROCESSES) if total > _WORTHWHILE_BYTES else 1


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))


# ------------------------------------------------------------------ the command line


def _parsed(argv: Sequence[str], stdout: TextIO) -> argparse.Namespace:
    parser = parser_class(stdout)(
        prog="kcl fmt",
        description="Lay out KCL files: nothing but white space is replaced.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files, folders, FOLDER/... for all below; - for standard input")
    add("-R", "--recursive", action="store_true", help="take the folders below as well")
    add("--check", action="store_true", help="write nothing; name what would change, and fail if anything would")
    add("-d", "--diff", action="store_true", help="write nothing; print what would change")
    add("--lines", type=_lines, metavar="FIRST:LAST", help="only the statements that these lines are part of")
    add("--stdin-filename", default=_STDIN_NAME, metavar="NAME", help="what messages call standard input")
    add("-j", "--jobs", type=_count, metavar="PROCESSES", help="by default as many as pay")
    arguments = parser.parse_args(list(argv))
    if _STDIN in arguments.paths and len(arguments.paths) > 1:
        parser.error("standard input and files can't be laid out together")
    return arguments


def _lines(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    if not (first.isdecimal() and (last.isdecimal() if colon else not last)):
        raise argparse.ArgumentTypeError(f"'{harmless(text)}' is not FIRST:LAST, such as 3:10")
    begin, end = int(first), int(last or first)
    if not 1 <= begin <= end:
        raise argparse.ArgumentTypeError("lines count from 1, and the last is not before the first")
    return begin, end


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{harmless(text)}' is not a number of processes")
    return int(text)

"""The options that say how much each evaluation of a command may take, and how many go on at a time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from kcl.bounded import Allowance
from kcl.command_line import UsageError

_MOST_JOBS: Final = 64


def add_options(parser: argparse.ArgumentParser, what: str) -> None:
    """`what` is evaluated: "test" or "program"."""
    add = parser.add_argument
    add("-j", "--jobs", type=int, default=1, metavar="N", help=f"run {what}s in N processes at a time")
    add("--deadline", metavar="SECONDS", help=f"how long one {what} may take; else KCL_DEADLINE, else 60")
    add("--max-memory", "--max_memory", metavar="SIZE", help="such as 512M or 2G; else KCL_MAX_MEMORY, else 2G")


def jobs_of(arguments: argparse.Namespace, command: str) -> int:
    """Raises UsageError."""
    if not 1 <= arguments.jobs <= _MOST_JOBS:
        raise UsageError(f"{command}: -j takes a number from 1 to {_MOST_JOBS}, got {arguments.jobs}")
    return int(arguments.jobs)


def allowance_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Allowance:
    """Raises BadAllowance."""
    return Allowance.of_environment(environment).limited(arguments.deadline, arguments.max_memory)

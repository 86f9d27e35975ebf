"""What all commands of `kcl` have in common: a parser of arguments that leaves the process alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    import argparse

_UNKNOWN_COLUMNS = 80


class UsageError(Exception):
    """The command line makes no sense; the text is the whole message."""


class HelpPrinted(Exception):
    """Help was asked for and has been printed."""


def _columns() -> int:
    """How wide help is laid out, as `shutil.get_terminal_size` has it: argparse asks that for every option that is
    declared, and it loads three ways of compressing files."""
    try:
        told = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        told = 0
    if told <= 0:
        try:
            told = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ is not None else 0
        except (ValueError, OSError):
            told = 0
    return told or _UNKNOWN_COLUMNS


def parser_class(stdout: TextIO) -> type[argparse.ArgumentParser]:
    """A parser that prints help where it is told to, and ends nothing.

    It raises `UsageError` for a mistake and `HelpPrinted` after help. Parsers of subcommands are of its class as well.
    """

    import argparse  # who reads a plain command line without it needs the rest of this module

    width = _columns() - 2

    class Parser(argparse.ArgumentParser):
        def __init__(self, **named: Any) -> None:
            lays_out = named.get("formatter_class", argparse.HelpFormatter)
            super().__init__(**{**named, "formatter_class": partial(lays_out, width=width)})

        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{self.format_usage()}{self.prog}: error: {message}")

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            raise HelpPrinted

        def _print_message(self, message: str, file: Any = None) -> None:
            stdout.write(message)

    return Parser


def external_packages(command: str, given: Sequence[str], cwd: str) -> dict[str, str]:
    """The folders of packages that `-E NAME=FOLDER` names. Raises UsageError."""
    packages = {}
    for text in given:
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise UsageError(f"{command}: -E takes NAME=FOLDER, got '{text}'")
        packages[name] = os.path.join(cwd, folder)
    return packages

"""What all commands of `kcl` have in common: a parser of arguments that leaves the process alone."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn, TextIO


class UsageError(Exception):
    """The command line makes no sense; the text is the whole message."""


class HelpPrinted(Exception):
    """Help was asked for and has been printed."""


def parser_class(stdout: TextIO) -> type[argparse.ArgumentParser]:
    """A parser that prints help where it is told to, and ends nothing.

    It raises `UsageError` for a mistake and `HelpPrinted` after help. Parsers of subcommands are of its class as well.
    """

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{self.format_usage()}{self.prog}: error: {message}")

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            raise HelpPrinted

        def _print_message(self, message: str, file: Any = None) -> None:
            stdout.write(message)

    return Parser

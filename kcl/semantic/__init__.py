"""What can be said of a program without evaluating it: names, types, and the rules on declarations.

    findings = check(program, library, rules, cache)

A checker walks every package once, its imports first, and gives each expression a type (`types`). Findings have the
codes, texts, places and the order of the official compiler. `State` is what the walk knows at a moment; each class
above it adds one concern: `names`, `assignability`, `operators`, `calls`, `configurations`, `expressions`,
`statements`, `schemas`, `packages`. What was found before is taken again while it would come out the same: of packages
by what they show each other (`interfaces`), also in other processes; of a main package by statement (`remembered`).
Nothing here reads a file of the program or knows a value.
"""

from kcl.diagnostics import Diagnostic
from kcl.loader.program import Program
from kcl.semantic.packages import CheckCache, Checker, packages_in_use
from kcl.semantic.signatures import LibraryTypes, Members
from kcl.semantic.state import Rules

__all__ = ["CheckCache", "LibraryTypes", "Members", "Rules", "check", "packages_in_use"]


def check(
    program: Program, library: LibraryTypes, rules: Rules | None = None, cache: CheckCache | None = None
) -> list[Diagnostic]:
    """Everything wrong with a program that can be told without running it, in the order it is told."""
    return Checker(program, library, rules or Rules(), cache or CheckCache()).check()

"""What can be said of a program without evaluating it: names, types, and the rules on declarations.

    findings = check(program, library, rules, memo)

A checker walks every package once, its imports first, and gives each expression a type (`types`). Findings have the
codes, texts, places and the order of the official compiler. `State` is what the walk knows at a moment; each class
above it adds one concern: `names`, `assignability`, `operators`, `calls`, `configurations`, `expressions`,
`statements`, `schemas`, `packages`. Which packages are walked is for the memo to say (`checked`), by what they show
each other (`interfaces`), and of a main package also which statements (`statement_cache`).
Nothing here reads a file of the program or knows a value.
"""

from kcl.diagnostics import Diagnostic
from kcl.loader.program import Program
from kcl.memo.queries import Memo
from kcl.semantic.checked import Checking, packages_in_use
from kcl.semantic.signatures import LibraryTypes, Members
from kcl.semantic.state import Rules

__all__ = ["LibraryTypes", "Members", "Rules", "check", "packages_in_use"]


def check(
    program: Program, library: LibraryTypes, rules: Rules | None = None, memo: Memo | None = None
) -> list[Diagnostic]:
    """Everything wrong with a program that can be told without running it, in the order it is told."""
    return Checking(program, library, rules or Rules(), memo or Memo()).findings()

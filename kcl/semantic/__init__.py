"""What can be said of a program without evaluating it."""

from kcl.diagnostics import Diagnostic
from kcl.loader.program import Program
from kcl.semantic.declarations import check_declarations
from kcl.semantic.inheritance import check_inheritance

__all__ = ["check"]


def check(program: Program) -> list[Diagnostic]:
    """Everything wrong with a program that its declarations alone show."""
    return [*check_declarations(program), *check_inheritance(program)]

"""Schemas and lambdas compiled to Python functions.

The evaluator runs closures over the tree; a schema of which many instances are made gets a function of Python code
instead, as does a lambda that is called often, the element of a long comprehension, a variable of a package that many
evaluations have computed. It gives the same values, in the same order, of the same provenance. A failure in such code
says nothing: the evaluation starts over with closures alone, whose diagnostics are the ones that are shown.
"""

from kcl.compiler.changes import compile_changes
from kcl.compiler.functions import compile_element, compile_lambda, compile_value
from kcl.compiler.schemas import compile_schema
from kcl.evaluator.runtime import Compiling

__all__ = ["GENERATED", "generated"]


def generated(after: int, after_again: int) -> Compiling:
    """Generated code for what runs more often than that (`Compiling`)."""
    return Compiling(
        compile_schema, compile_changes, compile_lambda, compile_element, compile_value, after, after_again
    )


GENERATED = generated(after=48, after_again=2)
"""Writing and compiling a function takes as long as making some dozens of instances without it."""

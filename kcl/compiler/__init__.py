"""Schemas and lambdas compiled to Python functions.

The evaluator runs closures over the tree; a schema of which many instances are made gets a function of Python code
instead, as does a lambda that is called often, the element of a long comprehension, a variable of a package that many
evaluations have computed. It gives the same values, in the same order, of the same provenance. A failure in such code
says nothing: the evaluation starts over with closures alone, whose diagnostics are the ones that are shown.
"""

from functools import partial

from kcl.compiler.changes import compile_changes
from kcl.compiler.functions import compile_element, compile_lambda, compile_value
from kcl.compiler.schemas import compile_schema
from kcl.compiler.source import CodeOf, compiled
from kcl.evaluator.configurations import ELEMENTS
from kcl.evaluator.functions import LAMBDAS
from kcl.evaluator.runtime import Compiling
from kcl.evaluator.schemas import CHANGES, SCHEMAS
from kcl.evaluator.statements import VALUES

__all__ = ["GENERATED", "generated"]


def generated(after: int, after_again: int, code_of: CodeOf = compiled) -> Compiling:
    """Generated code for what runs more often than that (`Compiling`); `code_of` makes code of its text."""
    return (
        Compiling(after, after_again)
        .writing(SCHEMAS, partial(compile_schema, code_of=code_of))
        .writing(CHANGES, partial(compile_changes, code_of=code_of))
        .writing(LAMBDAS, partial(compile_lambda, code_of=code_of))
        .writing(ELEMENTS, partial(compile_element, code_of=code_of))
        .writing(VALUES, partial(compile_value, code_of=code_of))
    )


GENERATED = generated(after=48, after_again=2)
"""Writing and compiling a function takes as long as making some dozens of instances without it."""

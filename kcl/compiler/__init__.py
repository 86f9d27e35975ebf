"""Schemas compiled to Python functions.

The evaluator runs closures over the tree; a schema of which many instances are made gets a function of Python code
instead (`compile_schema`), which gives the same values, in the same order, of the same provenance. A failure in such
code says nothing: the evaluation starts over with closures alone, whose diagnostics are the ones that are shown.
"""

from kcl.compiler.schemas import compile_schema
from kcl.evaluator.runtime import Compiling

__all__ = ["GENERATED", "compile_schema"]

GENERATED = Compiling(compile_schema, after=8)
"""Writing and compiling a function takes as long as making some dozen instances without it."""

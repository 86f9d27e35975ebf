"""What the language has to say about a program: spans, diagnostics, and how they look in a terminal.

A `Diagnostic` is a value and knows nothing of files: it names a path and character offsets.
Whoever shows it supplies the texts (`render`), and lines and columns are computed only then, so
creating a diagnostic or carrying a span costs nothing. `KclError` is the one exception the
language raises for a program that is wrong; what is wrong is in its `diagnostics`.
"""

from kcl.diagnostics.diagnostic import (
    Code,
    Diagnostic,
    Hint,
    KclError,
    Label,
    Replacement,
    Severity,
    Span,
    error,
    warning,
)
from kcl.diagnostics.rendering import Position, following, position, render

__all__ = [
    "Code",
    "Diagnostic",
    "Hint",
    "KclError",
    "Label",
    "Position",
    "Replacement",
    "Severity",
    "Span",
    "error",
    "following",
    "position",
    "render",
    "warning",
]

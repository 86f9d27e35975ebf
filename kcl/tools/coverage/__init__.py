"""Which lines and branches of KCL are reached: by tests (`kcl test --coverage`), by whole programs (`kcl cover`).

programs    which they are, and what they reach
tested      what tests reach beside them
measuring   counts of places as lines and branches
formats     the table, LCOV and Cobertura
report      what both commands write
command     `kcl cover`
"""

from kcl.tools.coverage.command import main

__all__ = ["main"]

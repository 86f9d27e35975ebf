"""`kcl lint`: what a program may say and had better not.

rules          what is looked for in one file
suppressions   comments that allow a finding, with a reason
fixing         the findings that can be mended without a change of meaning
linting        files → the programs they belong to → findings
command        the command line
"""

from __future__ import annotations

from kcl.tools.lint.command import main
from kcl.tools.lint.linting import Linted, lint
from kcl.tools.lint.rules import RULES, Finding

__all__ = ["RULES", "Finding", "Linted", "lint", "main"]

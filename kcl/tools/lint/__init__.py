"""`kcl lint`: what a program may say and had better not.

rules          what is looked for in one file; `conditions`, `numbers` and `overridden` are some of them
deprecated     what a program uses that its authors want to take away
subject        what rules are handed, and what they answer
suppressions   comments that allow a finding, with a reason
fixing         the findings that can be mended without a change of meaning
linting        files → the programs they belong to → findings
command        the command line
"""

from __future__ import annotations

from kcl.tools.lint.command import main
from kcl.tools.lint.linting import Linted, lint
from kcl.tools.lint.rules import RULES
from kcl.tools.lint.subject import Finding

__all__ = ["RULES", "Finding", "Linted", "lint", "main"]

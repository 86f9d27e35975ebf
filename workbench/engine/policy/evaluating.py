"""What a process that evaluates does for a policy written in KCL: runs the file, and reads what violations it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kcl import regular
from kcl.secrecy.rules import SecretRules
from workbench.engine.compile import evaluated
from workbench.engine.errors import EngineError
from workbench.engine.memos import memos

VIOLATIONS: Final = "violations"


def said(file: str, within: str, told: Mapping[str, Any], rules: SecretRules) -> Any:
    """Evaluates here and now, in this process and without limits. Raises as compiling a stack does."""
    path = Path(file)
    if not path.is_file():
        raise EngineError(regular.why_none(path), where=file)
    around = Path(within)
    documents = evaluated(path, around, rules, memos.cache_for(around, results=False, secrets=rules), told)
    found = [each[VIOLATIONS] for each in documents if isinstance(each, Mapping) and VIOLATIONS in each]
    if len(found) != 1 or not isinstance(found[0], list):
        raise EngineError(f"it says no list of {VIOLATIONS}: one that is empty says that all is well", where=file)
    return found[0]

"""What programs that this one starts get of its environment.

The variables of this product are for nobody else: those of plugins hold tokens, each for one plugin. A program that
logs in somewhere (terraform, a credential program, git that fetches a package) may need any other, and gets them. One
that only looks at files gets nothing that is secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcl.secrecy.names import is_secret_name

_OURS: Final = "WB_"


def for_others(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without what is ours."""
    return {name: value for name, value in environment.items() if not name.startswith(_OURS)}


def without_secrets(environment: Mapping[str, str], *, kept: str) -> dict[str, str]:
    """As `for_others`, without what is secret by its name or its look; a program's own begin with `kept` and stay."""
    from kcl.secrecy.rules import BUILT_IN  # who hands everything on does without

    return {
        name: value
        for name, value in for_others(environment).items()
        if name.startswith(kept) or not (is_secret_name(name) or BUILT_IN.is_secret_text(value))
    }

"""The readings of KCL we know, as named switches.

`KCL` is the language of today's official compiler (0.13). `KCL_0_12` lacks the two findings that came with that
release; it is the one the official conformance suite pins. `KONFIG_2023` is the one Konfig repositories of 2023 were
written in; today's official compiler rejects them. Code asks a switch, never a version.
"""

from __future__ import annotations

from typing import Final

from kcl.loader.manifest import Manifest
from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the language is read where its versions differ."""

    name: str
    unknown_name_is_undefined: bool = False
    """A name nobody defines is `Undefined` (and `Unknown {...}` the plain config) instead of an error."""
    missing_argument_is_none: bool = False
    """A parameter that gets no argument and has no default is `None` instead of an error."""
    explicit_none_is_a_value: bool = False
    """A required attribute may be given `None`; without the switch that counts as missing."""
    file_scoped_imports: bool = False
    """A file sees only its own imports; without the switch the files of the main package share theirs."""
    dedent_triple_quoted: bool = True
    """The blanks all lines of a triple-quoted string begin with are not part of it."""
    private_members_are_shared: bool = False
    """Members of an imported package whose names begin with `_` may be read; without the switch that is an error."""
    missing_attributes_wait_for_the_run: bool = False
    """Nothing is reported before the run of required attributes that an instance is written without."""


KCL: Final = Dialect("kcl")
KCL_0_12: Final = Dialect("kcl-0.12", private_members_are_shared=True, missing_attributes_wait_for_the_run=True)
KONFIG_2023: Final = Dialect(
    "konfig-2023",
    unknown_name_is_undefined=True,
    missing_argument_is_none=True,
    explicit_none_is_a_value=True,
    file_scoped_imports=True,
    dedent_triple_quoted=False,
    private_members_are_shared=True,
    missing_attributes_wait_for_the_run=True,
)
PRESETS: Final = {dialect.name: dialect for dialect in (KCL, KCL_0_12, KONFIG_2023)}


def dialect_of(manifest: Manifest) -> Dialect:
    """The dialect that a repository's kcl.mod asks for."""
    if manifest.expects_before_0_5:
        return KONFIG_2023
    return KCL_0_12 if manifest.expects_before_0_13 else KCL

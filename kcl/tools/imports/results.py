"""What an import makes: files, and what they do not hold to."""

from __future__ import annotations

from kcl.records import dataclass, field
from kcl.tools.imports.types import Typing


@dataclass(slots=True)
class Generated:
    """One file below the folder of the package. `path` is made of names that were checked."""

    path: tuple[str, ...]
    text: str
    notes: list[str] = field(default_factory=list)
    needs_k8s: bool = False
    needs_root: bool = False
    """Its imports begin at the folder of the package, which therefore needs a kcl.mod."""


def notes_of(where: str, typing: Typing) -> list[str]:
    """Every note in the schemas of a file, with its place."""
    found = []
    for made in typing.made:
        found += [f"{where}: {made.name}: {note}" for note in dict.fromkeys(made.notes)]
        for each in made.attributes:
            found += [f"{where}: {made.name}.{each.name}: {note}" for note in dict.fromkeys(each.notes)]
    return found

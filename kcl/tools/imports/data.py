"""Plain values: assignments that print as what they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcl.tools.imports import literals, names
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.results import Generated
from kcl.tools.imports.writer import header


def generate(documents: Sequence[Document]) -> list[Generated]:
    """A file for each file that was read, whatever number of documents it has. Raises ImportFailure."""
    files: dict[str, list[Document]] = {}
    for each in documents:
        files.setdefault(names.file_stem(each.stem), []).append(each)
    found = []
    for stem, inner in files.items():
        if len({each.name for each in inner}) > 1:
            raise ImportFailure(
                f"{inner[0].name}: makes {stem}.k, as {inner[-1].name} does: import it into another --package"
            )
        for each in inner:
            if not literals.can_be_written(each.value):
                raise ImportFailure(f"{each.name}: holds a number that KCL has no literal for (infinite, or too long)")
        found.append(Generated((f"{stem}.k",), _text([each.value for each in inner])))
    return found


def _text(values: list[Any]) -> str:
    if len(values) == 1 and isinstance(values[0], dict) and all(_is_variable(name) for name in values[0]):
        lines = [header()]
        for name, each in values[0].items():
            lines.append(f"{names.attribute(name)} = " + "\n".join(literals.lines_of(each)))
        return "\n".join(lines) + "\n"
    if len(values) == 1 and not isinstance(values[0], dict):
        return (
            f"{header()}import manifests\n\n_documents = "
            + "\n".join(literals.lines_of(values))
            + "\n\nmanifests.yaml_stream(_documents)\n"
        )
    return (
        f"{header()}import manifests\n\n_documents = "
        + "\n".join(literals.lines_of(values))
        + "\n\nmanifests.yaml_stream(_documents)\n"
    )


def _is_variable(name: str) -> bool:
    return names.is_identifier(name) and not name.startswith("_")

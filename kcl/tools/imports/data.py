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
    has_hidden = any(_has_hidden(each) for each in values)
    if len(values) == 1 and isinstance(values[0], dict) and not has_hidden and all(map(names.is_identifier, values[0])):
        lines = [header()]
        for name, each in values[0].items():
            lines.append(f"{names.attribute(name)} = " + "\n".join(literals.lines_of(each)))
        return "\n".join(lines) + "\n"
    listed = "\n".join(literals.lines_of(values))
    options = ", {ignore_private = False}" if has_hidden else ""
    return f"{header()}import manifests\n\n_documents = {listed}\n\nmanifests.yaml_stream(_documents{options})\n"


def _has_hidden(value: Any) -> bool:
    """Whether it has a name that KCL prints only when it is told to."""
    if isinstance(value, dict):
        return any(name.startswith("_") or _has_hidden(each) for name, each in value.items())
    return isinstance(value, list) and any(_has_hidden(each) for each in value)

"""What `wb new` makes, as lines and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.engine.copying import Created, lines_of
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted


def lines(created: Created, root: Path) -> Iterator[Line]:
    for path, count in created.objects.items():
        more = "" if created.copy.stacks else " more"
        yield line(Span(f"{path}: ", Tone.STRONG), f"{counted(count, 'object')}{more}, compiled")
    for file in created.copy.files:
        yield line(f"  {_name(file, root)}", Span("  is new", Tone.MUTED))
    for file in created.copy.changed:
        said = "is written again" if created.copy.stacks else "gets a component more"
        yield line(f"  {_name(file, root)}", Span(f"  {said}", Tone.MUTED))
    if renamed := [*lines_of(created.copy, root.resolve())]:
        yield line("the name was replaced here; read these lines, hosts and images may be others':")
        yield from (line(f"  {each}") for each in renamed)
    for each in created.copy.left_out:
        yield line(Span(f"  not copied: {_name(each, root)}", Tone.MUTED))
    for note in created.notes:
        yield line(Span(note, Tone.WARN))


def document(created: Created, root: Path) -> Mapping[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "New",
        "stacks": {str(path): count for path, count in created.objects.items()},
        "files": [_name(each, root) for each in created.copy.files],
        "changed": [_name(each, root) for each in created.copy.changed],
        "renamed": [*lines_of(created.copy, root.resolve())],
        "leftOut": [_name(each, root) for each in created.copy.left_out],
        "notes": [*created.notes],
    }


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root.resolve()).as_posix()

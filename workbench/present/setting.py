"""An edit that sets fields: the difference of the source, without secrets, and a document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtimes.base import format_path
from runtimes.base.secret_texts import secret_texts
from workbench.engine.impact import ImpactReport
from workbench.engine.masking import Seal, is_sensitive
from workbench.engine.scrubbing import masked_text
from workbench.engine.setting import FieldSet
from workbench.engine.whatif import WhatIf
from workbench.present import impact
from workbench.present.text import Line, Span, Tone, line

_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.MUTED}


def lines(edits: WhatIf, done: tuple[FieldSet, ...], report: ImpactReport, stack: str) -> Iterator[Line]:
    """Yields the fields with their places, then the edit as a patch."""
    for each in done:
        before, after = _shown(each, report, stack)
        by = Span(f"  set by {each.place}", Tone.MUTED)
        yield line(Span(format_path(each.path), Tone.STRONG), f": {before} -> {after}", by)
    for each_line in patch(edits, done, report).splitlines():
        yield line(Span(each_line, _TONES.get(each_line[:1], Tone.PLAIN)))
    yield line("")


def document(edits: WhatIf, done: tuple[FieldSet, ...], report: ImpactReport, stack: str) -> dict[str, Any]:
    fields = []
    for each in done:
        before, after = _shown(each, report, stack)
        path = format_path(each.path)
        fields.append({"resource": str(each.id), "path": path, "before": before, "after": after, "source": each.place})
    return {
        "apiVersion": "wb/v1",
        "kind": "Edit",
        "stack": stack,
        "fields": fields,
        "files": [_name(each, edits.root) for each in edits.files],
        "patch": patch(edits, done, report),
        "impact": impact.document(report),
    }


def patch(edits: WhatIf, done: tuple[FieldSet, ...], report: ImpactReport) -> str:
    """Returns the edit as a patch, lines that hold a secret left out."""
    specs = [each.spec for each in report.stacks]
    secrets = frozenset(text for spec in specs for text in spec.secrets)
    own = {text for each in done if _is_secret(each, report) for text in (each.before, each.after) if text}
    found = secret_texts(secrets | frozenset(map(str, own)))
    shown = []
    for each in edits.patch().splitlines(keepends=True):
        if found.hides(each):
            shown.append(f"{each[:1]}(this line has a secret in it and is not shown)\n")
        else:
            shown.append(masked_text(each, secrets))
    return "".join(shown)


def _is_secret(each: FieldSet, report: ImpactReport) -> bool:
    for stack in report.stacks:
        resource = stack.spec.get(each.id)
        if resource is not None and is_sensitive(each.path, stack.spec.hidden(resource)):
            return True
    return False


def _shown(each: FieldSet, report: ImpactReport, stack: str) -> tuple[Any, Any]:
    spec = next((one.spec for one in report.stacks if one.stack == stack), None)
    seal = Seal.random() if spec is None else Seal.random().knowing(spec.secrets, spec.rules)
    if _is_secret(each, report) or seal.hides(each.before) or seal.hides(each.after):
        return str(seal.mask(each.before)), str(seal.mask(each.after))
    return each.before, each.after


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()

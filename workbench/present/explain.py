"""Where a field comes from: the chain of KCL lines behind it, the decisive one first."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kcl.bounds import MOST_BYTES
from kcl.records import dataclass
from kcl.regular import read_regular
from runtimes.base import FieldPath, KubernetesId, Resource, ResourceId, format_path, value_at
from runtimes.base.secret_texts import secret_texts
from workbench.engine.errors import EngineError
from workbench.engine.masking import Seal, masked, sensitive_texts
from workbench.engine.secret_options import every_secret
from workbench.engine.spec import SourceSite, Spec
from workbench.present import paths
from workbench.present.plain_data import plain
from workbench.present.rows import Column, Key
from workbench.present.text import Line, Span, Tone, line
from workbench.present.yaml_lines import yaml_lines
from workbench.project import Baseline, Dimensions

_SHORTEST_SECRET = 3
"""Shorter texts are in every other line."""


def find(spec: Spec, text: str) -> Resource:
    """Finds a resource by id, or by Kind/name (type/name for Terraform) where that is unique.

    Raises `EngineError` with what there is.
    """
    names = {str(each.id): each for each in spec}
    if text in names:
        return names[text]
    found = [
        each for each in spec if _short(each.id).lower() == text.lower() and each.id.name == text.partition("/")[2]
    ]
    if len(found) == 1:
        return found[0]
    near = get_close_matches(text, [*names, *(_short(each.id) for each in spec)], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`wb compile -o table` lists the resources"
    raise EngineError(
        f"there is no resource {text!r}" if not found else f"{text!r} is not unique", where=spec.stack, hint=hint
    )


def _short(id_: ResourceId) -> str:
    return f"{id_.kind if isinstance(id_, KubernetesId) else id_.resource_type}/{id_.name}"


@dataclass(frozen=True, slots=True)
class Step:
    """One site of a chain; `text` is its source line, empty where that is not there or `is_hidden` for its secrets."""

    site: SourceSite
    text: str
    is_hidden: bool
    baseline: Baseline | None = None
    """Of which value of a dimension its file is the baseline; None for any other file."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A field. `shown` is its path as it may be shown, `value` what it is, masked; `chain` begins with what decides."""

    resource: Resource
    shown: str
    value: Any
    chain: tuple[Step, ...]


def explained(spec: Spec, resource_text: str, path_text: str, declared: Dimensions | None = None) -> Explained:
    """Raises `EngineError` where there is no such resource, or it has no such field.

    `declared` are the dimensions of the repository.
    """
    resource = find(spec, resource_text)
    path = paths.parse(path_text)
    seal = Seal.random().knowing(spec.secrets, spec.rules)
    body = masked(resource.attributes, spec.hidden(resource), seal)
    shown = seal.path(path)
    missing = object()
    value = value_at(body, shown, missing)
    said = path_text if shown is path else format_path(shown)
    if value is missing:
        raise EngineError(f"has no field {said!r}", where=str(resource.id), hint="`wb compile` shows its fields")
    return Explained(resource, said, value, tuple(_chain(spec, resource, path, declared)))


def lines(
    spec: Spec, resource_text: str, path_text: str, root: Path, declared: Dimensions | None = None
) -> Iterator[Line]:
    """Yields the value, then each site of its chain with its dimension and the source line it stands in."""
    found = explained(spec, resource_text, path_text, declared)
    yield line(Span(f"{found.shown or found.resource.id}", Tone.STRONG))
    yield from (each for _, each in rows(found, root))


COLUMNS = (Column("", grow=True),)


def rows(found: Explained, root: Path) -> Iterator[tuple[Key, Line]]:
    """Yields the lines of the value, then those of each site of its chain: ("site", number) and ("text", number)."""
    for count, each in enumerate(yaml_lines(found.value, indent=1)):
        yield ("value", count), each.text
    if not found.chain:
        yield ("site", 0), line(Span("no source line is known for this", Tone.WARN))
    for number, step in enumerate(found.chain):
        lead = "set by " if number == 0 else "through"
        kind = Span(f"  ({step.site.kind})" if step.site.kind else "", Tone.MUTED)
        origin = Span(f"  {step.baseline}" if step.baseline else "", Tone.STRONG)
        said = line(Span(f"{lead} ", Tone.MUTED), Span(step.site.relative_to(root), Tone.SOURCE), kind, origin)
        yield ("site", number), said
        if step.is_hidden:
            yield ("text", number), line(Span("        (this line has a secret in it and is not shown)", Tone.MUTED))
        elif step.text:
            yield ("text", number), line(Span(f"        {step.text}", Tone.PLAIN))


def document(
    spec: Spec, resource_text: str, path_text: str, root: Path, declared: Dimensions | None = None
) -> dict[str, Any]:
    """The same for programs."""
    found = explained(spec, resource_text, path_text, declared)
    return {
        "apiVersion": "wb/v1",
        "kind": "Explanation",
        "stack": spec.stack,
        "resource": str(found.resource.id),
        "path": found.shown,
        "value": plain(found.value),
        "chain": [
            {
                "source": each.site.relative_to(root),
                "how": each.site.kind,
                "text": each.text,
                "hidden": each.is_hidden,
                "baseline": str(each.baseline or ""),
            }
            for each in found.chain
        ],
    }


def _chain(spec: Spec, resource: Resource, path: FieldPath, declared: Dimensions | None) -> Iterator[Step]:
    hidden = {text for each in spec for text in sensitive_texts(each.attributes, spec.hidden(each))}
    shorter = frozenset(each for each in every_secret(spec) | hidden if len(each) >= _SHORTEST_SECRET)
    for site in spec.chain(resource.id, path):
        text = _source_line(site.file, site.line)
        is_hidden = _holds_secret(text, spec, shorter)
        baseline = declared.of_file(site.file) if declared else None
        yield Step(site, "" if is_hidden else text, is_hidden, baseline)


def _holds_secret(text: str, spec: Spec, shorter: frozenset[str]) -> bool:
    """Source lines may write a secret out in any form; short ones, too, as here they stand beside their name."""
    return secret_texts(spec.secrets).hides(text) or any(each in text for each in shorter)


def _source_line(file: Path, number: int) -> str:
    try:
        found = read_regular(file, MOST_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return found[number - 1].strip() if 0 < number <= len(found) else ""

"""A Spec for reading: its resources as rows, a resource as YAML with the source of every line beside it."""

from __future__ import annotations

from pathlib import Path

from runtimes.base import KubernetesId, Resource, ResourceId
from workbench.engine.compiled import CompiledStack
from workbench.engine.masking import Seal, masked, secret_names
from workbench.engine.scrubbing import masked_text
from workbench.engine.spec import Spec
from workbench.present.diff import source_text
from workbench.present.plain_data import plain
from workbench.present.rows import Column, Row, labels_of
from workbench.present.text import Line, Span, Tone, line
from workbench.present.yaml_lines import yaml_lines

RESOURCE_COLUMNS = (Column("Kind", most=24), Column("Namespace", most=24), Column("Name", grow=True))
YAML_COLUMNS = (Column("Source", most=34), Column("", grow=True))

_SEAL = Seal.random()


def resource_rows(spec: Spec) -> tuple[Row, ...]:
    """Returns a row a resource in the order of the source, keyed by id."""
    return tuple(Row(each.id, _cells(each.id), labels=labels_of(each.attributes)) for each in spec)


def _cells(id_: ResourceId) -> tuple[Line, ...]:
    match id_:
        case KubernetesId(kind=kind, namespace=namespace, name=name):
            return line(kind), line(Span(namespace, Tone.MUTED)), line(name)
        case other:
            return line(other.resource_type), line(Span(other.provider, Tone.MUTED)), line(other.name)


def yaml_rows(resource: Resource, spec: Spec, *roots: Path) -> tuple[Row, ...]:
    """Returns the resource as YAML, keyed by (path, line number); a source is named where it differs from above."""
    body = masked(resource.attributes, spec.hidden(resource), _SEAL.knowing(spec.secrets, spec.rules))
    found: list[Row] = []
    above = ""
    for number, each in enumerate(yaml_lines(body)):
        source = source_text(spec.chain(resource.id, each.path), *roots) if each.is_leaf else ""
        shown = source if source != above else ""
        above = source or above
        found.append(Row((each.path, number), (line(Span(shown, Tone.SOURCE)), each.text)))
    return tuple(found)


def masked_documents(spec: Spec) -> list[dict[str, object]]:
    """Returns the Spec's documents with secrets as masks, for a screen."""
    found = []
    for resource, document in zip(spec, spec.documents(), strict=True):
        seal = _SEAL.knowing(spec.secrets, spec.rules)
        shown = {"attributes": masked(resource.attributes, spec.hidden(resource), seal)}
        if resource.extensions:  # the settings of a provider may hold credentials
            shown["extensions"] = masked(
                resource.extensions, tuple(secret_names(resource.extensions, spec.rules)), seal
            )
        found.append({**document, **{key: plain(each) for key, each in shown.items()}})
    return found


def document(compiled: CompiledStack) -> dict[str, object]:
    """A compiled stack for programs that are not handed secrets: what it has, what is warned of, what was printed."""
    spec = compiled.spec
    return {
        "apiVersion": "wb/v1",
        "kind": "Spec",
        "stack": spec.stack,
        "resources": masked_documents(spec),
        "warnings": [masked_text(each.message, spec.secrets, spec.rules) for each in compiled.diagnostics],
        "log": masked_text(compiled.log, spec.secrets, spec.rules),
    }

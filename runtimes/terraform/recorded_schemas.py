"""Which attributes are sensitive, as far as the providers of a folder said so when they were last asked.

Asks nobody: for those who show a configuration before, or without, planning it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from runtimes.base import FieldPath, Resource, ResourceId, TerraformId
from runtimes.terraform import schema
from runtimes.terraform.folder import Folder, read_json


def recorded_sensitive(
    folder: Path, resources: Iterable[Resource]
) -> Mapping[ResourceId, tuple[FieldPath, ...] | None]:
    """Returns the sensitive paths of each Terraform resource, None for a type of which nothing is recorded."""
    recorded = read_json(Folder(folder).schemas)
    schemas = schema.Schemas({})
    if isinstance(recorded, Mapping) and isinstance(content := recorded.get("content"), Mapping):
        with suppress(schema.UnreadableSchema):  # nothing is known then, which is what is said
            schemas = schema.read(content)
    found: dict[ResourceId, tuple[FieldPath, ...] | None] = {}
    for each in resources:
        if isinstance(each.id, TerraformId):
            type_ = schemas.get(each.id.resource_type)
            found[each.id] = None if type_ is None else tuple(schema.sensitive(type_, each.attributes))
    return found

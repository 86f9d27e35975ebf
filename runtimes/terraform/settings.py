"""What the extensions of a Terraform resource say besides its provider.

resourceType           the type, where the id should not tell it
importId               take over what exists under this id; Kusion writes kusionstack.io/import-id
movedFrom              the id it had before
sensitive              paths of attributes that are secret: ["password", "users[0].token"]
lifecycle              create_before_destroy, prevent_destroy, ignore_changes, replace_triggered_by
timeouts               how long to wait: {create: 10m}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import (
    FieldPath,
    InvalidResourceId,
    Rejected,
    Resource,
    RuntimeType,
    TerraformId,
    parse_id,
)
from runtimes.terraform import expressions, names

IMPORT_IDS: Final = ("importId", "kusionstack.io/import-id")

LIFECYCLE: Final[Mapping[str, type]] = {
    "create_before_destroy": bool,
    "prevent_destroy": bool,
    "ignore_changes": list,
    "replace_triggered_by": list,
}
RESERVED: Final = {
    "count": "write each resource of its own, with an id of its own",
    "for_each": "write each resource of its own, with an id of its own",
    "depends_on": "write dependsOn beside the attributes",
    "provider": "write extensions.provider and extensions.providerMeta",
    "dynamic": "write the blocks as a list",
    "//": "Terraform would take it for a comment",
}
RUNNING: Final = ("provisioner", "connection")
"""What runs commands while Terraform applies. No diff or plan shows it, so nobody could approve it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`lifecycle` has valid keys only; `timeouts` is empty where none are set."""

    resource_type: str
    import_id: str = ""
    moved_from: TerraformId | None = None
    sensitive: tuple[FieldPath, ...] = ()
    lifecycle: Mapping[str, Any] = field(default_factory=dict)
    timeouts: Mapping[str, Any] = field(default_factory=dict)


def of(resource: Resource, id_: TerraformId) -> Settings:
    """Raises `Rejected` naming the extension or the attribute that can't be."""
    for name, hint in RESERVED.items():
        if name in resource.attributes:
            raise _refused(id_, name, f"Terraform keeps the attribute {name!r} for itself", hint)
    extensions = resource.extensions
    _refuse_running(resource, id_)
    return Settings(
        resource_type=_resource_type(extensions, id_),
        import_id=next((_text(extensions, name, id_) for name in IMPORT_IDS if extensions.get(name)), ""),
        moved_from=_moved_from(extensions, id_),
        sensitive=_sensitive(extensions, id_),
        lifecycle=_lifecycle(extensions, id_) or _lifecycle(resource.attributes, id_),
        timeouts=_mapping(extensions, "timeouts", id_),
    )


def _refuse_running(resource: Resource, id_: TerraformId) -> None:
    """Refuses commands beside the attributes, among the extensions and in either's lifecycle.

    Deeper down these names are those of data, which Terraform never runs.
    """
    for holder in (resource.attributes, resource.extensions):
        lifecycle = holder.get("lifecycle")
        for name in RUNNING:
            if name in holder:
                raise _refused(id_, name, _why_running(name), _RUN_ELSEWHERE)
            if isinstance(lifecycle, Mapping) and name in lifecycle:
                raise _refused(id_, "lifecycle", _why_running(f"lifecycle.{name}"), _RUN_ELSEWHERE)


_RUN_ELSEWHERE: Final = "take it out; run such commands yourself, or as a Kubernetes Job, where a plan shows them"


def _why_running(name: str) -> str:
    return f"{name!r} would run commands when it is applied, which no diff or plan shows"


def _resource_type(extensions: Mapping[str, Any], id_: TerraformId) -> str:
    written = _text(extensions, "resourceType", id_) or id_.resource_type
    if written != id_.resource_type:
        why = f"its id is of type {id_.resource_type}, its extensions.resourceType is {written}"
        raise _refused(id_, "resourceType", why, "write the same type in both")
    if not names.IDENTIFIER.fullmatch(written):
        raise _refused(id_, "resourceType", f"{written!r} is no type of resources", "for example aws_db_instance")
    return written


def _moved_from(extensions: Mapping[str, Any], id_: TerraformId) -> TerraformId | None:
    if not (written := _text(extensions, "movedFrom", id_)):
        return None
    try:
        former = parse_id(written, RuntimeType.TERRAFORM)
    except InvalidResourceId as error:
        raise _refused(id_, "movedFrom", str(error), "write the id that the resource had before") from error
    assert isinstance(former, TerraformId)
    if former == id_:
        raise _refused(id_, "movedFrom", "it is the id itself", "leave movedFrom out")
    return former


def _sensitive(extensions: Mapping[str, Any], id_: TerraformId) -> tuple[FieldPath, ...]:
    written = extensions.get("sensitive") or ()
    if not isinstance(written, list | tuple) or not all(isinstance(each, str) and each for each in written):
        raise _refused(id_, "sensitive", "it is not a list of attribute paths", 'for example ["password"]')
    return tuple(expressions.dotted(each) for each in written)


def _lifecycle(holder: Mapping[str, Any], id_: TerraformId) -> Mapping[str, Any]:
    written = _mapping(holder, "lifecycle", id_)
    for name, value in written.items():
        if name not in LIFECYCLE:
            why = f"lifecycle has {name!r}, which is none of {', '.join(LIFECYCLE)}"
            raise _refused(id_, "lifecycle", why, "leave it out")
        is_all = name == "ignore_changes" and value == "all"
        if not (isinstance(value, LIFECYCLE[name]) or is_all):
            wanted = "true or false" if LIFECYCLE[name] is bool else "a list of texts"
            raise _refused(id_, "lifecycle", f"lifecycle.{name} is not {wanted}", f"write {name} as {wanted}")
        if isinstance(value, list) and not all(isinstance(each, str) for each in value):
            raise _refused(id_, "lifecycle", f"lifecycle.{name} is not a list of texts", "write attribute names")
    return written


def _mapping(holder: Mapping[str, Any], name: str, id_: TerraformId) -> Mapping[str, Any]:
    value = holder.get(name) or {}
    if not isinstance(value, Mapping):
        raise _refused(id_, name, f"{name} is not a mapping", "")
    return value


def _text(extensions: Mapping[str, Any], name: str, id_: TerraformId) -> str:
    value = extensions.get(name) or ""
    if not isinstance(value, str):
        raise _refused(id_, name, f"extensions.{name} is not a text", "")
    return value


def _refused(id_: TerraformId, name: str, why: str, hint: str) -> Rejected:
    return Rejected(why, subject=str(id_), hint=hint, causes=((name, why),))

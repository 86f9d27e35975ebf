"""Server-side apply and ownership of fields.

`server_side_apply` merges an applied object into the live one; `track_update` records what any other write changed.
Both are pure: they take and give objects, never change their arguments, and take the time as text. Fields are owned by
a manager together with the operation, the version and the subresource it used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kcl.records import dataclass
from runtimes.base.documents import load_json
from runtimes.sandbox import decode, defaults, written
from runtimes.sandbox.apply import managed as managed_fields
from runtimes.sandbox.apply import reset, scale, typed
from runtimes.sandbox.apply.fieldset import FieldSet, Path, path_text
from runtimes.sandbox.apply.managed import Managed, Manager, Owned
from runtimes.sandbox.schema.registry import KindSchema

__all__ = [
    "ApplyConflict",
    "ApplyError",
    "keep_times_if_unchanged",
    "scale",
    "server_side_apply",
    "track_update",
]

Object = dict[str, Any]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_FIRST_APPLY = "before-first-apply"


class ApplyError(Exception):
    """An apply that cannot be done. code: HTTP status; reason "" for the plain 500 that Go errors become."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass(frozen=True, slots=True)
class Conflict:
    manager: Manager
    path: Path


class ApplyConflict(ApplyError):
    """Fields that other managers own with other values. `causes` are Status causes."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        self.causes: list[Object] = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.manager.text()}",
                "field": path_text(conflict.path),
            }
            for conflict in conflicts
        ]
        super().__init__(409, "Conflict", _conflict_message(conflicts))


def _conflict_message(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.manager.text()}: {path_text(only.path)}"
    by_manager: dict[Manager, list[Path]] = {}
    for conflict in conflicts:
        by_manager.setdefault(conflict.manager, []).append(conflict.path)
    lines: list[str] = []
    for manager in sorted(by_manager, key=Manager.identifier):
        lines.append(f"conflicts with {manager.text()}:")
        lines += [f"- {path_text(path)}" for path in by_manager[manager]]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def server_side_apply(
    kind: KindSchema,
    live: Object | None,
    applied: Any,
    manager: str,
    force: bool,
    now: str,
    subresource: str | None = None,
    *,
    has_status: bool = True,
) -> Object:
    """The live object with `applied` laid over it, decoded and with defaults, owners recorded.

    `live` None creates. `now` is an RFC 3339 time with seconds. Raises ApplyConflict, or ApplyError for a body that
    does not fit. Names, namespace, uid and version of the result are for the caller to check.
    """
    version = applied.get("apiVersion", "") if isinstance(applied, dict) else ""
    if not isinstance(applied, dict) or (version, applied.get("kind", "")) != (kind.api_version, kind.kind):
        raise ApplyError(400, "BadRequest", f"invalid object type: {_gvk_text(applied)}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise ApplyError(400, "BadRequest", "metadata.managedFields must be nil")
    try:
        typed.check(kind.type, applied, allow_duplicates=False)
    except typed.TypedError as error:
        raise ApplyError(500, "", f"failed to create typed patch object ({_named(kind, applied)}): {error}") from error

    live = live if live is not None else written.empty_object(kind)
    managed = managed_fields.decode((live.get("metadata") or {}).get("managedFields"))
    bare = _without_managed_fields(live)
    ignored = reset.fields(kind, subresource, has_status=has_status)
    if not managed.owners:
        everything = managed_fields.of(BEFORE_FIRST_APPLY, "Update", kind.api_version, subresource or "")
        _update(kind, written.empty_object(kind), bare, managed, everything, now, ignored)

    try:
        merged, owners = _apply(kind, bare, applied, managed, manager, force, now, subresource or "", ignored)
    except typed.TypedError as error:
        raise ApplyError(500, "", f"failed to create typed live object ({_named(kind, live)}): {error}") from error
    except ApplyConflict as conflict:
        if manager != "kubectl":
            raise
        allowed = _owned_by_last_applied(kind, bare)
        left = [it for it in conflict.conflicts if allowed is None or not allowed.has(it.path)]
        if left:
            raise ApplyConflict(left) from None
        merged, owners = _apply(kind, bare, applied, managed, manager, True, now, subresource or "", ignored)

    if manager == "kubectl" and ((merged.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED):
        merged = decode.plain(merged)
        merged["metadata"]["annotations"][LAST_APPLIED] = _last_applied_text(applied)
    else:
        merged = {**merged, "metadata": dict(merged.get("metadata") or {})}
    managed_fields.store(merged, owners)
    return merged


def _apply(
    kind: KindSchema,
    live: Object,
    applied: Object,
    before: Managed,
    manager: str,
    force: bool,
    now: str,
    subresource: str,
    ignored: FieldSet,
) -> tuple[Object, Managed]:
    managed = before.copied()
    me = managed_fields.of(manager, "Apply", kind.api_version, subresource)
    merged = typed.merge(kind.type, live, applied)
    last = managed.owners.get(me)
    managed.owners[me] = Owned(typed.field_set(kind.type, applied).without(ignored), kind.api_version, applied=True)
    pruned = _pruned(kind, merged, managed, last)
    _take_over(kind, live, pruned, managed, me, force, ignored)
    _strip(managed, me)
    if typed.same(live, pruned):
        return live, managed
    managed.times[me] = now
    return _completed(kind, pruned, applied), managed


def _completed(kind: KindSchema, merged: Object, applied: Object) -> Object:
    """Read as the server reads it, with defaults."""
    try:
        read = decode.restore(kind, merged).object
    except decode.DecodeError as error:
        problem = f"unable to convert unstructured object to {kind.gvk_text}: {error}"
        message = f"failed to convert new object ({_named(kind, applied)}) to proper version: {problem}"
        raise ApplyError(500, "", message) from error
    defaults.apply(kind, read, drop_nulls=False)
    return read


def _pruned(kind: KindSchema, merged: Object, managed: Managed, last: Owned | None) -> Object:
    """`merged` without what this manager applied last time and nobody owns any more."""
    if last is None or not last.fields:
        return merged
    type_ = kind.type
    last_fields = last.fields.with_named_fields(type_)
    pruned = typed.remove(type_, merged, last_fields)
    everyones = FieldSet()
    for owned in managed.owners.values():
        everyones = everyones.union(owned.fields)
    merged_fields = typed.field_set(type_, merged).with_named_fields(type_)
    pruned_fields = typed.field_set(type_, pruned).with_named_fields(type_) if pruned is not None else FieldSet()
    kept = pruned_fields.union(everyones.with_named_fields(type_))
    pruned = typed.remove(type_, merged, merged_fields.difference(kept))
    # What went along, but was not this manager's, comes back: fields that nobody owns.
    pruned_fields = typed.field_set(type_, pruned).with_named_fields(type_) if pruned is not None else FieldSet()
    gone = merged_fields.difference(pruned_fields).intersection(last_fields)
    result = typed.remove(type_, merged, gone)
    assert isinstance(result, dict), "an object keeps its identity"
    return result


def _take_over(
    kind: KindSchema, old: Object, new: Object, managed: Managed, me: Manager, force: bool, ignored: FieldSet
) -> typed.Comparison:
    """Take changed and removed fields from their owners but `me`; unless forced, owners of changed fields conflict."""
    whole = typed.compare(kind.type, old, new)
    comparison = whole.without(ignored)
    changed = comparison.modified.union(comparison.added)
    conflicts: dict[Manager, FieldSet] = {}
    for manager in list(managed.owners):
        if manager == me:
            continue
        owned = managed.owners[manager]
        if owned.api_version.partition("/")[0] != kind.api_version.partition("/")[0]:
            del managed.owners[manager]  # of a version that the kind does not have
            continue
        if both := owned.fields.intersection(changed):
            conflicts[manager] = both
    if conflicts and not force:
        raise ApplyConflict(
            [
                Conflict(manager, path)
                for manager in sorted(conflicts, key=Manager.identifier)
                for path in conflicts[manager]
            ]
        )
    for manager in list(managed.owners):
        if manager == me:
            if not managed.owners[me].fields:
                del managed.owners[me]
            continue
        left = managed.owners[manager].fields
        if manager in conflicts:
            left = left.difference(conflicts[manager])
        managed.set_fields(manager, left.difference(comparison.removed))
    return comparison


def _update(
    kind: KindSchema, old: Object, new: Object, managed: Managed, me: Manager, now: str, ignored: FieldSet
) -> None:
    """Record a write of `me`: what it changed is its own now, what it removed is nobody's."""
    nobody = Manager("", "", "", "")  # even the writer's own entry gives up what is removed, so none is spared
    comparison = _take_over(kind, old, new, managed, nobody, True, ignored)
    fields = comparison.modified.union(comparison.added).without(ignored).difference(reset.NEVER_OWNED)
    if fields:
        if me in managed.owners:
            fields = fields.union(managed.owners[me].fields)
        managed.owners[me] = Owned(fields, kind.api_version, applied=False)
        managed.times[me] = now
    managed_fields.gather_oldest(managed)


def _strip(managed: Managed, me: Manager) -> None:
    if me in managed.owners:
        managed.set_fields(me, managed.owners[me].fields.difference(reset.NEVER_OWNED))


def track_update(
    kind: KindSchema,
    old: Object | None,
    new: Object,
    manager: str,
    now: str,
    subresource: str | None = None,
    *,
    has_status: bool = True,
) -> Object:
    """`new` with its owners recorded, for every write but apply. `old` None: a create.

    Both are decoded objects with defaults. managedFields that `new` brings count unless it came through a subresource;
    an empty list, or one with one empty entry, clears them, and an object without owners stays without.
    """
    sent = (new.get("metadata") or {}).get("managedFields")
    held = (old.get("metadata") or {}).get("managedFields") if old is not None else None
    managed = _owners_for_update(sent, held, bool(subresource))
    result = _without_managed_fields(new)
    if managed.owners or old is None or not (old.get("metadata") or {}).get("uid"):
        before = _without_managed_fields(old) if old is not None else written.empty_object(kind)
        me = managed_fields.of(manager, "Update", kind.api_version, subresource or "")
        ignored = reset.fields(kind, subresource, has_status=has_status)
        try:
            if kind.is_custom:
                typed.check(kind.type, result, allow_duplicates=True)
            _update(kind, before, result, managed, me, now, ignored)
        except typed.TypedError:
            managed = Managed()  # what does not fit is owned by nobody; whether it may be stored is not decided here
    managed_fields.store(result, managed)
    return result


def _owners_for_update(sent: Any, held: Any, through_subresource: bool) -> Managed:
    def decoded(entries: Any) -> Managed:
        try:
            return managed_fields.decode(entries)
        except (ValueError, AttributeError):
            return Managed()

    if through_subresource:
        return decoded(held)
    if sent is not None and (not sent or (len(sent) == 1 and not any(sent[0].values()))):
        return Managed()
    theirs = decoded(sent)
    return theirs if theirs.owners else decoded(held)


def keep_times_if_unchanged(old: Object, new: Object) -> Object:
    """`new`, with the times of `old` where a write changed nothing else: a write that changes nothing is not stored."""
    before = (old.get("metadata") or {}).get("managedFields") or []
    after = (new.get("metadata") or {}).get("managedFields") or []

    def timeless(entries: list[Object]) -> list[Object]:
        return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]

    if not after or timeless(before) != timeless(after):
        return new
    with_old = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return with_old if typed.same(with_old, old) else new


def _without_managed_fields(obj: Object) -> Object:
    if "managedFields" not in (obj.get("metadata") or {}):
        return {**obj, "metadata": dict(obj["metadata"])} if isinstance(obj.get("metadata"), dict) else dict(obj)
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": meta}


def _gvk_text(applied: Any) -> str:
    """A body's kind as Go prints it: `/v2, Kind=ConfigMap`."""
    if not isinstance(applied, dict):
        return "/, Kind="
    api_version, kind = _text(applied.get("apiVersion")), _text(applied.get("kind"))
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _named(kind: KindSchema, obj: Object) -> str:
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    return f"{_text(meta.get('namespace'))}/{_text(meta.get('name'))}; {kind.gvk_text}"


def _text(value: Any) -> str:
    """A member that is to be a text, as it is read of an object of unknown form."""
    return value if isinstance(value, str) else ""


def _last_applied_text(applied: Object) -> str:
    """The applied object as kubectl's annotation keeps it, without that annotation."""
    obj: Object = decode.plain(applied)
    meta = obj.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("annotations"), dict):
        meta["annotations"].pop(LAST_APPLIED, None)
        if not meta["annotations"]:
            del meta["annotations"]
    return json.dumps(obj, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


def _owned_by_last_applied(kind: KindSchema, live: Object) -> FieldSet | None:
    """The fields that kubectl applied from the client and that still have those values; None if there is no telling."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        applied = load_json(text)
        if applied.get("apiVersion") != kind.api_version:
            return None
        typed.check(kind.type, applied, allow_duplicates=False)
    except (ValueError, AttributeError, typed.TypedError):
        return None
    comparison = typed.compare(kind.type, applied, live)
    fields = typed.field_set(kind.type, applied)
    return fields.difference(comparison.modified).difference(comparison.added).difference(comparison.removed)

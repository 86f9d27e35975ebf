"""Asking the server what an apply would make of a resource: dry runs, and what their refusals mean.

A dry run goes through defaulting, admission and validation, so its answer is what the apply would leave. It is asked
without force first, since only a refusal lists the fields that belong to others; the forced one then gives the
outcome of taking them over.

Where the fields that are applied are ours already, with the values that they have, the object itself tells that an
apply changes nothing, and no dry run is made (ownership.py): it would answer with the object that is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from kcl.records import replace
from runtimes.base import Basis, FieldConflict, FieldPath, KubernetesId, Moved, Prediction, RuntimeFailure, sensitive
from runtimes.kubernetes import fields, normalize
from runtimes.kubernetes.client import FIELD_MANAGER, Client, Object
from runtimes.kubernetes.failures import ConflictingFields, Immutable, NamespaceMissing
from runtimes.kubernetes.field_removal import managed_fields, without
from runtimes.kubernetes.ownership import is_as_applied

_ATTEMPTS = 5


def predicted(client: Client, id_: KubernetesId, content: Mapping[str, Any], observed: Object) -> Prediction | None:
    """What the object that was read tells by itself, None where the server has to be asked."""
    if not is_as_applied(content, observed, FIELD_MANAGER):
        return None
    return _unchanged(id_, content, observed, client.transport.clock.ahead)


async def predict(
    client: Client,
    id_: KubernetesId,
    content: Mapping[str, Any],
    new_namespaces: frozenset[str],
    *,
    observed: Object | None = None,
    presumed_absent: bool = False,
    dry_run: bool = False,
    taken_away: frozenset[FieldPath] = frozenset(),
) -> Prediction:
    """Raises the server's refusal where it would refuse the apply, conflicts and fixed fields excepted.

    `observed` is the object as read a moment ago, None to read it. With `presumed_absent` it is not read first.
    `dry_run` asks the server in any case. `taken_away` are leaves that others own and that go with the apply.
    """
    # in a namespace that is not there nothing is. The dry run tells where there is something: what it answers has the
    # version of what it met, and what it would make has none
    is_absent = observed is None and (
        presumed_absent or (bool(new_namespaces) and await client.namespace_of(id_) in new_namespaces)
    )
    for _ in range(_ATTEMPTS):
        is_presumed = is_absent
        live = observed or (None if is_absent else await client.get(id_))
        observed, is_absent = None, False
        if not dry_run and not taken_away and live is not None:
            if (unchanged := predicted(client, id_, content, live)) is not None:
                return unchanged
        try:
            prediction = await _against(client, id_, content, live, new_namespaces, taken_away)
        except Moved:
            continue  # made, or deleted and recreated, since it was read
        except Immutable:
            if not is_presumed:
                raise
            continue  # it is there
        if prediction is not None:
            return prediction
    raise Moved(
        "the object changed each time while its change was worked out",
        target=client.place,
        subject=str(id_),
        hint="something writes it all the time; wait until it rests, then plan again",
    )


async def _against(
    client: Client,
    id_: KubernetesId,
    content: Mapping[str, Any],
    live: Object | None,
    new_namespaces: frozenset[str],
    taken_away: frozenset[FieldPath],
) -> Prediction | None:
    """Returns None if the dry run met another state than `live`."""
    secrets = normalize.secret_values(content)
    conflicts: tuple[FieldConflict, ...] = ()
    try:
        try:
            after, warnings = await client.apply(id_, content, dry_run=True, secrets=secrets)
        except ConflictingFields as refused:
            if live is None:
                raise Moved("made by someone else meanwhile", target=client.place, subject=str(id_)) from None
            conflicts = fields.conflicts(refused.fields, live)
            after, warnings = await client.apply(id_, content, dry_run=True, force=True, secrets=secrets)
    except Immutable as refused:
        if live is None:
            raise
        return await _replacement(client, id_, content, live, refused, secrets)
    except NamespaceMissing:
        if id_.namespace not in new_namespaces:
            raise
        return _unasked(id_, content, f"namespace {id_.namespace} is not there yet: predicted from the resource alone")
    if not _met(live, after):
        if live is None:
            return None
        # its status may have been written in between, which changes nothing that a dry run looks at
        now = await client.get(id_)
        if now is None or not normalize.is_same(normalize.identity(live), now):
            return None
        live = now
    if live is not None and taken_away and managed_fields(live, taken_away, FIELD_MANAGER) is not None:
        # two dry runs do not add up: the second one gets as a whole what the first one would leave
        after, more = await client.dry_replace(id_, _unmanaged(without(live, after, taken_away)), secrets)
        warnings = tuple(dict.fromkeys((*warnings, *more)))
    return Prediction(
        id=id_,
        live=normalize.live_resource(id_, live, client.transport.clock.ahead) if live else None,
        after=normalize.body(after),
        conflicts=conflicts,
        list_keys=fields.list_keys(after) | (fields.list_keys(live) if live else {}),
        sensitive=_sensitive(content, live, after),
        unknown=normalize.decided_later(content, after) if live is None else (),
        warnings=warnings,
    )


def _unmanaged(body: Object) -> Object:
    metadata = {name: each for name, each in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}


def _unchanged(
    id_: KubernetesId, content: Mapping[str, Any], live: Object, ahead: timedelta = timedelta()
) -> Prediction:
    found = normalize.live_resource(id_, live, ahead)
    # what is applied is in the object with the same values: where nothing of that is secret, nothing of it is
    own = sensitive.sensitive_paths(content) if found.hidden else ()
    return Prediction(
        id=id_,
        live=found,
        after=found.body,
        list_keys=fields.list_keys(live),
        sensitive=tuple(dict.fromkeys((*own, *found.hidden))),
        basis=Basis.OWNERSHIP,
    )


def _met(live: Object | None, after: Object) -> bool:
    """Whether the dry run started from the object that was read: the same uid, and the same content."""
    metadata = after.get("metadata") or {}
    if live is None:
        # what a dry run creates has no version
        return not metadata.get("resourceVersion")
    return bool(
        metadata.get("uid") == live["metadata"].get("uid")
        and metadata.get("resourceVersion") == live["metadata"].get("resourceVersion")
    )


async def _replacement(
    client: Client,
    id_: KubernetesId,
    content: Mapping[str, Any],
    live: Object,
    refused: Immutable,
    secrets: tuple[str, ...],
) -> Prediction:
    """Predicts the object recreated: dry-run under another name, as its own is still taken."""
    stand_in = f"{id_.name[:40].rstrip('-.')}-replacement"
    metadata = {**(content.get("metadata") or {}), "name": stand_in}
    warnings: tuple[str, ...] = ()
    try:
        made, warnings = await client.apply(
            replace(id_, name=stand_in), {**content, "metadata": metadata}, dry_run=True, secrets=secrets
        )
        after = normalize.body(made)
        after["metadata"] = {**after["metadata"], "name": id_.name}
        unknown = normalize.decided_later(content, made)
        keys = fields.list_keys(made)
    except RuntimeFailure as failure:
        after, unknown, keys = dict(content), (), {}
        warnings = (f"the new object is predicted from the resource alone: {failure.message}",)
    return Prediction(
        id=id_,
        live=normalize.live_resource(id_, live, client.transport.clock.ahead),
        after=after,
        replaces=tuple(dict.fromkeys(_path(field) for field, _ in refused.causes)),
        list_keys=keys | fields.list_keys(live),
        sensitive=_sensitive(content, live, after),
        unknown=unknown,
        warnings=warnings,
    )


def _unasked(id_: KubernetesId, content: Mapping[str, Any], warning: str) -> Prediction:
    return Prediction(
        id=id_,
        live=None,
        after=normalize.body(content),
        sensitive=sensitive.sensitive_paths(content),
        warnings=(warning,),
        basis=Basis.RESOURCE,
    )


def _path(field: str) -> FieldPath:
    """Reads the field of a validation cause, such as `spec.template.spec.containers[0].image`."""
    return tuple(int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field))


def _sensitive(*states: Any) -> tuple[FieldPath, ...]:
    return tuple(dict.fromkeys(path for state in states if state for path in sensitive.sensitive_paths(state)))

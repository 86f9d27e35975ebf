"""Whether what a cluster answered to a write is what was approved. Pure.

A plan is made by a dry run, and webhooks may let those pass, be changed since, or answer each time in another way. A
write then succeeds and leaves something else; and where a webhook puts everything back, or a proxy answers in place of
the cluster, it wrote nothing at all. Neither is what was approved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcl.secrecy.rules import MASK
from runtimes.base import Basis, Body, FieldPath, Resource, is_unknown
from workbench.engine.changes import Change, ChangeClass, FieldChange, Op
from workbench.engine.fields import MISSING, find
from workbench.engine.masking import Masked
from workbench.engine.overruled import is_same

_MASKED = MASK.rstrip("»")


def not_as_approved(change: Change, resource: Resource, live: Body) -> Iterator[FieldPath]:
    """Yields the fields that a plan showed to be written, and that the cluster has otherwise now.

    Only what a dry run predicted is compared, as only that is in the form of the server; and only what is configured,
    or goes: what else a webhook adds may be another thing each time.
    """
    if change.basis is not Basis.DRY_RUN:
        return
    for each in change.fields:
        if each.class_ is ChangeClass.DEFAULTED or each.op is Op.KEPT or each.is_unknown or _is_hidden(each.path):
            continue
        found = find(live, each.path)
        if each.op is Op.REMOVE:
            if found is not MISSING:
                yield each.path
        elif _is_configured(each, resource) and not _is_taken(each, resource, found):
            yield each.path


def _is_configured(change: FieldChange, resource: Resource) -> bool:
    return change.class_ is ChangeClass.INTENDED or find(resource.attributes, change.path) is not MISSING


def _is_taken(change: FieldChange, resource: Resource, found: object) -> bool:
    """What is masked is compared with what is configured, where that is its form.

    Another order of elements that have keys is told by these keys, and not by the elements: it is not compared.
    """
    if isinstance(found, list) and any(isinstance(each, Mapping) for each in found):
        if isinstance(change.after, list) and all(isinstance(each, str) for each in change.after):
            return True
    is_shown = not (change.is_masked or _is_hidden(change.after))
    wanted = change.after if is_shown else find(resource.attributes, change.path)
    return wanted is MISSING or is_unknown(wanted) or (found is not MISSING and is_same(wanted, found))


def _is_hidden(shown: Any) -> bool:
    """Whether something is shown otherwise than it is, in part at least."""
    match shown:
        case Mapping():
            return any(_is_hidden(key) or _is_hidden(value) for key, value in shown.items())
        case list() | tuple():
            return any(map(_is_hidden, shown))
        case Masked():
            return True
        case _:
            return _MASKED in str(shown)

"""Fields that rules of the repository leave to others: what is sent instead of what is configured.

A difference that is only not shown comes back with the next apply. So what is compared is what would be sent, and

- where another field manager owns the field, it is not sent: it stays as that manager has it, and may change it;
- where we alone own it, or a part of what is below it, it is sent with the value that is live: what has no other owner
  is taken away once we no longer send it;
- where the live object has no such field, it is not sent, and stays absent;
- an object that is not there yet is made as it is configured.

Argo CD knows both halves as `ignoreDifferences` and `RespectIgnoreDifferences`
(https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcl.records import dataclass, replace
from runtimes.base import FieldPath, LiveResource, Resource, format_path
from workbench.engine.fields import MISSING, find, position
from workbench.engine.values import put
from workbench.project.ignores import IgnoreRule

FIELD_MANAGER: Final = "workbench"


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent of a resource: all but the fields at `paths`, or these as they are. `notes` say which differ."""

    resource: Resource
    paths: tuple[FieldPath, ...] = ()
    notes: tuple[str, ...] = ()

    def leaves(self, path: FieldPath) -> bool:
        """Whether a field is left to others, or holds one that is, or is a part of one."""
        return any(each[: len(path)] == path or path[: len(each)] == each for each in self.paths)


def left_to_others(resource: Resource, live: LiveResource, rules: Iterable[IgnoreRule]) -> Sent:
    """Returns what is sent of a resource whose live object is there."""
    body: Any = resource.attributes
    paths: list[FieldPath] = []
    said: list[str] = []
    for rule in rules:
        configured = find(body, rule.path)
        if configured is MISSING or not rule.matches(resource.id):
            continue
        below = [each for each in live.owners if each.path[: len(rule.path)] == rule.path]
        owners = {each.manager for each in below}
        if rule.manager and rule.manager not in owners:
            continue
        there = find(live.body, rule.path)
        others = {each.path for each in below if each.manager != FIELD_MANAGER}
        is_ours = any(each.manager == FIELD_MANAGER and each.path not in others for each in below)
        if there is MISSING or (others and not is_ours):
            body = _without(body, rule.path)
        else:
            body = put(body, rule.path, there)
        paths.append(rule.path)
        if there is MISSING or configured != there:
            said.append(_said(rule, owners))
    sent = resource if body is resource.attributes else replace(resource, attributes=body)
    return Sent(sent, tuple(paths), tuple(said))


def _said(rule: IgnoreRule, owners: set[str]) -> str:
    others = sorted(owners - {FIELD_MANAGER})
    whose = f", set by {', '.join(others)}" if others else ""
    return f"{format_path(rule.path)} stays as it is live{whose}, not as configured: {rule.reason} ({rule.where})"


def _without(body: Any, path: FieldPath) -> Any:
    """Returns a body without the field at a path that is there. What holds it stays, be it empty."""
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        assert isinstance(body, Mapping), "the path is there"
        kept = {key: each for key, each in body.items() if key != step}
        return {**kept, step: _without(body[step], rest)} if rest else kept
    index = position(body, step)
    assert index is not None, "the path is there"
    inner = [_without(body[index], rest)] if rest else []
    return [*body[:index], *inner, *body[index + 1 :]]

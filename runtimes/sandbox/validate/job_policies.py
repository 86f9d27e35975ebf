"""Rules for what ends a Job: its failure policy, its success policy, and the limits of its indexes."""

from __future__ import annotations

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_MOST_INDEXES = 100_000


def limits(causes: Causes, spec: Object, path: str) -> None:
    """Limits that only a Job with indexes can have."""
    indexed, completions = spec.get("completionMode") == "Indexed", spec.get("completions")
    per_index, failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if indexed and spec.get("parallelism", 0) > _MOST_INDEXES:
        text = f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
        causes.invalid(f"{path}.parallelism", spec["parallelism"], text)
    if per_index is not None and not indexed:
        causes.invalid(f"{path}.backoffLimitPerIndex", per_index, "requires indexed completion mode")
    if failed is not None:
        if per_index is None:
            causes.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
        if completions is not None and failed > completions:
            causes.invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")


def failure_policy(causes: Causes, spec: Object, path: str) -> None:
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    template = (spec.get("template") or {}).get("spec") or {}
    containers = [*(template.get("containers") or ()), *(template.get("initContainers") or ())]
    named = {each.get("name") for each in containers}
    for index, rule in enumerate(policy.get("rules") or []):
        here = f"{path}.podFailurePolicy.rules[{index}]"
        _failure_rule(causes, rule, spec, named, here)


def _failure_rule(causes: Causes, rule: Object, spec: Object, named: set[str | None], path: str) -> None:
    action, codes, conditions = rule.get("action") or "", rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if not action:
        causes.required(f"{path}.action", 'valid values: "Count", "FailIndex", "FailJob", "Ignore"')
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        causes.invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in ("Count", "FailIndex", "FailJob", "Ignore"):
        causes.not_supported(f"{path}.action", action, ("Count", "FailIndex", "FailJob", "Ignore"))
    if codes is not None:
        _exit_codes(causes, codes, named, f"{path}.onExitCodes")
    for index, condition in enumerate(conditions):
        here, kind = f"{path}.onPodConditions[{index}]", condition.get("type", "")
        causes.invalid_each(f"{here}.type", kind, names.qualified(kind))
        if condition.get("status") not in ("False", "True", "Unknown"):
            causes.not_supported(f"{here}.status", condition.get("status", ""), ("False", "True", "Unknown"))
    if codes is not None and conditions:
        causes.invalid_whole(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    elif codes is None and not conditions:
        causes.invalid_whole(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(causes: Causes, codes: Object, named: set[str | None], path: str) -> None:
    operator, values, container = codes.get("operator") or "", codes.get("values") or [], codes.get("containerName")
    if not operator:
        causes.required(f"{path}.operator", 'valid values: "In", "NotIn"')
    elif operator not in ("In", "NotIn"):
        causes.not_supported(f"{path}.operator", operator, ("In", "NotIn"))
    if container is not None and container not in named:
        text = "must be one of the container or initContainer names in the pod template"
        causes.invalid(f"{path}.containerName", container, text)
    if not values:
        causes.invalid(f"{path}.values", values, "at least one value is required")
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            causes.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            causes.duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        causes.invalid(f"{path}.values", values, "must be ordered")


def success_policy(causes: Causes, spec: Object, path: str) -> None:
    policy, here = spec.get("successPolicy"), f"{path}.successPolicy"
    if policy is None:
        return
    rules = policy.get("rules") or []
    if spec.get("completionMode") != "Indexed":
        causes.invalid(here, {"Rules": [_go_rule(each) for each in rules]}, "requires indexed completion mode")
        return
    if not rules:
        causes.required(f"{here}.rules", "at least one rules must be specified when the successPolicy is specified")
    for index, rule in enumerate(rules):
        _success_rule(causes, rule, spec.get("completions") or 0, f"{here}.rules[{index}]")


def _go_rule(rule: Object) -> Object:
    return {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}


def _success_rule(causes: Causes, rule: Object, completions: int, path: str) -> None:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and text is None:
        causes.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total: int | None = None
    if text is not None:
        try:
            total = count_indexes(text, completions)
        except ValueError as error:
            causes.invalid(f"{path}.succeededIndexes", text, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    causes.nonnegative(f"{path}.succeededCount", count)
    if count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        causes.invalid(f"{path}.succeededCount", count, why)
    elif total is not None and count > total:
        why = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        causes.invalid(f"{path}.succeededCount", count, why)


def count_indexes(text: str, completions: int) -> int:
    """How many indexes `1,3-5` names. Raises ValueError with what is wrong, in the server's words."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        ends = [_index(each, completions) for each in part.split("-", 1)]
        if len(ends) == 2 and ends[0] >= ends[1]:
            raise ValueError(f"non-increasing order, previous: {ends[0]}, current: {ends[1]}")
        if last >= ends[0]:
            raise ValueError(f"non-increasing order, previous: {last}, current: {ends[0]}")
        last = ends[-1]
        total += ends[-1] - ends[0] + 1
    return total


def _index(text: str, completions: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f'cannot convert string to integer for index: "{text}"') from None
    if value >= completions:
        raise ValueError(f'too large index: "{text}"')
    return value


def replacement(causes: Causes, spec: Object, path: str) -> None:
    how = spec.get("podReplacementPolicy")
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if how is not None and how not in supported:
        causes.not_supported(f"{path}.podReplacementPolicy", how, supported)

"""The rule that somebody gave a resource, instead of the one of its kind."""

from __future__ import annotations

from typing import Any, assert_never

from runtimes.base import ReadyByCondition, ReadyByField, ReadyRule, ReadyWhenThere, format_path, referred
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress, unobserved
from runtimes.kubernetes.objects import Object, condition, is_observed, is_true, metadata, status


def assess(live: Object, rule: ReadyRule) -> Verdict:
    match rule:
        case ReadyWhenThere(said_in=place):
            return current(f"it exists ({place} asks for no more)", "Exists", is_qualified=True)
        case _ if "observedGeneration" in status(live) and not is_observed(live):
            return unobserved(live)
        case ReadyByCondition():
            return _by_condition(live, rule)
        case ReadyByField():
            return _by_field(live, rule)
        case _:
            assert_never(rule)


def _by_condition(live: Object, rule: ReadyByCondition) -> Verdict:
    for type_ in rule.failed:
        if is_true(bad := condition(live, type_)):
            return failed(
                str(bad.get("message") or type_), reason=str(bad.get("reason") or type_), evidence=condition_text(bad)
            )
    good = condition(live, rule.condition)
    if not good:
        return in_progress(f"has no condition {rule.condition}, which {rule.said_in} waits for", reason="NoCondition")
    seen, generation = good.get("observedGeneration"), metadata(live).get("generation")
    if isinstance(seen, int) and isinstance(generation, int) and seen < generation:
        return in_progress(
            f"{rule.condition} speaks of generation {seen}, not {generation}",
            reason="NotObserved",
            evidence=condition_text(good),
        )
    if is_true(good):
        return current(str(good.get("message") or rule.condition), str(good.get("reason") or ""))
    message = str(good.get("message") or f"{rule.condition} is not True")
    return in_progress(message, reason=str(good.get("reason") or ""), evidence=condition_text(good))


def _by_field(live: Object, rule: ReadyByField) -> Verdict:
    name = format_path(rule.field)
    value = _value(live, rule)
    if any(_is(value, each) for each in rule.failed):
        return failed(f"{name} is {_shown(value, rule)}", reason="FieldFailed")
    is_ready = any(_is(value, each) for each in rule.values) if rule.values else value not in (None, "", [], {})
    if is_ready:
        return current(f"{name} is {_shown(value, rule)}")
    wanted = f" to be {' or '.join(map(str, rule.values))}" if rule.values else ""
    now = f"is {_shown(value, rule)}" if value not in (None, "", [], {}) else "is not set"
    return in_progress(f"{name} {now}; {rule.said_in} waits for it{wanted}", reason="FieldNotReady")


def _value(live: Object, rule: ReadyByField) -> Any:
    try:
        return referred(live, rule.field)
    except KeyError:
        return None


def _is(value: Any, wanted: object) -> bool:
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _shown(value: Any, rule: ReadyByField) -> str:
    """What lies outside of the status may be secret, and what has parts is long."""
    if rule.field[:1] != ("status",) or isinstance(value, dict | list):
        return "set"
    return str(value)

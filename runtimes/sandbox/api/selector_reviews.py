"""Selectors of access reviews: which are refused, and which are left out of account because they cannot be read."""

from __future__ import annotations

from runtimes.sandbox.errors import ApiError, JsonObject
from runtimes.sandbox.selectors import check_field_syntax, parse_labels
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.meta import selector_requirement

_FIELDS = ("fieldSelector", "labelSelector")
_NEEDS_VALUES, _NEEDS_NONE = ("In", "NotIn"), ("Exists", "DoesNotExist")


def check(causes: Causes, wanted: JsonObject) -> None:
    """What is wrong with the selectors of `resourceAttributes`."""
    for field in _FIELDS:
        selector = wanted.get(field)
        if selector is None:
            continue
        here = f"spec.resourceAttributes.{field}"
        raw, listed = selector.get("rawSelector"), selector.get("requirements")
        if raw and listed:
            causes.invalid(f"{here}.rawSelector", raw, "may not specified at the same time as requirements")
        elif not raw and not listed:
            causes.required(
                f"{here}.requirements", f"when {here} is specified, requirements or rawSelector is required"
            )
        for index, requirement in enumerate(listed or []):
            at = f"{here}.requirements[{index}]"
            if field == "labelSelector":
                selector_requirement(causes, at, requirement, knows_others=True)
            else:
                _check_field(causes, at, requirement)


def _check_field(causes: Causes, path: str, requirement: JsonObject) -> None:
    operator, values = requirement.get("operator"), requirement.get("values")
    if not requirement.get("key"):
        causes.required(f"{path}.key", "must be specified")
    if operator in _NEEDS_VALUES and not values:
        causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _NEEDS_NONE and values:
        causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def unread(wanted: JsonObject) -> str:
    """What an answer says of selectors that were not understood, wholly or in part; "" if all were."""
    found = []
    for field in _FIELDS:
        selector = wanted.get(field)
        if selector is None:
            continue
        read = _raw_is_read(field, selector["rawSelector"]) if selector.get("rawSelector") else None
        each = [_is_read(field, one) for one in selector.get("requirements") or []] if read is None else [read]
        if not all(each):
            how = "partially ignored" if any(each) else "ignored"
            found.append(f"spec.resourceAttributes.{field} {how} due to parse error")
    return "; ".join(found)


def _raw_is_read(field: str, text: str) -> bool:
    try:
        if field == "labelSelector":
            parse_labels(text)
        else:
            check_field_syntax(text)
    except ApiError:
        return False
    return True


def _is_read(field: str, requirement: JsonObject) -> bool:
    operator = requirement.get("operator")
    if field == "labelSelector":
        return operator in (*_NEEDS_VALUES, *_NEEDS_NONE)
    # a field is compared with one value
    return operator in _NEEDS_VALUES and len(requirement.get("values") or ()) == 1

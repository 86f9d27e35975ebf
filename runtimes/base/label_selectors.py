"""Whether labels match a selector: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def matches(selector: Any, labels: Mapping[str, Any] | None) -> bool:
    """An empty selector matches everything, None nothing; an unknown operator matches nothing."""
    if not isinstance(selector, Mapping):
        return False
    labels, exact = labels or {}, selector.get("matchLabels")
    if isinstance(exact, Mapping) and any(labels.get(name) != value for name, value in exact.items()):
        return False
    expressions = selector.get("matchExpressions")
    return all(
        _is_met(each, labels)
        for each in (expressions if isinstance(expressions, list) else ())
        if isinstance(each, Mapping)
    )


def _is_met(requirement: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, values = str(requirement.get("key")), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False

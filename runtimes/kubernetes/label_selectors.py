"""Whether labels fit a selector: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtimes.kubernetes.objects import mapping, mappings


def matches(selector: Any, labels: Mapping[str, Any]) -> bool:
    """An empty selector fits everything, none at all fits nothing; so does an operator that is not known."""
    if not isinstance(selector, Mapping):
        return False
    wanted = mapping(selector.get("matchLabels"))
    return all(labels.get(name) == text for name, text in wanted.items()) and all(
        _fits(each, labels) for each in mappings(selector.get("matchExpressions"))
    )


def _fits(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    name, values = str(expression.get("key")), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(name) in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
    return False

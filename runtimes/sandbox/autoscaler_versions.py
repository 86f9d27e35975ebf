"""Autoscalers between autoscaling/v1 and v2: what v1 has no fields for is in annotations, in v1's older words.

A metric of v1 names its target flat (`targetAverageValue`), one of v2 in an object. The behaviour is written with the
names that the server's own code has for its fields (`ScaleUp`), all of them, which is a mistake that clients rely on.
"""

from __future__ import annotations

from typing import Any, Final

Object = dict[str, Any]

_KINDS: Final = ("object", "pods", "resource", "containerResource", "external")
_RULES: Final = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")


def metric_to_v1(metric: Object, value: str) -> Object:
    """`value` is "target" for a metric that is wanted and "current" for one that was seen."""
    kind = next((each for each in _KINDS if metric.get(each) is not None), None)
    if kind is None:
        return {"type": metric.get("type")}
    source = metric[kind]
    amounts, about = source.get(value) or {}, source.get("metric") or {}
    flat: Object = {}
    match kind:
        case "object":
            described = source.get("describedObject") or {}
            flat["target"] = {name: described[name] for name in ("kind", "name", "apiVersion") if described.get(name)}
            flat["metricName"] = about.get("name", "")
            flat[f"{value}Value"] = amounts.get("value", "0")
            flat["selector"], flat["averageValue"] = about.get("selector"), amounts.get("averageValue")
        case "pods":
            flat["metricName"] = about.get("name", "")
            flat[f"{value}AverageValue"] = amounts.get("averageValue", "0")
            flat["selector"] = about.get("selector")
        case "external":
            flat["metricName"], flat["metricSelector"] = about.get("name", ""), about.get("selector")
            flat[f"{value}Value"] = amounts.get("value", "0" if value == "current" else None)
            flat[f"{value}AverageValue"] = amounts.get("averageValue")
        case _:
            flat["name"] = source.get("name", "")
            flat[f"{value}AverageUtilization"] = amounts.get("averageUtilization")
            flat[f"{value}AverageValue"] = amounts.get("averageValue", "0" if value == "current" else None)
            flat["container"] = source.get("container")
    return {"type": metric.get("type"), kind: {name: each for name, each in flat.items() if each is not None}}


def metrics_to_v2(metrics: Any, value: str) -> Any:
    """Metrics as someone wrote them in an annotation. What is none stays as it is, for the reader of v2 to refuse."""
    if not isinstance(metrics, list):
        return metrics
    return [_metric_to_v2(each, value) if isinstance(each, dict) else each for each in metrics]


def _metric_to_v2(metric: Object, value: str) -> Object:
    kind = next((each for each in _KINDS if isinstance(metric.get(each), dict)), None)
    if kind is None:
        return metric
    flat: Object = metric[kind]
    amounts = {
        "value": flat.get(f"{value}Value"),
        "averageValue": flat.get("averageValue") if kind == "object" else flat.get(f"{value}AverageValue"),
        "averageUtilization": flat.get(f"{value}AverageUtilization"),
    }
    if kind == "object" and amounts["averageValue"] is not None:
        amounts["value"] = None
    given: Object = {name: each for name, each in amounts.items() if each is not None}
    if value == "target":
        known = {"averageUtilization": "Utilization", "value": "Value", "averageValue": "AverageValue"}
        given = {"type": next((what for name, what in known.items() if name in given), ""), **given}
    source: Object = {}
    if kind in ("object", "pods", "external"):
        selector = flat.get("metricSelector" if kind == "external" else "selector")
        source["metric"] = {"name": flat.get("metricName", ""), **({} if selector is None else {"selector": selector})}
    else:
        source["name"] = flat.get("name", "")
    if kind == "object":
        source["describedObject"] = {} if flat.get("target") is None else flat["target"]
    if kind == "containerResource":
        source["container"] = flat.get("container", "")
    return {"type": metric.get("type"), kind: {**source, value: given}}


def behavior_to_v1(behavior: Object) -> Object:
    return {_capital(way): _rules_to_v1(behavior.get(way)) for way in ("scaleUp", "scaleDown")}


def _rules_to_v1(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    written: Object = {_capital(name): rules.get(name) for name in _RULES}
    if rules.get("policies") is not None:
        names = ("type", "value", "periodSeconds")
        written["Policies"] = [{_capital(name): each.get(name) for name in names} for each in rules["policies"]]
    return written


def behavior_to_v2(value: Any) -> Any:
    """In the names of fields, wherever they were written otherwise; without those that have no value."""
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: behavior_to_v2(each) for name, each in value.items() if each is not None}
    return [behavior_to_v2(each) for each in value] if isinstance(value, list) else value


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]

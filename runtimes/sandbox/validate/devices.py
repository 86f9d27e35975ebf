"""Claims of devices and classes of them: what may be asked for, and that it stays."""

from __future__ import annotations

import json
from typing import Any, Final

from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.causes import Causes, Object

_MODES: Final = ("All", "ExactCount")


def resource_claim(causes: Causes, obj: Object) -> None:
    _claimed(causes, (obj.get("spec") or {}).get("devices") or {}, "spec.devices")


def claim_status(causes: Causes, obj: Object) -> None:
    """Nothing can be said of devices that nobody was given."""
    status = obj.get("status") or {}
    if status.get("allocation") is not None:
        return
    if status.get("reservedFor"):
        causes.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    for index in range(len(status.get("devices") or [])):
        device: dict[str, Any] = {"Driver": {}, "Pool": {}, "Device": {}, "ShareID": {}}
        causes.invalid(f"status.devices[{index}]", device, "must be an allocated device in the claim")


def claim_template(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    metadata = spec.get("metadata") or {}
    meta.labels(causes, "spec.metadata.labels", metadata.get("labels"))
    for name in ("name", "generateName", "namespace"):
        if metadata.get(name):
            causes.forbidden(f"spec.metadata.{name}", "cannot be set")
    _claimed(causes, (spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")


def same_spec(causes: Causes, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if after != before:
        causes.invalid("spec", _inner(after), "field is immutable")


def _inner(value: Any) -> Any:
    """The spec as the server's own struct shows it, as far as lists of devices go."""
    if "spec" in value:
        return {"Spec": _inner(value["spec"] or {})}
    devices = value.get("devices") or {}
    return {"Devices": {name.capitalize(): devices.get(name) for name in ("requests", "constraints", "config")}}


def device_class(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    _selectors(causes, spec.get("selectors") or [], "spec.selectors")
    for index, config in enumerate(spec.get("config") or []):
        _opaque(causes, config, f"spec.config[{index}]")


def _claimed(causes: Causes, devices: Object, path: str) -> None:
    requests = devices.get("requests") or []
    known: set[str] = set()
    for index, request in enumerate(requests):
        _request(causes, request, f"{path}.requests[{index}]")
        name = request.get("name") or ""
        if name in known:
            causes.duplicate(f"{path}.requests[{index}].name", name)
        known.add(name)
    of_parts = {
        f"{request.get('name')}/{part.get('name')}"
        for request in requests
        for part in request.get("firstAvailable") or []
    }
    for index, constraint in enumerate(devices.get("constraints") or []):
        at = f"{path}.constraints[{index}]"
        _named(causes, constraint, known | of_parts, at)
        if constraint.get("distinctAttribute") is None:
            _attribute(causes, constraint.get("matchAttribute") or "", f"{at}.matchAttribute")
    for index, config in enumerate(devices.get("config") or []):
        _named(causes, config, known | of_parts, f"{path}.config[{index}]")
        _opaque(causes, config, f"{path}.config[{index}]")


def _named(causes: Causes, user: Object, known: set[str], path: str) -> None:
    text = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    for index, name in enumerate(user.get("requests") or []):
        if name not in known:
            causes.invalid(f"{path}.requests[{index}]", name, text)


def _attribute(causes: Causes, name: str, path: str) -> None:
    if not name:
        causes.required(path)
    elif "/" not in name:
        causes.invalid(path, name, "must include a domain")


def _request(causes: Causes, request: Object, path: str) -> None:
    name = request.get("name") or ""
    causes.invalid_each(f"{path}.name", name, names.label(name))
    exactly, parts = request.get("exactly"), request.get("firstAvailable") or []
    rule = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not parts:
        causes.required(path, rule)
    elif exactly is not None and parts:
        causes.invalid(path, None, f"{rule}, but multiple fields are set")
    elif exactly is not None:
        _wanted(causes, exactly, f"{path}.exactly")
    known: set[str] = set()
    for index, part in enumerate(parts if exactly is None else ()):
        at, name = f"{path}.firstAvailable[{index}]", part.get("name") or ""
        causes.invalid_each(f"{at}.name", name, names.label(name))
        _wanted(causes, part, at)
        if name in known:
            causes.duplicate(f"{at}.name", name)
        known.add(name)


def _wanted(causes: Causes, wanted: Object, path: str) -> None:
    class_name = wanted.get("deviceClassName") or ""
    if not class_name:
        causes.required(f"{path}.deviceClassName")
    else:
        causes.invalid_each(f"{path}.deviceClassName", class_name, names.subdomain(class_name))
    _selectors(causes, wanted.get("selectors") or [], f"{path}.selectors")
    mode, count = wanted.get("allocationMode") or "", wanted.get("count") or 0
    if mode == "All" and count:
        causes.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        causes.invalid(f"{path}.count", count, "must be greater than zero")
    elif mode not in _MODES:
        causes.not_supported(f"{path}.allocationMode", mode, _MODES)
    for index, toleration in enumerate(wanted.get("tolerations") or []):
        operator = toleration.get("operator") or ""
        if operator not in ("Equal", "Exists"):
            causes.not_supported(f"{path}.tolerations[{index}].operator", operator, ("Equal", "Exists"))


def _selectors(causes: Causes, selectors: list[Object], path: str) -> None:
    for index, selector in enumerate(selectors):
        if selector.get("cel") is None:
            causes.required(f"{path}[{index}].cel")


def _opaque(causes: Causes, config: Object, path: str) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        causes.required(f"{path}.opaque")
        return
    driver = opaque.get("driver") or ""
    if not driver:
        causes.required(f"{path}.opaque.driver")
    causes.invalid_each(f"{path}.opaque.driver", driver, names.subdomain(driver))
    parameters = opaque.get("parameters")
    if parameters is None:
        causes.required(f"{path}.opaque.parameters")
    elif not isinstance(parameters, dict):
        causes.invalid(f"{path}.opaque.parameters", json.dumps(parameters), "must be a JSON object")

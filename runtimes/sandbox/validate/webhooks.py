"""Rules for the configurations of admission webhooks."""

from __future__ import annotations

from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.admission_policies import match_conditions
from runtimes.sandbox.validate.admission_rules import rule_with_operations
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.webhook_clients import client_config

_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_VERSIONS = ("v1", "v1beta1")
_CHOICES = (("failurePolicy", ("Fail", "Ignore")), ("matchPolicy", ("Equivalent", "Exact")))


def configuration(causes: Causes, obj: Object) -> None:
    seen: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or []):
        here, name = f"webhooks[{index}]", hook.get("name") or ""
        _webhook(causes, hook, here)
        _review_versions(causes, hook.get("admissionReviewVersions") or [], f"{here}.admissionReviewVersions")
        if name and name in seen:
            causes.duplicate(f"{here}.name", name)
        seen.add(name)


def _webhook(causes: Causes, hook: Object, path: str) -> None:
    _full_name(causes, hook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or []):
        rule_with_operations(causes, rule, f"{path}.rules[{index}]")
    for field, supported in _CHOICES:
        if hook.get(field) is not None and hook[field] not in supported:
            causes.not_supported(f"{path}.{field}", hook[field], supported)
    effects = hook.get("sideEffects")
    if effects is None:
        causes.required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        causes.not_supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        causes.invalid(f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for field in ("namespaceSelector", "objectSelector"):
        meta.label_selector(causes, f"{path}.{field}", hook.get(field))
    if hook.get("reinvocationPolicy") not in (None, "IfNeeded", "Never"):
        causes.not_supported(f"{path}.reinvocationPolicy", hook["reinvocationPolicy"], ("IfNeeded", "Never"))
    client_config(causes, hook.get("clientConfig") or {}, f"{path}.clientConfig")
    match_conditions(causes, hook.get("matchConditions") or [], f"{path}.matchConditions")


def _full_name(causes: Causes, name: str, path: str) -> None:
    if not name:
        causes.required(path)
        return
    wrong = names.subdomain(name)
    if wrong:
        causes.invalid_each(path, name, wrong)
    elif len(name.split(".")) < 3:
        causes.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _review_versions(causes: Causes, versions: list[str], path: str) -> None:
    if not versions:
        causes.required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            causes.invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        causes.invalid_each(f"{path}[{index}]", version, names.label_1035(version))
    if not set(versions) & set(_VERSIONS):
        causes.invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")

"""Rules for the configurations of admission webhooks."""

from __future__ import annotations

import urllib.parse

from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.admission_policies import match_conditions
from runtimes.sandbox.validate.admission_rules import rule_with_operations
from runtimes.sandbox.validate.causes import Causes, Object

_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_VERSIONS = ("v1", "v1beta1")
_CHOICES = (("failurePolicy", ("Fail", "Ignore")), ("matchPolicy", ("Equivalent", "Exact")))
_FORM = "; desired format: https://host[/path]"


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
    _client(causes, hook.get("clientConfig") or {}, f"{path}.clientConfig")
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


def _client(causes: Causes, client: Object, path: str) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        causes.required(path, "exactly one of url or service is required")
    elif url is not None:
        _url(causes, url, f"{path}.url")
    elif service is not None:
        _service(causes, service, f"{path}.service")


def _url(causes: Causes, url: str, path: str) -> None:
    parts = urllib.parse.urlsplit(url)
    host, user = parts.netloc.rpartition("@")[2], parts.netloc.rpartition("@")[0]
    if parts.scheme != "https":
        causes.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        causes.invalid(path, host, f"host must be specified{_FORM}")
    if user:
        causes.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        causes.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        causes.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(causes: Causes, service: Object, path: str) -> None:
    for field in ("name", "namespace"):
        # the server itself takes one for the other
        if not service.get("namespace" if field == "name" else "name"):
            causes.required(f"{path}.{field}")
    port = service.get("port", 443)
    wrong = names.port_number(port)
    if wrong:
        causes.invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}")
    target = service.get("path")
    if not target or target == "/":
        return
    if target == "//":
        causes.invalid(f"{path}.path", target, "segment[0] may not be empty")
        return
    if not target.startswith("/"):
        causes.invalid(f"{path}.path", target, "must start with a '/'")
    for index, step in enumerate(target[1:].removesuffix("/").split("/")):
        if not step:
            causes.invalid(f"{path}.path", target, f"segment[{index}] may not be empty")
            continue
        causes.invalid_each(f"{path}.path", target, (f"segment[{index}]: {each}" for each in names.subdomain(step)))


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

"""What of the requests an admission webhook or policy is for."""

from __future__ import annotations

from runtimes.sandbox.validate.causes import Causes, Object

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")


def rule_with_operations(causes: Causes, rule: Object, path: str) -> None:
    operations = rule.get("operations") or []
    if not operations:
        causes.required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        causes.invalid(f"{path}.operations", operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            causes.not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        given = rule.get(field) or []
        if not given:
            causes.required(f"{path}.{field}")
        if len(given) > 1 and "*" in given:
            causes.invalid(f"{path}.{field}", given, f"if '*' is present, must not specify other {what}")
    for index, version in enumerate(rule.get("apiVersions") or []):
        if not version:
            causes.required(f"{path}.apiVersions[{index}]")
    _resources(causes, rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") not in (None, "*", "Cluster", "Namespaced"):
        causes.not_supported(f"{path}.scope", rule["scope"], ("*", "Cluster", "Namespaced"))


def _resources(causes: Causes, resources: list[str], path: str) -> None:
    if not resources:
        causes.required(path)
    all_of_resource: set[str] = set()
    of_all_resources: set[str] = set()
    has_plain = False
    for index, resource in enumerate(resources):
        here = f"{path}[{index}]"
        if not resource:
            causes.required(here)
            continue
        name, slash, part = resource.partition("/")
        if not slash:
            has_plain = resource != "*"
            continue
        if name in all_of_resource:
            causes.invalid(here, resource, f"if '{name}/*' is present, must not specify {resource}")
        if part in of_all_resources:
            causes.invalid(here, resource, f"if '*/{part}' is present, must not specify {resource}")
        if part == "*":
            all_of_resource.add(name)
        if name == "*":
            of_all_resources.add(part)
    if len(resources) > 1 and "*/*" in resources:
        causes.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and has_plain:
        text = "if '*' is present, must not specify other resources without subresources"
        causes.invalid(path, resources, text)

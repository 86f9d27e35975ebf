"""Rules for what a pod and its containers may do on their node."""

from __future__ import annotations

import re

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

MAX_ID = 2**31 - 1
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SECCOMP = "seccomp"
_GO_FIELDS = (
    "Capabilities",
    "Privileged",
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "ReadOnlyRootFilesystem",
    "AllowPrivilegeEscalation",
    "ProcMount",
    "SeccompProfile",
    "AppArmorProfile",
)


def _ids(causes: Causes, context: Object, path: str, fields: tuple[str, ...]) -> None:
    for name in fields:
        value = context.get(name)
        if value is not None and not 0 <= value <= MAX_ID:
            causes.invalid(f"{path}.{name}", value, names.between(0, MAX_ID))


def _one_of(causes: Causes, context: Object, field: str, allowed: tuple[str, ...], path: str) -> None:
    if context.get(field) not in (None, *allowed):
        causes.not_supported(f"{path}.{field}", context[field], allowed)


def pod(causes: Causes, context: Object, path: str) -> None:
    _ids(causes, context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(context.get("supplementalGroups") or []):
        if not 0 <= group <= MAX_ID:
            causes.invalid(f"{path}.supplementalGroups[{index}]", group, names.between(0, MAX_ID))
    _sysctls(causes, context.get("sysctls") or [], f"{path}.sysctls")
    _one_of(causes, context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    _profile(causes, context, "seccompProfile", _SECCOMP, path)
    _one_of(causes, context, "seLinuxChangePolicy", ("Recursive",), path)
    _windows(causes, context.get("windowsOptions"), f"{path}.windowsOptions")
    _profile(causes, context, "appArmorProfile", "AppArmor", path)
    _one_of(causes, context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)


def _sysctls(causes: Causes, given: list[Object], path: str) -> None:
    seen: set[str] = set()
    for index, each in enumerate(given):
        here, name = f"{path}[{index}].name", each.get("name", "")
        if not name:
            causes.required(here)
        elif len(name) > 253 or not re.fullmatch(_SYSCTL, name):
            causes.invalid(here, name, f"must have at most 253 characters and match regex ^{_SYSCTL}$")
        elif name.replace("/", ".") in seen:
            causes.duplicate(here, name)
        else:
            seen.add(name.replace("/", "."))


def container(causes: Causes, context: Object, path: str) -> None:
    _ids(causes, context, path, ("runAsUser", "runAsGroup"))
    _one_of(causes, context, "procMount", ("Default", "Unmasked"), path)
    _profile(causes, context, "seccompProfile", _SECCOMP, path)
    if context.get("allowPrivilegeEscalation") is False:
        _no_escalation(causes, context, path)
    _windows(causes, context.get("windowsOptions"), f"{path}.windowsOptions")
    _profile(causes, context, "appArmorProfile", "AppArmor", path)


def _no_escalation(causes: Causes, context: Object, path: str) -> None:
    """What gives rights of its own contradicts a promise to get none."""
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        causes.invalid(path, _go_context(context), text)
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        causes.invalid(path, _go_context(context), text)


def _go_context(context: Object) -> Object:
    """As messages show it: with the server's own names of fields."""
    by_name = {name.lower(): value for name, value in context.items()}
    return {name: _go_value(by_name.get(name.lower()), name) for name in _GO_FIELDS}


_GO_MEMBERS = {
    "Capabilities": ("Add", "Drop"),
    "SeccompProfile": ("Type", "LocalhostProfile"),
    "AppArmorProfile": ("Type", "LocalhostProfile"),
}


def _go_value(value: object, name: str) -> object:
    if not isinstance(value, dict):
        return value
    fields = _GO_MEMBERS.get(name) or tuple(f"{key[0].upper()}{key[1:]}" for key in value)
    return {field: value.get(f"{field[0].lower()}{field[1:]}") for field in fields}


def _profile(causes: Causes, context: Object, field: str, what: str, path: str) -> None:
    """`what` is how messages name it: a file that confines with seccomp lies below the kubelet's own."""
    profile, here = context.get(field), f"{path}.{field}"
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost":
        if not local:
            causes.required(f"{here}.localhostProfile", f"must be set when {what} type is Localhost")
        elif what == _SECCOMP:
            causes.invalid_each(f"{here}.localhostProfile", local, names.local_path(local))
    elif not kind:
        causes.required(f"{here}.type", f"type is required when {field} is set")
    elif kind not in _PROFILES:
        causes.not_supported(f"{here}.type", kind, _PROFILES)
    elif local is not None:
        shown = {"Type": kind, "LocalhostProfile": local} if what == _SECCOMP else local
        causes.invalid(f"{here}.localhostProfile", shown, f"can only be set when {what} type is Localhost")


def _windows(causes: Causes, options: Object | None, path: str) -> None:
    if options is None:
        return
    spec, user = options.get("gmsaCredentialSpecName"), options.get("runAsUserName")
    if spec is not None:
        causes.invalid_each(f"{path}.gmsaCredentialSpecName", spec, names.subdomain(spec))
    if user == "":
        causes.invalid(f"{path}.runAsUserName", user, "runAsUserName cannot be an empty string")

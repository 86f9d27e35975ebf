"""The Pod Security Standards: what a Pod of the levels `baseline` and `restricted` may not ask for.

A rule looks at a Pod (or a template of one) and tells what of it is not allowed, or None. Rules hold from a minor
version of Kubernetes on, and a stricter one may stand in for a laxer one. They are in the order in which a server tells
them: those of `baseline` by name, then those of `restricted` by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from runtimes.sandbox.store import Object

LEVELS: Final = ("privileged", "baseline", "restricted")
LATEST: Final = 34


class Finding(NamedTuple):
    reason: str
    detail: str


Rule = Callable[[Object, int], Finding | None]


def findings(pod: Object, level: str, minor: int) -> list[Finding]:
    """What a Pod has that the level of version 1.`minor` does not allow."""
    if level == "privileged":
        return []
    rules = [rule for rule in _BASELINE if level == "baseline" or _stands(rule, minor)]
    if level == "restricted":
        rules += _RESTRICTED
    found = (rule(pod, minor) for rule in rules)
    return [each for each in found if each is not None]


def _stands(rule: Rule, minor: int) -> bool:
    """Whether no rule of `restricted` says more about the same."""
    return minor < _STRICTER_SINCE.get(rule, LATEST + 1)


# --- Parts of a Pod, and words for them ---


def _spec(pod: Object) -> Object:
    return pod.get("spec") or {}


def _containers(pod: Object) -> list[Object]:
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [each for kind in kinds for each in _spec(pod).get(kind) or ()]


def _context(owner: Object) -> Object:
    return owner.get("securityContext") or {}


def _is_windows(pod: Object) -> bool:
    return (_spec(pod).get("os") or {}).get("name") == "windows"


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in values)


def _counted(what: str, names: Iterable[str], plural: str = "") -> str:
    """`container "a"`, `containers "a", "b"`."""
    listed = list(names)
    return f"{what if len(listed) == 1 else plural or what + 's'} {_quoted(listed)}"


def _names(containers: Iterable[Object]) -> list[str]:
    return [each.get("name") or "" for each in containers]


def _use(count: int) -> str:
    return "uses" if count == 1 else "use"


def _setters(pod_sets: bool, containers: list[Object]) -> str:
    """Who sets something: the Pod, its containers, or both."""
    parts = ["pod"] if pod_sets else []
    if containers:
        parts.append(_counted("container", _names(containers)))
    return " and ".join(parts)


# --- baseline ---


_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _app_armor(pod: Object, minor: int) -> Finding | None:
    def wrong(owner: Object) -> str | None:
        profile = _context(owner).get("appArmorProfile")
        kind = None if profile is None else profile.get("type") or ""
        return None if kind in (None, "RuntimeDefault", "Localhost") else kind

    kinds = {each for owner in (_spec(pod), *_containers(pod)) if (each := wrong(owner)) is not None}
    parts = [_setters(wrong(_spec(pod)) is not None, [c for c in _containers(pod) if wrong(c) is not None])]
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in ((pod.get("metadata") or {}).get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    values = [*sorted(kinds), *annotations]
    if not values:
        return None
    if annotations:
        parts.append("annotation" if len(annotations) == 1 else "annotations")
    who = " and ".join(part for part in parts if part)
    reason = "forbidden AppArmor profile" if len(values) == 1 else "forbidden AppArmor profiles"
    return Finding(reason, f"{who} must not set AppArmor profile type to {_quoted(values)}")


_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)


def _added(container: Object) -> list[str]:
    return (_context(container).get("capabilities") or {}).get("add") or []


def _not_to_include(pod: Object, allowed: Iterable[str]) -> str:
    bad = [each for each in _containers(pod) if set(_added(each)) - set(allowed)]
    if not bad:
        return ""
    values = sorted({name for each in bad for name in _added(each)} - set(allowed))
    who = _counted("container", _names(bad))
    return f"{who} must not include {_quoted(values)} in securityContext.capabilities.add"


def _capabilities(pod: Object, minor: int) -> Finding | None:
    detail = _not_to_include(pod, _CAPABILITIES)
    return Finding("non-default capabilities", detail) if detail else None


def _host_namespaces(pod: Object, minor: int) -> Finding | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if _spec(pod).get(name)]
    return Finding("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(pod: Object, minor: int) -> Finding | None:
    bad = [each for each in _spec(pod).get("volumes") or () if each.get("hostPath") is not None]
    return Finding("hostPath volumes", _counted("volume", _names(bad))) if bad else None


def _host_ports(pod: Object, minor: int) -> Finding | None:
    def ports(container: Object) -> list[str]:
        return [str(each["hostPort"]) for each in container.get("ports") or () if each.get("hostPort")]

    bad = [each for each in _containers(pod) if ports(each)]
    if not bad:
        return None
    values = sorted({port for each in bad for port in ports(each)})
    what = "hostPort" if len(values) == 1 else "hostPorts"
    return Finding("hostPort", f"{_counted('container', _names(bad))} {_use(len(bad))} {what} {', '.join(values)}")


def _probed_hosts(container: Object) -> list[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")]
    handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
    targets = [(handler or {}).get(how) or {} for handler in handlers for how in ("httpGet", "tcpSocket")]
    return [each["host"] for each in targets if each.get("host")]


def _other_hosts(pod: Object, minor: int) -> Finding | None:
    bad = [each for each in _containers(pod) if _probed_hosts(each)]
    if minor < 34 or not bad:
        return None
    hosts = sorted({host for each in bad for host in _probed_hosts(each)})
    who = f"{_counted('container', sorted(set(_names(bad))))} {_use(len(bad))}"
    return Finding("probe or lifecycle host", f"{who} {_counted('probe or lifecycle host', hosts)}")


def _privileged(pod: Object, minor: int) -> Finding | None:
    bad = [each for each in _containers(pod) if _context(each).get("privileged")]
    if not bad:
        return None
    return Finding("privileged", f"{_counted('container', _names(bad))} must not set securityContext.privileged=true")


def _proc_mount(pod: Object, minor: int) -> Finding | None:
    bad = [each for each in _containers(pod) if _context(each).get("procMount") not in (None, "Default")]
    if not bad:
        return None
    values = sorted({_context(each)["procMount"] for each in bad})
    who = _counted("container", _names(bad))
    return Finding("procMount", f"{who} must not set securityContext.procMount to {_quoted(values)}")


_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t")


def _selinux(pod: Object, minor: int) -> Finding | None:
    allowed = (*_SELINUX, "container_engine_t") if minor >= 31 else _SELINUX

    def options(owner: Object) -> Object:
        return _context(owner).get("seLinuxOptions") or {}

    def is_wrong(owner: Object) -> bool:
        given = options(owner)
        return bool((given.get("type") or "") not in allowed or given.get("user") or given.get("role"))

    owners = [owner for owner in (_spec(pod), *_containers(pod)) if is_wrong(owner)]
    if not owners:
        return None
    data = []
    types = sorted({options(owner).get("type") or "" for owner in owners} - set(allowed))
    if types:
        data.append(_counted("type", types))
    data += [f"{part} may not be set" for part in ("user", "role") if any(options(owner).get(part) for owner in owners)]
    who = _setters(is_wrong(_spec(pod)), [each for each in _containers(pod) if is_wrong(each)])
    return Finding("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


_POD_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_type(owner: Object) -> str | None:
    profile = _context(owner).get("seccompProfile")
    return None if profile is None else profile.get("type") or ""


def _is_bad_seccomp(owner: Object) -> bool:
    return _seccomp_type(owner) not in (None, "RuntimeDefault", "Localhost")


def _seccomp(pod: Object, minor: int) -> Finding | None:
    if minor < 19:
        return _seccomp_annotations(pod)
    bad = [each for each in _containers(pod) if _is_bad_seccomp(each)]
    who = _setters(_is_bad_seccomp(_spec(pod)), bad)
    if not who:
        return None
    values = sorted({_seccomp_type(owner) or "" for owner in (_spec(pod), *bad) if _is_bad_seccomp(owner)})
    return Finding("seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {_quoted(values)}")


def _seccomp_annotations(pod: Object) -> Finding | None:
    given = (pod.get("metadata") or {}).get("annotations") or {}
    keys = [_POD_SECCOMP, *(_CONTAINER_SECCOMP + name for name in _names(_containers(pod)))]
    good = ("runtime/default", "docker/default")
    bad = sorted(
        {
            f'{key}="{given[key]}"'
            for key in keys
            if key in given and given[key] not in good and not given[key].startswith("localhost/")
        }
    )
    if not bad:
        return None
    return Finding("seccompProfile", f"forbidden {'annotation' if len(bad) == 1 else 'annotations'} {', '.join(bad)}")


_SYSCTLS: Final = (
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
)
"""Since which version a name is harmless."""


def _sysctls(pod: Object, minor: int) -> Finding | None:
    allowed = {name for since, name in _SYSCTLS if minor >= since}
    bad = [each["name"] for each in _context(_spec(pod)).get("sysctls") or () if each["name"] not in allowed]
    return Finding("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: Object, minor: int) -> Finding | None:
    def asks(owner: Object) -> bool:
        return bool((_context(owner).get("windowsOptions") or {}).get("hostProcess"))

    who = _setters(asks(_spec(pod)), [each for each in _containers(pod) if asks(each)])
    if not who:
        return None
    return Finding("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true")


# --- restricted ---


def _escalation(pod: Object, minor: int) -> Finding | None:
    bad = [each for each in _containers(pod) if _context(each).get("allowPrivilegeEscalation") is not False]
    if minor < 8 or not bad or (minor >= 25 and _is_windows(pod)):
        return None
    detail = f"{_counted('container', _names(bad))} must set securityContext.allowPrivilegeEscalation=false"
    return Finding("allowPrivilegeEscalation != false", detail)


def _restricted_capabilities(pod: Object, minor: int) -> Finding | None:
    if minor < 22 or (minor >= 25 and _is_windows(pod)):
        return None
    kept = [
        each for each in _containers(pod) if "ALL" not in ((_context(each).get("capabilities") or {}).get("drop") or ())
    ]
    details = []
    if kept:
        details.append(f'{_counted("container", _names(kept))} must set securityContext.capabilities.drop=["ALL"]')
    added = _not_to_include(pod, ("NET_BIND_SERVICE",))
    if added:
        details.append(added)
    return Finding("unrestricted capabilities", "; ".join(details)) if details else None


_VOLUMES: Final = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)


def _volumes(pod: Object, minor: int) -> Finding | None:
    def source(volume: Object) -> str:
        return next((key for key, value in volume.items() if key != "name" and value is not None), "unknown")

    bad = [each for each in _spec(pod).get("volumes") or () if source(each) not in _VOLUMES]
    if not bad:
        return None
    kinds = _counted("restricted volume type", sorted({source(each) for each in bad}))
    return Finding("restricted volume types", f"{_counted('volume', _names(bad))} {_use(len(bad))} {kinds}")


def _non_root(pod: Object, minor: int) -> Finding | None:
    reason, of_pod = "runAsNonRoot != true", _context(_spec(pod)).get("runAsNonRoot")
    said = [(each, _context(each).get("runAsNonRoot")) for each in _containers(pod)]
    who = _setters(of_pod is False, [each for each, value in said if value is False])
    if who:
        return Finding(reason, f"{who} must not set securityContext.runAsNonRoot=false")
    silent = [each for each, value in said if value is None and not of_pod]
    if not silent:
        return None
    return Finding(reason, f"pod or {_counted('container', _names(silent))} must set securityContext.runAsNonRoot=true")


def _root_user(pod: Object, minor: int) -> Finding | None:
    def is_root(owner: Object) -> bool:
        return _context(owner).get("runAsUser") == 0

    who = _setters(is_root(_spec(pod)), [each for each in _containers(pod) if is_root(each)])
    return Finding("runAsUser=0", f"{who} must not set runAsUser=0") if who and minor >= 23 else None


def _required_seccomp(pod: Object, minor: int) -> Finding | None:
    if minor < 19 or (minor >= 25 and _is_windows(pod)):
        return None
    forbidden = _seccomp(pod, minor)
    if forbidden is not None or _seccomp_type(_spec(pod)) is not None:
        return forbidden
    silent = [each for each in _containers(pod) if _seccomp_type(each) is None]
    if not silent:
        return None
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Finding("seccompProfile", f"pod or {_counted('container', _names(silent))} {must}")


_BASELINE: Final[tuple[Rule, ...]] = (
    _app_armor,
    _capabilities,
    _host_namespaces,
    _host_paths,
    _host_ports,
    _other_hosts,
    _privileged,
    _proc_mount,
    _selinux,
    _seccomp,
    _sysctls,
    _host_process,
)
_RESTRICTED: Final[tuple[Rule, ...]] = (
    _escalation,
    _restricted_capabilities,
    _volumes,
    _non_root,
    _root_user,
    _required_seccomp,
)
_STRICTER_SINCE: Final[dict[Any, int]] = {_capabilities: 22, _host_paths: 0, _seccomp: 19}

"""Rules for the containers of pods: images, ports, environment, mounts, probes, resources."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from runtimes.base.quantity import amount
from runtimes.sandbox.validate import names, security
from runtimes.sandbox.validate.causes import Causes, Object

PROTOCOLS = ("SCTP", "TCP", "UDP")
STANDARD_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
KNOWN_RESOURCES = STANDARD_RESOURCES | {
    "storage",
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
}
ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
CONTAINER_FIELDS = frozenset(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)


def choice(causes: Causes, path: str, value: Any, supported: tuple[str, ...]) -> None:
    """One of a closed set, which must be given."""
    if value in (None, ""):
        causes.required(path)
    elif value not in supported:
        causes.not_supported(path, value, supported)


# --- containers ----------------------------------------------------------------------------------------------------


def containers(causes: Causes, containers: list[Object], volumes: set[str], path: str) -> None:
    if not containers:
        causes.required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        here, name = f"{path}[{index}]", container.get("name", "")
        _container(causes, container, volumes, here)
        if name in seen:
            causes.duplicate(f"{here}.name", name)
        seen.add(name)
        _probes(causes, container, here)
    _host_ports(causes, containers, path)


def _probes(causes: Causes, container: Object, path: str) -> None:
    for name in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(name)
        if handler is not None:
            _handler(causes, handler, f"{path}.lifecycle.{name}")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _probe(causes, container[name], f"{path}.{name}", name)


def init_containers(
    causes: Causes, containers: list[Object], regular: list[Object], volumes: set[str], path: str
) -> None:
    seen = {container.get("name", "") for container in regular}
    for index, container in enumerate(containers):
        here, name = f"{path}[{index}]", container.get("name", "")
        _container(causes, container, volumes, here)
        policy = container.get("restartPolicy")
        if name in seen:
            causes.duplicate(f"{here}.name", name)
        elif name:
            seen.add(name)
        _host_ports(causes, [container], path)
        if policy == "Always":
            _probes(causes, container, here)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                causes.forbidden(f"{here}.{field}", "may not be set for init containers without restartPolicy=Always")


EPHEMERAL_FORBIDDEN = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")


def ephemeral_containers(causes: Causes, spec: Object, volumes: set[str], path: str) -> None:
    others = {
        container.get("name", "") for container in (spec.get("containers") or []) + (spec.get("initContainers") or [])
    }
    targets = {container.get("name", "") for container in spec.get("containers") or []}
    seen = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or []):
        here, name = f"{path}[{index}]", container.get("name", "")
        _container(causes, container, volumes, here)
        if name in seen:
            causes.duplicate(f"{here}.name", name)
        elif name:
            seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in targets:
            causes.not_found(f"{here}.targetContainerName", target)
        for field in EPHEMERAL_FORBIDDEN:
            if container.get(field):
                causes.forbidden(f"{here}.{field}", "cannot be set for an Ephemeral Container")


def _container(causes: Causes, container: Object, volumes: set[str], path: str) -> None:
    name = container.get("name", "")
    if not name:
        causes.required(f"{path}.name")
    else:
        causes.invalid_each(f"{path}.name", name, names.label(name))
    if not container.get("image"):
        causes.required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    choice(causes, f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy"), policies)
    _container_ports(causes, container.get("ports") or [], f"{path}.ports")
    _env(causes, container.get("env") or [], f"{path}.env")
    _env_from(causes, container.get("envFrom") or [], f"{path}.envFrom")
    _mounts(causes, container, volumes, f"{path}.volumeMounts")
    choice(causes, f"{path}.imagePullPolicy", container.get("imagePullPolicy"), ("Always", "IfNotPresent", "Never"))
    resource_requirements(causes, container.get("resources") or {}, f"{path}.resources")
    context = container.get("securityContext") or {}
    security.container(causes, context, f"{path}.securityContext")


def _container_ports(causes: Causes, ports: list[Object], path: str) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name, number = f"{path}[{index}]", port.get("name", ""), port.get("containerPort", 0)
        if name:
            wrong = names.port_name(name)
            if wrong:
                causes.invalid_each(f"{here}.name", name, wrong)
            elif name in seen:
                causes.duplicate(f"{here}.name", name)
            else:
                seen.add(name)
        if number == 0:
            causes.required(f"{here}.containerPort")
        else:
            causes.invalid_each(f"{here}.containerPort", number, names.port_number(number))
        if port.get("hostPort"):
            causes.invalid_each(f"{here}.hostPort", port["hostPort"], names.port_number(port["hostPort"]))
        choice(causes, f"{here}.protocol", port.get("protocol"), PROTOCOLS)


def _host_ports(causes: Causes, containers: list[Object], path: str) -> None:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(container.get("ports") or []):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                causes.duplicate(f"{path}[{index}].ports[{at}].hostPort", text)
            seen.add(text)


def host_network(causes: Causes, containers: list[Object], path: str, is_pod: bool) -> None:
    for index, container in enumerate(containers):
        for at, port in enumerate(container.get("ports") or []):
            host = port.get("hostPort", 0)
            if (is_pod or host) and host != port.get("containerPort", 0):
                causes.invalid(
                    f"{path}[{index}].ports[{at}].hostPort",
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                )


def _env(causes: Causes, variables: list[Object], path: str) -> None:
    for index, variable in enumerate(variables):
        here, name = f"{path}[{index}]", variable.get("name", "")
        if not name:
            causes.required(f"{here}.name")
        else:
            causes.invalid_each(f"{here}.name", name, names.env_name(name))
        if variable.get("valueFrom") is not None:
            _value_from(causes, variable, variable["valueFrom"], f"{here}.valueFrom")


def _value_from(causes: Causes, variable: Object, source: Object, path: str) -> None:
    count = 0
    if source.get("fieldRef") is not None:
        count += 1
        _env_field(causes, source["fieldRef"], f"{path}.fieldRef")
    if source.get("resourceFieldRef") is not None:
        count += 1
        resource_field_ref(causes, source["resourceFieldRef"], f"{path}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source.get(name) is not None:
            count += 1
            _key_ref(causes, source[name], f"{path}.{name}")
    if count == 0:
        sources = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        causes.invalid(path, "", f"must specify one of: {sources}")
    elif variable.get("value"):
        causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        causes.invalid(path, "", "may not have more than one field specified at a time")


def _key_ref(causes: Causes, ref: Object, path: str) -> None:
    causes.invalid_each(f"{path}.name", ref.get("name", ""), names.subdomain(ref.get("name", "")))
    if not ref.get("key"):
        causes.required(f"{path}.key")
    else:
        causes.invalid_each(f"{path}.key", ref["key"], names.config_key(ref["key"]))


FIELD_LABELS = re.compile(r"metadata\.(annotations|labels)\['?.*'?\]")


def _env_field(causes: Causes, ref: Object, path: str) -> None:
    known = {*ENV_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.serviceAccount"}
    if ref.get("fieldPath") in ("metadata.annotations", "metadata.labels") and ref.get("apiVersion"):
        causes.not_supported(f"{path}.fieldPath", ref["fieldPath"], sorted(ENV_FIELDS))
    else:
        field_ref(causes, ref, path, sorted(ENV_FIELDS), known)


def field_ref(causes: Causes, ref: Object, path: str, supported: list[str], known: Collection[str]) -> None:
    """A field of the pod: `known` ones exist, `supported` ones are given to this purpose."""
    field = ref.get("fieldPath", "")
    if not ref.get("apiVersion"):
        causes.required(f"{path}.apiVersion")
        return
    if not field:
        causes.required(f"{path}.fieldPath")
        return
    if FIELD_LABELS.fullmatch(field):
        return
    if field not in known:
        causes.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: field label not supported: {field}")
    elif field not in supported:
        causes.not_supported(f"{path}.fieldPath", field, supported)


def resource_field_ref(causes: Causes, ref: Object, path: str) -> None:
    name = ref.get("resource", "")
    if not name:
        causes.required(f"{path}.resource")
    elif name not in CONTAINER_FIELDS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        causes.not_supported(f"{path}.resource", name, sorted(CONTAINER_FIELDS))


def _env_from(causes: Causes, sources: list[Object], path: str) -> None:
    for index, source in enumerate(sources):
        here = f"{path}[{index}]"
        if source.get("prefix"):
            causes.invalid_each(f"{here}.prefix", source["prefix"], names.env_name(source["prefix"]))
        count = 0
        for name in ("configMapRef", "secretRef"):
            if source.get(name) is not None:
                count += 1
                target = source[name].get("name", "")
                if not target:
                    causes.required(f"{here}.{name}.name")
                else:
                    causes.invalid_each(f"{here}.{name}.name", target, names.subdomain(target))
        if count == 0:
            causes.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            causes.invalid(path, "", "may not have more than one field specified at a time")


def _mounts(causes: Causes, container: Object, volumes: set[str], path: str) -> None:
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or []}
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            causes.required(f"{here}.name")
        if name not in volumes:
            causes.not_found(f"{here}.name", name)
        if not target:
            causes.required(f"{here}.mountPath")
        if target in seen:
            causes.invalid(f"{here}.mountPath", target, "must be unique")
        seen.add(target)
        if name in devices:
            causes.invalid(f"{here}.name", name, "must not already exist in volumeDevices")
        if target and target in devices.values():
            causes.invalid(f"{here}.mountPath", target, "must not already exist as a path in volumeDevices")
        if mount.get("subPath"):
            causes.invalid_each(f"{path}.subPath", mount["subPath"], names.local_path(mount["subPath"]))
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                text = "subPathExpr and subPath are mutually exclusive"
                causes.invalid(f"{here}.subPathExpr", mount["subPathExpr"], text)
            causes.invalid_each(f"{path}.subPathExpr", mount["subPathExpr"], names.local_path(mount["subPathExpr"]))
        _propagation(causes, container, mount, path)


def _propagation(causes: Causes, container: Object, mount: Object, path: str) -> None:
    how, supported = mount.get("mountPropagation"), ("Bidirectional", "HostToContainer", "None")
    if how is not None and how not in supported:
        causes.not_supported(f"{path}.mountPropagation", how, supported)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if how == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        causes.forbidden(f"{path}.mountPropagation", text)
    _recursion(causes, mount, f"{path}.recursiveReadOnly")


def _recursion(causes: Causes, mount: Object, path: str) -> None:
    given, supported = mount.get("recursiveReadOnly"), ("Disabled", "Enabled", "IfPossible")
    if given not in (None, *supported):
        causes.not_supported(path, given, supported)
    if given not in ("Enabled", "IfPossible"):
        return
    if not mount.get("readOnly"):
        causes.forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        causes.forbidden(path, "may only be specified when mountPropagation is None or not specified")


# --- probes --------------------------------------------------------------------------------------------------------


def _probe(causes: Causes, probe: Object, path: str, kind: str) -> None:
    _handler(causes, probe, path)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        causes.nonnegative(f"{path}.{name}", probe.get(name))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        causes.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if kind != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        causes.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
    if kind == "readinessProbe" and grace is not None:
        causes.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")


def _handler(causes: Causes, handler: Object, path: str) -> None:
    count = 0
    for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep"):
        action = handler.get(name)
        if action is None:
            continue
        if count:
            causes.forbidden(f"{path}.{name}", "may not specify more than 1 handler type")
            continue
        count += 1
        _action(causes, name, action, f"{path}.{name}")
    if count == 0:
        causes.required(path, "must specify a handler type")


def _action(causes: Causes, name: str, action: Object, path: str) -> None:
    match name:
        case "exec":
            if not action.get("command"):
                causes.required(f"{path}.command")
        case "httpGet":
            if not action.get("path"):
                causes.required(f"{path}.path")
            port(causes, f"{path}.port", action.get("port", 0))
            if action.get("scheme") not in ("HTTP", "HTTPS"):
                causes.not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS"))
            for header in action.get("httpHeaders") or []:
                causes.invalid_each(
                    f"{path}.httpHeaders", header.get("name", ""), names.http_header(header.get("name", ""))
                )
        case "tcpSocket" | "grpc":
            port(causes, f"{path}.port", action.get("port", 0))


def port(causes: Causes, path: str, value: Any) -> None:
    """A port by number or name."""
    wrong = names.port_name(value) if isinstance(value, str) else names.port_number(value)
    causes.invalid_each(path, value, wrong)


# --- resources -----------------------------------------------------------------------------------------------------


def resource_name(causes: Causes, path: str, name: str) -> None:
    wrong = names.qualified(name)
    if wrong:
        causes.invalid_each(path, name, wrong)
    elif "/" not in name and name not in KNOWN_RESOURCES and not name.startswith("hugepages-"):
        causes.invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name(causes: Causes, path: str, name: str) -> None:
    resource_name(causes, path, name)
    if "/" not in name:
        if name not in STANDARD_RESOURCES and not name.startswith("hugepages-"):
            causes.invalid(path, name, "must be a standard resource for containers")
    elif not _is_native(name) and name.startswith("requests."):
        causes.invalid(path, name, "doesn't follow extended resource name standard")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _allows_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith("hugepages-")


def quantity_value(causes: Causes, path: str, name: str, value: str) -> None:
    if amount(value) < 0:
        causes.invalid(path, value, "must be greater than or equal to 0")
    is_integer = name in ("pods", "services", "secrets", "configmaps") or not _is_native(name)
    if is_integer and amount(value) != int(amount(value)):
        causes.invalid(path, value, "must be an integer")


def _whole_pages(causes: Causes, path: str, name: str, value: str) -> None:
    if not name.startswith("hugepages-"):
        return
    try:
        page = amount(name.removeprefix("hugepages-"))
    except ValueError:
        page = Decimal(0)  # no size is a multiple of none
    if page <= 0 or amount(value) <= 0 or amount(value) % page:
        causes.invalid(path, value, f"{value} is not positive integer multiple of {name}")


def resource_requirements(causes: Causes, resources: Object, path: str) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, value in limits.items():
        here = f"{path}.limits[{name}]"
        container_resource_name(causes, here, name)
        quantity_value(causes, here, name, value)
        _whole_pages(causes, here, name, value)
    for name, value in requests.items():
        here = f"{path}.requests[{name}]"
        container_resource_name(causes, here, name)
        quantity_value(causes, here, name, value)
        limit = limits.get(name)
        if limit is None:
            if not _allows_overcommit(name):
                causes.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif amount(value) != amount(limit) and not _allows_overcommit(name):
            causes.invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}")
        elif amount(value) > amount(limit):
            causes.invalid(f"{path}.requests", value, f"must be less than or equal to {name} limit of {limit}")
        _whole_pages(causes, here, name, value)
    named = {*limits, *requests}
    if any(name.startswith("hugepages-") for name in named) and not named & {"cpu", "memory"}:
        causes.forbidden(path, "HugePages require cpu or memory")

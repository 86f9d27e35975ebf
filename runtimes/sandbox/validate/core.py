"""Rules for Services, ConfigMaps, Secrets, quotas and other kinds of the core group."""

from __future__ import annotations

import base64
import ipaddress
import json

from runtimes.base.quantity import amount
from runtimes.sandbox.decode import syntax_message
from runtimes.sandbox.tokens import ACCOUNT_NAME, TOKEN_SECRET
from runtimes.sandbox.validate import containers, meta, names, quotas
from runtimes.sandbox.validate.causes import Causes, Object

MAX_DATA = 1024 * 1024
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


# --- services ------------------------------------------------------------------------------------------------------


def is_headless(spec: Object) -> bool:
    return spec.get("clusterIP") == "None" or (spec.get("clusterIPs") or [""])[0] == "None"


def service(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    if not ports and not is_headless(spec) and kind != "ExternalName":
        causes.required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        causes.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        _external_name(causes, spec)
    _service_ports(causes, ports)
    meta.labels(causes, "spec.selector", spec.get("selector"))
    _affinity(causes, spec)
    _cluster_ips(causes, spec)
    for index, address in enumerate(spec.get("externalIPs") or []):
        wrong = names.ip_address(address)
        causes.invalid_each(f"spec.externalIPs[{index}]", address, wrong)
        if not wrong:
            reachable(causes, f"spec.externalIPs[{index}]", address)
    if not kind:
        causes.required("spec.type")
    elif kind not in SERVICE_TYPES:
        causes.not_supported("spec.type", kind, SERVICE_TYPES)
    _node_ports(causes, kind, ports)
    _load_balancer(causes, spec, kind)
    _traffic(causes, spec, kind)


def _external_name(causes: Causes, spec: Object) -> None:
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            causes.forbidden(f"spec.{name}", "may not be set for ExternalName services")
    target = (spec.get("externalName") or "").removesuffix(".")
    if target:
        causes.invalid_each("spec.externalName", target, names.subdomain(target))
    else:
        causes.required("spec.externalName")


def _service_ports(causes: Causes, ports: list[Object]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"spec.ports[{index}]", port.get("name", "")
        if not name:
            if len(ports) > 1:
                causes.required(f"{here}.name")
        else:
            causes.invalid_each(f"{here}.name", name, names.label(name))
            if name in seen:
                causes.duplicate(f"{here}.name", name)
            seen.add(name)
        number = port.get("port", 0)
        causes.invalid_each(f"{here}.port", number, names.port_number(number))
        if not port.get("protocol"):
            causes.required(f"{here}.protocol")
        elif port["protocol"] not in containers.PROTOCOLS:
            causes.not_supported(f"{here}.protocol", port["protocol"], containers.PROTOCOLS)
        containers.port(causes, f"{here}.targetPort", port.get("targetPort", 0))
        protocol = port.get("appProtocol")
        if protocol is not None:
            causes.invalid_each(f"{here}.appProtocol", protocol, names.qualified(protocol))


def _affinity(causes: Causes, spec: Object) -> None:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    if not affinity:
        causes.required("spec.sessionAffinity")
    elif affinity not in ("ClientIP", "None"):
        causes.not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is not None and not 0 < seconds <= 86400:
            text = "must be greater than 0 and less than 86400"
            causes.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)
    elif affinity == "None" and config is not None:
        causes.forbidden("spec.sessionAffinityConfig", "must not be set when session affinity is None")


def _cluster_ips(causes: Causes, spec: Object) -> None:
    if spec.get("type") == "ExternalName":
        return
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    if spec.get("ipFamilyPolicy") is not None and spec["ipFamilyPolicy"] not in policies:
        causes.not_supported("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], policies)
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            causes.not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
        if family in families[:index]:
            causes.duplicate(f"spec.ipFamilies[{index}]", family)
    addresses = spec.get("clusterIPs") or []
    if not addresses:
        return
    if not spec.get("clusterIP"):
        causes.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    elif spec.get("clusterIP") != addresses[0]:
        causes.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    for index, address in enumerate(addresses):
        if address == "None":
            continue
        causes.invalid_each(f"spec.clusterIPs[{index}]", address, names.ip_address(address))
    if len(addresses) > 2:
        causes.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")
    if len(addresses) == 2 and all(not names.ip_address(address) for address in addresses):
        if len({ipaddress.ip_address(address).version for address in addresses}) < 2:
            causes.invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family")


def reachable(causes: Causes, path: str, address: str) -> None:
    """Addresses that name no other host."""
    ip = ipaddress.ip_address(address)
    if ip.is_unspecified:
        causes.invalid(path, address, "may not be unspecified (0.0.0.0 or ::)")
    if ip.is_loopback:
        causes.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        causes.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.is_multicast and address.startswith(("224.0.0.", "ff02")):
        causes.invalid(path, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def _node_ports(causes: Causes, kind: str, ports: list[Object]) -> None:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                causes.forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        if port.get("nodePort"):
            key = (port.get("protocol", ""), port["nodePort"])
            if key in nodes:
                causes.duplicate(f"spec.ports[{index}].nodePort", port["nodePort"])
            nodes.add(key)
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            causes.duplicate(f"spec.ports[{index}]", shown)
        seen.add(key)


def _load_balancer(causes: Causes, spec: Object, kind: str) -> None:
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges and kind != "LoadBalancer":
        causes.forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for index, value in enumerate(ranges):
        causes.invalid_each(f"spec.LoadBalancerSourceRanges[{index}]", value.strip(), names.cidr(value.strip()))
    for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if spec.get(name) is not None and kind != "LoadBalancer":
            causes.forbidden(f"spec.{name}", "may only be used when `type` is 'LoadBalancer'")
    chosen = spec.get("loadBalancerClass")
    if chosen is not None and kind == "LoadBalancer":
        causes.invalid_each("spec.loadBalancerClass", chosen, names.qualified(chosen))


def _traffic(causes: Causes, spec: Object, kind: str) -> None:
    outside = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    policy, policies = spec.get("externalTrafficPolicy") or "", ("Cluster", "Local")
    if not outside:
        if policy:
            text = "may only be set for externally-accessible services"
            causes.invalid("spec.externalTrafficPolicy", policy, text)
    elif not policy:
        causes.required("spec.externalTrafficPolicy")
    elif policy not in policies:
        causes.not_supported("spec.externalTrafficPolicy", policy, policies)
    checks = kind == "LoadBalancer" and policy == "Local"
    if not checks and spec.get("healthCheckNodePort"):
        causes.invalid(
            "spec.healthCheckNodePort",
            spec["healthCheckNodePort"],
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in policies:
        causes.not_supported("spec.internalTrafficPolicy", inside, policies)
    near, known = spec.get("trafficDistribution"), ("PreferClose", "PreferSameZone", "PreferSameNode")
    if near is not None and near not in known:
        causes.not_supported("spec.trafficDistribution", near, known)


# --- data ----------------------------------------------------------------------------------------------------------


def config_map(causes: Causes, obj: Object) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        causes.invalid_each(f"data[{key}]", key, names.config_key(key))
        if key in binary:
            causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(value.encode())
    for key, value in binary.items():
        causes.invalid_each(f"binaryData[{key}]", key, names.config_key(key))
        size += len(base64.b64decode(value or ""))
    if size > MAX_DATA:
        causes.too_long("[]", MAX_DATA)


def _unchanged_if_immutable(causes: Causes, new: Object, old: Object, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    text = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        causes.forbidden("immutable", text)
    for name in fields:
        if (new.get(name) or {}) != (old.get(name) or {}):
            causes.forbidden(name, text)


def config_map_update(causes: Causes, new: Object, old: Object) -> None:
    _unchanged_if_immutable(causes, new, old, ("data", "binaryData"))


REQUIRED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def secret(causes: Causes, obj: Object) -> None:
    data, kind = obj.get("data") or {}, obj.get("type", "")
    size = 0
    for key, value in data.items():
        causes.invalid_each(f"data[{key}]", key, names.config_key(key))
        size += len(base64.b64decode(value or ""))
    if size > MAX_DATA:
        causes.too_long("data", MAX_DATA)
    if kind == TOKEN_SECRET:
        if not ((obj.get("metadata") or {}).get("annotations") or {}).get(ACCOUNT_NAME):
            causes.required(f"metadata.annotations[{ACCOUNT_NAME}]")
    elif kind in DOCKER_KEYS:
        _docker_config(causes, data, DOCKER_KEYS[kind])
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            causes.required("data[username]")
            causes.required("data[password]")
    for key in REQUIRED_KEYS.get(kind, ()):
        if key not in data:
            causes.required(f"data[{key}]")


def _docker_config(causes: Causes, data: Object, key: str) -> None:
    if key not in data:
        causes.required(f"data[{key}]")
        return
    try:
        json.loads(base64.b64decode(data[key] or ""))
    except json.JSONDecodeError as error:
        causes.invalid(f"data[{key}]", "<secret contents redacted>", syntax_message(error))
    except ValueError:
        text = "invalid character in JSON"
        causes.invalid(f"data[{key}]", "<secret contents redacted>", text)


def secret_update(causes: Causes, new: Object, old: Object) -> None:
    causes.immutable("type", new.get("type", ""), old.get("type", ""))
    _unchanged_if_immutable(causes, new, old, ("data",))


# --- limits --------------------------------------------------------------------------------------------------------


def limit_range(causes: Causes, obj: Object) -> None:
    seen: set[str] = set()
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or []):
        here, kind = f"spec.limits[{index}]", item.get("type", "")
        wrong = names.qualified(kind)
        causes.invalid_each(f"{here}.type", kind, wrong)
        if not wrong and "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
            causes.invalid(f"{here}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            causes.duplicate(f"{here}.type", kind)
        seen.add(kind)
        keys: dict[str, None] = {}
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            if kind == "Pod" and name in ("default", "defaultRequest"):
                if item.get(name):
                    causes.forbidden(f"{here}.{name}", "may not be specified when `type` is 'Pod'")
                continue
            for resource in item.get(name) or {}:
                where = f"{here}.{name}[{resource}]"
                if kind in ("Container", "Pod"):
                    containers.container_resource_name(causes, where, resource)
                else:
                    containers.resource_name(causes, where, resource)
                keys[resource] = None
        storage = "storage" in (item.get("min") or {}) or "storage" in (item.get("max") or {})
        if kind == "PersistentVolumeClaim" and not storage:
            text = "either minimum or maximum storage value is required, but neither was provided"
            causes.required(f"{here}.limits", text)
        for resource in keys:
            _limits_of(causes, {} if kind == "Pod" else item, item, here, resource)


def _limits_of(causes: Causes, given: Object, item: Object, path: str, resource: str) -> None:
    low, high = (item.get("min") or {}).get(resource), (item.get("max") or {}).get(resource)
    default = (given.get("default") or {}).get(resource)
    requested = (given.get("defaultRequest") or {}).get(resource)

    def compare(field: str, shown: str, less: str | None, more: str | None, names_: tuple[str, str]) -> None:
        if less is not None and more is not None and amount(less) > amount(more):
            text = f"{names_[0]} value {less} is greater than {names_[1]} value {more}"
            causes.invalid(f"{path}.{field}[{resource}]", shown, text)

    compare("min", low or "", low, high, ("min", "max"))
    compare("defaultRequest", requested or "", low, requested, ("min", "default request"))
    compare("defaultRequest", requested or "", requested, high, ("default request", "max"))
    compare("defaultRequest", requested or "", requested, default, ("default request", "default limit"))
    compare("default", low or "", low, default, ("min", "default"))
    compare("default", high or "", default, high, ("default", "max"))
    ratio = (item.get("maxLimitRequestRatio") or {}).get(resource)
    if ratio is not None:
        _ratio(causes, ratio, low, high, f"{path}.maxLimitRequestRatio[{resource}]")


def _ratio(causes: Causes, ratio: str, low: str | None, high: str | None, path: str) -> None:
    if amount(ratio) < 1:
        causes.invalid(path, ratio, f"ratio {ratio} is less than 1")
    if low is not None and high is not None and amount(low):
        most = amount(high) / amount(low)
        if amount(ratio) > most:
            causes.invalid(path, ratio, f"ratio {ratio} is greater than max/min = {float(most):f}")


def resource_quota(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    quota_amounts(causes, spec.get("hard") or {}, "spec.hard")
    quotas.scopes(causes, spec)


def quota_amounts(causes: Causes, amounts: Object, path: str) -> None:
    for name, value in amounts.items():
        here = f"{path}[{name}]"
        if not name.startswith("requests.hugepages-"):
            containers.resource_name(causes, here, name)
        if "/" not in name and not _is_quota_resource(name):
            causes.invalid(here, name, "must be a standard resource for quota")
        containers.quantity_value(causes, here, name, value)


def resource_quota_update(causes: Causes, new: Object, old: Object) -> None:
    scopes, before = (new.get("spec") or {}).get("scopes") or [], (old.get("spec") or {}).get("scopes") or []
    if set(scopes) != set(before):
        causes.invalid("spec.scopes", scopes or None, "field is immutable")


def _is_quota_resource(name: str) -> bool:
    return (name in containers.KNOWN_RESOURCES and name != "storage") or name.startswith(
        ("count/", "hugepages-", "requests.hugepages-")
    )


# --- others --------------------------------------------------------------------------------------------------------


def namespace(causes: Causes, obj: Object) -> None:
    namespace_finalizers(causes, (obj.get("spec") or {}).get("finalizers") or [], is_numbered=False)


def namespace_finalizers(causes: Causes, given: list[str], *, is_numbered: bool) -> None:
    for index, finalizer in enumerate(given):
        here = f"spec.finalizers[{index}]" if is_numbered else "spec.finalizers"
        causes.invalid_each(here, finalizer, names.qualified(finalizer))
        if "/" not in finalizer and finalizer != "kubernetes":
            text = "name is neither a standard finalizer name nor is it fully qualified"
            causes.invalid(here, finalizer, text)


def node(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    _taints(causes, spec)
    _pod_ranges(causes, spec)


def _taints(causes: Causes, spec: Object) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or []):
        here, key, effect = f"metadata.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        causes.invalid_each(f"{here}.key", key, names.qualified(key))
        wrong = names.label_value(taint.get("value", ""))
        if wrong:
            causes.invalid(f"{here}.value", taint.get("value", ""), ";".join(wrong))
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if not effect:
            causes.required(f"{here}.effect")
        elif effect not in effects:
            causes.not_supported(f"{here}.effect", effect, effects)
        if (key, effect) in seen:
            added = taint.get("timeAdded")
            inner = {"Key": key, "Value": taint.get("value", ""), "Effect": effect, "TimeAdded": added}
            causes.duplicate(here, inner, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _pod_ranges(causes: Causes, spec: Object) -> None:
    ranges = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    wrong = [names.cidr(each) for each in ranges]
    for index, each in enumerate(ranges):
        causes.invalid_each(f"spec.podCIDRs[{index}]", each, wrong[index])
    if len(ranges) > 2:
        causes.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
    elif len(ranges) == 2 and not any(wrong):
        if len({ipaddress.ip_network(each, strict=False).version for each in ranges}) < 2:
            causes.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def node_update(causes: Causes, new: Object, old: Object) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    held, given, first = before.get("podCIDRs") or [], spec.get("podCIDRs") or [], spec.get("podCIDR")
    if first and given[:1] != [first]:
        given = [first]  # who changes the one range that older clients know means the list, too
    text = 'node updates may not change {} except from "" to valid'
    if held and len(held) != len(given):
        causes.forbidden("spec.podCIDRs", text.format("podCIDR"))
    elif held:
        for old_range, new_range in zip(held, given, strict=True):
            if old_range != new_range:
                causes.forbidden("spec.podCIDRs", text.format("podCIDR"))
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        causes.forbidden("spec.providerID", text.format("providerID"))
    _taints(causes, spec)  # again, as the server does


def endpoints(causes: Causes, obj: Object) -> None:
    for index, subset in enumerate(obj.get("subsets") or []):
        here = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            causes.required(here, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(field) or []):
                _endpoint_address(causes, address, f"{here}.{field}[{at}]")
        ports = subset.get("ports") or []
        for at, port in enumerate(ports):
            where = f"{here}.ports[{at}]"
            if len(ports) > 1 and not port.get("name"):
                causes.required(f"{where}.name")
            elif port.get("name"):
                causes.invalid_each(f"{where}.name", port["name"], names.label(port["name"]))
            causes.invalid_each(f"{where}.port", port.get("port", 0), names.port_number(port.get("port", 0)))
            if port.get("protocol") not in ("TCP", "UDP", "SCTP"):
                causes.not_supported(f"{where}.protocol", port.get("protocol", ""), ("SCTP", "TCP", "UDP"))
            if port.get("appProtocol") is not None:
                causes.invalid_each(f"{where}.appProtocol", port["appProtocol"], names.qualified(port["appProtocol"]))


_NOT_FOR_ENDPOINTS = (
    ("is_unspecified", "may not be unspecified (0.0.0.0)"),
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ("is_multicast", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
)


def _endpoint_address(causes: Causes, address: Object, path: str) -> None:
    value = address.get("ip", "")
    wrong = names.ip_address(value)
    causes.invalid_each(f"{path}.ip", value, wrong)
    if address.get("hostname"):
        causes.invalid_each(f"{path}.hostname", address["hostname"], names.label(address["hostname"]))
    if address.get("nodeName") is not None:
        causes.invalid_each(f"{path}.nodeName", address["nodeName"], names.subdomain(address["nodeName"]))
    if wrong:
        causes.invalid(f"{path}.ip", value, "must be a valid IP address")
        return
    parsed = ipaddress.ip_address(value)
    for name, text in _NOT_FOR_ENDPOINTS:
        if getattr(parsed, name):
            causes.invalid(f"{path}.ip", value, text)

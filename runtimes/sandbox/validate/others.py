"""Rules for networking, access control, discovery, scheduling, storage and coordination."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from runtimes.sandbox.validate import containers, core, meta, names
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.warn import INGRESS_CLASS_ANNOTATION

RBAC_GROUP = "rbac.authorization.k8s.io"


# --- networking ----------------------------------------------------------------------------------------------------


def network_policy(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    meta.label_selector(causes, "spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or []):
            here = f"spec.{direction}[{index}]"
            for at, port in enumerate(rule.get("ports") or []):
                _policy_port(causes, port, f"{here}.ports[{at}]")
            for at, peer in enumerate(rule.get(peers) or []):
                _policy_peer(causes, peer, f"{here}.{peers}[{at}]")
    kinds = spec.get("policyTypes") or []
    if len(kinds) > 2:
        causes.invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            causes.not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port(causes: Causes, port: Object, path: str) -> None:
    if port.get("protocol") not in (None, "TCP", "UDP", "SCTP"):
        causes.not_supported(f"{path}.protocol", port["protocol"], ("TCP", "UDP", "SCTP"))
    number, end = port.get("port"), port.get("endPort")
    if number is None:
        if end is not None:
            causes.invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
        return
    if isinstance(number, str):
        if end is not None:
            causes.invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        causes.invalid_each(f"{path}.port", number, names.port_name(number))
        return
    causes.invalid_each(f"{path}.port", number, names.port_number(number))
    if end is not None:
        if end < number:
            causes.invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
        causes.invalid_each(f"{path}.endPort", end, names.port_number(end))


def _policy_peer(causes: Causes, peer: Object, path: str) -> None:
    count = 0
    for name in ("podSelector", "namespaceSelector"):
        if peer.get(name) is not None:
            count += 1
            meta.label_selector(causes, f"{path}.{name}", peer[name])
    block = peer.get("ipBlock")
    if block is not None:
        count += 1
        _ip_block(causes, block, f"{path}.ipBlock")
    if count == 0:
        causes.required(path, "must specify a peer")
    elif count > 1 and block is not None:
        causes.forbidden(path, "may not specify both ipBlock and another peer")


def _ip_block(causes: Causes, block: Object, path: str) -> None:
    cidr = block.get("cidr", "")
    if not cidr:
        causes.required(f"{path}.cidr")
        return
    wrong = names.cidr(cidr)
    causes.invalid_each(f"{path}.cidr", cidr, wrong)
    if wrong:
        return
    outer = ipaddress.ip_network(cidr, strict=False)
    for index, text in enumerate(block.get("except") or []):
        here, wrong = f"{path}.except[{index}]", names.cidr(text)
        causes.invalid_each(here, text, wrong)
        if wrong:
            continue
        inner = ipaddress.ip_network(text, strict=False)
        same_family = inner.version == outer.version
        if not same_family or inner.network_address not in outer or outer.prefixlen >= inner.prefixlen:
            causes.invalid(here, text, "must be a strict subset of `cidr`")


def ingress(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    rules, default = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and default is None:
        causes.invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if default is not None:
        _backend(causes, default, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        _ingress_rule(causes, rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or []):
        for at, host in enumerate(tls.get("hosts") or []):
            wrong = names.wildcard(host) if "*" in host else names.subdomain(host)
            causes.invalid_each(f"spec.tls[{index}].hosts[{at}]", host, wrong)
        secret = tls.get("secretName", "")
        if secret:
            causes.invalid_each(f"spec.tls[{index}].secretName", secret, names.subdomain(secret))
    if spec.get("ingressClassName") is not None:
        name = spec["ingressClassName"]
        causes.invalid_each("spec.ingressClassName", name, names.subdomain(name))
    metadata = obj.get("metadata") or {}
    named = (metadata.get("annotations") or {}).get(INGRESS_CLASS_ANNOTATION)
    is_new = not metadata.get("resourceVersion")
    if is_new and named is not None and spec.get("ingressClassName") not in (None, named):
        where = f"annotations.{INGRESS_CLASS_ANNOTATION}"
        causes.invalid(where, named, "must match `ingressClassName` when both are specified")


def _ingress_rule(causes: Causes, rule: Object, path: str) -> None:
    host = rule.get("host", "")
    if host:
        if not names.ip_address(host):
            causes.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        wrong = names.wildcard(host) if "*" in host else names.subdomain(host)
        causes.invalid_each(f"{path}.host", host, wrong)
    http = rule.get("http")
    if http is None:
        return
    paths = http.get("paths") or []
    if not paths:
        causes.required(f"{path}.http.paths")
    for index, item in enumerate(paths):
        _ingress_path(causes, item, f"{path}.http.paths[{index}]")


BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")


def _ingress_path(causes: Causes, item: Object, path: str) -> None:
    kind, target = item.get("pathType"), item.get("path", "")
    if kind is None:
        causes.required(f"{path}.pathType", "pathType must be specified")
        return
    match kind:
        case "Exact" | "Prefix":
            if not target.startswith("/"):
                causes.invalid(f"{path}.path", target, "must be an absolute path")
            for sequence in BAD_SEQUENCES:
                if sequence in target:
                    causes.invalid(f"{path}.path", target, f"must not contain '{sequence}'")
            for suffix in ("/..", "/."):
                if target.endswith(suffix):
                    causes.invalid(f"{path}.path", target, f"cannot end with '{suffix}'")
        case "ImplementationSpecific":
            if target and not target.startswith("/"):
                causes.invalid(f"{path}.path", target, "must be an absolute path")
        case _:
            causes.not_supported(f"{path}.pathType", kind, ("Exact", "ImplementationSpecific", "Prefix"))
    _backend(causes, item.get("backend") or {}, f"{path}.backend")


def _backend(causes: Causes, backend: Object, path: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        causes.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        _typed_reference(causes, resource, f"{path}.resource")
    elif service is None:
        causes.invalid(path, "", "resource or service backend is required")
    else:
        if not service.get("name"):
            causes.required(f"{path}.service.name")
        else:
            causes.invalid_each(f"{path}.service.name", service["name"], names.label_1035(service["name"]))
        port = service.get("port") or {}
        name, number = port.get("name", ""), port.get("number", 0)
        if name and number:
            causes.invalid(path, "", "cannot set both port name & port number")
        elif name:
            causes.invalid_each(f"{path}.service.port.name", name, names.port_name(name))
        elif number:
            causes.invalid_each(f"{path}.service.port.number", number, names.port_number(number))
        else:
            causes.required(path, "port name or number is required")


def ingress_class(causes: Causes, obj: Object) -> None:
    controller = (obj.get("spec") or {}).get("controller", "")
    if len(controller) > 250:
        causes.too_long("spec.controller", 250)
    if not controller:
        causes.required("spec.controller")
    else:
        _domain_path(causes, controller, "spec.controller")
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        _class_parameters(causes, parameters, "spec.parameters")


_URL_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def _domain_path(causes: Causes, value: str, path: str) -> None:
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        causes.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    causes.invalid_each(path, domain, names.subdomain(domain))
    if not re.fullmatch(_URL_PATH, rest):
        causes.invalid(path, rest, f"Invalid path (regex used for validation is '{_URL_PATH}')")


def _typed_reference(causes: Causes, reference: Object, path: str) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        causes.invalid_each(f"{path}.apiGroup", group, names.subdomain(group))
    for field in ("kind", "name"):
        value = reference.get(field) or ""
        if not value:
            causes.required(f"{path}.{field}")
        else:
            causes.invalid_each(f"{path}.{field}", value, names.path_segment(value))


def _class_parameters(causes: Causes, parameters: Object, path: str) -> None:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    _typed_reference(causes, parameters, path)
    if scope is None:
        causes.required(f"{path}.scope")
    elif scope not in ("Cluster", "Namespace"):
        causes.not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif scope == "Cluster" and namespace is not None:
        causes.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace" and namespace is None:
        causes.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif namespace is not None:
        causes.invalid_each(f"{path}.namespace", namespace, names.label(namespace))


def runtime_class(causes: Causes, obj: Object) -> None:
    handler = obj.get("handler", "")
    causes.invalid_each("handler", handler, names.label(handler))


def runtime_class_update(causes: Causes, new: Object, old: Object) -> None:
    causes.immutable("handler", new.get("handler"), old.get("handler"))


def ingress_class_update(causes: Causes, new: Object, old: Object) -> None:
    after, before = ((each.get("spec") or {}).get("controller") or "" for each in (new, old))
    causes.immutable("spec.controller", after, before)


# --- access control ------------------------------------------------------------------------------------------------


def _rules(causes: Causes, obj: Object, *, namespaced: bool) -> None:
    for index, rule in enumerate(obj.get("rules") or []):
        here, urls = f"rules[{index}]", rule.get("nonResourceURLs") or []
        if not rule.get("verbs"):
            causes.required(f"{here}.verbs", "verbs must contain at least one value")
        if urls:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                causes.invalid(f"{here}.nonResourceURLs", urls, text)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                causes.invalid(f"{here}.nonResourceURLs", urls, text)
            continue
        if not rule.get("apiGroups"):
            causes.required(f"{here}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            causes.required(f"{here}.resources", "resource rules must supply at least one resource")


def role(causes: Causes, obj: Object) -> None:
    _rules(causes, obj, namespaced=True)


def cluster_role(causes: Causes, obj: Object) -> None:
    _rules(causes, obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.required("aggregationRule.clusterRoleSelectors", text)
    for index, selector in enumerate(selectors):
        meta.label_selector(causes, f"aggregationRule.clusterRoleSelectors[{index}]", selector)


def _binding(causes: Causes, obj: Object, kinds: tuple[str, ...], *, namespaced: bool) -> None:
    ref = obj.get("roleRef") or {}
    if ref.get("apiGroup") != RBAC_GROUP:
        causes.not_supported("roleRef.apiGroup", ref.get("apiGroup", ""), (RBAC_GROUP,))
    if ref.get("kind") not in kinds:
        causes.not_supported("roleRef.kind", ref.get("kind", ""), kinds)
    if not ref.get("name"):
        causes.required("roleRef.name")
    else:
        causes.invalid_each("roleRef.name", ref["name"], names.path_segment(ref["name"]))
    for index, subject in enumerate(obj.get("subjects") or []):
        _subject(causes, subject, f"subjects[{index}]", namespaced)


def _subject(causes: Causes, subject: Object, path: str, namespaced: bool) -> None:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        causes.required(f"{path}.name")
    match subject.get("kind", ""):
        case "ServiceAccount":
            if name:
                causes.invalid_each(f"{path}.name", name, names.subdomain(name))
            if group:
                causes.not_supported(f"{path}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                causes.required(f"{path}.namespace")
        case "User" | "Group":
            if group != RBAC_GROUP:
                causes.not_supported(f"{path}.apiGroup", group, (RBAC_GROUP,))
        case kind:
            causes.not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def role_binding(causes: Causes, obj: Object) -> None:
    _binding(causes, obj, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(causes: Causes, obj: Object) -> None:
    _binding(causes, obj, ("ClusterRole",), namespaced=False)


def binding_update(causes: Causes, new: Object, old: Object) -> None:
    ref = new.get("roleRef") or {}
    if ref != (old.get("roleRef") or {}):
        shown = {"APIGroup": ref.get("apiGroup", ""), "Kind": ref.get("kind", ""), "Name": ref.get("name", "")}
        causes.invalid("roleRef", shown, "cannot change roleRef")


# --- discovery, scheduling, storage, coordination ------------------------------------------------------------------


def endpoint_slice(causes: Causes, obj: Object) -> None:
    kind, kinds = obj.get("addressType", ""), ("FQDN", "IPv4", "IPv6")
    if not kind:
        causes.required("addressType")
    elif kind not in kinds:
        causes.not_supported("addressType", kind, kinds)
    seen: set[str] = set()
    for index, port in enumerate(obj.get("ports") or []):
        here, name = f"ports[{index}]", port.get("name") or ""
        if name:
            causes.invalid_each(f"{here}.name", name, names.label(name))
        if name in seen:
            causes.duplicate(f"{here}.name", name)
        seen.add(name)
        if port.get("protocol") not in containers.PROTOCOLS:
            causes.not_supported(f"{here}.protocol", port.get("protocol", ""), containers.PROTOCOLS)
        if port.get("appProtocol") is not None:
            causes.invalid_each(f"{here}.appProtocol", port["appProtocol"], names.qualified(port["appProtocol"]))
    for index, endpoint in enumerate(obj.get("endpoints") or []):
        _endpoint(causes, endpoint, f"endpoints[{index}]", kind)


def _endpoint(causes: Causes, endpoint: Object, path: str, kind: str) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        causes.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > 100:
        causes.too_many(f"{path}.addresses", len(addresses), 100)
    for index, address in enumerate(addresses):
        here = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            causes.invalid_each(here, address, names.subdomain(address))
        if kind not in ("IPv4", "IPv6"):
            continue
        wrong = names.ip_address(address)
        causes.invalid_each(here, address, wrong)
        if not wrong and f"IPv{ipaddress.ip_address(address).version}" != kind:
            causes.invalid(f"{path}.addresses", address, f"must be an {kind} address")
        if not wrong:
            core.reachable(causes, here, address)
    if endpoint.get("nodeName") is not None:
        causes.invalid_each(f"{path}.nodeName", endpoint["nodeName"], names.subdomain(endpoint["nodeName"]))
    if endpoint.get("hostname") is not None:
        causes.invalid_each(f"{path}.hostname", endpoint["hostname"], names.label(endpoint["hostname"]))
    for name, check in (("forZones", names.label_value), ("forNodes", names.subdomain)):
        _hints(causes, (endpoint.get("hints") or {}).get(name) or [], f"{path}.hints.{name}", check)


_MOST_HINTS = 8


def _hints(causes: Causes, hints: list[Object], path: str, check: Callable[[str], list[str]]) -> None:
    if len(hints) > _MOST_HINTS:
        causes.too_many(path, len(hints), _MOST_HINTS)
        return
    seen: set[str] = set()
    for index, hint in enumerate(hints):
        here, name = f"{path}[{index}].name", hint.get("name") or ""
        if name in seen:
            causes.duplicate(here, name)
        seen.add(name)
        causes.invalid_each(here, name, check(name))


def endpoint_slice_update(causes: Causes, new: Object, old: Object) -> None:
    causes.immutable("addressType", new.get("addressType"), old.get("addressType"))


SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")
HIGHEST_PRIORITY = 1_000_000_000


def priority_class(causes: Causes, obj: Object) -> None:
    name = (obj.get("metadata") or {}).get("name", "")
    if name.startswith("system-"):
        if name not in SYSTEM_CLASSES:
            causes.forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. error: "
                f"{name} is not a known system priority class",
            )
    elif obj.get("value", 0) > HIGHEST_PRIORITY:
        causes.forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}")
    policies = ("PreemptLowerPriority", "Never")
    if obj.get("preemptionPolicy") == "":
        causes.required("preemptionPolicy")
    elif obj.get("preemptionPolicy") not in (None, *policies):
        causes.not_supported("preemptionPolicy", obj["preemptionPolicy"], policies)


def priority_class_update(causes: Causes, new: Object, old: Object) -> None:
    if new.get("value", 0) != old.get("value", 0):
        causes.forbidden("value", "may not be changed in an update.")
    causes.immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def storage_class(causes: Causes, obj: Object) -> None:
    provisioner = obj.get("provisioner", "")
    if not provisioner:
        causes.required("provisioner", provisioner)
    else:
        causes.invalid_each("provisioner", provisioner.lower(), names.qualified(provisioner.lower()))
    if "" in (obj.get("parameters") or {}):
        causes.invalid("parameters", "", "field can not be empty.")
    terms: list[Object] = [{}]
    for index, term in enumerate(obj.get("allowedTopologies") or ()):
        held = {each.get("key"): sorted(each.get("values") or ()) for each in term.get("matchLabelExpressions") or ()}
        if held in terms:
            causes.duplicate(f"allowedTopologies[{index}].matchLabelExpressions", "")
        terms.append(held)
        for at, each in enumerate(term.get("matchLabelExpressions") or ()):
            if not each.get("values"):
                causes.required(f"allowedTopologies[{index}].matchLabelExpressions[{at}].values")
    if obj.get("reclaimPolicy") not in (None, "", "Delete", "Retain"):
        causes.not_supported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    if obj.get("volumeBindingMode") is None:
        causes.required("volumeBindingMode")
    elif obj["volumeBindingMode"] not in modes:
        causes.not_supported("volumeBindingMode", obj["volumeBindingMode"], modes)


def storage_class_update(causes: Causes, new: Object, old: Object) -> None:
    if (new.get("parameters") or {}) != (old.get("parameters") or {}):
        causes.forbidden("parameters", "updates to parameters are forbidden.")
    if new.get("provisioner") != old.get("provisioner"):
        causes.forbidden("provisioner", "updates to provisioner are forbidden.")
    if new.get("reclaimPolicy") != old.get("reclaimPolicy"):
        causes.forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.")
    causes.immutable("volumeBindingMode", new.get("volumeBindingMode"), old.get("volumeBindingMode"))


def lease(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        causes.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    causes.nonnegative("spec.leaseTransitions", spec.get("leaseTransitions"))


def scale(causes: Causes, obj: Object) -> None:
    causes.nonnegative("spec.replicas", (obj.get("spec") or {}).get("replicas"))

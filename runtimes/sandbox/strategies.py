"""What kinds do to an object before it is checked and stored, beyond defaults: the part of the server's own hand.

On creation a status starts afresh and what only the server knows is filled in (uid-based selectors, addresses, phases).
On update what a path may not change is put back: the main path keeps the status, `status` keeps all but the status.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox import gates
from runtimes.sandbox.allocation import (
    NODE_PORTS,
    SERVICE_NETWORK,
    Rng,
    free_address,
    free_node_port,
    used_addresses,
    used_node_ports,
    wants_node_ports,
)
from runtimes.sandbox.errors import ApiError, JsonObject, invalid
from runtimes.sandbox.policies import policy
from runtimes.sandbox.quality import quality_of_service
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object, Store, copied
from runtimes.sandbox.validate.pod_status import addresses_agree


@dataclass(frozen=True, slots=True)
class Server:
    """What strategies may use of the cluster. `now` is the request's time in RFC 3339 with seconds."""

    store: Store
    rng: Rng
    now: str
    dry_run: bool = False


CERTIFICATE_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"  # an annotation of DaemonSets, counted by the server

Create = Callable[[Object, Server], None]
Update = Callable[[Object, Object, Server], None]


def prepare_create(resource: Resource, obj: Object, empty_status: Object | None, server: Server) -> None:
    """Change `obj` in place; its metadata has a uid already. `empty_status` is what a status starts from."""
    # A node comes with what its kubelet says of it; every other status is for the controllers to write.
    if "status" in resource.subresources and resource.storage != ("", "nodes"):
        obj.pop("status", None)
        if empty_status is not None:
            obj["status"] = copied(empty_status)
    if resource.is_custom or policy(resource).has_generation:
        obj["metadata"]["generation"] = 1
    gates.drop(resource, obj)
    own = _CREATE.get(resource.storage)
    if own is not None:
        own(obj, server)


def prepare_update(resource: Resource, new: Object, old: Object, server: Server) -> None:
    """For the object's main path. Change `new` in place."""
    if "status" in resource.subresources and not _status_is_written(resource):
        _keep(new, old, "status")
    gates.drop(resource, new)
    own = _UPDATE.get(resource.storage)
    if own is not None:
        own(new, old, server)
    _count_generation(resource, new, old)


def _status_is_written(resource: Resource) -> bool:
    return resource.storage == ("networking.k8s.io", "servicecidrs")


def _filled(value: Any) -> Any:
    """Without what is empty: for the server an empty list and none are equal."""
    if isinstance(value, dict):
        return {key: _filled(inner) for key, inner in value.items() if inner is not None and inner != []}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def _count_generation(resource: Resource, new: Object, old: Object) -> None:
    rules = policy(resource)
    if not (resource.is_custom or rules.has_generation or rules.counts_late):
        _keep(new["metadata"], old["metadata"], "generation")
        return
    generation = old["metadata"].get("generation", 0)
    ignored = {"metadata", "kind", "apiVersion"}
    if "status" in resource.subresources:
        ignored.add("status")
    wanted = ({k: v for k, v in each.items() if k not in ignored} for each in (new, old))
    after, before = wanted
    changed = after != before and (resource.is_custom or _filled(after) != _filled(before))
    for part in rules.counted_metadata:
        changed = changed or new["metadata"].get(part) != old["metadata"].get(part)
    if rules.keeps_generation:
        changed = False
    if generation or changed:
        new["metadata"]["generation"] = generation + 1 if changed else generation


def prepare_subresource(resource: Resource, subresource: str, new: Object, old: Object, server: Server) -> Object:
    """The object to store when `new` came through a subresource: the old one but for what that path may change."""
    match subresource:
        case "status":
            return prepare_status_update(resource, new, old, server)
        case "scale":
            prepare_update(resource, new, old, server)
            return new
        case "resize":
            return _prepare_resize(resource, new, old)
        case "approval":
            return _prepare_approval(resource, new, old, server)
        case "ephemeralcontainers":
            result: Object = copied(old)
            _keep(result["metadata"], new["metadata"], "managedFields")
            _keep(result["spec"], new["spec"], "ephemeralContainers")
            _count_generation(resource, result, old)
            return result
        case _:
            return new


def _prepare_resize(resource: Resource, new: Object, old: Object) -> Object:
    """Of the containers that there are, resources and what a change of them entails."""
    result: Object = copied(old)
    _keep(result["metadata"], new["metadata"], "managedFields")
    for key in ("containers", "initContainers"):
        asked = {each.get("name"): each for each in new["spec"].get(key) or ()}
        for container in result["spec"].get(key) or ():
            for part in ("resources", "resizePolicy"):
                _keep(container, asked.get(container["name"], container), part)
    _count_generation(resource, result, old)
    return result


def _prepare_approval(resource: Resource, new: Object, old: Object, server: Server) -> Object:
    """Only what was decided: the conditions."""
    result = copied(old)
    result["metadata"] = new["metadata"]
    status = result.setdefault("status", {})
    _keep(status, new.get("status") or {}, "conditions")
    _date_conditions(result, old, server)
    return result  # type: ignore[no-any-return]  # copied keeps the shape


def _date_conditions(new: Object, old: Object, server: Server) -> None:
    before = (old.get("status") or {}).get("conditions") or []
    for condition in (new.get("status") or {}).get("conditions") or ():
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or server.now
        since = next(
            (
                each.get("lastTransitionTime")
                for each in before
                if (each.get("type"), each.get("status")) == (condition.get("type"), condition.get("status"))
            ),
            None,
        )
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since or server.now


def prepare_status_update(resource: Resource, new: Object, old: Object, server: Server) -> Object:
    """For the `status` path: the old object with the new status, and what of the metadata may change along."""
    kept = policy(resource).status_metadata
    result = copied(old)
    _keep(result, new, "status")
    if kept == "all":
        _keep(result["metadata"], new["metadata"], "managedFields")
        return result  # type: ignore[no-any-return]  # copied keeps the shape
    result["metadata"] = new["metadata"]
    if kept == "labels":
        _keep(result["metadata"], old["metadata"], "labels")
    elif kept == "owners":
        _keep(result["metadata"], old["metadata"], "ownerReferences")
    if "generation" in old["metadata"]:
        result["metadata"]["generation"] = old["metadata"]["generation"]
    if resource.storage == ("", "persistentvolumes"):
        _note_phase_change(result, old, server)
    elif resource.storage == ("apps", "daemonsets"):
        count = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
        result["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = count
    elif resource.storage == CERTIFICATE_REQUESTS:
        _date_conditions(result, old, server)
    elif resource.storage == ("", "pods"):
        if not (result.get("status") or {}).get("qosClass"):
            _keep(result.setdefault("status", {}), old.get("status") or {}, "qosClass")
        addresses_agree(result["status"])
    return result  # type: ignore[no-any-return]  # copied keeps the shape


def _keep(new: Object, old: Object, key: str) -> None:
    if key in old:
        new[key] = copied(old[key])
    else:
        new.pop(key, None)


# --- Pods ---


def _create_pod(pod: Object, server: Server) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": server.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


# --- Services ---


def _create_service(service: Object, server: Server) -> None:
    service["status"] = {"loadBalancer": {}}
    allocate_service(service, None, server)


def _update_service(new: Object, old: Object, server: Server) -> None:
    """A PUT that leaves address and ports out keeps them, unless the type no longer has any."""
    spec, before = new["spec"], old["spec"]
    if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") in (None, before.get("clusterIPs")):
        # who changes the one address that older clients know means the list, too
        spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else []
        if not spec["clusterIPs"]:
            del spec["clusterIPs"]
    if spec.get("type") == "ExternalName" and wants_node_ports(before):
        _drop_node_ports(spec, before)
    if spec.get("type") != "ExternalName" and before.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(name) and before.get(name):
                spec[name] = copied(before[name])
        if spec.get("healthCheckNodePort") in (None, 0) and before.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = before["healthCheckNodePort"]
    if wants_node_ports(spec) and wants_node_ports(before):
        _keep_node_ports(spec, before)
    if spec.get("type") == "ExternalName" and before.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)
    lost = []
    if not wants_traffic_policy(spec) and wants_traffic_policy(before):
        lost += ["externalTrafficPolicy", "healthCheckNodePort"]
    if spec.get("type") != "LoadBalancer" and before.get("type") == "LoadBalancer":
        lost += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    for name in lost:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)
    allocate_service(new, old, server)


def wants_traffic_policy(spec: JsonObject) -> bool:
    """Whether traffic comes in from outside in a way that the policy is about."""
    return spec.get("type") in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))


def _drop_node_ports(spec: JsonObject, before: JsonObject) -> None:
    """Those that the Service had and has no use for any more."""
    held = {port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        if port.get("nodePort") in held:
            port.pop("nodePort", None)


def _keep_node_ports(spec: JsonObject, before: JsonObject) -> None:
    """By name: a port that keeps its name may change in all else. One that is given to another port is not kept."""
    known = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
    asked = {port.get("nodePort") for port in spec.get("ports") or ()}
    for port in spec.get("ports") or ():
        kept = known.get(port.get("name", ""))
        if not port.get("nodePort") and kept and kept not in asked:
            port["nodePort"] = kept


def _is_without_endpoints(spec: Object) -> bool:
    """Headless without a selector: its addresses are somebody else's, of families that the cluster need not have."""
    return spec.get("clusterIP") == "None" and not spec.get("selector")


def _choose_families(spec: Object) -> None:
    if not _is_without_endpoints(spec):
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("ipFamilies", ["IPv4"])
        return
    families = spec.setdefault("ipFamilies", ["IPv4"])
    if spec.setdefault("ipFamilyPolicy", "RequireDualStack") != "SingleStack" and len(families) == 1:
        families.append("IPv6" if families == ["IPv4"] else "IPv4")


def allocate_service(service: Object, old: Object | None, server: Server) -> None:
    """Fill in families, address and node ports. Raises 422 when what was asked for cannot be had."""
    spec = service["spec"]
    is_outside = spec.get("type") == "ExternalName"
    if spec.get("clusterIP") and not spec.get("clusterIPs") and not (is_outside and old is not None):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if is_outside:
        return
    if spec.get("clusterIPs") and not spec.get("clusterIP") and old is None:
        return  # one without the other: validation says so
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and not _is_without_endpoints(spec):
        why = "this cluster is not configured for dual-stack services"
        raise _refused(service, "spec.ipFamilyPolicy", '"RequireDualStack"', why)
    _choose_families(spec)
    if "IPv6" in spec["ipFamilies"] and not _is_without_endpoints(spec):
        at = spec["ipFamilies"].index("IPv6")
        raise _refused(service, f"spec.ipFamilies[{at}]", '"IPv6"', "not configured on this cluster")
    had = old["spec"].get("clusterIP") if old is not None else None
    if not spec.get("clusterIP"):
        # a trial is not worth a search: it shows the network's own address
        address = str(SERVICE_NETWORK[0]) if server.dry_run else free_address(server.store, server.rng)
        if address is None:
            raise ApiError(
                500, "InternalError", "Internal error occurred: failed to allocate a serviceIP: range is full"
            )
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
    elif spec["clusterIP"] not in ("None", had) and not had:  # one that had another is refused as it is checked
        _claim_address(service, server)
    if spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        _allocate_health_port(spec, server)
    elif old is not None and spec.get("healthCheckNodePort") == old["spec"].get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
    if wants_node_ports(spec):
        _allocate_node_ports(service, old, server)
    elif old is not None:
        before = {port.get("nodePort") for port in old["spec"].get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in before:
                port.pop("nodePort", None)


def _allocate_health_port(spec: JsonObject, server: Server) -> None:
    """Where a load balancer asks a node whether it has pods of the Service."""
    if not spec.get("healthCheckNodePort"):
        given = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        found = free_node_port(server.store, server.rng, given)
        assert found is not None, "the sandbox holds fewer Services than node ports"
        spec["healthCheckNodePort"] = found


def _refused(service: Object, field: str, value: str, why: str) -> ApiError:
    cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: {value}: {why}", "field": field}
    return invalid("", "Service", service["metadata"].get("name", ""), [cause])


def _claim_address(service: Object, server: Server) -> None:
    address = service["spec"]["clusterIP"]
    value = f'["{address}"]'
    try:
        inside = ipaddress.ip_address(address) in SERVICE_NETWORK
    except ValueError:
        return  # not an address: validation says so
    if not inside:
        why = f"failed to allocate IP {address}: the provided network does not match the current range"
        raise _refused(service, "spec.clusterIPs", value, why)
    if address in used_addresses(server.store):
        why = f"failed to allocate IP {address}: provided IP is already allocated"
        raise _refused(service, "spec.clusterIPs", value, why)


def _ports(service: Object) -> list[JsonObject]:
    return list(service["spec"].get("ports") or ())


def _allocate_node_ports(service: Object, old: Object | None, server: Server) -> None:
    own = {port.get("nodePort") for port in (old["spec"].get("ports") or () if old else ())}
    used = used_node_ports(server.store) - own
    chosen: set[int] = set()
    taken: set[tuple[str, int]] = set()
    given = [(port.get("protocol", "TCP"), port["nodePort"]) for port in _ports(service) if port.get("nodePort")]
    twice = next((each for at, each in enumerate(given) if each in given[:at]), None)
    if twice is not None and not server.dry_run:
        raise ApiError(500, "", f"duplicate nodePort: {{{twice[0]} {twice[1]}}}")
    for index, port in enumerate(service["spec"].get("ports") or ()):
        asked = port.get("nodePort")
        field = f"spec.ports[{index}].nodePort"
        if not asked:
            found = free_node_port(server.store, server.rng, chosen)
            assert found is not None, "the sandbox holds fewer Services than node ports"
            port["nodePort"] = found
            chosen.add(found)
        elif asked not in NODE_PORTS and not server.dry_run:
            last = NODE_PORTS.stop - 1
            why = f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{last}"
            raise _refused(service, field, str(asked), why)
        elif asked in used or (port.get("protocol", "TCP"), asked) in taken:
            raise _refused(service, field, str(asked), "provided port is already allocated")
        else:
            chosen.add(asked)
            taken.add((port.get("protocol", "TCP"), asked))


# --- Others ---


def _create_job(job: Object, server: Server) -> None:
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    uid, name = job["metadata"]["uid"], job["metadata"].get("name", "")
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = spec.setdefault("template", {})
    metadata = template.get("metadata") or {}
    given = metadata.get("labels") or {}
    metadata["labels"] = {**labels, **given}
    template["metadata"] = metadata
    if given and job["metadata"].get("labels") == given:
        # a job without labels of its own shares its template's: what is added to the ones is added to the others
        job["metadata"]["labels"] = dict(metadata["labels"])
    selector = spec.get("selector") or {}
    selector["matchLabels"] = {
        **(selector.get("matchLabels") or {}),
        "batch.kubernetes.io/controller-uid": uid,
    }
    spec["selector"] = selector


def _create_namespace(namespace: Object, server: Server) -> None:
    namespace["status"] = {"phase": "Active"}
    name = namespace["metadata"].get("name", "")
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = name
    spec = namespace.setdefault("spec", {})
    if "kubernetes" not in (spec.get("finalizers") or ()):
        spec["finalizers"] = [*(spec.get("finalizers") or ()), "kubernetes"]


def _update_namespace(new: Object, old: Object, server: Server) -> None:
    """Finalizers of the spec change through `finalize` alone."""
    spec = new.setdefault("spec", {})
    _keep(spec, old.get("spec") or {}, "finalizers")
    labels = new["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = new["metadata"]["name"]


def _create_secret(secret: Object, server: Server) -> None:
    text = secret.pop("stringData", None)
    if text:
        data = secret.get("data") or {}
        data.update({key: base64.b64encode(value.encode()).decode() for key, value in text.items()})
        secret["data"] = data
    secret.setdefault("type", "Opaque")


def _update_secret(new: Object, old: Object, server: Server) -> None:
    _create_secret(new, server)


def _create_volume(volume: Object, server: Server) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": server.now}


def _note_phase_change(new: Object, old: Object, server: Server) -> None:
    status, before = new.setdefault("status", {}), old.get("status") or {}
    if status.get("phase") != before.get("phase"):
        if status.get("lastPhaseTransitionTime") in (None, before.get("lastPhaseTransitionTime")):
            status["lastPhaseTransitionTime"] = server.now
    elif "lastPhaseTransitionTime" not in status:
        _keep(status, before, "lastPhaseTransitionTime")


def is_completed_on_reading(resource: Resource, created: Object) -> bool:
    """Whether an object is stored without a default that a reader is shown. `created` is as it was sent."""
    if resource.storage == ("batch", "jobs"):  # labels from the template's, which are made after the defaults
        return not created["metadata"].get("labels") and not created["spec"].get("manualSelector")
    return resource.storage == ("", "persistentvolumeclaims")  # the phase


def _create_claim(claim: Object, server: Server) -> None:
    claim["status"] = {"phase": "Pending"}


def _create_daemon_set(daemon_set: Object, server: Server) -> None:
    daemon_set["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = "1"


def _update_daemon_set(new: Object, old: Object, server: Server) -> None:
    count = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    changed = new["spec"].get("template") != old["spec"].get("template")
    new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(count + changed)


def _create_definition(definition: Object, server: Server) -> None:
    _note_stored_version(definition)


def _update_definition(new: Object, old: Object, server: Server) -> None:
    _note_stored_version(new)


def _note_stored_version(definition: Object) -> None:
    """Versions that objects may be stored in are listed for good, until somebody migrates them and takes them out."""
    versions = definition["spec"].get("versions") or ()
    stored = definition.setdefault("status", {}).get("storedVersions") or []
    current = [each["name"] for each in versions if each.get("storage") and each["name"] not in stored][:1]
    if current:
        definition["status"]["storedVersions"] = [*stored, *current]


def _create_lease(lease: Object, server: Server) -> None:
    """Without what belongs to a feature that is off."""
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)


def _update_lease(new: Object, old: Object, server: Server) -> None:
    _create_lease(new, server)


def _create_node(node: Object, server: Server) -> None:
    (node.get("spec") or {}).pop("configSource", None)


def _create_limit_range(obj: Object, server: Server) -> None:
    """One without a name gets one that nobody else has."""
    obj["metadata"]["name"] = obj["metadata"].get("name") or server.rng.uid()


def _create_device_class(obj: Object, server: Server) -> None:
    obj.get("spec", {}).pop("extendedResourceName", None)  # alpha in this version


def _create_api_service(obj: Object, server: Server) -> None:
    if not (obj.get("spec") or {}).get("service"):
        said = {"reason": "Local", "message": "Local APIServices are always available"}
        condition = {"type": "Available", "status": "True", "lastTransitionTime": server.now, **said}
        obj["status"] = {"conditions": [condition]}


def _update_certificate_request(new: Object, old: Object, server: Server) -> None:
    _keep(new, old, "spec")


def _update_node(new: Object, old: Object, server: Server) -> None:
    _create_node(new, server)


_CREATE: Mapping[tuple[str, str], Create] = {
    ("", "pods"): _create_pod,
    ("", "services"): _create_service,
    ("", "namespaces"): _create_namespace,
    ("", "secrets"): _create_secret,
    ("", "persistentvolumes"): _create_volume,
    ("", "persistentvolumeclaims"): _create_claim,
    ("", "nodes"): _create_node,
    ("resource.k8s.io", "deviceclasses"): _create_device_class,
    ("apiregistration.k8s.io", "apiservices"): _create_api_service,
    ("", "limitranges"): _create_limit_range,
    ("batch", "jobs"): _create_job,
    ("coordination.k8s.io", "leases"): _create_lease,
    ("apps", "daemonsets"): _create_daemon_set,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _create_definition,
}
_UPDATE: Mapping[tuple[str, str], Update] = {
    ("", "services"): _update_service,
    ("", "namespaces"): _update_namespace,
    ("", "secrets"): _update_secret,
    ("", "nodes"): _update_node,
    CERTIFICATE_REQUESTS: _update_certificate_request,
    ("coordination.k8s.io", "leases"): _update_lease,
    ("apps", "daemonsets"): _update_daemon_set,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _update_definition,
}

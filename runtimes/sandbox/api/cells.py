"""The cells of each built-in kind's row in a Table, as the real server's printers fill them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from runtimes.sandbox.api import pod_cells, server_cells
from runtimes.sandbox.api.ages import age, duration, parse_time
from runtimes.sandbox.api.server_cells import Row
from runtimes.sandbox.selectors import written as selector_text
from runtimes.sandbox.storage_classes import class_of
from runtimes.sandbox.store import Object

_NONE, _UNKNOWN, _UNSET = "<none>", "<unknown>", "<unset>"


def of(resource: tuple[str, str], obj: Object, now: datetime) -> list[Any]:
    row = _ROWS.get(resource)
    if row is None:
        return [obj["metadata"]["name"], _age(obj, now)]
    return row(obj, now)


def _age(obj: Object, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


# --- Parts ---


def _status(obj: Object) -> Mapping[str, Any]:
    return obj.get("status") or {}


def _images(template: Mapping[str, Any]) -> list[str]:
    containers = (template.get("spec") or {}).get("containers") or ()
    return [",".join(each["name"] for each in containers), ",".join(each.get("image", "") for each in containers)]


def _joined(parts: Iterable[str], otherwise: str = _NONE) -> str:
    return ",".join(parts) or otherwise


def _pairs(labels: Mapping[str, str] | None) -> str:
    return _joined(f"{key}={value}" for key, value in sorted((labels or {}).items()))


# --- Workloads ---


def _deployment(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, now),
        *_images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def _replicaset(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    selector = spec.get("selector")
    text = (
        selector_text(selector)
        if selector is None or "matchLabels" in selector or "matchExpressions" in selector
        else _pairs(selector)
    )
    return [
        obj["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(obj, now),
        *_images(spec.get("template") or {}),
        text,
    ]


def _statefulset(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ready = f"{_status(obj).get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [obj["metadata"]["name"], ready, _age(obj, now), *_images(spec["template"])]


def _daemonset(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    return [
        obj["metadata"]["name"],
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        _pairs((spec["template"].get("spec") or {}).get("nodeSelector")),
        _age(obj, now),
        *_images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def _job(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallelism = spec.get("parallelism") or 0
        completions = f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"
    start, end = parse_time(status.get("startTime")), parse_time(status.get("completionTime"))
    took = "" if start is None else duration(((end or now) - start).total_seconds())
    return [
        obj["metadata"]["name"],
        _job_status(obj),
        completions,
        took,
        _age(obj, now),
        *_images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def _job_status(job: Object) -> str:
    status = _status(job)
    if pod_cells.has(status, "Complete"):
        return "Complete"
    if pod_cells.has(status, "Failed"):
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if pod_cells.has(status, "Suspended"):
        return "Suspended"
    if pod_cells.has(status, "FailureTarget"):
        return "FailureTarget"
    if pod_cells.has(status, "SuccessCriteriaMet"):
        return "SuccessCriteriaMet"
    return "Running"


def _cronjob(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    last = status.get("lastScheduleTime")
    template = spec["jobTemplate"]["spec"]
    return [
        obj["metadata"]["name"],
        spec["schedule"],
        spec.get("timeZone") or _NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else _NONE,
        _age(obj, now),
        *_images(template["template"]),
        selector_text(template.get("selector")),
    ]


def _autoscaler(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    reference = spec["scaleTargetRef"]
    least = spec.get("minReplicas")
    return [
        obj["metadata"]["name"],
        f"{reference['kind']}/{reference['name']}",
        _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        _UNSET if least is None else str(least),
        spec["maxReplicas"],
        status.get("currentReplicas", 0),
        _age(obj, now),
    ]


def _metrics(specs: Iterable[Mapping[str, Any]], current: Iterable[Mapping[str, Any]]) -> str:
    listed, now_ = list(specs), list(current)
    if not listed:
        return _NONE
    shown = []
    for index, metric in enumerate(listed):
        key = metric["type"][0].lower() + metric["type"][1:]
        source = metric.get(key) or {}
        have = (now_[index].get(key) or {}).get("current") or {} if index < len(now_) else {}
        target = source.get("target") or {}
        name = f"{source['name']}: " if "name" in source else ""
        if "averageUtilization" in target:
            used = have.get("averageUtilization")
            shown.append(f"{name}{_UNKNOWN if used is None else f'{used}%'}/{target['averageUtilization']}%")
        elif "averageValue" in target:
            suffix = "" if metric["type"] in ("Pods", "Resource", "ContainerResource") else " (avg)"
            shown.append(f"{name}{have.get('averageValue', _UNKNOWN)}/{target['averageValue']}{suffix}")
        else:
            shown.append(f"{name}{have.get('value', _UNKNOWN)}/{target.get('value', _UNKNOWN)}")
    if len(shown) > 2:
        return f"{', '.join(shown[:2])} + {len(shown) - 2} more..."
    return ", ".join(shown)


# --- Network ---


def _service(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    addresses = spec.get("clusterIPs") or ()
    return [
        obj["metadata"]["name"],
        spec.get("type", ""),
        addresses[0] if addresses else _NONE,
        _external_address(obj),
        _joined(_port(each) for each in spec.get("ports") or ()),
        _age(obj, now),
        _pairs(spec.get("selector")),
    ]


def _external_address(service: Object) -> str:
    spec = service["spec"]
    outside = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "LoadBalancer":
            ingress = (_status(service).get("loadBalancer") or {}).get("ingress") or ()
            given = [each.get("ip") or each.get("hostname") or "" for each in ingress]
            return _joined([*given, *outside], "<pending>")
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return _joined(outside)


def _port(port: Mapping[str, Any]) -> str:
    inner = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else f"{port['port']}"
    return f"{inner}/{port.get('protocol', 'TCP')}"


def _endpoints(obj: Object, now: datetime) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        ports: list[Mapping[str, Any]] = list(subset.get("ports") or ({},))
        for port in ports:
            for address in subset.get("addresses") or ():
                found.append(f"{address['ip']}:{port['port']}" if port else address["ip"])
    return [obj["metadata"]["name"], _limited(found, 3), _age(obj, now)]


def _limited(values: list[str], most: int) -> str:
    if not values:
        return _NONE
    shown = ",".join(values[:most])
    return f"{shown} + {len(values) - most} more..." if len(values) > most else shown


def _endpoint_slice(obj: Object, now: datetime) -> list[Any]:
    ports = [str(port.get("port") or port.get("name", "*")) for port in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    shown_ports = _limited(ports, 3) if any(ports) else _UNSET
    shown = _limited(addresses, 3) if addresses else _UNSET
    return [obj["metadata"]["name"], obj.get("addressType", ""), shown_ports, shown, _age(obj, now)]


def _ingress(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    ingress = (_status(obj).get("loadBalancer") or {}).get("ingress") or ()
    return [
        obj["metadata"]["name"],
        spec.get("ingressClassName") or _NONE,
        _limited(hosts, 3) if hosts else "*",
        ",".join(each.get("ip") or each.get("hostname") or "" for each in ingress),
        "80, 443" if spec.get("tls") else "80",
        _age(obj, now),
    ]


def _ingress_class(obj: Object, now: datetime) -> list[Any]:
    parameters = obj["spec"].get("parameters")
    text = _NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters['kind']}{group}/{parameters['name']}"
    return [obj["metadata"]["name"], obj["spec"].get("controller", ""), text, _age(obj, now)]


def _network_policy(obj: Object, now: datetime) -> list[Any]:
    return [obj["metadata"]["name"], selector_text(obj["spec"].get("podSelector")), _age(obj, now)]


# --- Storage ---

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: Iterable[str] | None) -> str:
    given = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _volume(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    claim = spec.get("claimRef")
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return [
        obj["metadata"]["name"],
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_of(obj),
        spec.get("volumeAttributesClassName") or _UNSET,
        status.get("reason", ""),
        _age(obj, now),
        spec.get("volumeMode", _UNSET),
    ]


def _claim(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], _status(obj)
    bound = bool(spec.get("volumeName"))
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return [
        obj["metadata"]["name"],
        phase,
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        class_of(obj),
        status.get("currentVolumeAttributesClassName") or spec.get("volumeAttributesClassName") or _UNSET,
        _age(obj, now),
        spec.get("volumeMode", _UNSET),
    ]


def _storage_class(obj: Object, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    is_default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        obj["metadata"]["name"] + (" (default)" if is_default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        _age(obj, now),
    ]


# --- Cluster ---


def _node(obj: Object, now: datetime) -> list[Any]:
    status = _status(obj)
    words = []
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    words.append("Unknown" if ready is None else "Ready" if ready["status"] == "True" else "NotReady")
    if obj.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    addresses = {each["type"]: each["address"] for each in reversed(status.get("addresses") or ())}
    info = status.get("nodeInfo") or {}
    return [
        obj["metadata"]["name"],
        ",".join(words),
        _roles(obj["metadata"].get("labels") or {}),
        _age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        info.get("osImage") or _UNKNOWN,
        info.get("kernelVersion") or _UNKNOWN,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _roles(labels: Mapping[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    found = {label.removeprefix(prefix) for label in labels if label.startswith(prefix) and label != prefix}
    if labels.get("kubernetes.io/role"):
        found.add(labels["kubernetes.io/role"])
    return _joined(sorted(found))


def _event(obj: Object, now: datetime) -> list[Any]:
    series = obj.get("series") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    target = obj["involvedObject"]
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    count = series.get("count") or obj.get("count") or 1
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{target.get('kind', '').lower()}/{target.get('name', '')}",
        target.get("fieldPath", ""),
        ", ".join(part for part in (component, host) if part),
        obj.get("message", "").strip(),
        age(first, now),
        count,
        obj["metadata"]["name"],
    ]


def _budget(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        obj["metadata"]["name"],
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        _status(obj).get("disruptionsAllowed", 0),
        _age(obj, now),
    ]


def _subjects(obj: Object, kind: str) -> str:
    found = [each for each in obj.get("subjects") or () if each["kind"] == kind]
    if kind == "ServiceAccount":
        return ", ".join(f"{each.get('namespace', '')}/{each['name']}" for each in found)
    return ", ".join(each["name"] for each in found)


def _binding(obj: Object, now: datetime) -> list[Any]:
    role = obj["roleRef"]
    people = [_subjects(obj, kind) for kind in ("User", "Group", "ServiceAccount")]
    return [obj["metadata"]["name"], f"{role['kind']}/{role['name']}", _age(obj, now), *people]


def _created_at(obj: Object, now: datetime) -> list[Any]:
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]


def _quota(obj: Object, now: datetime) -> list[Any]:
    status = _status(obj)
    hard, used = status.get("hard") or {}, status.get("used") or {}
    parts: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        parts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [obj["metadata"]["name"], ", ".join(parts[False]), ", ".join(parts[True]), _age(obj, now)]


def _priority_class(obj: Object, now: datetime) -> list[Any]:
    default = bool(obj.get("globalDefault", False))
    policy = obj.get("preemptionPolicy", "PreemptLowerPriority")
    return [obj["metadata"]["name"], obj.get("value", 0), default, _age(obj, now), policy]


def _api_service(obj: Object, now: datetime) -> list[Any]:
    service = obj["spec"].get("service")
    condition: Mapping[str, Any] = next(
        (c for c in _status(obj).get("conditions") or () if c["type"] == "Available"), {}
    )
    shown = condition.get("status", "Unknown")
    if shown == "False":
        shown = f"False ({condition.get('reason', '')})"
    where = f"{service['namespace']}/{service['name']}" if service else "Local"
    return [obj["metadata"]["name"], where, shown, _age(obj, now)]


def _counted(key: str) -> Row:
    def row(obj: Object, now: datetime) -> list[Any]:
        return [obj["metadata"]["name"], len(obj.get(key) or ()), _age(obj, now)]

    return row


_ROWS: Mapping[tuple[str, str], Row] = {
    ("", "pods"): pod_cells.cells,
    ("", "services"): _service,
    ("", "endpoints"): _endpoints,
    ("", "nodes"): _node,
    ("", "events"): _event,
    ("", "configmaps"): lambda o, now: [
        o["metadata"]["name"],
        len(o.get("data") or ()) + len(o.get("binaryData") or ()),
        _age(o, now),
    ],
    ("", "secrets"): lambda o, now: [
        o["metadata"]["name"],
        o.get("type", ""),
        len(o.get("data") or ()),
        _age(o, now),
    ],
    ("", "serviceaccounts"): _counted("secrets"),
    ("", "namespaces"): lambda o, now: [o["metadata"]["name"], _status(o).get("phase", ""), _age(o, now)],
    ("", "persistentvolumes"): _volume,
    ("", "persistentvolumeclaims"): _claim,
    ("", "resourcequotas"): _quota,
    ("", "limitranges"): _created_at,
    ("", "replicationcontrollers"): _replicaset,
    ("", "podtemplates"): lambda o, now: [
        o["metadata"]["name"],
        *_images(o.get("template") or {}),
        _pairs(((o.get("template") or {}).get("metadata") or {}).get("labels")),
    ],
    ("apps", "deployments"): _deployment,
    ("apps", "replicasets"): _replicaset,
    ("apps", "statefulsets"): _statefulset,
    ("apps", "daemonsets"): _daemonset,
    ("apps", "controllerrevisions"): lambda o, now: [
        o["metadata"]["name"],
        _controller(o),
        o.get("revision", 0),
        _age(o, now),
    ],
    ("batch", "jobs"): _job,
    ("batch", "cronjobs"): _cronjob,
    ("autoscaling", "horizontalpodautoscalers"): _autoscaler,
    ("networking.k8s.io", "ingresses"): _ingress,
    ("networking.k8s.io", "ingressclasses"): _ingress_class,
    ("networking.k8s.io", "networkpolicies"): _network_policy,
    ("networking.k8s.io", "ipaddresses"): lambda o, now: [o["metadata"]["name"], _parent(o), _age(o, now)],
    ("networking.k8s.io", "servicecidrs"): lambda o, now: [
        o["metadata"]["name"],
        ",".join(o["spec"].get("cidrs") or ()),
        _age(o, now),
    ],
    ("discovery.k8s.io", "endpointslices"): _endpoint_slice,
    ("policy", "poddisruptionbudgets"): _budget,
    ("rbac.authorization.k8s.io", "roles"): _created_at,
    ("rbac.authorization.k8s.io", "clusterroles"): _created_at,
    ("rbac.authorization.k8s.io", "rolebindings"): _binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _binding,
    ("storage.k8s.io", "storageclasses"): _storage_class,
    ("storage.k8s.io", "csistoragecapacities"): _created_at,
    ("storage.k8s.io", "csinodes"): lambda o, now: [
        o["metadata"]["name"],
        len(o["spec"].get("drivers") or ()),
        _age(o, now),
    ],
    ("storage.k8s.io", "csidrivers"): lambda o, now: [
        o["metadata"]["name"],
        o["spec"].get("attachRequired", True),
        o["spec"].get("podInfoOnMount", False),
        o["spec"].get("storageCapacity", False),
        _joined((t.get("audience", "") for t in o["spec"].get("tokenRequests") or ()), _UNSET),
        o["spec"].get("requiresRepublish", False),
        _joined(o["spec"].get("volumeLifecycleModes") or ()),
        _age(o, now),
    ],
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
    ("coordination.k8s.io", "leases"): lambda o, now: [
        o["metadata"]["name"],
        (o.get("spec") or {}).get("holderIdentity", ""),
        _age(o, now),
    ],
    ("node.k8s.io", "runtimeclasses"): lambda o, now: [o["metadata"]["name"], o.get("handler", ""), _age(o, now)],
    ("apiextensions.k8s.io", "customresourcedefinitions"): _created_at,
    ("apiregistration.k8s.io", "apiservices"): _api_service,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _counted("webhooks"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _counted("webhooks"),
    **server_cells.ROWS,
}


def _controller(obj: Object) -> str:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    if owner is None:
        return _NONE
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"


def _parent(obj: Object) -> str:
    reference = obj["spec"].get("parentRef") or {}
    group = f".{reference['group']}" if reference.get("group") else ""
    where = f"{reference['namespace']}/" if reference.get("namespace") else ""
    return f"{reference.get('resource', '')}{group}/{where}{reference.get('name', '')}"

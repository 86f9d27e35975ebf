"""Rules for pods and pod templates."""

from __future__ import annotations

from runtimes.sandbox.quality import quality_of_service
from runtimes.sandbox.validate import containers, meta, names, pod_parts, scheduling, security
from runtimes.sandbox.validate import volumes as volume_rules
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.security import MAX_ID


def pod_spec(causes: Causes, spec: Object, path: str, *, is_pod: bool) -> None:
    volumes = volume_rules.volumes(causes, spec.get("volumes") or [], f"{path}.volumes")
    regular = spec.get("containers") or []
    pod_parts.resource_claims(causes, spec, f"{path}.resourceClaims")
    containers.containers(causes, regular, volumes, f"{path}.containers")
    containers.init_containers(causes, spec.get("initContainers") or [], regular, volumes, f"{path}.initContainers")
    containers.ephemeral_containers(causes, spec, volumes, f"{path}.ephemeralContainers")
    pod_parts.around(causes, spec, path)
    if spec.get("resources"):
        pod_parts.whole_pod(causes, spec, f"{path}.resources")
    if spec.get("hostNetwork"):
        containers.host_network(causes, regular, f"{path}.containers", is_pod)
    _host_users(causes, spec, path)
    containers.choice(causes, f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    dns = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    containers.choice(causes, f"{path}.dnsPolicy", spec.get("dnsPolicy"), dns)
    meta.labels(causes, f"{path}.nodeSelector", spec.get("nodeSelector"))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.invalid(f"{path}.securityContext.shareProcessNamespace", True, text)
    security.pod(causes, spec.get("securityContext") or {}, f"{path}.securityContext")
    scheduling.affinity(causes, spec.get("affinity") or {}, f"{path}.affinity")
    _dns_config(causes, spec, f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or []):
        here = f"{path}.readinessGates[{index}].conditionType"
        causes.invalid_each(here, gate.get("conditionType", ""), names.qualified(gate.get("conditionType", "")))
    scheduling.gates(causes, spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    scheduling.spread(causes, spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")
    if spec.get("serviceAccountName"):
        account = spec["serviceAccountName"]
        causes.invalid_each(f"{path}.serviceAccountName", account, names.subdomain(account))
    if spec.get("nodeName"):
        causes.invalid_each(f"{path}.nodeName", spec["nodeName"], names.subdomain(spec["nodeName"]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_ID:
        causes.invalid(f"{path}.activeDeadlineSeconds", deadline, names.between(1, MAX_ID))
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            causes.invalid_each(f"{path}.{name}", spec[name], names.label(spec[name]))
    scheduling.tolerations(causes, spec.get("tolerations") or [], f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        here = f"{path}.hostAliases[{index}]"
        causes.invalid_each(f"{here}.ip", alias.get("ip", ""), names.ip_address(alias.get("ip", "")))
        for at, hostname in enumerate(alias.get("hostnames") or []):
            causes.invalid_each(f"{here}.hostnames[{at}]", hostname, names.subdomain(hostname))
    if spec.get("priorityClassName"):
        priority = spec["priorityClassName"]
        causes.invalid_each(f"{path}.priorityClassName", priority, names.subdomain(priority))
    if spec.get("runtimeClassName"):
        causes.invalid_each(
            f"{path}.runtimeClassName", spec["runtimeClassName"], names.subdomain(spec["runtimeClassName"])
        )
    if spec.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        containers.choice(causes, f"{path}.preemptionPolicy", spec["preemptionPolicy"], policies)
    if spec.get("overhead"):
        containers.resource_requirements(causes, {"limits": spec["overhead"]}, f"{path}.overhead")
    system = (spec.get("os") or {}).get("name")
    if spec.get("os") is not None and not system:
        causes.required(f"{path}.os.name", "cannot be empty")
    elif system not in (None, "linux", "windows"):
        causes.not_supported(f"{path}.os", system, ("linux", "windows"))


def _host_users(causes: Causes, spec: Object, path: str) -> None:
    """A user namespace of its own goes with no other namespace of the host, and is needed for an unmasked /proc."""
    if spec.get("hostUsers") is False:
        for field, said in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                causes.forbidden(f"{path}.{said}", "when `hostUsers` is false")
        return
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or []):
            if (container.get("securityContext") or {}).get("procMount") == "Unmasked":
                here = f"{path}.{group}[{index}].securityContext.procMount"
                causes.invalid(here, "Unmasked", "`hostUsers` must be false to use `Unmasked`")


def pod_template(causes: Causes, template: Object, path: str) -> None:
    metadata = template.get("metadata") or {}
    meta.labels(causes, f"{path}.labels", metadata.get("labels"))
    meta.annotation_map(causes, f"{path}.annotations", metadata.get("annotations"))
    pod_spec(causes, template.get("spec") or {}, f"{path}.spec", is_pod=False)
    if (template.get("spec") or {}).get("ephemeralContainers"):
        causes.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


_MOST_NAMESERVERS, _MOST_SEARCHES = 3, 32


def _dns_config(causes: Causes, spec: Object, path: str) -> None:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            causes.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            causes.required(f"{path}.nameservers", text)
            return
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MOST_NAMESERVERS:
        causes.invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        causes.invalid_each(f"{path}.nameservers[{index}]", server, names.ip_address(server))
    if len(searches) > _MOST_SEARCHES:
        causes.invalid(f"{path}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    for index, search in enumerate(searches):
        causes.invalid_each(f"{path}.searches[{index}]", search, names.search_path(search.removesuffix(".")))
    for index, option in enumerate(config.get("options") or []):
        if not option.get("name"):
            causes.required(f"{path}.options[{index}]", "must not be empty")


# --- changing a pod ------------------------------------------------------------------------------------------------

UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_update(causes: Causes, new: Object, old: Object) -> None:
    """What may change in a pod's spec: images, deadlines shortened, tolerations and gates."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("containers", "initContainers"):
        ours, theirs = spec.get(name) or [], before.get(name) or []
        if len(ours) != len(theirs):
            causes.forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(ours):
            image = container.get("image", "")
            if not image:
                causes.required(f"spec.{name}[{index}].image")
            if image != image.strip():
                text = "must not have leading or trailing whitespace"
                causes.invalid(f"spec.{name}[{index}].image", image, text)
    if not _deadline_update(causes, spec, before):
        return
    _toleration_update(causes, spec, before)
    gates = {gate.get("name") for gate in before.get("schedulingGates") or []}
    for index, gate in enumerate(spec.get("schedulingGates") or []):
        if gate.get("name") not in gates:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            causes.forbidden(f"spec.schedulingGates[{index}].name", text)
    if spec == before:
        return
    munged = dict(spec)
    for name in ("containers", "initContainers"):
        if name in munged:
            pairs = zip(munged[name], before.get(name) or [], strict=True)
            munged[name] = [{**container, "image": held.get("image", "")} for container, held in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged.pop(name, None)
        if name in before:
            munged[name] = before[name]
    if before.get("schedulingGates"):
        _ungated(causes, munged, before)
    if munged != before:
        difference = "\n".join(sorted(name for name in munged | before if munged.get(name) != before.get(name)))
        causes.forbidden("spec", f"pod updates may not change fields other than {UPDATABLE}\n{difference}")


def resized(causes: Causes, new: Object, old: Object) -> None:
    """A pod stays in its class of service, and no more than amounts of cpu and memory change."""
    held = (old.get("status") or {}).get("qosClass")
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if held and quality_of_service(spec) != held:
        text = "Pod QOS Class may not change as a result of resizing"
        causes.invalid("spec", held, text)
    for kind in ("containers", "initContainers"):
        for index, (ours, theirs) in enumerate(zip(spec.get(kind) or [], before.get(kind) or [], strict=False)):
            for part in ("limits", "requests"):
                given, had = ((each.get("resources") or {}).get(part) or {} for each in (ours, theirs))
                if had.keys() - given.keys():
                    text = f"resource {part} cannot be removed"
                    causes.forbidden(f"spec.{kind}[{index}].resources.{part}", text)
    if not causes and _without_amounts(spec) != _without_amounts(before):
        causes.forbidden("spec", "only cpu and memory resources are mutable")


def _without_amounts(spec: Object) -> Object:
    """What a resize leaves as it is."""
    left: Object = dict(spec)
    for kind in ("containers", "initContainers"):
        left[kind] = [_container_without_amounts(container) for container in spec.get(kind) or []]
    return left


def _container_without_amounts(container: Object) -> Object:
    resources = dict(container.get("resources") or {})
    for part in ("limits", "requests"):
        amounts = resources.get(part) or {}
        resources[part] = {name: each for name, each in amounts.items() if name not in ("cpu", "memory")}
    return {**container, "resources": resources}


def _ungated(causes: Causes, munged: Object, before: Object) -> None:
    """A pod that waits at a gate may still have its node selector narrowed."""
    selector, held = munged.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in held.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        causes.invalid("spec.nodeSelector", selector or None, text)
    for name in ("nodeSelector", "affinity"):
        munged.pop(name, None)
        if name in before:
            munged[name] = before[name]


def _deadline_update(causes: Causes, spec: Object, before: Object) -> bool:
    path, new, old = (
        "spec.activeDeadlineSeconds",
        spec.get("activeDeadlineSeconds"),
        before.get("activeDeadlineSeconds"),
    )
    if new is not None:
        if not 0 <= new <= MAX_ID:
            causes.invalid(path, new, names.between(0, MAX_ID))
            return False
        if old is not None and old < new:
            causes.invalid(path, new, "must be less than or equal to previous value")
            return False
    elif old is not None:
        causes.invalid(path, None, "must not update from a positive integer to nil value")
    return True


def _toleration_update(causes: Causes, spec: Object, before: Object) -> None:
    def bare(toleration: Object) -> Object:
        return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}

    kept = [bare(toleration) for toleration in spec.get("tolerations") or []]
    for held in before.get("tolerations") or []:
        if bare(held) not in kept:
            text = "existing toleration can not be modified except its tolerationSeconds"
            causes.forbidden("spec.tolerations", text)
            return

"""Whether an object may be stored: rules by kind, as Status causes in the order the server finds them.

`create` and `update` expect objects that were decoded and given defaults. They find everything at once; none found
means the object is fine. `warnings` are for objects that are accepted, but should not be like that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.schema.registry import KindSchema
from runtimes.sandbox.validate import (
    admission_policies,
    autoscaling,
    certificate_requests,
    claims,
    cluster_kinds,
    core,
    custom,
    devices,
    events,
    flow_control,
    job_status,
    jobs,
    meta,
    others,
    persistent_volumes,
    pod_parts,
    pod_status,
    pods,
    service_changes,
    statuses,
    warn,
    webhooks,
    workloads,
)
from runtimes.sandbox.validate.causes import Cause, Causes, Object
from runtimes.sandbox.validate.embedded import embedded
from runtimes.sandbox.validate.names import LABEL_NAME, SERVICE_NAME, SUBDOMAIN_NAME, NameCheck, segment_name
from runtimes.sandbox.validate.rules import check_rules

__all__ = ["Cause", "create", "update", "warnings"]

Check = Callable[[Causes, Object], None]
ChangeCheck = Callable[[Causes, Object, Object], None]


def _nothing(causes: Causes, obj: Object) -> None:
    return None


def _no_change(causes: Causes, new: Object, old: Object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Rules:
    """check: the object as such. change: what may become of it, given new and old. own_finalizers: finalizers without
    a path must be the server's own.

    on_update: the parts a changed object goes through, of "full" (metadata and check, as a new one), "check", "meta"
    (what of the metadata may change) and "change". Some go through the same part twice, and its causes come twice.
    late_meta: the metadata of a new object is looked at only if nothing else is wrong.
    """

    check: Check = _nothing
    change: ChangeCheck = _no_change
    name: NameCheck = SUBDOMAIN_NAME
    namespaced: bool = True
    on_update: str = "meta change"
    own_finalizers: bool = True
    late_meta: bool = False
    status: Check = _nothing
    approval_change: ChangeCheck = _no_change
    status_change: ChangeCheck = _no_change


def _pod(causes: Causes, obj: Object) -> None:
    pods.pod_spec(causes, obj.get("spec") or {}, "spec", is_pod=True)
    pod_parts.images(causes, obj.get("spec") or {}, "spec")
    if (obj.get("spec") or {}).get("ephemeralContainers") and not (obj.get("metadata") or {}).get("resourceVersion"):
        causes.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if (obj.get("spec") or {}).get("nodeName") and (obj.get("spec") or {}).get("schedulingGates"):
        causes.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def _pod_change(causes: Causes, new: Object, old: Object) -> None:
    meta.object_meta(causes, new.get("metadata") or {}, SUBDOMAIN_NAME, namespaced=True)
    pods.pod_spec(causes, new.get("spec") or {}, "spec", is_pod=True)
    pod_parts.images(causes, new.get("spec") or {}, "spec")
    pods.pod_update(causes, new, old)


def _deployment_change(causes: Causes, new: Object, old: Object) -> None:
    workloads.deployment(causes, new)
    _fixed_selector(causes, new, old)


def _fixed_selector(causes: Causes, new: Object, old: Object) -> None:
    selector = (new.get("spec") or {}).get("selector")
    causes.immutable("spec.selector", selector, (old.get("spec") or {}).get("selector"))


def _replica_set_change(causes: Causes, new: Object, old: Object) -> None:
    workloads.replica_set(causes, new)
    _fixed_selector(causes, new, old)


def _daemon_set_change(causes: Causes, new: Object, old: Object) -> None:
    _fixed_selector(causes, new, old)
    workloads.daemon_set(causes, new)


RBAC = "rbac.authorization.k8s.io"
_BINDING = "full full meta change"


RULES: dict[tuple[str, str], Rules] = {
    ("", "Pod"): Rules(_pod, _pod_change, status_change=pod_status.pod_status),
    ("", "Service"): Rules(core.service, service_changes.service_update, name=SERVICE_NAME, status=statuses.service),
    ("", "ConfigMap"): Rules(core.config_map, core.config_map_update, on_update="meta change full"),
    ("", "Secret"): Rules(core.secret, core.secret_update, on_update="meta change full"),
    ("", "Namespace"): Rules(
        core.namespace, name=LABEL_NAME, namespaced=False, on_update="full meta", status=statuses.namespace
    ),
    ("", "Node"): Rules(
        core.node, core.node_update, namespaced=False, on_update="full meta change", status=statuses.node
    ),
    ("", "PersistentVolume"): Rules(
        persistent_volumes.persistent_volume,
        persistent_volumes.persistent_volume_update,
        namespaced=False,
        on_update="full full change",
    ),
    ("", "PersistentVolumeClaim"): Rules(
        claims.claim, claims.claim_update, on_update="full meta full change", status=statuses.claim
    ),
    ("", "LimitRange"): Rules(core.limit_range, on_update="full"),
    ("", "ResourceQuota"): Rules(
        core.resource_quota, core.resource_quota_update, on_update="meta check change", status=statuses.quota
    ),
    ("", "ServiceAccount"): Rules(on_update="meta full"),
    ("", "Endpoints"): Rules(core.endpoints, on_update="meta full"),
    ("", "PodTemplate"): Rules(workloads.bare_template, on_update="meta check"),
    ("", "ReplicationController"): Rules(
        workloads.replication_controller, on_update="full meta check", status=workloads.controller_status
    ),
    ("", "Event"): Rules(events.event, name=segment_name, on_update="check", own_finalizers=False, late_meta=True),
    ("apps", "Deployment"): Rules(workloads.deployment, _deployment_change, status=workloads.deployment_status),
    ("apps", "ReplicaSet"): Rules(workloads.replica_set, _replica_set_change, status=workloads.replica_set_status),
    ("apps", "StatefulSet"): Rules(
        workloads.stateful_set,
        workloads.stateful_set_update,
        name=LABEL_NAME,
        status=workloads.stateful_set_status,
    ),
    ("apps", "DaemonSet"): Rules(workloads.daemon_set, _daemon_set_change, status=workloads.daemon_set_status),
    ("apps", "ControllerRevision"): Rules(workloads.controller_revision, workloads.controller_revision_update),
    ("batch", "Job"): Rules(
        jobs.job, jobs.job_update, on_update="full meta change", status_change=job_status.job_status
    ),
    ("batch", "CronJob"): Rules(jobs.cron_job, jobs.cron_job_update),
    ("autoscaling", "HorizontalPodAutoscaler"): Rules(
        autoscaling.autoscaler, autoscaling.autoscaler_change, status=autoscaling.autoscaler_status
    ),
    ("autoscaling", "Scale"): Rules(others.scale, on_update="full"),
    ("policy", "PodDisruptionBudget"): Rules(
        workloads.disruption_budget,
        name=segment_name,
        on_update="check",
        status=statuses.budget,
        own_finalizers=False,
    ),
    ("networking.k8s.io", "NetworkPolicy"): Rules(others.network_policy, on_update="full meta check"),
    ("networking.k8s.io", "Ingress"): Rules(others.ingress, on_update="meta full", status=statuses.ingress),
    ("networking.k8s.io", "IngressClass"): Rules(
        others.ingress_class, others.ingress_class_update, namespaced=False, on_update="meta change full"
    ),
    (RBAC, "Role"): Rules(others.role, name=segment_name, on_update="full full meta"),
    (RBAC, "ClusterRole"): Rules(others.cluster_role, name=segment_name, namespaced=False, on_update="full full meta"),
    (RBAC, "RoleBinding"): Rules(others.role_binding, others.binding_update, name=segment_name, on_update=_BINDING),
    (RBAC, "ClusterRoleBinding"): Rules(
        others.cluster_role_binding,
        others.binding_update,
        name=segment_name,
        namespaced=False,
        on_update=_BINDING,
    ),
    ("discovery.k8s.io", "EndpointSlice"): Rules(
        others.endpoint_slice, others.endpoint_slice_update, on_update="full change"
    ),
    ("scheduling.k8s.io", "PriorityClass"): Rules(
        others.priority_class, others.priority_class_update, namespaced=False
    ),
    ("storage.k8s.io", "StorageClass"): Rules(
        others.storage_class, others.storage_class_update, namespaced=False, on_update="full meta change"
    ),
    ("node.k8s.io", "RuntimeClass"): Rules(
        others.runtime_class,
        others.runtime_class_update,
        namespaced=False,
        on_update="meta check change",
        own_finalizers=False,
    ),
    ("storage.k8s.io", "VolumeAttachment"): Rules(
        cluster_kinds.volume_attachment, namespaced=False, on_update="meta check"
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): Rules(
        cluster_kinds.storage_capacity, cluster_kinds.storage_capacity_update, on_update="meta check change"
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Rules(
        cluster_kinds.volume_attributes_class,
        cluster_kinds.volume_attributes_class_update,
        namespaced=False,
        on_update="meta check change check",
    ),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): Rules(
        flow_control.flow_schema, namespaced=False, on_update="meta check"
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): Rules(
        flow_control.priority_level, namespaced=False, on_update="meta check"
    ),
    ("networking.k8s.io", "ServiceCIDR"): Rules(
        cluster_kinds.service_cidr, cluster_kinds.service_cidr_update, namespaced=False
    ),
    ("networking.k8s.io", "IPAddress"): Rules(
        cluster_kinds.ip_address, name=cluster_kinds.ADDRESS_NAME, namespaced=False, on_update="meta check"
    ),
    ("apiregistration.k8s.io", "APIService"): Rules(
        cluster_kinds.api_service, name=segment_name, namespaced=False, on_update="meta check"
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): Rules(
        certificate_requests.certificate_request,
        namespaced=False,
        on_update="meta",
        status_change=certificate_requests.certificate_status,
        approval_change=certificate_requests.certificate_approval,
    ),
    ("resource.k8s.io", "ResourceClaim"): Rules(devices.resource_claim, devices.same_spec, status=devices.claim_status),
    ("resource.k8s.io", "ResourceClaimTemplate"): Rules(devices.claim_template, devices.same_spec),
    ("resource.k8s.io", "DeviceClass"): Rules(devices.device_class, namespaced=False, on_update="meta check"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): Rules(
        admission_policies.policy, namespaced=False, on_update="meta check", own_finalizers=False
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): Rules(
        admission_policies.binding, namespaced=False, on_update="meta check", own_finalizers=False
    ),
    **{
        ("admissionregistration.k8s.io", kind): Rules(
            webhooks.configuration, namespaced=False, on_update="full", own_finalizers=False
        )
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    },
    ("coordination.k8s.io", "Lease"): Rules(others.lease, on_update="meta check", own_finalizers=False),
}


def _rules(kind: KindSchema) -> Rules | None:
    return RULES.get((kind.group, kind.kind))


def create(kind: KindSchema, obj: Object) -> list[Cause]:
    """`obj` has its name and namespace. A kind without rules of its own is checked for its metadata only."""
    causes, metadata = Causes(), obj.get("metadata") or {}
    rules = _rules(kind)
    if kind.is_custom or rules is None:
        namespaced = bool(metadata.get("namespace"))
        meta.object_meta(causes, metadata, SUBDOMAIN_NAME, namespaced=namespaced)
        if kind.is_custom:
            _custom(causes, kind, obj, None)
        return causes
    if not rules.late_meta:
        _built_in_meta(causes, metadata, rules)
    rules.check(causes, obj)
    if rules.late_meta and not causes:
        _built_in_meta(causes, metadata, rules)
    return causes


def _built_in_meta(causes: Causes, metadata: Object, rules: Rules) -> None:
    meta.object_meta(causes, metadata, rules.name, namespaced=rules.namespaced)
    if rules.own_finalizers:
        meta.known_finalizers(causes, metadata.get("finalizers"))


def update(kind: KindSchema, new: Object, old: Object, subresource: str | None = None) -> list[Cause]:
    """Both in the stored form. The rules on metadata come first, and again with each kind's own."""
    causes = Causes()
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    meta.object_meta(causes, after, segment_name, namespaced=bool(before.get("namespace")))
    meta.object_meta_update(causes, after, before)
    rules = _rules(kind)
    if kind.is_custom or rules is None:
        meta.object_meta_update(causes, after, before)
        if kind.is_custom:
            _custom(causes, kind, new, old, subresource)
        return causes
    if subresource == "status":
        meta.object_meta_update(causes, after, before)
        rules.status(causes, new)
        rules.status_change(causes, new, old)
        return causes
    if subresource == "approval":
        meta.object_meta_update(causes, after, before)
        rules.approval_change(causes, new, old)
        return causes
    if subresource == "resize":
        pods.pod_spec(causes, new.get("spec") or {}, "spec", is_pod=True)
        pods.resized(causes, new, old)
        return causes
    if subresource == "ephemeralcontainers":
        _ephemeral_update(causes, new, old)
        return causes
    _changed(causes, rules, new, old)
    return causes


def _changed(causes: Causes, rules: Rules, new: Object, old: Object) -> None:
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    for part in rules.on_update.split():
        match part:
            case "full":
                _built_in_meta(causes, after, rules)
                rules.check(causes, new)
            case "check":
                rules.check(causes, new)
            case "meta":
                meta.object_meta_update(causes, after, before)
                if rules.own_finalizers:
                    meta.known_finalizers(causes, after.get("finalizers"))
            case "change":
                rules.change(causes, new, old)


def _ephemeral_update(causes: Causes, new: Object, old: Object) -> None:
    pods.pod_spec(causes, new.get("spec") or {}, "spec", is_pod=True)
    held = {container.get("name"): container for container in (old.get("spec") or {}).get("ephemeralContainers") or []}
    kept = {container.get("name"): container for container in (new.get("spec") or {}).get("ephemeralContainers") or []}
    for name, container in held.items():
        if name not in kept:
            causes.forbidden("spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be removed\n')
        elif kept[name] != container:
            causes.forbidden("spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be changed\n')


def _custom(causes: Causes, kind: KindSchema, obj: Object, old: Object | None, subresource: str | None = None) -> None:
    schema = kind.type.schema
    if not isinstance(schema, dict):
        return
    body = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    properties = {
        name: value
        for name, value in (schema.get("properties") or {}).items()
        if name not in ("apiVersion", "kind", "metadata")
    }
    if subresource == "status":
        _custom_status(causes, properties.get("status") or {}, body, old or {})
        custom.replicas(causes, obj, kind.scale[1:])
    else:
        custom.schema_rules(causes, {**schema, "properties": properties}, body, "", _held(old))
        custom.replicas(causes, obj, kind.scale)
    embedded(causes, schema, body)
    _list_keys(causes, schema, body, old)
    check_rules(causes, schema, obj, old)


def _list_keys(causes: Causes, schema: Object, body: Object, old: Object | None) -> None:
    """Lists that were wrong before may stay so."""
    before = Causes()
    if old is not None:
        custom.list_keys(before, schema, {name: value for name, value in old.items() if name != "metadata"})
    if not before:
        custom.list_keys(causes, schema, body)


def _held(old: Object | None) -> Any:
    return custom.NEW if old is None else old


def _custom_status(causes: Causes, schema: Object, body: Object, old: Object) -> None:
    """Its messages name places as seen from the status."""
    if "status" not in body:
        return
    found = Causes()
    custom.schema_rules(found, schema, body["status"], "", old.get("status", custom.NEW))
    for cause in found:
        inner = cause["field"]
        causes.append({**cause, "field": f"status.{inner}" if inner else "status"})


def warnings(kind: KindSchema, new: Object, old: Object | None) -> list[str]:
    """Texts for the client."""
    return warn.about(kind, new, old)

"""Fields that a request cannot own, because the server takes them from elsewhere: the status of a request for the
object, the spec of one for its status. They come by kind and subresource, as each kind's strategy declares them.
"""

from __future__ import annotations

from runtimes.sandbox.apply.fieldset import FieldSet
from runtimes.sandbox.schema.registry import KindSchema

NOTHING = FieldSet()
STATUS = FieldSet.of(("status",))
SPEC = FieldSet.of(("spec",))

# Never owned by anybody: what the server sets itself, and what names the object.
NEVER_OWNED = FieldSet.of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "creationTimestamp"),
    ("metadata", "selfLink"),
    ("metadata", "uid"),
    ("metadata", "clusterName"),
    ("metadata", "generation"),
    ("metadata", "managedFields"),
    ("metadata", "resourceVersion"),
)

_WITH_STATUS = {
    ("", "Node"),
    ("", "ResourceQuota"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Namespace"),
    ("", "Pod"),
    ("", "Service"),
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("policy", "PodDisruptionBudget"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("resource.k8s.io", "ResourceClaim"),
}
_OF_APPROVAL = FieldSet.of(("spec",), ("status", "certificate"))
_OF_STATUS = {
    ("", "Pod"): FieldSet.of(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("apps", "Deployment"): FieldSet.of(("spec",), ("metadata", "labels")),
    ("storage.k8s.io", "VolumeAttachment"): FieldSet.of(("metadata",), ("spec",)),
    ("resource.k8s.io", "ResourceClaim"): FieldSet.of(("metadata",), ("spec",)),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): FieldSet.of(("metadata",), ("spec",)),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): FieldSet.of(("metadata",), ("spec",)),
    ("apiregistration.k8s.io", "APIService"): FieldSet.of(("metadata",), ("spec",)),
}


def fields(kind: KindSchema, subresource: str | None, *, has_status: bool) -> FieldSet:
    """`has_status` tells of a custom resource whether it has the status subresource; built-in kinds are known."""
    key = (kind.group, kind.kind)
    if subresource == "status":
        return _OF_STATUS.get(key, SPEC)
    if subresource == "approval":
        return _OF_APPROVAL
    if subresource and subresource != "finalize":
        return NOTHING
    return STATUS if key in _WITH_STATUS or (kind.is_custom and has_status) else NOTHING

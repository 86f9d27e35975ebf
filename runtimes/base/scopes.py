"""Which kinds of Kubernetes itself are of the cluster as a whole, for those who cannot or need not ask it."""

from __future__ import annotations

from typing import Final

CLUSTER_WIDE: Final = frozenset(
    {
        "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ClusterTrustBundle",
        "CSIDriver", "CSINode", "CustomResourceDefinition", "DeviceClass", "FlowSchema", "IPAddress", "IngressClass",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace",
        "Node", "PersistentVolume", "PriorityClass", "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass",
        "ServiceCIDR", "StorageClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
    }
)  # fmt: skip

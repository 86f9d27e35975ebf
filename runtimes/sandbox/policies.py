"""How kinds differ in what the generic verbs do with them: one row a resource, as measured on a real server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kcl.records import dataclass, replace
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import ResourceKey

StatusKeeps = Literal["all", "labels", "owners", "nothing"]


@dataclass(frozen=True, slots=True)
class Policy:
    """
    has_generation        the object counts changes of what it wants
    counts_late           it has no generation before its first change
    keeps_generation      it stays at what it was when the object was made
    counted_metadata      parts of the metadata whose changes count as well
    unconditional_update  PUT works without a resourceVersion
    creates_on_update     PUT of a missing object creates it
    returns_deleted       a completed DELETE answers with the object, not with a Status
    orphans_by_default    deleting without a policy leaves dependents behind
    status_metadata       what of the metadata a write to `status` cannot change: "nothing" (all of it can), "labels",
                          "owners" (owner references) or "all"
    """

    has_generation: bool = True
    counts_late: bool = False
    keeps_generation: bool = False
    counted_metadata: tuple[str, ...] = ()
    unconditional_update: bool = True
    creates_on_update: bool = False
    returns_deleted: bool = False
    orphans_by_default: bool = False
    status_metadata: StatusKeeps = "nothing"


_PLAIN = Policy()
_UNCOUNTED = Policy(has_generation=False)
_LOCKED = Policy(unconditional_update=False)
_CUSTOM = Policy(unconditional_update=False, status_metadata="all")
_RBAC = Policy(has_generation=False, creates_on_update=True)
_KEPT_STATUS = replace(_PLAIN, status_metadata="all")
_STORAGE = Policy(has_generation=False, unconditional_update=False, returns_deleted=True)

_POLICIES: Mapping[ResourceKey, Policy] = {
    ("", "configmaps"): _UNCOUNTED,
    ("", "secrets"): _UNCOUNTED,
    ("", "serviceaccounts"): replace(_UNCOUNTED, returns_deleted=True),
    ("", "services"): replace(_UNCOUNTED, creates_on_update=True, returns_deleted=True),
    ("", "endpoints"): replace(_UNCOUNTED, creates_on_update=True),
    ("", "events"): replace(_UNCOUNTED, creates_on_update=True),
    ("", "limitranges"): replace(_UNCOUNTED, creates_on_update=True),
    ("", "persistentvolumeclaims"): replace(_UNCOUNTED, returns_deleted=True),
    ("", "persistentvolumes"): replace(_UNCOUNTED, returns_deleted=True),
    ("", "pods"): replace(_PLAIN, returns_deleted=True, status_metadata="owners"),
    ("", "podtemplates"): replace(_PLAIN, returns_deleted=True),
    ("", "replicationcontrollers"): replace(_PLAIN, orphans_by_default=True),
    ("", "resourcequotas"): replace(_UNCOUNTED, returns_deleted=True),
    ("", "nodes"): _UNCOUNTED,
    ("", "namespaces"): _UNCOUNTED,
    ("apps", "controllerrevisions"): _UNCOUNTED,
    ("apps", "deployments"): replace(_PLAIN, status_metadata="labels", counted_metadata=("annotations",)),
    ("batch", "jobs"): replace(_PLAIN, orphans_by_default=True),
    ("autoscaling", "horizontalpodautoscalers"): _UNCOUNTED,
    ("networking.k8s.io", "ipaddresses"): _UNCOUNTED,
    ("networking.k8s.io", "servicecidrs"): replace(_UNCOUNTED, status_metadata="all"),
    ("policy", "poddisruptionbudgets"): _LOCKED,
    ("rbac.authorization.k8s.io", "roles"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterroles"): _RBAC,
    ("rbac.authorization.k8s.io", "rolebindings"): _RBAC,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _RBAC,
    ("scheduling.k8s.io", "priorityclasses"): replace(_PLAIN, keeps_generation=True),
    ("storage.k8s.io", "storageclasses"): replace(_UNCOUNTED, returns_deleted=True),
    ("storage.k8s.io", "csidrivers"): replace(_STORAGE, counts_late=True),
    ("storage.k8s.io", "csinodes"): _STORAGE,
    ("storage.k8s.io", "csistoragecapacities"): replace(_STORAGE, returns_deleted=False),
    ("storage.k8s.io", "volumeattachments"): replace(_STORAGE, status_metadata="all"),
    ("storage.k8s.io", "volumeattributesclasses"): replace(_UNCOUNTED, returns_deleted=True),
    ("coordination.k8s.io", "leases"): replace(_UNCOUNTED, creates_on_update=True, unconditional_update=False),
    ("node.k8s.io", "runtimeclasses"): replace(_UNCOUNTED, creates_on_update=True, unconditional_update=False),
    ("discovery.k8s.io", "endpointslices"): replace(_PLAIN, counted_metadata=("labels",)),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _LOCKED,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _LOCKED,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): replace(_LOCKED, status_metadata="all"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _LOCKED,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _KEPT_STATUS,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _KEPT_STATUS,
    ("apiregistration.k8s.io", "apiservices"): replace(_UNCOUNTED, unconditional_update=False, status_metadata="all"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): _LOCKED,
    ("certificates.k8s.io", "certificatesigningrequests"): _UNCOUNTED,
    ("resource.k8s.io", "deviceclasses"): replace(_PLAIN, returns_deleted=True),
    ("resource.k8s.io", "resourceslices"): replace(_PLAIN, returns_deleted=True),
    ("resource.k8s.io", "resourceclaims"): replace(_UNCOUNTED, returns_deleted=True, status_metadata="all"),
    ("resource.k8s.io", "resourceclaimtemplates"): replace(_UNCOUNTED, returns_deleted=True),
}


def policy(resource: Resource) -> Policy:
    return _CUSTOM if resource.is_custom else _POLICIES.get(resource.storage, _PLAIN)

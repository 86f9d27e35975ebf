"""From objects to their health: pure functions, one file a kind or a family of small ones.

`assess` puts the questions in the order in which they decide: an object that is being deleted is Terminating,
whatever else it says; then the rule somebody gave it, else its kind's; kinds without a status are Current when they
exist.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from runtimes.base import ReadyRule
from runtimes.kubernetes.health import (
    cronjob,
    custom,
    daemonset,
    deployment,
    gateway,
    job,
    platform,
    pod,
    replicaset,
    ruled,
    service,
    statefulset,
    storage,
    terminating,
)
from runtimes.kubernetes.health.verdict import Verdict, current
from runtimes.kubernetes.objects import Object, Objects, group_of, is_going, kind_of

Rule = Callable[[Object, Objects, datetime], Verdict]

_RULES: dict[tuple[str, str], Rule] = {
    ("apps", "Deployment"): deployment.assess,
    ("apps", "ReplicaSet"): replicaset.assess,
    ("apps", "StatefulSet"): statefulset.assess,
    ("apps", "DaemonSet"): daemonset.assess,
    ("", "ReplicationController"): replicaset.assess,
    ("", "Pod"): pod.assess,
    ("batch", "Job"): job.assess,
    ("batch", "CronJob"): cronjob.assess,
    ("", "Service"): service.assess,
    ("networking.k8s.io", "Ingress"): service.assess_ingress,
    ("", "PersistentVolumeClaim"): storage.assess_claim,
    ("", "PersistentVolume"): storage.assess_volume,
    ("storage.k8s.io", "VolumeAttachment"): storage.assess_attachment,
    ("", "Namespace"): platform.assess_namespace,
    ("", "Node"): platform.assess_node,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): platform.assess_definition,
    ("apiregistration.k8s.io", "APIService"): platform.assess_api_service,
    ("autoscaling", "HorizontalPodAutoscaler"): platform.assess_autoscaler,
    ("certificates.k8s.io", "CertificateSigningRequest"): platform.assess_signing_request,
    ("policy", "PodDisruptionBudget"): platform.assess_budget,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): platform.assess_policy,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): platform.assess_flow_schema,
}
_RULES_BY_KIND = {kind: rule for (_, kind), rule in _RULES.items()}
# kinds of Kubernetes itself that have a status, or none, which says nothing about being ready
_ALWAYS_CURRENT = frozenset({"ResourceQuota", "EndpointSlice", "Endpoints", "ConfigMap", "Secret", "ServiceAccount"})


def assess(live: Object, objects: Objects, now: datetime, rule: ReadyRule | None = None) -> Verdict:
    """Never raises, whatever the object lacks. `now` is what restarts and waiting are measured against."""
    if is_going(live):
        return terminating.assess(live, objects)
    if rule is not None:
        return ruled.assess(live, rule)
    return _rule(live)(live, objects, now)


def _rule(live: Object) -> Rule:
    kind = kind_of(live)
    if "apiVersion" in live:
        rule = _RULES.get((group_of(live), kind))
    else:
        rule = _RULES_BY_KIND.get(kind)
    if rule is not None:
        return rule
    if group_of(live) == gateway.GROUP:
        return gateway.assess
    return _exists if kind in _ALWAYS_CURRENT else custom.assess


def _exists(live: Object, objects: Objects, now: datetime) -> Verdict:
    return current()


__all__ = ["Verdict", "assess"]

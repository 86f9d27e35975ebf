"""Values that the server fills in where an object says nothing.

The constant ones come with the schema. Those that depend on other fields are functions here, by the definition they are
for; an object is walked along its type and each is applied where its definition occurs, holders before what they hold.
A custom resource's defaults are those in its schema.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import ROUND_UP, Decimal, localcontext
from functools import cache
from typing import Any

from runtimes.base import quantity
from runtimes.sandbox.image_names import image_tag
from runtimes.sandbox.internal_form import to_internal
from runtimes.sandbox.quality import default_pod_requests
from runtimes.sandbox.schema.registry import KindSchema
from runtimes.sandbox.schema.types import MapShape, Type

Object = dict[str, Any]
Default = Callable[[Object], None]

CORE, APPS, BATCH = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1.", "io.k8s.api.batch.v1."
RBAC_GROUP = "rbac.authorization.k8s.io"
MAX_INT32 = 2**31 - 1

_DEFAULTS: dict[str, Default] = {}


def apply(kind: KindSchema, obj: Object, *, drop_nulls: bool = True) -> None:
    """Fill in defaults of a decoded object, in place.

    drop_nulls: take out of a custom resource the nulls that its schema does not allow, as reading a body does; what an
    apply merged is not read again, and keeps them.
    """
    if kind.is_custom:
        if isinstance(kind.type.schema, dict):
            _structural(kind.type.schema, obj, drop_nulls)
        return
    _walk(kind.type, obj)
    to_internal(kind.group, kind.kind, obj)


def _walk(type_: Type, value: Any) -> None:
    if isinstance(value, dict) and type_.map is not None and type_.scalar is None:
        if type_.map.fields:
            _walk_struct(type_, type_.map, value)
        elif type_.map.element is not None and type_.map.element.map is not None:
            for inner in value.values():
                _walk(type_.map.element, inner)
    elif isinstance(value, list) and type_.list is not None and type_.list.element.map is not None:
        for item in value:
            _walk(type_.list.element, item)


def _walk_struct(type_: Type, shape: MapShape, value: Object) -> None:
    own = _DEFAULTS.get(type_.name)
    if own is not None:
        own(value)
    for name, constant in _constants(type_):
        if name not in value or value[name] == "":
            value[name] = copy.deepcopy(constant)
    for name, inner in value.items():
        member = shape.fields.get(name)
        if member is None:
            continue
        if member.go == "v1.ResourceList" and isinstance(inner, dict):
            _round_up(inner)
        elif isinstance(inner, dict | list):
            _walk(member.type, inner)


@cache
def _constants(type_: Type) -> tuple[tuple[str, Any], ...]:
    """The defaults that the schema states. Zeros are stated for values, too, but mean something for pointers only."""
    assert type_.map is not None
    return tuple(
        (member.name, member.default)
        for member in type_.map.fields.values()
        if member.default is not None
        and (member.default not in ("", 0, False, {}) or (member.pointer and member.default != {}))
    )


def _round_up(resources: Object) -> None:
    """Amounts of resources are kept to a thousandth."""
    for name, text in resources.items():
        parsed = quantity.parse(text)
        with localcontext(quantity.WIDE):
            rounded = parsed.value.quantize(Decimal("0.001"), rounding=ROUND_UP)
        if rounded != parsed.value:
            resources[name] = str(quantity.Quantity(rounded, parsed.family))


def _for(*definitions: str) -> Callable[[Default], Default]:
    def register(function: Default) -> Default:
        for definition in definitions:
            _DEFAULTS[definition] = function
        return function

    return register


def _fill(obj: Object, **values: Any) -> None:
    """Set what is absent, null or an empty text."""
    for name, value in values.items():
        if obj.get(name) in (None, ""):
            obj[name] = value


def _fill_unset(obj: Object, **values: Any) -> None:
    """Set what is absent or null: of fields that are pointers in the server an empty text is a value, and refused."""
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


# --- pods ----------------------------------------------------------------------------------------------------------


@_for(CORE + "PodSpec")
def _pod_spec(spec: Object) -> None:
    _fill(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", terminationGracePeriodSeconds=30)
    _fill(spec, securityContext={}, schedulerName="default-scheduler")
    # Restart rules of single containers are alpha: only that an init container runs on beside the others is heard.
    for container in spec.get("containers") or []:
        container.pop("restartPolicy", None)
        container.pop("restartPolicyRules", None)
    for container in spec.get("initContainers") or []:
        container.pop("restartPolicyRules", None)
        if container.get("restartPolicy") != "Always":
            container.pop("restartPolicy", None)


@_for(CORE + "Pod")
def _pod(pod: Object) -> None:
    spec = pod.get("spec") or {}
    for container in (spec.get("containers") or []) + (spec.get("initContainers") or []):
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    default_pod_requests(spec)
    _fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for container in (spec.get("containers") or []) + (spec.get("initContainers") or []):
            for port in container.get("ports") or []:
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


@_for(CORE + "Container", CORE + "EphemeralContainer")
def _container(container: Object) -> None:
    latest = image_tag(container.get("image", "")) == "latest"
    _fill(container, imagePullPolicy="Always" if latest else "IfNotPresent")
    _fill(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")


@_for(CORE + "Probe")
def _probe(probe: Object) -> None:
    for name, value in {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}.items():
        if not probe.get(name):
            probe[name] = value


@_for(CORE + "HTTPGetAction")
def _http_get(action: Object) -> None:
    _fill(action, path="/", scheme="HTTP")


@_for(CORE + "Volume")
def _volume(volume: Object) -> None:
    if all(name == "name" or source is None for name, source in volume.items()):
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None:
        latest = image_tag(image.get("reference", "")) == "latest"
        _fill(image, pullPolicy="Always" if latest else "IfNotPresent")


@_for(
    CORE + "SecretVolumeSource",
    CORE + "ConfigMapVolumeSource",
    CORE + "DownwardAPIVolumeSource",
    CORE + "ProjectedVolumeSource",
)
def _volume_mode(source: Object) -> None:
    _fill(source, defaultMode=0o644)


@_for(CORE + "ServiceAccountTokenProjection")
def _token_projection(projection: Object) -> None:
    _fill(projection, expirationSeconds=3600)


@_for(CORE + "HostPathVolumeSource")
def _host_path(source: Object) -> None:
    if source.get("type") is None:
        source["type"] = ""


@_for(CORE + "ObjectFieldSelector")
def _field_selector(selector: Object) -> None:
    _fill(selector, apiVersion="v1")


# --- core ----------------------------------------------------------------------------------------------------------


@_for(CORE + "Service")
def _service(service: Object) -> None:
    spec = service.setdefault("spec", {})
    _fill(spec, sessionAffinity="None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    _fill(spec, type="ClusterIP")
    for port in spec.get("ports") or []:
        _fill(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    outside = spec["type"] in ("NodePort", "LoadBalancer") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if outside:
        _fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        _fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _fill(spec, allocateLoadBalancerNodePorts=True)
        for ingress in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []:
            if ingress.get("ip"):
                _fill(ingress, ipMode="VIP")


@_for(CORE + "EndpointPort")
def _port_of_endpoints(port: Object) -> None:
    _fill(port, protocol="TCP")


@_for(CORE + "GRPCAction")
def _grpc(action: Object) -> None:
    _fill(action, service="")


@_for("io.k8s.api.admissionregistration.v1.ValidatingWebhook", "io.k8s.api.admissionregistration.v1.MutatingWebhook")
def _webhook(webhook: Object) -> None:
    _fill(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    _fill(webhook, namespaceSelector={}, objectSelector={})


@_for("io.k8s.api.admissionregistration.v1.MutatingWebhook")
def _mutating_webhook(webhook: Object) -> None:
    _webhook(webhook)
    _fill(webhook, reinvocationPolicy="Never")


@_for("io.k8s.api.admissionregistration.v1.RuleWithOperations")
@_for("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations")
def _operations(rule: Object) -> None:
    _fill(rule, scope="*")


@_for("io.k8s.api.admissionregistration.v1.ServiceReference")
def _webhook_service(service: Object) -> None:
    _fill(service, port=443)


@_for("io.k8s.api.admissionregistration.v1.MatchResources")
def _match_resources(match: Object) -> None:
    _fill(match, namespaceSelector={}, objectSelector={}, matchPolicy="Equivalent")


@_for("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec")
def _admission_policy(spec: Object) -> None:
    _fill(spec, failurePolicy="Fail")


@_for("io.k8s.api.flowcontrol.v1.FlowSchemaSpec")
def _flow_schema(spec: Object) -> None:
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


@_for("io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration")
def _limited(limited: Object) -> None:
    if limited.get("nominalConcurrencyShares") is None:
        limited["nominalConcurrencyShares"] = 30
    _fill(limited, lendablePercent=0)


@_for("io.k8s.api.flowcontrol.v1.QueuingConfiguration")
def _queuing(queuing: Object) -> None:
    for name, default in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
        queuing[name] = queuing.get(name) or default


@_for("io.k8s.api.resource.v1.ExactDeviceRequest", "io.k8s.api.resource.v1.DeviceSubRequest")
def _device_request(request: Object) -> None:
    _fill(request, allocationMode="ExactCount")
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


@_for(CORE + "NodeSpec")
def _node_spec(spec: Object) -> None:
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]


@_for(CORE + "Secret")
def _secret(secret: Object) -> None:
    _fill(secret, type="Opaque")


@_for(CORE + "Namespace")
def _namespace(namespace: Object) -> None:
    meta = namespace.setdefault("metadata", {})
    if meta.get("name"):
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta["name"]
    _fill(namespace.setdefault("status", {}), phase="Active")


@_for(CORE + "NodeStatus")
def _node_status(status: Object) -> None:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


@_for(CORE + "PersistentVolume")
def _persistent_volume(volume: Object) -> None:
    _fill(volume.setdefault("status", {}), phase="Pending")
    _fill(volume.setdefault("spec", {}), persistentVolumeReclaimPolicy="Retain")
    _fill_unset(volume["spec"], volumeMode="Filesystem")


@_for(CORE + "PersistentVolumeClaim")
def _claim(claim: Object) -> None:
    _fill(claim.setdefault("status", {}), phase="Pending")


@_for(CORE + "PersistentVolumeClaimSpec")
def _claim_spec(spec: Object) -> None:
    _fill_unset(spec, volumeMode="Filesystem")


@_for(CORE + "LimitRangeItem")
def _limit_range_item(item: Object) -> None:
    if item.get("type") != "Container":
        return
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    requested = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    if default:
        item["default"] = default
    if requested:
        item["defaultRequest"] = requested


@_for(CORE + "ReplicationController")
def _replication_controller(controller: Object) -> None:
    spec = controller.setdefault("spec", {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        meta = controller.setdefault("metadata", {})
        if not meta.get("labels"):
            meta["labels"] = dict(labels)
    _fill(spec, replicas=1)


# --- workloads -----------------------------------------------------------------------------------------------------


@_for(APPS + "Deployment")
def _deployment(deployment: Object) -> None:
    spec = deployment.setdefault("spec", {})
    _fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        for name in ("maxUnavailable", "maxSurge"):
            strategy["rollingUpdate"].setdefault(name, "25%")


@_for(APPS + "ReplicaSet")
def _replica_set(replica_set: Object) -> None:
    _fill(replica_set.setdefault("spec", {}), replicas=1)


@_for(APPS + "DaemonSet")
def _daemon_set(daemon_set: Object) -> None:
    spec = daemon_set.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
        strategy["rollingUpdate"].setdefault("maxSurge", 0)
    _fill(spec, revisionHistoryLimit=10)


@_for(APPS + "StatefulSet")
def _stateful_set(stateful_set: Object) -> None:
    spec = stateful_set.setdefault("spec", {})
    _fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    _fill(retention, whenDeleted="Retain", whenScaled="Retain")


@_for(BATCH + "Job")
def _job(job: Object) -> None:
    spec = job.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(spec, parallelism=1, backoffLimit=MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    meta = job.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)
    _fill_unset(spec, completionMode="NonIndexed", suspend=False, manualSelector=False)
    _fill_unset(
        spec, podReplacementPolicy="Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    )


@_for(BATCH + "CronJob")
def _cron_job(cron_job: Object) -> None:
    spec = cron_job.setdefault("spec", {})
    _fill(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)


@_for(BATCH + "PodFailurePolicyOnPodConditionsPattern")
def _failure_pattern(pattern: Object) -> None:
    _fill(pattern, status="True")


_SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


@_for("io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler")
def _autoscaler(autoscaler: Object) -> None:
    spec = autoscaler.setdefault("spec", {})
    _fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = {**copy.deepcopy(_SCALE_UP), **(behavior.get("scaleUp") or {})}
        behavior["scaleDown"] = {**copy.deepcopy(_SCALE_DOWN), **(behavior.get("scaleDown") or {})}


# --- the rest ------------------------------------------------------------------------------------------------------


@_for("io.k8s.api.networking.v1.NetworkPolicyPort")
def _network_policy_port(port: Object) -> None:
    _fill(port, protocol="TCP")


@_for("io.k8s.api.networking.v1.NetworkPolicy")
def _network_policy(policy: Object) -> None:
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


@_for("io.k8s.api.networking.v1.IngressClass")
def _ingress_class(ingress_class: Object) -> None:
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is not None:
        _fill(parameters, scope="Cluster")


@_for("io.k8s.api.rbac.v1.RoleBinding", "io.k8s.api.rbac.v1.ClusterRoleBinding")
def _role_binding(binding: Object) -> None:
    _fill(binding.setdefault("roleRef", {}), apiGroup=RBAC_GROUP)


@_for("io.k8s.api.rbac.v1.Subject")
def _subject(subject: Object) -> None:
    if subject.get("kind") in ("User", "Group"):
        _fill(subject, apiGroup=RBAC_GROUP)


@_for("io.k8s.api.scheduling.v1.PriorityClass")
def _priority_class(priority_class: Object) -> None:
    _fill_unset(priority_class, preemptionPolicy="PreemptLowerPriority")


@_for("io.k8s.api.storage.v1.StorageClass")
def _storage_class(storage_class: Object) -> None:
    _fill_unset(storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate")


@_for("io.k8s.api.storage.v1.CSIDriver")
def _csi_driver(driver: Object) -> None:
    spec = driver.setdefault("spec", {})
    _fill(spec, attachRequired=True, podInfoOnMount=False, storageCapacity=False, requiresRepublish=False)
    _fill(spec, fsGroupPolicy="ReadWriteOnceWithFSType", seLinuxMount=False)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


@_for("io.k8s.api.discovery.v1.EndpointPort")
def _endpoint_port(port: Object) -> None:
    if port.get("name") is None:
        port["name"] = ""
    _fill(port, protocol="TCP")


@_for("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
def _definition(definition: Object) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    _fill(names, singular=names.get("kind", "").lower())
    if names.get("kind"):
        _fill(names, listKind=names["kind"] + "List")
    _fill(spec, conversion={"strategy": "None"})
    status = definition.setdefault("status", {})
    if not status.get("storedVersions"):
        stored = [version.get("name", "") for version in spec.get("versions") or [] if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


@_for(
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference",
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference",
)
def _service_reference(reference: Object) -> None:
    _fill(reference, port=443)


# --- custom resources ----------------------------------------------------------------------------------------------


def _structural(schema: Object, value: Any, drop_nulls: bool) -> None:
    """Fill in a schema's defaults. null where the schema does not allow it counts as absent."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            _structural(schema["items"], item, drop_nulls)
    if not isinstance(value, dict):
        return
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    members = dict(properties)
    if isinstance(additional, dict):
        members |= {name: additional for name in value if name not in properties}
    for name, member in members.items():
        if value.get(name) is None and not (name in value and member.get("nullable")):
            if "default" in member and name in properties:
                value[name] = copy.deepcopy(member["default"])
            elif drop_nulls:
                value.pop(name, None)
        if name in value:
            _structural(member, value[name], drop_nulls)

"""Controllers that watch over others: disruption budgets, resource quotas, autoscalers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal

from runtimes.base import quantity
from runtimes.sandbox import quota
from runtimes.sandbox.controllers.base import Controller, Key, World, key_of
from runtimes.sandbox.controllers.conditions import condition, resolved, without
from runtimes.sandbox.controllers.owners import controller_of, labels_of, selects
from runtimes.sandbox.controllers.pods import is_going, is_ready
from runtimes.sandbox.controllers.times import parsed, stamp
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Change, Object, copied

DISRUPTION_TIMEOUT = timedelta(minutes=2)
SYNC_SECONDS = 15.0
SCALABLE = {"Deployment": "deployments.apps", "ReplicaSet": "replicasets.apps", "StatefulSet": "statefulsets.apps"}


class DisruptionBudgets(Controller):
    name = "disruption-controller"
    watches = ("poddisruptionbudgets.policy", "pods")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._contested: dict[Key, Object] = {}

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "poddisruptionbudgets":
            yield change.key
            return
        fitting = [
            budget
            for budget in self.hands.all("poddisruptionbudgets.policy", change.key[0])
            if selects(budget["spec"].get("selector"), labels_of(change.object))
        ]
        if len(fitting) > 1:
            self._contested[change.key] = change.object
        yield from map(key_of, fitting)

    def reconcile(self, key: Key) -> None:
        self._tell_contested()
        budget = self.hands.find("poddisruptionbudgets.policy", *key)
        if budget is None or budget["metadata"].get("deletionTimestamp"):
            return
        selector = budget["spec"].get("selector")
        pods = [pod for pod in self.hands.all("pods", key[0]) if selects(selector, labels_of(pod))]
        if not pods:
            self.world.recorder.record("controllermanager", budget, "Normal", "NoPods", "No matching pods found")
        expected, desired = self._goal(budget, pods)
        if expected < 0:
            self._tell_unmanaged(budget)
            expected = 0
        disrupted = self._disrupted(budget, pods)
        healthy = sum(is_ready(pod) and not is_going(pod) and pod["metadata"]["name"] not in disrupted for pod in pods)
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        self._write(budget, expected, desired, healthy, allowed, disrupted)

    def _tell_contested(self) -> None:
        """A Pod that several budgets select is told of; a real controller counts it for any one of them."""
        while self._contested:
            (namespace, name), pod = self._contested.popitem()
            budgets = self.hands.all("poddisruptionbudgets.policy", namespace)
            fitting = [each for each in budgets if selects(each["spec"].get("selector"), labels_of(pod))]
            if len(fitting) > 1:
                chosen = fitting[0]["metadata"]["name"]
                text = (
                    f'Pod "{namespace}"/"{name}" matches multiple PodDisruptionBudgets.  Chose "{chosen}" arbitrarily.'
                )
                self.world.recorder.record("controllermanager", pod, "Warning", "MultiplePodDisruptionBudgets", text)

    def _goal(self, budget: Object, pods: list[Object]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            expected = self._scale_of(pods)
            return expected, max(expected - resolved(spec["maxUnavailable"], max(expected, 0), up=True), 0)
        least = spec.get("minAvailable")
        if isinstance(least, str) and least.endswith("%"):
            expected = self._scale_of(pods)
            return expected, resolved(least, max(expected, 0), up=True)
        return len(pods), int(least or 0)

    def _scale_of(self, pods: list[Object]) -> int:
        """What the controllers of the pods are set to, each counted once. -1 if none has one."""
        sizes: dict[str, int] = {}
        for pod in pods:
            reference = controller_of(pod)
            owner = self._owner(pod, reference)
            while owner is not None and controller_of(owner) is not None:
                above = self._owner(owner, controller_of(owner))
                if above is None:
                    break
                owner = above
            if owner is not None:
                sizes[owner["metadata"]["uid"]] = owner["spec"].get("replicas", 1)
        return sum(sizes.values()) if sizes or not pods else -1

    def _tell_unmanaged(self, budget: Object) -> None:
        labels = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
        shown = "".join(f"{name}: {value}," for name, value in sorted(labels.items()))
        selector = f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        selector += "MatchExpressions:[]LabelSelectorRequirement{},}"
        text = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a "
            "result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To "
            'account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        )
        self.world.recorder.record("controllermanager", budget, "Warning", "UnmanagedPods", text)

    def _owner(self, obj: Object, reference: Object | None) -> Object | None:
        resource = SCALABLE.get(reference["kind"]) if reference else None
        if resource is None or reference is None:
            return None
        return self.hands.find(resource, obj["metadata"]["namespace"], reference["name"])

    def _disrupted(self, budget: Object, pods: list[Object]) -> dict[str, str]:
        """Evictions the server has allowed and whose pods are not yet on their way out."""
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        kept: dict[str, str] = {}
        for name, since in ((budget.get("status") or {}).get("disruptedPods") or {}).items():
            pod = by_name.get(name)
            if pod is None or is_going(pod):
                continue
            age = self.clock.now() - parsed(since)
            if age < DISRUPTION_TIMEOUT:
                kept[name] = since
                self.enqueue(key_of(budget), after=(DISRUPTION_TIMEOUT - age).total_seconds())
        return kept

    def _write(
        self, budget: Object, expected: int, desired: int, healthy: int, allowed: int, disrupted: dict[str, str]
    ) -> None:
        old, generation = budget.get("status") or {}, budget["metadata"].get("generation", 0)
        status: Object = {"observedGeneration": generation}
        if disrupted:
            status["disruptedPods"] = disrupted
        status |= {"disruptionsAllowed": allowed, "currentHealthy": healthy}
        status |= {"desiredHealthy": desired, "expectedPods": expected}
        value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        present = condition(old.get("conditions"), "DisruptionAllowed")
        since = present["lastTransitionTime"] if present and present["status"] == value else stamp(self.clock.now())
        status["conditions"] = [
            *without(old.get("conditions") or [], "DisruptionAllowed"),
            {
                "type": "DisruptionAllowed",
                "status": value,
                "observedGeneration": generation,
                "lastTransitionTime": since,
                "reason": reason,
                "message": "",
            },
        ]
        if status != old:
            self.hands.update_status("poddisruptionbudgets.policy", {**copied(budget), "status": status})


class ResourceQuotas(Controller):
    """Recounts what a quota limits; charging for what is being made is the server's."""

    name = "resourcequota-controller"
    watches = ("*",)

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource == quota.QUOTAS:
            yield change.key
        elif change.type == "DELETED" or _has_ended(change):
            for budget in self.hands.all("resourcequotas", change.key[0]):
                yield key_of(budget)

    def reconcile(self, key: Key) -> None:
        limited = self.hands.find("resourcequotas", *key)
        if limited is None or limited["metadata"].get("deletionTimestamp"):
            return
        hard = limited["spec"].get("hard") or {}
        used = self._used(limited, key[0])
        shown = {name: _shown(used.get(name, Decimal(0)), hard[name]) for name in hard}
        status = {"hard": dict(hard), "used": shown}
        if status != (limited.get("status") or {}):
            self.hands.update_status("resourcequotas", {**copied(limited), "status": status})

    def _used(self, limited: Object, namespace: str) -> dict[str, Decimal]:
        cluster, total = self.hands.cluster, dict[str, Decimal]()
        for group, plural in list(cluster.store.resources()):
            try:
                resource = cluster.resource(f"{plural}.{group}" if group else plural)
            except ApiError:
                continue
            if not resource.namespaced:
                continue
            for _, obj in cluster.store.items((group, plural), namespace):
                if quota.is_in_scope(limited, resource, obj):
                    for name, amount in quota.usage(resource, obj).items():
                        total[name] = total.get(name, Decimal(0)) + amount
        return total


def _has_ended(change: Change) -> bool:
    """A pod that ended no longer counts, though its object is still there."""
    if change.resource != ("", "pods") or change.previous is None:
        return False
    before, after = ((each.get("status") or {}).get("phase") for each in (change.previous, change.object))
    return before != after and after in ("Succeeded", "Failed")


def _shown(amount: Decimal, like: str) -> str:
    return str(quantity.Quantity(amount, quantity.parse(str(like)).family))


class Autoscalers(Controller):
    """HorizontalPodAutoscaler where nothing measures: it keeps to its bounds, and says what it cannot know."""

    name = "horizontal-pod-autoscaler"
    watches = ("horizontalpodautoscalers.autoscaling",)

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.type == "ADDED":
            self.enqueue(change.key, after=SYNC_SECONDS)
        return ()

    def reconcile(self, key: Key) -> None:
        scaler = self.hands.find("horizontalpodautoscalers.autoscaling", *key)
        if scaler is None or scaler["metadata"].get("deletionTimestamp"):
            return
        self.enqueue(key, after=SYNC_SECONDS)
        scaler = copied(scaler)
        reference = scaler["spec"]["scaleTargetRef"]
        resource = SCALABLE.get(reference["kind"])
        target = self.hands.find(resource, key[0], reference["name"]) if resource else None
        if target is None or resource is None:
            text = f"the HPA controller was unable to get the target's current scale: {reference['kind'].lower()}s"
            text += f'.apps "{reference["name"]}" not found'
            self._set(scaler, "AbleToScale", "False", "FailedGetScale", text)
            self.event(scaler, "Warning", "FailedGetScale", text.partition(": ")[2])
        else:
            self._scale(scaler, target, resource)
        if scaler["status"] != self.hands.find("horizontalpodautoscalers.autoscaling", *key)["status"]:  # type: ignore[index]
            self.hands.update_status("horizontalpodautoscalers.autoscaling", scaler)

    def _scale(self, scaler: Object, target: Object, resource: str) -> None:
        spec, status = scaler["spec"], scaler.setdefault("status", {})
        current, least, most = target["spec"].get("replicas", 1), spec.get("minReplicas", 1), spec["maxReplicas"]
        status["currentReplicas"] = current
        desired, why = current, ""
        if current == 0:
            text = "scaling is disabled since the replica count of the target is zero"
            self._set(scaler, "AbleToScale", "True", "SucceededGetScale", _GOT_SCALE)
            self._set(scaler, "ScalingActive", "False", "ScalingDisabled", text)
            return
        if current > most:
            desired, why = most, "Current number of replicas above Spec.MaxReplicas"
        elif current < least:
            desired, why = least, "Current number of replicas below Spec.MinReplicas"
        if desired == current:
            self._set(scaler, "AbleToScale", "True", "SucceededGetScale", _GOT_SCALE)
            self._tell_unmeasured(scaler)
            return
        changed = copied(target)
        changed["spec"]["replicas"] = desired
        self.hands.update(resource, changed)
        status["desiredReplicas"], status["lastScaleTime"] = desired, stamp(self.clock.now())
        text = f"the HPA controller was able to update the target scale to {desired}"
        self._set(scaler, "AbleToScale", "True", "SucceededRescale", text)
        self.event(scaler, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {why}")

    def _tell_unmeasured(self, scaler: Object) -> None:
        metrics = scaler["spec"].get("metrics") or []
        name = next((each["resource"]["name"] for each in metrics if each["type"] == "Resource"), None)
        if name is None:
            return
        target = next(each["resource"]["target"]["type"] for each in metrics if each["type"] == "Resource")
        what = f"{name} utilization" if target == "Utilization" else f"{name} usage"
        missing = (
            f"failed to get {what}: unable to get metrics for resource {name}: unable to fetch metrics from resource "
            "metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
        )
        scaler["status"]["currentMetrics"] = [{"type": ""} for _ in metrics]
        text = f"the HPA was unable to compute the replica count: {missing}"
        self._set(scaler, "ScalingActive", "False", "FailedGetResourceMetric", text)
        self.event(scaler, "Warning", "FailedGetResourceMetric", missing)
        text = f"invalid metrics ({len(metrics)} invalid out of {len(metrics)}), first error is: "
        text += f"failed to get {name} resource metric value: {missing}"
        self.event(scaler, "Warning", "FailedComputeMetricsReplicas", text)

    def _set(self, scaler: Object, type_: str, value: str, reason: str, message: str) -> None:
        status = scaler.setdefault("status", {})
        present = condition(status.get("conditions"), type_)
        since = present["lastTransitionTime"] if present and present["status"] == value else stamp(self.clock.now())
        new = {"type": type_, "status": value, "lastTransitionTime": since, "reason": reason, "message": message}
        conditions = [new if each["type"] == type_ else each for each in status.get("conditions") or ()]
        status["conditions"] = conditions if present else [*conditions, new]


_GOT_SCALE = "the HPA controller was able to get the target's current scale"

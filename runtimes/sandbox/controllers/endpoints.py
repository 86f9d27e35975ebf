"""Services: the addresses behind them, as EndpointSlices and as the older Endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from runtimes.sandbox.controllers.base import Controller, Hands, Key, key_of
from runtimes.sandbox.controllers.owners import labels_of, reference_to
from runtimes.sandbox.controllers.pods import is_finished, is_going, is_ready
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.store import Change, Object, copied

SLICES = "endpointslices.discovery.k8s.io"
_LAST_TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_HEADLESS = "service.kubernetes.io/headless"
SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"


class _OfServices(Controller):
    """A change of a pod concerns the Services that select it, or did."""

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "services":
            yield change.key
        elif change.resource[1] == "pods":
            for service in self.hands.all("services", change.key[0]):
                pods = [pod for pod in (change.object, change.previous) if pod is not None]
                if any(_selects(service, pod) for pod in pods):
                    yield key_of(service)
        else:
            yield from _service_of_slice(change, self.owner_mark)

    owner_mark = ""

    def _pods(self, service: Object) -> list[Object]:
        pods = self.hands.all("pods", service["metadata"]["namespace"])
        return [
            pod
            for pod in pods
            if _selects(service, pod) and (pod.get("status") or {}).get("podIP") and not is_finished(pod)
        ]


def _service_of_slice(change: Change, owner_mark: str) -> Iterable[Key]:
    """The Service of a slice that changed, if the controller with that mark made it."""
    labels = labels_of(change.object)
    if labels.get(SERVICE_NAME) and labels.get(MANAGED_BY) == owner_mark:
        yield change.key[0], labels[SERVICE_NAME]


def _slices(hands: Hands, service: Key, owner_mark: str) -> list[Object]:
    labels = {SERVICE_NAME: service[1], MANAGED_BY: owner_mark}
    return [each for each in hands.all(SLICES, service[0]) if labels.items() <= labels_of(each).items()]


def _differs(present: Object, content: Object) -> bool:
    """What is empty is stored as absent."""
    return any((present.get(field) or None) != (value or None) for field, value in content.items())


def _triggered(now: datetime) -> dict[str, str]:
    """When the pods or the Service changed for which this is written."""
    return {_LAST_TRIGGER: stamp(now)}


def _make_slice(
    hands: Hands,
    owner: Object,
    labels: dict[str, str],
    owner_mark: str,
    content: Object,
    annotations: dict[str, str] | None = None,
) -> None:
    """`labels` are those that it has beside the ones that say whose it is."""
    metadata = owner["metadata"]
    body = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": {**labels, SERVICE_NAME: metadata["name"], MANAGED_BY: owner_mark},
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [reference_to(owner)],
        },
        **content,
    }
    hands.create(SLICES, metadata["namespace"], body)


def _selects(service: Object, pod: Object) -> bool:
    selector, labels = service["spec"].get("selector"), labels_of(pod)
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())


def _port_number(port: Object, pod: Object | None) -> int | None:
    """The port a Service's port leads to in a pod; None if the pod has none of that name."""
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    for container in (pod or {"spec": {"containers": []}})["spec"]["containers"]:
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port.get("protocol", "TCP"):
                return int(each["containerPort"])
    return None


class EndpointSlices(_OfServices):
    name = "endpointslice-controller"
    watches = ("services", "pods", SLICES)
    owner_mark = "endpointslice-controller.k8s.io"

    def reconcile(self, key: Key) -> None:
        service = self.hands.find("services", *key)
        slices = _slices(self.hands, key, self.owner_mark)
        if service is None or not service["spec"].get("selector") or service["metadata"].get("deletionTimestamp"):
            return  # the collector of garbage takes what is left of it
        pods = self._pods(service)
        content: Object = {
            "addressType": "IPv4",
            "endpoints": [_endpoint(service, pod) for pod in pods],
            "ports": _slice_ports(service, pods) if pods else None,
        }
        if not slices:
            labels = {
                name: value for name, value in labels_of(service).items() if not name.startswith("kubernetes.io/")
            }
            if service["spec"].get("clusterIP") == "None":
                labels[_HEADLESS] = ""
            _make_slice(self.hands, service, labels, self.owner_mark, content, _triggered(self.clock.now()))
            return
        mine = slices[0]
        if _differs(mine, content):
            changed = {**copied(mine), **content}
            changed["metadata"]["annotations"] = _triggered(self.clock.now())
            self.hands.update(SLICES, changed)
        for surplus in slices[1:]:
            self.hands.delete(SLICES, surplus)


def _endpoint(service: Object, pod: Object) -> Object:
    ready, going = is_ready(pod), is_going(pod)
    eager = bool(service["spec"].get("publishNotReadyAddresses"))
    endpoint: Object = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": eager or (ready and not going), "serving": ready, "terminating": going},
        "nodeName": pod["spec"].get("nodeName"),
        "targetRef": _target(pod),
    }
    if pod["spec"].get("hostname") and pod["spec"].get("subdomain") == service["metadata"]["name"]:
        endpoint["hostname"] = pod["spec"]["hostname"]
    return endpoint


def _target(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}


def _slice_ports(service: Object, pods: list[Object]) -> list[dict[str, Any]]:
    ports = []
    for port in service["spec"].get("ports") or ():
        number = next((found for pod in pods if (found := _port_number(port, pod)) is not None), None)
        if number is not None:
            ports.append({"name": port.get("name", ""), "protocol": port.get("protocol", "TCP"), "port": number})
    return ports


class Endpoints(_OfServices):
    """The older list of the same. Deprecated, and still read by many."""

    name = "endpoint-controller"
    watches = ("services", "pods")

    def reconcile(self, key: Key) -> None:
        service = self.hands.find("services", *key)
        present = self.hands.find("endpoints", *key)
        if service is None:
            if present is not None and labels_of(present).get("endpoints.kubernetes.io/managed-by") == self.name:
                self.hands.delete("endpoints", present)
            return
        if not service["spec"].get("selector") or service["metadata"].get("deletionTimestamp"):
            return
        subsets = self._subsets(service)
        if present is None:
            labels = {**labels_of(service), "endpoints.kubernetes.io/managed-by": self.name}
            if service["spec"].get("clusterIP") == "None":
                labels[_HEADLESS] = ""
            annotations = _triggered(self.clock.now())
            body: Object = {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": key[1], "namespace": key[0], "labels": labels, "annotations": annotations},
            }
            self.hands.create("endpoints", key[0], body | ({"subsets": subsets} if subsets else {}))
        elif (present.get("subsets") or []) != subsets:
            changed = copied(present)
            changed.pop("subsets", None)
            changed["metadata"]["annotations"] = _triggered(self.clock.now())
            self.hands.update("endpoints", changed | ({"subsets": subsets} if subsets else {}))

    def _subsets(self, service: Object) -> list[Object]:
        pods = [pod for pod in self._pods(service) if not is_going(pod)]
        if not pods:
            return []
        eager = bool(service["spec"].get("publishNotReadyAddresses"))
        subset: Object = {}
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            addresses = [
                {"ip": pod["status"]["podIP"], "nodeName": pod["spec"].get("nodeName"), "targetRef": _target(pod)}
                for pod in pods
                if (is_ready(pod) or eager) is ready
            ]
            if addresses:
                subset[field] = addresses
        ports = [
            {name: value for name, value in port.items() if name != "name" or value}
            for port in _slice_ports(service, pods)
        ]
        if ports:
            subset["ports"] = ports
        return [subset]


class MirroredEndpoints(Controller):
    """Endpoints that somebody writes for a Service without selector are mirrored into slices."""

    name = "endpointslicemirroring-controller"
    watches = ("services", "endpoints", SLICES)
    owner_mark = "endpointslicemirroring-controller.k8s.io"

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] != "endpointslices":
            yield change.key
            return
        yield from _service_of_slice(change, self.owner_mark)

    def reconcile(self, key: Key) -> None:
        service, written = self.hands.find("services", *key), self.hands.find("endpoints", *key)
        slices = _slices(self.hands, key, self.owner_mark)
        wanted = _mirrored(written) if written is not None and _is_mirrored(service, written) else []
        for content, present in zip(wanted, slices, strict=False):
            if _differs(present, content):
                self.hands.update(SLICES, {**copied(present), **content})
        for surplus in slices[len(wanted) :]:
            self.hands.delete(SLICES, surplus)
        for content in wanted[len(slices) :]:
            assert written is not None, "only what is there is mirrored"
            _make_slice(self.hands, written, labels_of(written), self.owner_mark, content)


_SKIPPED = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"


def _is_mirrored(service: Object | None, written: Object) -> bool:
    if service is None or service["spec"].get("selector") or written["metadata"].get("deletionTimestamp"):
        return False
    is_lock = _LEADER in (written["metadata"].get("annotations") or {})
    return not is_lock and labels_of(written).get(_SKIPPED) != "true"


def _mirrored(written: Object) -> list[Object]:
    """A slice for each subset, of addresses that are ready and that are not."""
    found = []
    for subset in written.get("subsets") or ():
        endpoints = [
            {
                "addresses": [address["ip"]],
                "conditions": {"ready": ready},
                **{field: address[field] for field in ("hostname", "nodeName", "targetRef") if field in address},
            }
            for field, ready in (("addresses", True), ("notReadyAddresses", False))
            for address in subset.get(field) or ()
        ]
        ports = [
            {"name": port.get("name", ""), "protocol": port.get("protocol", "TCP"), "port": port["port"]}
            for port in subset.get("ports") or ()
        ]
        if endpoints:
            found.append({"addressType": "IPv4", "endpoints": endpoints, "ports": ports})
    return found

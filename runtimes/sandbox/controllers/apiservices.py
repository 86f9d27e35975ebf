"""APIServices: one is made for every version of a custom definition; others are available if their Service is."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.store import Change, Object, copied

AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
DEFINITIONS, SERVICES = "customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io"


class ApiServices(Controller):
    name = "apiservice-controller"
    watches = (DEFINITIONS, SERVICES, "services", "endpointslices.discovery.k8s.io")

    def concerned(self, change: Change) -> Iterable[Key]:
        match change.resource[1]:
            case "customresourcedefinitions":
                spec = change.object["spec"]
                for version in spec["versions"]:
                    yield "", f"{version['name']}.{spec['group']}"
            case "apiservices":
                yield change.key
            case _:
                for service in self.hands.all(SERVICES):
                    if (service["spec"].get("service") or {}).get("namespace") == change.key[0]:
                        yield "", service["metadata"]["name"]

    def reconcile(self, key: Key) -> None:
        service, version = self.hands.find(SERVICES, *key), self._defined(key[1])
        if service is None:
            if version is not None:
                self._make(key[1])
            return
        labels = service["metadata"].get("labels") or {}
        if version is None and labels.get(AUTOMANAGED) == "true":
            self.hands.delete(SERVICES, service)
            return
        self._judge(service)

    def _defined(self, name: str) -> Object | None:
        for definition in self.hands.all(DEFINITIONS):
            for version in definition["spec"]["versions"]:
                if version.get("served") and name == f"{version['name']}.{definition['spec']['group']}":
                    return version  # type: ignore[no-any-return]  # JSON
        return None

    def _make(self, name: str) -> None:
        version, _, group = name.partition(".")
        body = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {AUTOMANAGED: "true"}},
            "spec": {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100},
        }
        self.hands.create(SERVICES, "", body)

    def _judge(self, service: Object) -> None:
        value, reason, message = self._availability(service)
        old = next(iter((service.get("status") or {}).get("conditions") or ()), None)
        if old is not None and (old["status"], old["reason"]) == (value, reason):
            return
        since = old["lastTransitionTime"] if old and old["status"] == value else stamp(self.clock.now())
        new = {"type": "Available", "status": value, "lastTransitionTime": since, "reason": reason, "message": message}
        self.hands.update_status(SERVICES, {**copied(service), "status": {"conditions": [new]}})

    def _availability(self, service: Object) -> tuple[str, str, str]:
        target = service["spec"].get("service")
        if not target:
            return "True", "Local", "Local APIServices are always available"
        namespace, name = target["namespace"], target["name"]
        if self.hands.find("services", namespace, name) is None:
            return "False", "ServiceNotFound", f'service/{name} in "{namespace}" is not present'
        endpoints = self.hands.find("endpoints", namespace, name)
        if not (endpoints or {}).get("subsets"):
            what = f'endpointslices for service/{name} in "{namespace}" have no addresses with port name ""'
            return "False", "MissingEndpoints", what
        # Nothing in a sandbox answers for a Pod.
        return "False", "FailedDiscoveryCheck", f"no response from service/{name} in {namespace!r}"

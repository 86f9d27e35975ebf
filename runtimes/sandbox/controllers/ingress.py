"""Ingresses get an address from the cluster's own ingress controller, if they ask for it by its class.

A real control plane has no ingress controller; one is installed with an IngressClass, and acts on the Ingresses that
name it. The sandbox comes with one, for the class `public`. Ingresses of another class, or of none, wait for ever as
they would in life. Addresses are of the range kept for documentation (RFC 5737): nothing listens there.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key
from runtimes.sandbox.store import Change, copied

INGRESSES, CLASSES = "ingresses.networking.k8s.io", "ingressclasses.networking.k8s.io"
CLASS, CONTROLLER = "public", "sandbox.example/ingress"
ADDRESS = "203.0.113.10"


class Ingresses(Controller):
    name = "ingress-controller"
    manager = "ingress-controller"
    component = "ingress-controller"
    watches = (INGRESSES, CLASSES)

    def start(self) -> None:
        if self.hands.find(CLASSES, "", CLASS) is None:
            body = {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "IngressClass",
                "metadata": {"name": CLASS},
                "spec": {"controller": CONTROLLER},
            }
            self.hands.create(CLASSES, "", body)

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "ingresses":
            yield change.key
        else:
            for ingress in self.hands.all(INGRESSES):
                yield ingress["metadata"]["namespace"], ingress["metadata"]["name"]

    def reconcile(self, key: Key) -> None:
        ingress = self.hands.find(INGRESSES, *key)
        if ingress is None or "deletionTimestamp" in ingress["metadata"]:
            return
        wanted = [{"ip": ADDRESS}] if self._is_ours(ingress["spec"].get("ingressClassName")) else []
        present = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress", [])
        # Of another's Ingress only the address this controller once gave is taken back.
        if present == wanted or (not wanted and present != [{"ip": ADDRESS}]):
            return
        balancer = {"ingress": wanted} if wanted else {}
        self.hands.update_status(INGRESSES, {**copied(ingress), "status": {"loadBalancer": balancer}})

    def _is_ours(self, name: str | None) -> bool:
        found = self.hands.find(CLASSES, "", name) if name else None
        return found is not None and found["spec"].get("controller") == CONTROLLER

"""Namespaces: what every new one is given, and how one that is deleted is emptied."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Change, Object, copied

EMPTY_SECONDS = 5.0  # the real controller takes its time before each look, and so do we
ROOT_CERTIFICATE = "kube-root-ca.crt"


class ServiceAccounts(Controller):
    """Every namespace has a ServiceAccount `default`."""

    name = "service-account-controller"
    watches = ("namespaces", "serviceaccounts")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "namespaces":
            yield change.key
        elif change.key[1] == "default" and change.type == "DELETED":
            yield "", change.key[0]

    def reconcile(self, key: Key) -> None:
        if not is_active(self.hands.find("namespaces", *key)):
            return
        if self.hands.find("serviceaccounts", key[1], "default") is None:
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": key[1]}}
            self.hands.create("serviceaccounts", key[1], body)


class RootCertificates(Controller):
    """And a ConfigMap with the certificate of the API server; a sandbox has none, it speaks plain HTTP on loopback."""

    name = "root-ca-cert-publisher"
    watches = ("namespaces", "configmaps")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "namespaces":
            yield change.key
        elif change.key[1] == ROOT_CERTIFICATE and change.type == "DELETED":
            yield "", change.key[0]

    def reconcile(self, key: Key) -> None:
        if not is_active(self.hands.find("namespaces", *key)):
            return
        if self.hands.find("configmaps", key[1], ROOT_CERTIFICATE) is None:
            about = (
                "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
                "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
                "distributions of Kubernetes clusters."
            )
            metadata = {
                "name": ROOT_CERTIFICATE,
                "namespace": key[1],
                "annotations": {"kubernetes.io/description": about},
            }
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": ""}}
            self.hands.create("configmaps", key[1], body)


def is_active(namespace: Object | None) -> bool:
    return namespace is not None and not namespace["metadata"].get("deletionTimestamp")


class Namespaces(Controller):
    """Deletes what is in a deleted namespace, says what still holds it, and at last lets it go."""

    name = "namespace-controller"
    watches = ("namespaces",)

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.type != "DELETED" and change.object["metadata"].get("deletionTimestamp"):
            self.enqueue(change.key, after=EMPTY_SECONDS)
        return ()

    def reconcile(self, key: Key) -> None:
        namespace = self.hands.find("namespaces", *key)
        if namespace is None or is_active(namespace) or not namespace["spec"].get("finalizers"):
            return
        self._empty(key[1])
        remaining = self._contents(key[1])
        if "pods" in remaining:
            # nothing else is touched before (OrderedNamespaceDeletion), nor counted: the real one says that all is gone
            self._write_conditions(namespace, {})
            self.enqueue(key, after=EMPTY_SECONDS)
            return
        namespace = self._write_conditions(namespace, remaining)
        if remaining:
            self.enqueue(key, after=EMPTY_SECONDS)
            return
        finished = copied(namespace)
        finished["spec"]["finalizers"] = [each for each in finished["spec"]["finalizers"] if each != "kubernetes"]
        self.hands.update("namespaces", finished, "finalize")

    def _contents(self, namespace: str) -> dict[str, list[Object]]:
        """What is in it, by resource as it is written (`pods`, `deployments.apps`)."""
        store, found = self.hands.cluster.store, {}
        for group, plural in store.resources():
            if (group, plural) in (("", "events"), ("", "namespaces")):
                continue
            objects = [obj for _, obj in store.items((group, plural), namespace)]
            if objects:
                found[f"{plural}.{group}" if group else plural] = objects
        return found

    def _empty(self, namespace: str) -> None:
        """Deletes the pods, and what else there is once they are gone."""
        self._delete(self._contents(namespace).get("pods", []), "pods")
        left = self._contents(namespace)
        if "pods" not in left:
            for resource, objects in sorted(left.items()):
                self._delete(objects, resource)
        store = self.hands.cluster.store
        for _, event in store.items(("", "events"), namespace):
            self.hands.delete("events", event)

    def _delete(self, objects: Iterable[Object], resource: str) -> None:
        for obj in objects:
            if not obj["metadata"].get("deletionTimestamp"):
                try:
                    self.hands.delete(resource, obj, "Background")
                except ApiError as error:
                    if error.code != 405:
                        raise

    def _write_conditions(self, namespace: Object, remaining: dict[str, list[Object]]) -> Object:
        finalizers: dict[str, int] = {}
        for objects in remaining.values():
            for obj in objects:
                for finalizer in obj["metadata"].get("finalizers") or ():
                    finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        content = ("False", "ContentRemoved", "All content successfully removed")
        if remaining:
            counts = ", ".join(
                f"{resource}. has {len(objects)} resource instances" for resource, objects in sorted(remaining.items())
            )
            content = ("True", "SomeResourcesRemain", f"Some resources are remaining: {counts}")
        held = ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
        if finalizers:
            listed = ", ".join(f"{name} in {times} resource instances" for name, times in sorted(finalizers.items()))
            text = f"Some content in the namespace has finalizers remaining: {listed}"
            held = ("True", "SomeFinalizersRemain", text)
        discovered = ("False", "ResourcesDiscovered", "All resources successfully discovered")
        versions = ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed")
        deleted = ("False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
        wanted = {
            "NamespaceDeletionDiscoveryFailure": discovered,
            "NamespaceDeletionGroupVersionParsingFailure": versions,
            "NamespaceDeletionContentFailure": deleted,
            "NamespaceContentRemaining": content,
            "NamespaceFinalizersRemaining": held,
        }
        changed = copied(namespace)
        status = changed.setdefault("status", {})
        present = {each["type"]: each for each in status.get("conditions") or ()}
        moment = stamp(self.clock.now())
        conditions = []
        for type_, (value, reason, message) in wanted.items():
            old = present.get(type_)
            since = old["lastTransitionTime"] if old and old["status"] == value else moment
            each = {"type": type_, "status": value, "lastTransitionTime": since, "reason": reason, "message": message}
            conditions.append(each)
        if conditions == status.get("conditions"):
            return namespace
        status["conditions"] = conditions
        return self.hands.update_status("namespaces", changed)

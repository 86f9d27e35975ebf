"""One simulated cluster: the verbs of the API on in-memory state, used by HTTP handlers and controllers alike.

Verbs are synchronous and atomic (one event loop owns a cluster; nothing is awaited inside one). Who may do what is
decided at the HTTP edge: in here every caller is trusted, but named, since name and field manager are recorded.
A resource is named as `pods` or `deployments.apps` (plural, with the group unless core), or given as a `Resource` in
the version that the caller speaks. Returned objects are shared with the store and with watchers: never change one in
place, take `copied(obj)`. Refusals are raised as `ApiError`.
"""

from __future__ import annotations

import builtins
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox import binding, custom, deletion, eviction, listing, scale, watching, writing
from runtimes.sandbox.clock import Clock
from runtimes.sandbox.errors import ApiError, not_found
from runtimes.sandbox.listing import ListResult, Page, Selection
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.selectors import parse_fields, parse_labels
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Change, Object, copied
from runtimes.sandbox.users import SYSTEM, User, service_account
from runtimes.sandbox.versions import read_as
from runtimes.sandbox.writing import Call, FieldValidation, PatchType, Written

__all__ = [
    "SYSTEM",
    "ApiError",
    "Change",
    "Cluster",
    "ListResult",
    "Object",
    "User",
    "copied",
    "service_account",
]

Propagation = deletion.Propagation


@dataclass(frozen=True, slots=True)
class Deleted:
    """`object` is its last state, or the marked one if it is not `gone` yet (finalizers, grace)."""

    object: Object
    gone: bool


def _own_uid(name: str, seed: int | None) -> str:
    """The uid of a cluster's kube-system: by its name with a seed, at random without one."""
    return str(uuid.uuid4() if seed is None else uuid.uuid5(uuid.NAMESPACE_DNS, f"{seed}.{name}.sandbox"))


class Cluster(State):
    """See the module. Parameters shared by the writing verbs:

    user, manager     who acts, and the field manager to record
    dry_run           answer as if done, change nothing
    subresource       "status", "scale", ... or None for the object itself
    field_validation  what unknown and duplicate fields cause: Strict, Warn or Ignore
    warnings          texts for the client are appended to it
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        history: int = 10_000,
        seed: int | None = None,
        has_system_namespaces: bool = True,
        uid: str = "",
    ) -> None:
        """`uid` is that of kube-system, by which clients tell clusters apart; by default one of its own."""
        super().__init__(name, clock, history=history, seed=seed)
        custom.serve_definitions(self)
        if has_system_namespaces:
            for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
                self.create("namespaces", None, {"metadata": {"name": namespace}})
            # nobody has seen it yet; of two clusters with the same seed it has to differ all the same
            system = self.store.get(("", "namespaces"), ("", "kube-system"))
            assert system is not None, "it was just made"
            system["metadata"]["uid"] = uid or _own_uid(name, seed)

    def resource(self, named: str | Resource) -> Resource:
        """Raises 404 for a resource that is not served."""
        if isinstance(named, Resource):
            return named
        try:
            return self.resources.named(named)
        except KeyError:
            raise ApiError(404, "NotFound", "the server could not find the requested resource", {}) from None

    def get(self, resource: str | Resource, namespace: str | None, name: str) -> Object:
        """Raises 404."""
        served = self.resource(resource)
        found = self.find(served, namespace, name)
        if found is None:
            raise not_found(served.group, served.plural, name)
        return found

    def find(self, resource: str | Resource, namespace: str | None, name: str) -> Object | None:
        """As `get`, None if there is none."""
        served = self.resource(resource)
        stored = self.store.get(served.storage, (namespace or "", name))
        return None if stored is None else read_as(stored, served)

    def list(
        self,
        resource: str | Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> ListResult:
        """`namespace` None: all of them. Raises 400 for a bad selector."""
        served = self.resource(resource)
        selection = Selection(parse_labels(label_selector), parse_fields(field_selector, served))
        return self.everything(served, namespace, selection)

    def create(
        self,
        resource: str | Resource,
        namespace: str | None,
        body: Object,
        *,
        user: User = SYSTEM,
        manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Ignore",
        warnings: builtins.list[str] | None = None,
    ) -> Object:
        served = self.resource(resource)
        call = Call(served, namespace or "", "", None, user, manager, dry_run, field_validation, _texts(warnings))
        return self.create_as(call, body)

    def update(
        self,
        resource: str | Resource,
        namespace: str | None,
        name: str,
        body: Object,
        *,
        subresource: str | None = None,
        user: User = SYSTEM,
        manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Ignore",
        warnings: builtins.list[str] | None = None,
    ) -> Object:
        served = self.resource(resource)
        call = Call(
            served, namespace or "", name, subresource, user, manager, dry_run, field_validation, _texts(warnings)
        )
        return self.update_as(call, body).object

    def patch(
        self,
        resource: str | Resource,
        namespace: str | None,
        name: str,
        patch: Any,
        patch_type: PatchType = "merge",
        *,
        subresource: str | None = None,
        force: bool = False,
        user: User = SYSTEM,
        manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "Ignore",
        warnings: builtins.list[str] | None = None,
    ) -> Object:
        served = self.resource(resource)
        call = Call(
            served, namespace or "", name, subresource, user, manager, dry_run, field_validation, _texts(warnings)
        )
        return self.patch_as(call, patch, patch_type, force).object

    def delete(
        self,
        resource: str | Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
        user: User = SYSTEM,
        dry_run: bool = False,
        warnings: builtins.list[str] | None = None,
    ) -> Deleted:
        served = self.resource(resource)
        options = deletion.Options(uid, resource_version, grace_seconds, propagation, dry_run)
        del user, warnings  # nothing records who deleted
        return self.delete_as(served, namespace or "", name, options)

    def watch(
        self,
        resource: str | Resource,
        namespace: str | None = None,
        since_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Object]:
        """`{"type", "object"}` events until closed. Since "" or "0": first ADDED for what is there. Raises 410."""
        served = self.resource(resource)
        selection = listing.Selection(parse_labels(label_selector), parse_fields(field_selector, served))
        return watching.Watch(self, served, namespace, selection, since_version)

    def subscribe(self, subscriber: Callable[[Change], None]) -> Callable[[], None]:
        """Every later change of any kind, called at once: only take note and return. `change.resource` is
        `(group, plural)`. Returns the undo."""
        return self.store.subscribe(subscriber)

    # --- The same verbs with all that a request of the API says

    @property
    def revision(self) -> int:
        return self.store.revision

    def everything(self, resource: Resource, namespace: str | None, selection: Selection) -> ListResult:
        return listing.everything(self, resource, namespace, selection)

    def page(self, resource: Resource, namespace: str | None, selection: Selection, page: Page) -> ListResult:
        """Raises 400 and 410."""
        return listing.page(self, resource, namespace, selection, page)

    def scale(self, resource: Resource, namespace: str, name: str) -> Object:
        """Raises 404."""
        return scale.get(self, resource, namespace, name)

    def create_as(self, call: Call, body: Any) -> Object:
        return writing.create(self, call, body)

    def update_as(self, call: Call, body: Any) -> Written:
        if call.subresource == "scale":
            return Written(scale.update(self, call, body))
        return writing.update(self, call, body)

    def patch_as(self, call: Call, patch: Any, patch_type: PatchType, force: bool) -> Written:
        if call.subresource == "scale":
            return scale.patch(self, call, patch, patch_type, force)
        return writing.patch(self, call, patch, patch_type, force)

    def delete_as(self, resource: Resource, namespace: str, name: str, options: deletion.Options) -> Deleted:
        return Deleted(*deletion.delete(self, resource, namespace, name, options))

    def finalize_namespace(self, name: str, finalizers: builtins.list[str]) -> Object:
        return deletion.finalize_namespace(self, name, finalizers)

    def bind(
        self,
        namespace: str,
        name: str,
        node: str,
        *,
        uid: str | None,
        dry_run: bool,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Raises 404 and 409."""
        binding.bind(self, namespace, name, node, uid=uid, dry_run=dry_run, annotations=annotations)

    def evict(self, namespace: str, name: str, options: deletion.Options) -> None:
        """Deletes a Pod if its budget allows. Raises 404, and 429 if not."""
        eviction.evict(self, self.resource("pods"), namespace, name, options)


def _texts(warnings: builtins.list[str] | None) -> builtins.list[str]:
    return warnings if warnings is not None else []

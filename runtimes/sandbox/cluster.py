"""One simulated cluster: the verbs of the API on in-memory state, used by HTTP handlers and controllers alike.

Verbs are synchronous and atomic (one event loop owns a cluster; nothing is awaited inside one). Who may do what is decided
at the HTTP edge: in here every caller is trusted, but named, since its name and field manager are recorded.
A resource is named as `pods` or `deployments.apps` (plural, with the group unless core).
Returned objects are shared with the store and with watchers: never change one in place, take `copied(obj)`.
Refusals are raised as `ApiError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from .errors import ApiError
from .store import Change, Object, Store, copied

__all__ = ["ApiError", "Change", "Clock", "Cluster", "ListResult", "Object", "User", "copied"]

PatchType = Literal["json", "merge", "strategic", "apply"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class Clock(Protocol):
    """Where a cluster takes the time from; `clock.py` has a real and a virtual one."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


SYSTEM = User("system:apiserver", ("system:masters",))


def service_account(name: str, namespace: str = "kube-system") -> User:
    """The user a controller acts as, e.g. `service_account("deployment-controller")`."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


@dataclass(frozen=True, slots=True)
class ListResult:
    """Objects in order of namespace and name, with the revision they are current at."""

    items: list[Object]
    version: str
    continue_token: str = ""
    remaining: int | None = None


class Cluster:
    """See the module. Parameters shared by the writing verbs:

    user, manager   who acts, and the field manager to record
    dry_run         answer as if done, change nothing
    subresource     "status", "scale", ... or None for the object itself
    warnings        texts for the client are appended to it
    """

    name: str
    clock: Clock
    store: Store

    def __init__(self, name: str, clock: Clock, *, history: int = 10_000) -> None:
        self.name, self.clock, self.store = name, clock, Store(history)

    def get(self, resource: str, namespace: str | None, name: str) -> Object:
        """Raises 404."""
        raise NotImplementedError

    def find(self, resource: str, namespace: str | None, name: str) -> Object | None:
        """As `get`, None if there is none."""
        raise NotImplementedError

    def list(
        self, resource: str, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> ListResult:
        raise NotImplementedError

    def create(
        self,
        resource: str,
        namespace: str | None,
        body: Object,
        *,
        user: User = SYSTEM,
        manager: str = "",
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> Object:
        raise NotImplementedError

    def update(
        self,
        resource: str,
        namespace: str | None,
        name: str,
        body: Object,
        *,
        subresource: str | None = None,
        user: User = SYSTEM,
        manager: str = "",
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> Object:
        raise NotImplementedError

    def patch(
        self,
        resource: str,
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
        warnings: list[str] | None = None,
    ) -> Object:
        raise NotImplementedError

    def delete(
        self,
        resource: str,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
        user: User = SYSTEM,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> tuple[Object, bool]:
        """The object's last or marked state, and whether it is gone (False: it waits for finalizers or its grace)."""
        raise NotImplementedError

    def watch(
        self,
        resource: str,
        namespace: str | None = None,
        since_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Object]:
        """`{"type", "object"}` events until closed. Since "" or "0": first ADDED for what is there. Raises 410."""
        raise NotImplementedError

    def subscribe(self, subscriber: Callable[[Change], None]) -> Callable[[], None]:
        """Every later change of any kind, called at once: only take note and return. `change.resource` is
        `(group, plural)`. Returns the undo."""
        return self.store.subscribe(subscriber)

"""Who acts: a person, a controller, the server itself."""

from __future__ import annotations

from typing import Any

from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def info(self) -> dict[str, Any]:
        """As the server tells it."""
        info: dict[str, Any] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {name: list(values) for name, values in self.extra}
        return info


SYSTEM = User("system:apiserver", ("system:masters",))


def service_account(name: str, namespace: str = "kube-system") -> User:
    """The user a controller acts as, e.g. `service_account("deployment-controller")`."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)

"""ClusterRoles that gather the rules of others by their labels."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.controllers.owners import labels_of, selects
from runtimes.sandbox.store import Change, copied

ROLES = "clusterroles.rbac.authorization.k8s.io"


class RoleAggregation(Controller):
    name = "clusterrole-aggregation-controller"
    watches = (ROLES,)

    def concerned(self, change: Change) -> Iterable[Key]:
        yield change.key
        labels = [labels_of(each) for each in (change.object, change.previous) if each is not None]
        for role in self.hands.all(ROLES):
            if not role.get("aggregationRule"):
                continue
            selectors = role["aggregationRule"].get("clusterRoleSelectors") or ()
            if any(selects(selector, each) for selector in selectors for each in labels):
                yield key_of(role)

    def reconcile(self, key: Key) -> None:
        role = self.hands.find(ROLES, *key)
        if role is None or not role.get("aggregationRule"):
            return
        selectors = role["aggregationRule"].get("clusterRoleSelectors") or ()
        rules = []
        for each in self.hands.all(ROLES):
            if each["metadata"]["name"] == key[1] or not any(selects(one, labels_of(each)) for one in selectors):
                continue
            rules += [rule for rule in each.get("rules") or () if rule not in rules]
        if rules != (role.get("rules") or []):
            self.hands.update(ROLES, {**copied(role), "rules": copied(rules)})

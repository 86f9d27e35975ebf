"""Role-based access from the objects in the store: which rules hold for a user, and that nobody gives more than those.

Whoever writes a role or binds one needs every right in it, or the verbs `escalate` or `bind`: otherwise who may write
bindings could make themselves administrator (https://kubernetes.io/docs/reference/access-authn-authz/rbac/).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.errors import forbidden, not_found
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object, Store
from runtimes.sandbox.users import User

MASTERS = "system:masters"
RBAC = "rbac.authorization.k8s.io"
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_EVERYTHING = ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]})


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do: with a resource (`path` "") or with a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""  # with the subresource: pods/log
    namespace: str = ""
    name: str = ""
    path: str = ""


# --- Which rules hold ---


def allowed_by(store: Store, user: User, wanted: Attributes) -> str | None:
    """Why it is allowed ("" for members of system:masters), None if it is not."""
    if MASTERS in user.groups:
        return ""
    for rule, why in rules_of(store, user, wanted.namespace):
        if covers(rule, wanted):
            return why
    return None


def rules_of(store: Store, user: User, namespace: str) -> Iterator[tuple[Object, str]]:
    """The rules that hold for the user in the namespace ("" for cluster-wide ones only), each with its origin."""
    places = [("clusterrolebindings", None)] + ([("rolebindings", namespace)] if namespace else [])
    for plural, where in places:
        for _, binding in store.items((RBAC, plural), where):
            subject = next((s for s in binding.get("subjects") or () if _is(s, user, namespace)), None)
            role = _role(store, binding["roleRef"], namespace) if subject is not None else None
            if subject is None or role is None:
                continue
            kind = "ClusterRoleBinding" if where is None else "RoleBinding"
            reference = binding["roleRef"]
            name = binding["metadata"]["name"] if where is None else f"{binding['metadata']['name']}/{namespace}"
            why = (
                f'RBAC: allowed by {kind} "{name}" of {reference["kind"]} "{reference["name"]}" '
                f'to {subject["kind"]} "{subject["name"]}"'
            )
            for rule in role.get("rules") or ():
                yield rule, why


def _role(store: Store, reference: Mapping[str, Any], namespace: str) -> Object | None:
    if reference["kind"] == "ClusterRole":
        return store.get((RBAC, "clusterroles"), ("", reference["name"]))
    return store.get((RBAC, "roles"), (namespace, reference["name"]))


def _is(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            where = subject.get("namespace") or namespace
            return user.name == f"system:serviceaccount:{where}:{subject['name']}"
        case _:
            return False


def covers(rule: Mapping[str, Any], wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if wanted.verb not in verbs and "*" not in verbs:
        return False
    if wanted.path:
        return any(_covers_path(each, wanted.path) for each in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if wanted.group not in groups and "*" not in groups:
        return False
    _, _, subresource = wanted.resource.partition("/")
    resources = rule.get("resources") or ()
    fits = wanted.resource in resources or "*" in resources or (subresource and f"*/{subresource}" in resources)
    names = rule.get("resourceNames") or ()
    return bool(fits) and (not names or wanted.name in names)


def _covers_path(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return pattern == path


# --- That nobody gives more than they have ---


def forbid_escalation(
    store: Store, user: User, resource: Resource, namespace: str, obj: Object, old: Object | None
) -> None:
    """Raises 403 where a role or binding would give rights that its writer lacks."""
    plural = resource.storage[1]
    if resource.storage[0] != RBAC or plural not in (*_ROLES, *_BINDINGS) or MASTERS in user.groups:
        return
    if old is not None and _is_only_owned_otherwise(obj, old):
        return
    if plural in _ROLES:
        _forbid_in_role(store, user, resource, namespace, obj, old)
        return
    reference, name = obj.get("roleRef") or {}, obj["metadata"].get("name") or ""
    role_kind = {"Role": "roles", "ClusterRole": "clusterroles"}.get(reference.get("kind") or "")
    if role_kind is None:
        return  # validation says so
    wanted = Attributes("bind", reference.get("apiGroup") or "", role_kind, namespace, reference.get("name") or "")
    if allowed_by(store, user, wanted) is not None:
        return
    role = _role(store, reference, namespace)
    if role is None:
        raise not_found(RBAC, plural, wanted.name)  # as the server tells it: by the kind that is written
    lacking = _lacking(store, user, namespace, role.get("rules") or ())
    if lacking:
        raise forbidden(RBAC, plural, name, _attempt(user, lacking))


def _forbid_in_role(
    store: Store, user: User, resource: Resource, namespace: str, obj: Object, old: Object | None
) -> None:
    plural, name = resource.storage[1], obj["metadata"].get("name") or ""
    if allowed_by(store, user, Attributes("escalate", RBAC, plural, namespace, name)) is not None:
        return
    lacking = _lacking(store, user, namespace, obj.get("rules") or ())
    if lacking:
        raise forbidden(RBAC, plural, name, _attempt(user, lacking))
    gathers = any((((each or {}).get("aggregationRule")) or {}).get("clusterRoleSelectors") for each in (obj, old))
    if gathers and _lacking(store, user, "", _EVERYTHING):
        raise forbidden(RBAC, plural, name, "must have cluster-admin privileges to use the aggregationRule")


def _is_only_owned_otherwise(obj: Object, old: Object) -> bool:
    """What the garbage collector has to change may be changed without the rights."""

    def rest(each: Object) -> Object:
        unowned = {"ownerReferences", "finalizers", "managedFields"}
        metadata = {key: value for key, value in each["metadata"].items() if key not in unowned}
        return {**each, "metadata": metadata}

    return rest(obj) == rest(old)


def _lacking(store: Store, user: User, namespace: str, rules: Iterable[Mapping[str, Any]]) -> list[Attributes]:
    held = [rule for rule, _ in rules_of(store, user, namespace)]
    return [each for rule in rules for each in _single(rule) if not any(_includes(own, each) for own in held)]


def _single(rule: Mapping[str, Any]) -> Iterator[Attributes]:
    """The rule's rights, one by one."""
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield Attributes(verb, group, resource, "", name)
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield Attributes(verb, path=path)


def _includes(own: Mapping[str, Any], right: Attributes) -> bool:
    """A right to all names is not included in one to some: `covers` alone takes "" for the name of something new."""
    is_narrower = bool(own.get("resourceNames")) and not right.name and not right.path
    return not is_narrower and covers(own, right)


def _attempt(user: User, lacking: list[Attributes]) -> str:
    who = f'user "{user.name}" (groups={_listed([*user.groups])})'
    text = f"{who} is attempting to grant RBAC permissions not currently held:"
    return "\n".join([text, *sorted(_gathered(lacking))])


def _gathered(lacking: list[Attributes]) -> set[str]:
    """Rights in the same thing are told together."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    told = set()
    for each in lacking:
        if each.path:
            told.add(f"{{NonResourceURLs:{_listed([each.path])}, Verbs:{_listed([each.verb])}}}")
        else:
            verbs.setdefault((each.group, each.resource, each.name), []).append(each.verb)
    for (group, resource, name), given in verbs.items():
        named = f", ResourceNames:{_listed([name])}" if name else ""
        told.add(f"{{APIGroups:{_listed([group])}, Resources:{_listed([resource])}{named}, Verbs:{_listed(given)}}}")
    return told


def _listed(values: list[str]) -> str:
    return f"[{' '.join(json.dumps(value) for value in values)}]"

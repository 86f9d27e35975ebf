"""Who asks, and whether they may: bearer tokens, impersonation, and role-based access from the objects in the store.

The members of `system:masters` may do everything. What else anybody may do follows from Roles, ClusterRoles and their
bindings; a cluster starts with those of a real server, among them what every user may see of discovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from kcl.records import dataclass
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError, PlainFailure, forbidden
from runtimes.sandbox.store import Object
from runtimes.sandbox.writing import User

MASTERS = "system:masters"
EXTRA = "Impersonate-Extra-"
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_AUTHENTICATION = "authentication.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do: with a resource (`path` "") or with a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""  # with the subresource: pods/log
    namespace: str = ""
    name: str = ""
    path: str = ""


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def authenticate(header: str, tokens: Mapping[str, User]) -> User:
    """Raises 401 for a token that nobody has; without any the caller is anonymous."""
    scheme, _, token = header.partition(" ")
    if not header or scheme.lower() != "bearer":
        return ANONYMOUS
    user = tokens.get(token.strip())
    if user is None:
        raise unauthorized()
    return User(user.name, tuple(dict.fromkeys((*user.groups, "system:authenticated"))), user.uid)


def impersonated(cluster: Cluster, user: User, headers: Mapping[str, list[str]], path: str) -> User:
    """The user that the request acts as. Raises 403 if the caller may not."""
    name = (headers.get("Impersonate-User") or [""])[0]
    groups, uid = headers.get("Impersonate-Group") or [], (headers.get("Impersonate-Uid") or [""])[0]
    extra = {
        unquote(header[len(EXTRA) :]).lower(): tuple(values)
        for header, values in headers.items()
        if header.startswith(EXTRA)
    }
    if not name:
        _without_user(groups, extra, uid, path)
        return user
    wanted = [Attributes("impersonate", "", "users", "", name)]
    if name.startswith("system:serviceaccount:"):
        namespace, _, account = name.removeprefix("system:serviceaccount:").partition(":")
        wanted = [Attributes("impersonate", "", "serviceaccounts", namespace, account)]
    wanted += [Attributes("impersonate", "", "groups", "", group) for group in groups]
    for key, values in extra.items():
        wanted += [Attributes("impersonate", _AUTHENTICATION, f"userextras/{key}", "", value) for value in values]
    if uid:
        wanted.append(Attributes("impersonate", _AUTHENTICATION, "uids", "", uid))
    for attributes in wanted:
        if not is_allowed(cluster, user, attributes):
            raise refusal(user, attributes)
    if name == ANONYMOUS.name:
        return ANONYMOUS
    if name.startswith("system:serviceaccount:") and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}"]
    return User(name, (*dict.fromkeys(groups), "system:authenticated"), uid, tuple(extra.items()))


def _without_user(groups: list[str], extra: Mapping[str, tuple[str, ...]], uid: str, path: str) -> None:
    """Raises 500, in plain text, for one who would act as nobody."""
    requested = [f"Group  {group}    " for group in groups]
    requested += [
        f"UserExtra  {value}  {_AUTHENTICATION}/v1  {key}" for key, values in extra.items() for value in values
    ]
    requested += [f"UID  {uid}  {_AUTHENTICATION}/v1  "] if uid else []
    if requested:
        listed = " ".join(f"{{{each}}}" for each in requested)
        raise PlainFailure(500, f'Internal Server Error: "{path}": requested [{listed}] without impersonating a user\n')


def refusal(user: User, wanted: Attributes) -> ApiError:
    if wanted.path:
        text = f'forbidden: User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
        return ApiError(403, "Forbidden", text, {})
    place = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    text = f'User "{user.name}" cannot {wanted.verb} resource "{wanted.resource}" in API group "{wanted.group}" {place}'
    return forbidden(wanted.group, wanted.resource.partition("/")[0], wanted.name, text)


def is_allowed(cluster: Cluster, user: User, wanted: Attributes) -> bool:
    return allowed_by(cluster, user, wanted) is not None


def allowed_by(cluster: Cluster, user: User, wanted: Attributes) -> str | None:
    """Why it is allowed ("" for members of system:masters), None if it is not."""
    if MASTERS in user.groups:
        return ""
    for rule, why in rules_of(cluster, user, wanted.namespace):
        if _covers(rule, wanted):
            return why
    return None


def rules_of(cluster: Cluster, user: User, namespace: str) -> Iterator[tuple[Object, str]]:
    """The rules that hold for the user in the namespace ("" for cluster-wide ones only), each with its origin."""
    places = [("clusterrolebindings", None)] + ([("rolebindings", namespace)] if namespace else [])
    for plural, where in places:
        for binding in cluster.list(f"{plural}.{_RBAC}", where).items:
            subject = next((s for s in binding.get("subjects") or () if _is(s, user, namespace)), None)
            role = _role(cluster, binding, namespace) if subject is not None else None
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


def _role(cluster: Cluster, binding: Object, namespace: str) -> Object | None:
    reference = binding["roleRef"]
    if reference["kind"] == "ClusterRole":
        return cluster.find(f"clusterroles.{_RBAC}", None, reference["name"])
    return cluster.find(f"roles.{_RBAC}", namespace, reference["name"])


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


def _covers(rule: Mapping[str, Any], wanted: Attributes) -> bool:
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

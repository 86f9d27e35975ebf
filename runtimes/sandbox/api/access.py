"""Who asks, and whether they may: bearer tokens, impersonation, and role-based access from the objects in the store.

The members of `system:masters` may do everything. What else anybody may do follows from Roles, ClusterRoles and their
bindings; a cluster starts with those of a real server, among them what every user may see of discovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from runtimes.sandbox import role_rules
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError, PlainFailure, forbidden
from runtimes.sandbox.role_rules import Attributes
from runtimes.sandbox.store import Object
from runtimes.sandbox.users import User

EXTRA = "Impersonate-Extra-"
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_AUTHENTICATION = "authentication.k8s.io"


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
    return role_rules.allowed_by(cluster.store, user, wanted)


def rules_of(cluster: Cluster, user: User, namespace: str) -> Iterator[tuple[Object, str]]:
    """The rules that hold for the user in the namespace ("" for cluster-wide ones only), each with its origin."""
    return role_rules.rules_of(cluster.store, user, namespace)

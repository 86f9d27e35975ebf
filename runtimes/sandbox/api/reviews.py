"""Questions that are answered and forgotten: who am I, may I, is this token good; and tokens on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from typing import Any, Protocol, cast

from runtimes.sandbox.api import selector_reviews
from runtimes.sandbox.api.access import allowed_by, rules_of
from runtimes.sandbox.api.replies import Reply
from runtimes.sandbox.api.requests import Query, write_options
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import JsonObject, bad_request, conflict, invalid, not_found
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.role_rules import Attributes
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.tokens import unsigned
from runtimes.sandbox.users import User
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.writing import Call, FieldValidation, read_body

AUTHORIZATION, AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
SHORTEST_SECONDS, LONGEST_SECONDS = 600, 2**32


class Request(Protocol):
    """The part of a request that is used here."""

    cluster: Cluster
    user: User
    warnings: list[str]
    resource: Resource
    query: Query

    @property
    def namespace(self) -> str: ...
    @property
    def address(self) -> Any: ...
    def body(self, kind: str | None = None) -> Any: ...


def _read(request: Request, group: str, kind: str) -> JsonObject:
    """The question, decoded, with warnings about what it has beside. Raises 400 and 422."""
    options = write_options(request.query, "CreateOptions", "")
    asked = Call(
        request.resource,
        request.namespace,
        "",
        None,
        request.user,
        options.manager,
        options.dry_run,
        cast(FieldValidation, options.field_validation),
        request.warnings,
    )
    return read_body(asked, Registry.load().kind(group, "v1", kind), request.body(kind))


def _head(group: str, kind: str) -> JsonObject:
    return {"kind": kind, "apiVersion": f"{group}/v1"}


def _self_subject(request: Request) -> Reply:
    _read(request, AUTHENTICATION, "SelfSubjectReview")
    metadata = {"creationTimestamp": request.cluster.now}
    body = {
        **_head(AUTHENTICATION, "SelfSubjectReview"),
        "metadata": metadata,
        "status": {"userInfo": request.user.info()},
    }
    return Reply(201, body, request.warnings)


def _access(request: Request) -> Reply:
    kind = {
        "selfsubjectaccessreviews": "SelfSubjectAccessReview",
        "subjectaccessreviews": "SubjectAccessReview",
        "localsubjectaccessreviews": "LocalSubjectAccessReview",
    }[request.address.plural]
    asked = _read(request, AUTHORIZATION, kind)
    spec = asked.get("spec") or {}
    wanted, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    _check_access(request, kind, spec, asked["metadata"])
    user = request.user
    if kind != "SelfSubjectAccessReview":
        user = User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "")
    why = allowed_by(request.cluster, user, _attributes(wanted, other))
    status: JsonObject = {"allowed": why is not None}
    if why:
        status["reason"] = why
    unread = selector_reviews.unread(wanted or {})
    if unread:
        status["evaluationError"] = unread
    metadata = {"namespace": request.namespace} if request.namespace else {}
    body = {**_head(AUTHORIZATION, kind), "metadata": metadata, "spec": spec, "status": status}
    return Reply(201, body, request.warnings)


def _check_access(request: Request, kind: str, spec: JsonObject, metadata: JsonObject) -> None:
    """Raises 422; the real server leaves the kind out of these."""
    wanted, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    found = Causes()
    shown = {"Path": (other or {}).get("path", ""), "Verb": (other or {}).get("verb", "")}
    if wanted is not None and other is not None:
        what = "cannot be specified in combination with resourceAttributes"
        found.invalid("spec.nonResourceAttributes", shown, what)
    elif wanted is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.invalid("spec.resourceAttributes", None, text)
    if wanted is not None:
        selector_reviews.check(found, wanted)
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        found.invalid("spec.user", "", "at least one of user or group must be specified")
    if kind == "LocalSubjectAccessReview":
        if wanted is not None and wanted.get("namespace", "") != request.namespace:
            text = "must match metadata.namespace"
            found.invalid("spec.resourceAttributes.namespace", wanted.get("namespace", ""), text)
        if other is not None:
            found.invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request")
    left = {key: value for key, value in metadata.items() if key not in ("managedFields", "creationTimestamp")}
    if kind == "LocalSubjectAccessReview":
        left.pop("namespace", None)
    if left:
        found.invalid("metadata", left, "must be empty")
    if found:
        texts = [f"{each['field']}: {each['message']}" for each in found]
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        raise invalid(AUTHORIZATION, "", "", list(found), f'.{AUTHORIZATION} "" is invalid: {listed}')


def _attributes(wanted: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> Attributes:
    if wanted is None:
        other = other or {}
        return Attributes(other.get("verb") or "", path=other.get("path") or "")
    resource = wanted.get("resource") or ""
    if wanted.get("subresource"):
        resource += f"/{wanted['subresource']}"
    return Attributes(
        wanted.get("verb") or "",
        wanted.get("group") or "",
        resource,
        wanted.get("namespace") or "",
        wanted.get("name") or "",
    )


def _rules(request: Request) -> Reply:
    spec = _read(request, AUTHORIZATION, "SelfSubjectRulesReview").get("spec") or {}
    if not spec.get("namespace"):
        raise bad_request("no namespace on request")
    resource_rules, other_rules = [], []
    every: list[JsonObject] = [rule for rule, _ in rules_of(request.cluster, request.user, spec.get("namespace") or "")]
    for rule in every:
        if rule.get("nonResourceURLs"):
            other_rules.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
        else:
            names = ("verbs", "apiGroups", "resources", "resourceNames")
            resource_rules.append({key: rule[key] for key in names if key in rule})
    status = {"resourceRules": resource_rules, "nonResourceRules": other_rules, "incomplete": False}
    body = {**_head(AUTHORIZATION, "SelfSubjectRulesReview"), "metadata": {}, "spec": {}, "status": status}
    return Reply(201, body, request.warnings)


def _token_review(request: Request) -> Reply:
    body = _read(request, AUTHENTICATION, "TokenReview")
    spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    # tokens are compared at the edge and not kept here: what is asked about is only ever unknown
    status = {"user": {}, "error": "invalid bearer token"}
    answer = {**_head(AUTHENTICATION, "TokenReview"), "metadata": metadata, "spec": spec, "status": status}
    return Reply(201, answer, request.warnings)


def request_token(request: Request) -> Reply:
    """A token that looks like a service account's; the sandbox itself takes none of them."""
    name, namespace = request.address.name, request.namespace
    asked = _read(request, AUTHENTICATION, "TokenRequest")
    spec, given = dict(asked.get("spec") or {}), asked["metadata"]
    if given.get("namespace") not in (None, "", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if given.get("name") not in (None, "", name):
        what = f'Invalid value: "{given["name"]}": must match the service account name if specified'
        cause = {"reason": "FieldValueInvalid", "message": what, "field": "metadata.name"}
        raise invalid(AUTHENTICATION, "TokenRequest", name, [cause])
    account = request.cluster.find("serviceaccounts", namespace, name)
    if account is None:
        raise not_found("", "serviceaccounts", name)
    seconds = spec.get("expirationSeconds") or 3600
    problem = (
        "less than 10 minutes"
        if seconds < SHORTEST_SECONDS
        else "larger than 2^32 seconds"
        if seconds > LONGEST_SECONDS
        else ""
    )
    if problem:
        what = f"Invalid value: {seconds}: may not specify a duration {problem}"
        cause = {"reason": "FieldValueInvalid", "message": what, "field": "spec.expirationSeconds"}
        raise invalid(AUTHENTICATION, "TokenRequest", "", [cause])
    _check_bound(request, spec.get("boundObjectRef"))
    now = request.cluster.clock.now().astimezone(UTC)
    expiry = now + timedelta(seconds=seconds)
    audiences = spec.get("audiences") or ["https://127.0.0.1/"]
    claims = {"sub": f"system:serviceaccount:{namespace}:{name}", "aud": audiences, "exp": int(expiry.timestamp())}
    token = unsigned(claims, request.cluster.rng)
    return Reply(
        201,
        {
            **_head(AUTHENTICATION, "TokenRequest"),
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": account["metadata"]["uid"],
                "creationTimestamp": request.cluster.now,
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {
                "token": token,
                "expirationTimestamp": expiry.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        },
    )


def _check_bound(request: Request, bound: JsonObject | None) -> None:
    """What a token ends with has to be there. Raises 400, 404 and 409."""
    if bound is None:
        return
    kind, version, name = (str(bound.get(key) or "") for key in ("kind", "apiVersion", "name"))
    plural = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(kind) if version == "v1" else None
    if plural is None:
        group, _, short = version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
    found = request.cluster.find(plural, "" if kind == "Node" else request.namespace, name)
    if found is None:
        raise not_found("", plural, name)
    uid = bound.get("uid")
    if uid and uid != found["metadata"]["uid"]:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise conflict("", kind, name, why)


HANDLERS: Mapping[tuple[str, str], Callable[[Any], Reply]] = {
    (AUTHENTICATION, "selfsubjectreviews"): _self_subject,
    (AUTHENTICATION, "tokenreviews"): _token_review,
    (AUTHORIZATION, "selfsubjectaccessreviews"): _access,
    (AUTHORIZATION, "subjectaccessreviews"): _access,
    (AUTHORIZATION, "localsubjectaccessreviews"): _access,
    (AUTHORIZATION, "selfsubjectrulesreviews"): _rules,
}

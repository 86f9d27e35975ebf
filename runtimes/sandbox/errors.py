"""Refusals as the API server words them.

Everything the server refuses is an `ApiError`: a status code, a machine-readable reason, a message for a person and
details (name, group, kind, causes). It becomes a `v1.Status` body at the HTTP edge; callers inside the process catch it
and look at `code` or `reason`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

JsonObject = dict[str, Any]


class PlainFailure(Exception):
    """A failure that the server tells as text, where it does not know what kind of request it has."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class ApiError(Exception):
    """A refused request. `details` and `metadata` are the Status fields; `headers` go with an HTTP reply."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details
        self.headers: dict[str, str] = dict(headers or {})

    def status(self) -> JsonObject:
        """The `v1.Status` body."""
        body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def resource_text(group: str, resource: str) -> str:
    """`deployments.apps`, or `pods` for the core group."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str) -> JsonObject:
    details = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in details.items() if value}


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def not_found(group: str, resource: str, name: str) -> ApiError:
    return ApiError(
        404, "NotFound", f'{resource_text(group, resource)} "{name}" not found', _details(group, resource, name)
    )


def already_exists(group: str, resource: str, name: str) -> ApiError:
    return ApiError(
        409,
        "AlreadyExists",
        f'{resource_text(group, resource)} "{name}" already exists',
        _details(group, resource, name),
    )


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource_text(group, resource)} "{name}": {why}',
        _details(group, resource, name),
    )


def forbidden(group: str, resource: str, name: str, why: str) -> ApiError:
    subject = resource_text(group, resource)
    return ApiError(
        403,
        "Forbidden",
        f'{subject} "{name}" is forbidden: {why}' if name else f"{subject} is forbidden: {why}",
        _details(group, resource, name),
    )


def invalid(group: str, kind: str, name: str, causes: Iterable[JsonObject], text: str | None = None) -> ApiError:
    """422. `causes` are Status causes `{reason, message, field}`; the message lists them unless `text` is given."""
    listed = [dict(cause) for cause in causes]
    errors = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in listed))
    joined = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    kind_text = f"{kind}.{group}" if group else kind
    message = text if text is not None else f'{kind_text} "{name}" is invalid: {joined}'
    details = _details(group, kind, name)
    if listed:
        details["causes"] = listed
    return ApiError(422, "Invalid", message, details)


def method_not_allowed(message: str = "the server does not allow this method on the requested resource") -> ApiError:
    return ApiError(405, "MethodNotAllowed", message, {})


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def unreadable_scale() -> ApiError:
    """Of a custom resource: the server has no words for a body that cannot be read."""
    return bad_request('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:110"')

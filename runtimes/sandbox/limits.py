"""How much one request, and one cluster, may hold: one event loop serves them all, so a long step stops every client.

A real server takes more in some places (a list of any length) and ends slow requests after a minute; what it refuses
itself is refused here in its words. The figures are far above what configurations have.
"""

from __future__ import annotations

from typing import Any, Final

from runtimes.sandbox.errors import ApiError

LARGEST_BODY: Final = 3 * 1024 * 1024
LARGEST_YAML: Final = 1024 * 1024
"""Of a body in YAML, which takes ten times as long to read."""
LARGEST_OBJECT: Final = 1_572_864
"""Of one object as JSON: what etcd takes in one request by default."""
LARGEST_CLUSTER: Final = 96 * 1024 * 1024
"""Of all objects of a cluster as JSON, and of its history; in memory they are some eight times that."""
MOST_PODS: Final = 3_000
"""Of one cluster: every controller looks at all of them again and again."""
MOST_VALUES: Final = 100_000
MOST_ITEMS: Final = 10_000
MOST_OBJECTS: Final = 3_000
"""In one list: elements that have a key are compared with each other."""
MOST_DEPTH: Final = 400
"""Of an object after a patch, whose own depth and the object's are limited already."""
MOST_STEPS: Final = 60_000
"""Of the rules in the schema of a custom resource on one object."""
LARGEST_COPIES: Final = 3 * 1024 * 1024
"""Of what the operations of one JSON patch copy, as JSON."""
MOST_STREAMS: Final = 1_000
"""Watches and followed logs of one cluster."""
MOST_CONNECTIONS: Final = 400
BODY_SECONDS: Final = 60.0
"""For a body to arrive."""
GREETING_SECONDS: Final = 32.0
"""For the first request of a connection to arrive."""
BURST: Final = 50
"""Objects that a controller makes or deletes in one pass."""


def too_large(what: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {what}", {})


def timed_out() -> ApiError:
    return ApiError(504, "Timeout", "Timeout: request did not complete within the allotted timeout")


def too_many_streams() -> ApiError:
    text = "Too many requests, please try again later."
    return ApiError(429, "TooManyRequests", text, {"retryAfterSeconds": 1}, {"Retry-After": "1"})


def object_too_large() -> ApiError:
    return ApiError(500, "", "etcdserver: request is too large")


def no_space() -> ApiError:
    return ApiError(500, "", "etcdserver: mvcc: database space exceeded")


def check_values(body: Any) -> None:
    """Raises 413 for a body, or a patched object, that is too wide or too deep. Goes level by level."""
    left, level = MOST_VALUES, [body]
    for _ in range(MOST_DEPTH):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, list):
                if len(each) > MOST_ITEMS:
                    raise too_large(f"limit is {MOST_ITEMS} items of one list")
                if len(each) > MOST_OBJECTS and any(isinstance(item, dict | list) for item in each):
                    raise too_large(f"limit is {MOST_OBJECTS} objects in one list")
                below += each
        left -= len(below)
        if left < 0:
            raise too_large(f"limit is {MOST_VALUES} values")
        if not below:
            return
        level = below
    raise too_large(f"limit is {MOST_DEPTH} levels")

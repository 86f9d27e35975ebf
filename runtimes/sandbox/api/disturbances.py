"""Faults of the API itself, set at run time: refusals, delays, dropped watches. `faults` has those of nodes and Pods.

A disturbance applies to requests that fit it (verb, resource), as often as it says, with a probability. The first that
fits is the one that happens.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Literal

from kcl.records import dataclass, field
from runtimes.sandbox.errors import ApiError

Effect = Literal[
    "too-many-requests", "internal-error", "unavailable", "conflict", "gone", "delay", "drop", "cut", "truncate"
]


@dataclass(slots=True)
class Disturbance:
    """
    effect       what happens: a refusal (429, 500, 503, 409, 410), a `delay` of `seconds`, or `drop`: the connection
                 breaks without an answer, in a watch after `seconds`. With `cut` and `truncate` what was asked for is
                 done: the connection then breaks in the middle of the answer, or half of the answer is all there is
    verbs        get, list, watch, create, update, patch, delete; empty for all
    resource     plural name, with the group unless core; "" for all, discovery aside
    times        how often it happens; None without end
    probability  of each fitting request to meet it
    """

    effect: Effect
    verbs: tuple[str, ...] = ()
    resource: str = ""
    times: int | None = None
    probability: float = 1.0
    seconds: float = 0.0
    retry_seconds: int = 1


@dataclass(slots=True)
class Disturbances:
    """Those of one cluster. With a seed, they repeat. `met` counts the requests by what they met, "" for nothing."""

    active: list[Disturbance] = field(default_factory=list)
    rng: random.Random = field(default_factory=random.Random)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, disturbance: Disturbance) -> Disturbance:
        self.active.append(disturbance)
        return disturbance

    def clear(self) -> None:
        self.active.clear()

    def meet(self, verb: str, resource: str) -> Disturbance | None:
        """The disturbance that this request meets, counted as having happened; None for an undisturbed one."""
        found = self._next(verb, resource)
        self.met[found.effect if found is not None else ""] += 1
        return found

    def _next(self, verb: str, resource: str) -> Disturbance | None:
        for each in self.active:
            if (each.verbs and verb not in each.verbs) or each.resource not in ("", resource):
                continue
            if each.times == 0 or self.rng.random() >= each.probability:
                continue
            if each.times is not None:
                each.times -= 1
            return each
        return None


def refusal(disturbance: Disturbance) -> ApiError | None:
    """The answer of a disturbance that is one."""
    seconds = disturbance.retry_seconds
    retry = {"Retry-After": str(seconds)}
    match disturbance.effect:
        case "too-many-requests":
            details = {"retryAfterSeconds": seconds}
            text = "the server has received too many requests and has asked us to try again later"
            return ApiError(429, "TooManyRequests", text, details, retry)
        case "internal-error":
            text = "Internal error occurred: a fault was requested"
            return ApiError(500, "InternalError", text, {"causes": [{"message": "a fault was requested"}]})
        case "unavailable":
            text = "the server is currently unable to handle the request"
            return ApiError(503, "ServiceUnavailable", text, {"retryAfterSeconds": seconds}, retry)
        case "conflict":
            text = "Operation cannot be fulfilled: the object has been modified; please apply your changes to the"
            return ApiError(409, "Conflict", f"{text} latest version and try again", {})
        case "gone":
            return ApiError(410, "Expired", "too old resource version: a fault was requested", {})
        case _:
            return None

"""Whether the API server answers, asked every few seconds on a connection of its own.

A watch that is silent says nothing: nothing happened, or nothing comes through any more. TCP does not tell either, as
long as somebody on the way takes the packets (a proxy, a load balancer, a NAT table that forgot). So the server is
asked something small; an answer of any kind counts, a refusal too, but not one by whom asks for credentials again.

It says which cluster it is, where we may know. An address may lead to another one by now, which has objects of the same
names: what they are there says nothing of those that are looked at. Who said it once and does not say it any more may
be another one, too: until it is said again, nothing that is heard counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from runtimes.base import Contact, Forbidden, Lost, NotThere, Rejected, RuntimeFailure, Unreachable
from runtimes.kubernetes.client import Client

PROBE_SECONDS = 2.0
ANSWER_SECONDS = 3.0
"""A server that goes silent is noticed after these two at the latest."""
_VALID_SECONDS = 10.0
_REPORT_SECONDS = 1.0
_LAG_SECONDS = 0.5
_ANOTHER = "another cluster answers at this address now"
_UNKNOWN = "which cluster answers here is not known"
_HINTS = {
    _ANOTHER: "what was looked at is not there: check the address in the kubeconfig, then look again",
    _UNKNOWN: (
        "its namespace kube-system, which told it, is refused now, or not found: "
        "check the address in the kubeconfig and your rights"
    ),
}


class AnotherCluster(RuntimeFailure):
    """Another cluster answers, or may, or did a moment ago. `turns` where that is news: all that was heard is asked for
    again, as it may be the other's."""

    def __init__(self, message: str, *, target: str, hint: str, turns: bool) -> None:
        super().__init__(message, target=target, hint=hint)
        self.turns = turns


class Liveness:
    """Calls `changed` whenever there is a new `contact`, and before that `turned` when the server went or came back.

    `contact` is None until the first answer, or the first that fails to come; `failure` is why none comes.
    """

    def __init__(self, client: Client, *, changed: Callable[[], None], turned: Callable[[], None]) -> None:
        self._client, self._changed, self._turned = client, changed, turned
        self._began = datetime.now(UTC)
        self._answered_at: datetime | None = None
        self._heard = float("-inf")
        self._reported = float("-inf")
        self._uid, self._elsewhere = client.uid, ""
        """The latter: why what is heard may be of another cluster, "" where it is of this one."""
        self.contact: Contact | None = None
        self.failure: RuntimeFailure | None = None

    def heard(self) -> None:
        """Takes note that the server said something, be it on a watch."""
        if self._elsewhere:
            return
        now = time.monotonic()
        was_lost = self.failure is not None
        self._answered_at, self._heard = datetime.now(UTC), now
        if now - self._reported < _REPORT_SECONDS and not was_lost:
            return
        self._reported, self.failure = now, None
        self.contact = Contact(self._answered_at, None, _VALID_SECONDS)
        if was_lost:
            self._turned()
        self._changed()

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            failure = await self._probe()
            if failure is None:
                self.heard()
            elif isinstance(failure, AnotherCluster):
                self._fail(failure, turns=failure.turns)
            elif self._heard < began and time.monotonic() - began < ANSWER_SECONDS + _LAG_SECONDS:
                self._fail(failure)
            else:
                continue  # it spoke meanwhile, or it was us who were busy or asleep: that is no evidence
            await asyncio.sleep(PROBE_SECONDS)

    async def _probe(self) -> RuntimeFailure | None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                uid = await self._client.probe()
        except (Forbidden, NotThere, Rejected):
            return self._other("")
        except RuntimeFailure as failure:
            return failure
        except TimeoutError:
            return Unreachable(
                f"no answer within {ANSWER_SECONDS:g} s",
                target=self._client.place,
                hint="the connection stands, but nothing comes through: check network, proxy and VPN",
            )
        return self._other(uid)

    def _other(self, uid: str) -> RuntimeFailure | None:
        """Remembers which cluster it is; returns a failure where it is another one, or tells no more."""
        self._uid, before = self._uid or uid, self._elsewhere
        self._elsewhere = "" if uid == self._uid else _ANOTHER if uid else _UNKNOWN
        if not self._elsewhere and not before:
            return None
        said = self._elsewhere or "the cluster is back"
        hint = _HINTS.get(self._elsewhere, "what is looked at is asked for again")
        return AnotherCluster(said, target=self._client.place, hint=hint, turns=self._elsewhere != before)

    def _fail(self, failure: RuntimeFailure, *, turns: bool = False) -> None:
        was_lost = self.failure is not None and not turns
        lost = Lost(self._answered_at or self._began, type(failure).__name__, failure.message, failure.hint)
        if self.contact is None or self.contact.lost != lost:
            self.contact, self.failure = Contact(self._answered_at, lost, _VALID_SECONDS), failure
            if not was_lost:
                self._turned()
            self._changed()

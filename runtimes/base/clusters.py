"""Which cluster it is: what plans, releases, locks and audit entries are bound to, beside the name people gave it.

A name and a context say which way was taken, not where it led: clusters.yaml and a kubeconfig can be changed, and a
cluster can be made again under all of its names. What stays with a cluster for its whole life, and with no other, is
the uid of its namespace kube-system. Who may not read that is left with the server's address and the authority that
vouches for it: the same of both is presumed to be the same cluster, and said to be presumed. Where neither tells,
nothing is concluded: not known is never the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable

from kcl.records import dataclass, field

SYSTEM_TRUST = "system"
"""In place of an authority's digest where the machine's trust store decides."""
_SHORT_UID = 8


class Sameness(StrEnum):
    """`PRESUMED`: same server and authority, and a uid is not known of both. `UNKNOWN`: it can't be told."""

    SAME = "same"
    PRESUMED = "presumed"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """`uid` is that of the namespace kube-system, empty where it is not known: `unknown` then says why, as a clause.

    `server` is an address without credentials, `authority` a digest of the certificates that vouch for it, empty where
    nothing does (plain http, or verification switched off). `context` and `user` are names of a kubeconfig.
    `ahead_seconds` is how far its clock was ahead of this machine's when it was asked, None where it did not say: it
    tells no cluster from another, and is written down nowhere.
    """

    context: str
    server: str
    user: str = ""
    uid: str = ""
    authority: str = ""
    unknown: str = ""
    ahead_seconds: float | None = field(default=None, compare=False)

    @property
    def short_uid(self) -> str:
        return self.uid[:_SHORT_UID]

    def __str__(self) -> str:
        """`context hz-admin, https://10.0.0.1:6443 as admin, uid 1b4e28ba`"""
        user = f" as {self.user}" if self.user else ""
        uid = f", uid {self.short_uid}" if self.uid else ", uid not known"
        return f"context {self.context}, {self.server}{user}{uid}"

    def to_mapping(self) -> dict[str, str]:
        """Returns plain values for files and `-o json`, always the same keys."""
        return {
            "context": self.context,
            "server": self.server,
            "user": self.user,
            "uid": self.uid,
            "authority": self.authority,
            "unknown": self.unknown,
        }

    @classmethod
    def of_mapping(cls, content: object) -> ClusterIdentity:
        """Raises `ValueError` for what `to_mapping` did not write."""
        if not isinstance(content, dict) or not all(isinstance(each, str) for each in content.values()):
            raise ValueError("is not the identity of a cluster")
        known = {key: content[key] for key in ("context", "server", "user", "uid", "authority", "unknown")
                 if key in content}  # fmt: skip
        if not known.get("server"):
            raise ValueError("is not the identity of a cluster")
        return cls(**{"context": "", **known})


def compare(one: ClusterIdentity, other: ClusterIdentity) -> Sameness:
    """Tells whether two identities are of one cluster. Names of contexts and users decide nothing."""
    if one.uid and other.uid:
        return Sameness.SAME if one.uid == other.uid else Sameness.OTHER
    if one.server == other.server and one.authority and one.authority == other.authority:
        return Sameness.PRESUMED
    return Sameness.UNKNOWN


@runtime_checkable
class Preparable(Protocol):
    """A runtime that can ask ahead what everybody asks first, while who will ask is still busy with something else."""

    async def prepare(self, labels: Callable[[], Mapping[str, str]]) -> None:
        """Asks it, and keeps the answers for who asks in a moment. Raises `RuntimeFailure`, as asking then will.

        Where `labels` gives any once the cluster answers, all that carries them is looked for, too (see `Labelling`).
        """

    def discard_prepared(self) -> None:
        """Has whoever asks from now on answered anew: what was asked for ahead is over, and its answers grow old."""


@runtime_checkable
class Connected(Protocol):
    """A runtime of a cluster that knows by which way it goes there, whatever a kubeconfig says by now."""

    @property
    def way(self) -> ClusterIdentity:
        """Context, server and user of the connection, as they were when it was opened; asks nobody."""


@runtime_checkable
class Identifiable(Protocol):
    """A runtime of a cluster, which can tell which one it is."""

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        """Returns what is known, from a moment ago unless it is asked `again`.

        What may not be read is left out and said in `unknown`. Raises `RuntimeFailure` where nobody answers.
        """

"""A Kubernetes cluster as a `Runtime`: one context of a kubeconfig."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcl.records import replace
from runtimes.base import (
    ApplyRequest,
    ClusterIdentity,
    DeleteRequest,
    FieldPath,
    Forbidden,
    Identity,
    KubernetesId,
    LiveResource,
    LogRequest,
    Moved,
    NotThere,
    ObjectRef,
    Occurrence,
    Owned,
    PlanRequest,
    PodTarget,
    Prediction,
    ReadRequest,
    Rejected,
    ResourceId,
    RuntimeFailure,
    WatchReport,
    WatchRequest,
)
from runtimes.base.contents import MAPPINGS
from runtimes.base.logs import LogQuery, LogReport
from runtimes.base.metrics import Usage
from runtimes.base.relations import Relations
from runtimes.base.tables import LiveKind, LiveKinds, TableReport
from runtimes.base.terminals import ExecRequest, RemotePort, RemoteTerminal
from runtimes.kubernetes import fields, listing, normalize
from runtimes.kubernetes.client import FIELD_MANAGER, Client, Object
from runtimes.kubernetes.credentials import may_name, without_consent
from runtimes.kubernetes.failures import ConflictingFields
from runtimes.kubernetes.field_removal import managed_fields
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.objects import event_stamp
from runtimes.kubernetes.predict import predict, predicted
from runtimes.kubernetes.records import KubernetesRecords
from runtimes.kubernetes.single_flight import SingleFlight
from runtimes.kubernetes.together import together
from runtimes.kubernetes.transport import Limits, Transport

if TYPE_CHECKING:
    # What watches, attaches and operates is loaded by who does so: comparing needs none of it.
    from runtimes.kubernetes.operations import KubernetesOperations

_ATTEMPTS = 10
# No object has this version, so an apply that carries it can only create: the server ignores it for a missing object
# and refuses it for one that is there.
_VERSION_OF_NOTHING = "1"
_IDENTITY_SECONDS = 30.0
_MOST_EVENTS_OF_ONE = 1_000
_UNCHANGED = frozenset({str, int, bool, type(None)})


class KubernetesRuntime:
    """See `runtimes.base.Runtime`. Safe to share between tasks of one event loop; `close` ends its connections."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._identified: tuple[float, ClusterIdentity] | None = None
        self._identifying = SingleFlight(self._identify)
        self._looked_ahead: listing.Labelled | None = None
        self._begun_ahead: listing.Labelled | None = None
        self._was_asked_for_labels = False

    @classmethod
    def connect(
        cls,
        *,
        kubeconfig: str | Path | Sequence[str | Path] | None = None,
        context: str | None = None,
        place: str | None = None,
        untrusted: Sequence[str | Path] = (),
        trusted_kubeconfigs: Collection[str] = (),
        limits: Limits | None = None,
    ) -> KubernetesRuntime:
        """Reads the kubeconfig; asks the cluster nothing yet. Raises `Misconfigured`.

        `kubeconfig` None means the files kubectl would use, `context` None the current one, `place` None the
        context's name. What kubeconfigs below one of the `untrusted` folders may not do is refused when it is needed
        (`credentials.without_consent`), unless the SHA-256 of their content is among the `trusted_kubeconfigs`.
        """
        folders = [Path(each) for each in untrusted]
        allowed = partial(may_name, untrusted=folders, trusted=trusted_kubeconfigs)
        match kubeconfig:
            case None:
                found = Kubeconfig.found(may_name=allowed)
            case str() | Path():
                found = Kubeconfig([Path(kubeconfig).expanduser()], allowed)
            case _:
                found = Kubeconfig([Path(each).expanduser() for each in kubeconfig], allowed)
        connection = found.connection(context)
        refusal = without_consent(connection, folders, trusted_kubeconfigs)
        transport = Transport(connection, place=place or connection.context, refusal=refusal, limits=limits)
        return cls(Client(transport))

    @property
    def place(self) -> str:
        return self._client.place

    @property
    def way(self) -> ClusterIdentity:
        """See `Connected`."""
        return self._client.identity

    @property
    def operations(self) -> KubernetesOperations:
        """Restarting, cordoning and scaling, over the same connections."""
        from runtimes.kubernetes.operations import KubernetesOperations

        return KubernetesOperations(self._client, self)

    @property
    def records(self) -> KubernetesRecords:
        """What this program keeps in the cluster about itself, over the same connections."""
        return KubernetesRecords(self._client)

    async def close(self) -> None:
        await self._identifying.close()
        if self._begun_ahead is not None:
            await self._begun_ahead.close()
        await self._client.close()

    async def prepare(self, labels: Callable[[], Mapping[str, str]]) -> None:
        """See `Preparable`: a connection is made, and the cluster says which one it is, and which kinds it serves."""
        await together(self.identify(), self._client.discovery.expect())
        if not self._was_asked_for_labels and (wanted := labels()):
            self._looked_ahead = self._begun_ahead = listing.Labelled(self._client, wanted)
            self._looked_ahead.begin()

    def discard_prepared(self) -> None:
        """See `Preparable`."""
        self._look_no_more()
        self._client.discovery.forget_expected()

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        """See `Identifiable`: by the uid of kube-system, which is made with the cluster and never again."""
        if again:
            return await self._identify()
        if self._identified is None or time.monotonic() - self._identified[0] > _IDENTITY_SECONDS:
            return await self._identifying.result()
        return self._identified[1]

    async def _identify(self) -> ClusterIdentity:
        identity = replace(await self._asked_identity(), ahead_seconds=self._client.transport.clock.ahead_seconds)
        self._identified = (time.monotonic(), identity)
        return identity

    async def _asked_identity(self) -> ClusterIdentity:
        known = self._client.identity
        try:
            await self._client.system_namespace()
        except Forbidden:
            return replace(known, unknown="its user may not read the namespace kube-system")
        except NotThere:
            return replace(known, unknown="it has no namespace kube-system")
        if not (uid := self._client.uid):
            return replace(known, unknown="its namespace kube-system has no uid")
        return replace(known, uid=uid, unknown="")

    async def read(self, request: ReadRequest) -> LiveResource | None:
        id_ = _kubernetes(request.id)
        live = await self._client.get(id_)
        return None if live is None else normalize.live_resource(id_, live, self._client.transport.clock.ahead)

    async def plan(self, request: PlanRequest) -> Prediction:
        id_ = _kubernetes(request.resource.id)
        return await predict(
            self._client,
            id_,
            await self._content(id_, request.resource.attributes),
            request.new_namespaces,
            observed=dict(request.observed) if request.observed is not None else None,
            presumed_absent=request.presumed_absent,
            dry_run=request.dry_run,
            taken_away=request.taken_away,
        )

    def predicted(self, request: PlanRequest) -> Prediction | None:
        """See `Predicting`."""
        id_ = request.resource.id
        if not isinstance(id_, KubernetesId) or request.observed is None or request.dry_run or request.taken_away:
            return None
        resource = self._client.discovery.known(id_.api_version, id_.kind)
        if resource is None:
            return None
        content = _body(request.resource.attributes, self._client.namespace_in(resource, id_))
        return predicted(self._client, id_, content, dict(request.observed))

    async def read_many(
        self, ids: Collection[ResourceId], labels: Mapping[str, str]
    ) -> Mapping[ResourceId, Object | None]:
        """See `BulkReadable`."""
        return await listing.read_many(self._client, [_kubernetes(each) for each in ids], labels)

    async def unmoved(self, seen: Mapping[ResourceId, Identity | None]) -> frozenset[ResourceId]:
        """See `BulkComparable`."""
        return await listing.unmoved(self._client, {_kubernetes(id_): each for id_, each in seen.items()})

    def labelled(self, labels: Mapping[str, str], ids: Collection[ResourceId] = ()) -> listing.Labelled:
        """See `Labelling`. What was looked for ahead is the answer of the first who asks, and of nobody else."""
        ahead, self._was_asked_for_labels = self._looked_ahead, True
        if ahead is not None and ahead.fits(labels):
            found, self._looked_ahead = ahead, None
        else:
            self._look_no_more()
            found = listing.Labelled(self._client, labels)
        found.put_first(map(_kubernetes, ids))
        return found

    def _look_no_more(self) -> None:
        """What was looked for ahead is no answer any more: after a write, or for other labels."""
        if self._looked_ahead is not None:
            self._looked_ahead.give_up()

    async def apply(self, request: ApplyRequest) -> LiveResource:
        self._look_no_more()
        id_ = _kubernetes(request.resource.id)
        content = await self._content(id_, request.resource.attributes)
        expected = request.expected
        if expected is not None and request.taken_away:
            expected = await self._taken(id_, expected, request.taken_away)
        return await self._applied(id_, content, expected, force=request.force, gives_up_after=request.gives_up_after)

    async def delete(self, request: DeleteRequest) -> None:
        self._look_no_more()
        id_ = _kubernetes(request.id)
        try:
            await self._client.delete(id_, uid=request.expected.uid if request.expected else None)
        except Moved:
            raise self._moved(id_, request.expected, await self._client.get(id_)) from None

    async def may_delete(self, id_: ResourceId) -> str:
        """See `RightsReviewable`."""
        is_allowed, why = await self._client.may("delete", _kubernetes(id_))
        return "" if is_allowed else f"our user may not delete it{f': {why}' if why else ''}"

    def watch(self, request: WatchRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchReport]]:
        from runtimes.kubernetes.watch import watching

        return watching(self._client, tuple(_kubernetes(each) for each in request.ids), request.rules)

    async def logs(self, request: LogRequest) -> tuple[str, ...]:
        containers = [request.container] if request.container else await self._containers(request.ref)
        if len(containers) < 2:
            return await self._log(request, containers[0] if containers else "")
        # the server wants one to be named where there are several
        lines: list[str] = []
        for container in containers:
            lines += [f"{container} | {text}" for text in await self._log(request, container)]
        return tuple(lines)

    async def _log(self, request: LogRequest, container: str) -> tuple[str, ...]:
        return await self._client.log(
            request.ref.namespace or self._client.default_namespace,
            request.ref.name,
            container=container,
            previous=request.previous,
            tail_lines=request.tail_lines,
        )

    async def _containers(self, ref: ObjectRef) -> list[str]:
        """Returns the containers of a pod in the order they run; none where the pod is not there."""
        pod = await self._client.get(KubernetesId("v1", "Pod", ref.namespace, ref.name))
        parts = (pod or {}).get("spec") or {}
        every = [
            each for part in ("initContainers", "containers", "ephemeralContainers") for each in parts.get(part) or ()
        ]
        return [str(each["name"]) for each in every]

    async def kinds(self) -> LiveKinds:
        """See `Listable`."""
        from runtimes.kubernetes import tables

        found = await self._client.discovery.served()
        return LiveKinds(tuple(tables.kind_of(each) for each in found.kinds if "list" in each.verbs), found.silent)

    async def events(self, id_: KubernetesId, uid: str) -> tuple[Occurrence, ...]:
        """See `Listable`."""
        from runtimes.kubernetes.event_room import EventRoom
        from runtimes.kubernetes.tree import newest

        resource = await self._client.discovery.resource("v1", "Event")
        room = EventRoom(_MOST_EVENTS_OF_ONE)
        found = await self._client.list(resource, id_.namespace, fields=f"involvedObject.uid={uid}", thin=room.thinned)
        about = {"kind": id_.kind, "metadata": {"namespace": id_.namespace, "name": id_.name, "uid": uid}}
        events = sorted(found.items, key=event_stamp)
        return newest(about, events, room.about(about), _MOST_EVENTS_OF_ONE)

    async def usage(self, kind: LiveKind, namespaces: Collection[str] = ()) -> Mapping[tuple[str, str], Usage] | None:
        """See `Measurable`."""
        from runtimes.kubernetes import metrics

        return await metrics.usage(self._client, kind, namespaces)

    async def relations(self, id_: KubernetesId) -> Relations | None:
        """See `Relatable`."""
        from runtimes.kubernetes import relations

        return await relations.relations(self._client, id_)

    def follow(
        self, kind: LiveKind, namespaces: Collection[str] = (), *, most: int = 20_000
    ) -> AbstractAsyncContextManager[AsyncIterator[TableReport]]:
        """See `Listable`."""
        from runtimes.kubernetes.table_feed import following

        return following(self._client, kind, namespaces, most)

    def follow_logs(self, query: LogQuery) -> AbstractAsyncContextManager[AsyncIterator[LogReport]]:
        """See `LogFollowable`."""
        from runtimes.kubernetes import log_feed

        return log_feed.following(self._client, query)

    def execute(self, request: ExecRequest) -> AbstractAsyncContextManager[RemoteTerminal]:
        """See `Attachable`."""
        from runtimes.kubernetes import attaching

        return attaching.executing(self._client, request)

    def connect_port(self, pod: PodTarget, port: int) -> AbstractAsyncContextManager[RemotePort]:
        """See `Attachable`."""
        from runtimes.kubernetes import attaching

        return attaching.connecting(self._client, pod, port)

    async def owned(self, labels: Mapping[str, str], known: Collection[str] = ()) -> Owned:
        """See `listing.Labelled.owned`."""
        found = listing.Labelled(self._client, labels)
        await found.run()
        return await found.owned(known)

    async def contents(self, namespace: str, most: int) -> Owned | None:
        """See `Enumerable`."""
        if await self._client.get(KubernetesId("v1", "Namespace", "", namespace)) is None:
            return None
        unowned = listing.Unowned(self.place, namespace, most)
        lists = listing.KindLists(self._client, namespace=namespace, trim=unowned.trimmed)
        await lists.run()
        found, unlisted = await lists.all()
        return Owned(listing.by_id(found), unlisted, away=lists.away)

    async def _taken(self, id_: KubernetesId, expected: Identity, taken_away: frozenset[FieldPath]) -> Identity:
        """Makes fields of others ours, so that the apply that follows takes them away; returns what that is bound to.

        Where nothing follows, the object is as it was, and the next plan shows these fields as to be removed.
        """
        for _ in range(_ATTEMPTS):
            live = await self._client.get(id_)
            if live is None or not normalize.is_same(expected, live):
                raise self._moved(id_, expected, live)
            found = normalize.identity(live)
            entries = managed_fields(live, taken_away, FIELD_MANAGER)
            if entries is None:
                return found
            try:
                version = normalize.resource_version(found)
                return normalize.identity(await self._client.set_managed_fields(id_, entries, version))
            except Moved:
                continue  # if only its status has moved on, once more
        raise self._too_fast(id_)

    def _too_fast(self, id_: KubernetesId) -> Moved:
        return Moved(
            "its status is being written faster than it can be applied",
            target=self.place,
            subject=str(id_),
            hint="try again when it rests",
        )

    async def _applied(
        self, id_: KubernetesId, content: Object, expected: Identity | None, *, force: bool, gives_up_after: float
    ) -> LiveResource:
        """Applies to the state that was seen. Where only the status has moved on since, to the present one."""
        secrets = normalize.secret_values(content)
        for _ in range(_ATTEMPTS):
            try:
                live, _warnings = await self._client.apply(
                    id_, _bound(content, expected), force=force, secrets=secrets, gives_up_after=gives_up_after
                )
                self._refuse_other_state(id_, live, expected)
                return normalize.live_resource(id_, live, self._client.transport.clock.ahead)
            except (ConflictingFields, Moved) as refused:
                # the server looks at owners before it looks at versions, so a conflict too may mean another state
                now = await self._client.get(id_)
                if now is None or expected is None or not normalize.is_same(expected, now):
                    raise self._moved(id_, expected, now) from None
                if isinstance(refused, ConflictingFields):
                    refused.conflicts = fields.conflicts(refused.fields, now)
                    raise
                expected = normalize.identity(now)
        raise self._too_fast(id_)

    def _refuse_other_state(self, id_: KubernetesId, live: Object, expected: Identity | None) -> None:
        """Raises `RuntimeFailure` for what no write is answered with: whether it was done is not known then."""
        now = normalize.identity(live)
        version, before = (
            normalize.resource_version(now),
            "" if expected is None else normalize.resource_version(expected),
        )
        is_older = version.isdecimal() and before.isdecimal() and int(version) < int(before)
        if not now.uid or not version or is_older or (expected is not None and now.uid != expected.uid):
            raise RuntimeFailure(
                "the server answered with another state of the object than what was written",
                target=self.place,
                subject=str(id_),
                hint="a cache or another server may answer in its place: read the object before trying again",
            )

    async def _content(self, id_: KubernetesId, attributes: Mapping[str, Any]) -> Object:
        return _body(attributes, await self._client.namespace_of(id_))

    def _moved(self, id_: KubernetesId, expected: Identity | None, now: Object | None) -> Moved:
        if now is None:
            what = "it was deleted since the plan was made"
        elif expected is None:
            what = "it was created by someone else since the plan was made"
        elif now["metadata"].get("uid") != expected.uid:
            what = "it was deleted and recreated since the plan was made"
        else:
            what = f"it was changed since the plan was made{_last_writer(now)}"
        return Moved(what, target=self.place, subject=str(id_), hint="plan again to see what is there now")


def _kubernetes(id_: ResourceId) -> KubernetesId:
    if not isinstance(id_, KubernetesId):
        raise Rejected("this is not a Kubernetes resource", subject=str(id_))
    return id_


def _body(attributes: Mapping[str, Any], namespace: str) -> Object:
    """Returns the body to send: a copy of its own, with its namespace, without what only a server may say."""
    content = _plain(attributes)
    metadata = {
        name: value
        for name, value in (content.get("metadata") or {}).items()
        if name not in ("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation")
    }
    if namespace:
        metadata["namespace"] = namespace
    return {**{name: value for name, value in content.items() if name != "status"}, "metadata": metadata}


def _bound(content: Object, expected: Identity | None) -> Object:
    """Binds a body to the state it was planned for, or to there being none."""
    tie = (
        {"resourceVersion": _VERSION_OF_NOTHING}
        if expected is None
        else {"uid": expected.uid, "resourceVersion": normalize.resource_version(expected)}
    )
    return {**content, "metadata": {**content["metadata"], **tie}}


def _plain(value: Any) -> Any:
    """Returns a copy, with what JSON knows in place of read-only mappings and tuples."""
    # most of what there is stays, and asking that here is most of the work spared
    if isinstance(value, MAPPINGS):
        return {
            name if type(name) is str else str(name): below if type(below) in _UNCHANGED else _plain(below)
            for name, below in value.items()
        }
    if isinstance(value, list | tuple):
        return [below if type(below) in _UNCHANGED else _plain(below) for below in value]
    return value


def _last_writer(live: Object) -> str:
    entries = [entry for entry in fields.entries(live) if entry.get("time")]
    if not entries:
        return ""
    last = max(entries, key=lambda entry: str(entry["time"]))
    return f", last by {last.get('manager')!r} at {last['time']}"

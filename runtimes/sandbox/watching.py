"""Watches: what was there, what changed since, and what changes from now on, as one stream of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.listing import Selection
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Change, Object, copied
from runtimes.sandbox.versions import read_as

QUEUE_LIMIT = 10_000


class Watch(AsyncIterator[Object]):
    """`{"type", "object"}` events. Iteration ends after `close`, or when the reader falls too far behind.

    `since` "" or "0" starts with ADDED for each object there is. An object that starts to fit the selection is ADDED,
    one that no longer does is DELETED. Raises 410 when changes since `since` are forgotten.
    """

    def __init__(
        self, state: State, resource: Resource, namespace: str | None, selection: Selection, since: str = ""
    ) -> None:
        self._resource, self._namespace, self._selection = resource, namespace, selection
        self._events: deque[Object] = deque()
        self._wake = asyncio.Event()
        self._closed = False
        store = state.store
        self.version = store.revision
        # a version of the future is waited for: nothing up to it is shown
        self._after = int(since) if since else 0
        if since in ("", "0"):
            self._after = store.revision
            for _, obj in store.items(resource.storage, namespace):
                if selection.matches(obj):
                    self._events.append({"type": "ADDED", "object": read_as(obj, resource)})
        else:
            for change in store.since(min(self._after, store.revision)):
                self._note(change)
        self._undo = store.subscribe(self._note)

    @property
    def initial(self) -> int:
        """How many events are waiting to be read."""
        return len(self._events)

    def skip_initial(self) -> None:
        """Forget what is waiting to be read."""
        self._events.clear()

    def _note(self, change: Change) -> None:
        if change.resource != self._resource.storage or change.revision <= self._after:
            return
        if self._namespace is not None and change.key[0] != self._namespace:
            return
        try:
            event = self._event(change)
        except ApiError as error:  # it cannot be shown in the version that is watched
            event = {"type": "ERROR", "object": error.status()}
        self.version = change.revision
        if event is None:
            return
        self._events.append(event)
        if len(self._events) > QUEUE_LIMIT:
            self.close()
        self._wake.set()

    def _event(self, change: Change) -> Object | None:
        fits = change.type != "DELETED" and self._selection.matches(change.object)
        fitted = change.previous is not None and self._selection.matches(change.previous)
        if change.type == "DELETED":
            fitted = fitted or self._selection.matches(change.object)
        if fits:
            return {"type": "MODIFIED" if fitted else "ADDED", "object": read_as(change.object, self._resource)}
        if not fitted:
            return None
        gone = change.object
        if change.type != "DELETED" and change.previous is not None:
            gone = copied(change.previous)
            gone["metadata"]["resourceVersion"] = str(change.revision)
        return {"type": "DELETED", "object": read_as(gone, self._resource)}

    def close(self) -> None:
        """End the stream after what is already waiting. Harmless when closed."""
        if not self._closed:
            self._closed = True
            self._undo()
            self._wake.set()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Object:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._events.popleft()

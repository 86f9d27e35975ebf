"""What a new cluster holds before anyone has written to it: roles that give discovery to all, priority classes."""

from __future__ import annotations

from runtimes.sandbox.data import read
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, copied


def furnish(state: State) -> None:
    """Store the objects that a real server makes for itself when it starts."""
    for entry in read("bootstrap"):
        resource = (entry["resource"][0], entry["resource"][1])
        obj: Object = copied(entry["object"])
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if state.store.get(resource, key) is not None:
            continue
        metadata["uid"], metadata["creationTimestamp"] = state.rng.uid(), state.now
        state.store.put(resource, key, obj)

"""What is made to go wrong in one cluster, on demand and at run time.

    faults.fail_image("*/shop:2.*", "crash")     containers of these images behave so from now on
    faults.silence_node("node-1")                its kubelet no longer reports or acts
    faults.stop("kube-scheduler")                this component stands still until started again

The behaviours are those of `stages/containers.yaml`. Faults of the API itself (refusals, delays, dropped watches) are
the server's. Nothing here outlives the process.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from runtimes.sandbox import stages

COMPONENTS = ("kube-controller-manager", "kube-scheduler", "kubelet", "ingress-controller")


class Faults:
    def __init__(self) -> None:
        self._images: dict[str, str] = {}
        self._silent_nodes: set[str] = set()
        self._stopped: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Called after every change of the faults."""
        self._listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    @property
    def images(self) -> dict[str, str]:
        """The faulty images, as pattern and behaviour; the latest set comes last and wins."""
        return dict(self._images)

    def fail_image(self, pattern: str, behaviour: str = "missing") -> None:
        """Containers whose image fits the shell pattern behave so; those that run are restarted by it where it is
        a reason to end. ValueError if there is no such behaviour."""
        stages.load().named(behaviour)
        self._images.pop(pattern, None)
        self._images[pattern] = behaviour
        self._changed()

    def heal_image(self, pattern: str) -> None:
        """Take a fault back. ValueError if it was never set."""
        if pattern not in self._images:
            raise ValueError(f"no fault is set for {pattern!r}; set are: {', '.join(self._images) or 'none'}")
        del self._images[pattern]
        self._changed()

    def behaviour_of(self, image: str) -> str | None:
        """The behaviour a fault demands of the image, None if none does."""
        fitting = [name for pattern, name in self._images.items() if fnmatchcase(image, pattern)]
        return fitting[-1] if fitting else None

    def silence_node(self, node: str) -> None:
        self._silent_nodes.add(node)
        self._changed()

    def revive_node(self, node: str) -> None:
        self._silent_nodes.discard(node)
        self._changed()

    def is_silent(self, node: str) -> bool:
        return node in self._silent_nodes or self.is_stopped("kubelet")

    def stop(self, component: str) -> None:
        """`kubelet` stands for those of all nodes. ValueError if the sandbox has no such component."""
        if component not in COMPONENTS:
            raise ValueError(f"no such component: {component!r}; there are {', '.join(COMPONENTS)}")
        self._stopped.add(component)
        self._changed()

    def start(self, component: str) -> None:
        self._stopped.discard(component)
        self._changed()

    def is_stopped(self, component: str) -> bool:
        return component in self._stopped

    def clear(self) -> None:
        self._images.clear()
        self._silent_nodes.clear()
        self._stopped.clear()
        self._changed()

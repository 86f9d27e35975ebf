"""What simulated containers do, as data: `containers.yaml` beside this file, read into `Behaviour` values.

A container behaves as the first of these that applies: a fault set at run time for its image, the pod's annotation
`sandbox.konfig-workbench/behaviour`, the behaviour whose tag patterns fit the image's tag, and otherwise `run`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

import yaml

from kcl.records import dataclass

ANNOTATION = "sandbox.konfig-workbench/behaviour"
DEFAULT = "run"

# A reference as container runtimes accept it: lower-case path, tag of word characters, dots and dashes, or a digest.
_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d+)?"
_REFERENCE = re.compile(
    rf"(?:{_HOST}/)?{_NAME}(?:/{_NAME})*(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@[a-z0-9]+:[0-9a-f]{{32,}})?"
)


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """An event the kubelet writes. Texts may name {container}, {image} and {pod}."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not start, and what to tell."""

    reason: str
    message: str
    event: EventTemplate | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """The container ends by itself, `after_seconds` of running."""

    after_seconds: float
    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a container of an image does. All times in seconds.

    nodes            only on nodes whose names fit this pattern
    owner            where nothing else applies, for pods of this kind of owner
    waiting, retry   it does not start, but shows this; then, in turn, what `retry` says between two attempts
    ready_after      None: never
    unready_after    readiness is lost again so long after it was gained, and comes back `ready_after` it was lost
    tells_start      False: its start is no event
    stops            False: the node never confirms the end of a deleted pod
    log, last_words  lines it prints when it starts, and before it exits
    beat             a line it prints from time to time while it runs
    """

    name: str
    tags: tuple[str, ...] = ()
    nodes: str = "*"
    owner: str = ""
    waiting: Waiting | None = None
    retry: Waiting | None = None
    ready_after: float | None = 0.0
    unready_after: float | None = None
    exit: Exit | None = None
    tells_start: bool = True
    stops: bool = True
    log: tuple[str, ...] = ()
    last_words: tuple[str, ...] = ()
    beat: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the parts of a pod's life take, in seconds."""

    accept: float
    start: float
    init_run: float
    first_restart: float
    back_off: float
    longest_back_off: float
    pull_back_off: float
    probe: float
    stop: float
    confirm: float
    confirm_unstarted: float
    retry_mount: float


@dataclass(frozen=True, slots=True)
class Stages:
    timing: Timing
    behaviours: Mapping[str, Behaviour]

    def named(self, name: str) -> Behaviour:
        """Raises ValueError for a name that is none, saying which there are."""
        try:
            return self.behaviours[name]
        except KeyError:
            raise ValueError(f"no such behaviour: {name!r}; there are {', '.join(sorted(self.behaviours))}") from None

    def of(self, pod: Mapping[str, Any], image: str, faulty: str | None = None) -> Behaviour:
        """Of a container of the pod. `faulty`: the behaviour that a fault set at run time demands."""
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        asked = faulty or (metadata.get("annotations") or {}).get(ANNOTATION)
        if asked is not None and asked in self.behaviours:
            return self.behaviours[asked]
        if not is_valid_image(image):
            return self.behaviours["invalid"]
        tag = tag_of(image)
        for behaviour in self.behaviours.values():
            if any(fnmatchcase(tag, pattern) for pattern in behaviour.tags) and fnmatchcase(node, behaviour.nodes):
                return behaviour
        owners = {each["kind"] for each in metadata.get("ownerReferences") or () if each.get("controller")}
        by_owner = (behaviour for behaviour in self.behaviours.values() if behaviour.owner in owners)
        return next(by_owner, self.behaviours[DEFAULT])


def is_valid_image(image: str) -> bool:
    return _REFERENCE.fullmatch(image) is not None


def tag_of(image: str) -> str:
    """`latest` if the image names none."""
    _, colon, tag = image.partition("@")[0].rpartition(":")
    return tag if colon and "/" not in tag else "latest"


@cache
def load() -> Stages:
    """The stages shipped with the sandbox."""
    text = resources.files(__package__).joinpath("containers.yaml").read_text("utf-8")
    document = yaml.safe_load(text)
    behaviours = [_behaviour(each) for each in document["behaviours"]]
    return Stages(Timing(**document["timing"]), {behaviour.name: behaviour for behaviour in behaviours})


def _behaviour(document: dict[str, Any]) -> Behaviour:
    fields = dict(document)
    for name in ("waiting", "retry"):
        if name in fields:
            waiting = dict(fields[name])
            if "event" in waiting:
                waiting["event"] = EventTemplate(**waiting["event"])
            fields[name] = Waiting(**waiting)
    if "exit" in fields:
        fields["exit"] = Exit(**fields["exit"])
    for name in ("tags", "log", "last_words"):
        fields[name] = tuple(fields.get(name, ()))
    return Behaviour(**fields)

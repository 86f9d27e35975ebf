"""Images of a stack, and which of a registry's versions a policy lets them have. Pure.

A version is `MAJOR.MINOR.PATCH`, parts of it may be missing. What stands before and behind it (`v`, `-alpine`) has to
be the same: another flavour is another image, and so is a version to try out (`-rc.1`). Nothing ever goes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import FieldPath, KubernetesId
from workbench.engine.errors import EngineError
from workbench.engine.spec import Spec

_VERSION: Final = re.compile(r"(?P<before>v?)(?P<numbers>\d{1,9}(?:\.\d{1,9}){0,2})(?P<behind>[-+_.A-Za-z][\w.+-]*)?")
_COMPARED: Final = re.compile(r"(>=|<=|>|<|=|\^|~)?\s*v?(\d{1,9})(?:\.(\d{1,9}|[xX*]))?(?:\.(\d{1,9}|[xX*]))?")
_REFERENCE: Final = re.compile(
    r"(?P<name>[a-z0-9.:_/-]+?)(?::(?P<tag>[A-Za-z0-9_][\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
DOCKER: Final = "registry-1.docker.io"
_CONTAINERS: Final = ("containers", "initContainers")
Numbers = tuple[int, int, int]


class BadRange(EngineError):
    """A range of versions that is not understood."""


@dataclass(frozen=True, slots=True)
class Image:
    """`name` as it is written, without tag and digest; `host` and `repository` are where a registry has it."""

    name: str
    tag: str
    digest: str = ""

    @property
    def host(self) -> str:
        first, slash, _ = self.name.partition("/")
        is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
        return DOCKER if not is_host or first in ("docker.io", "index.docker.io") else first

    @property
    def repository(self) -> str:
        first, _, rest = self.name.partition("/")
        name = rest if "." in first or ":" in first or first == "localhost" else self.name
        return name if self.host != DOCKER or "/" in name else f"library/{name}"

    def __str__(self) -> str:
        return f"{self.name}{f':{self.tag}' if self.tag else ''}{f'@{self.digest}' if self.digest else ''}"


@dataclass(frozen=True, slots=True)
class UsedImage:
    """A field of a stack that names an image."""

    id: KubernetesId
    path: FieldPath
    image: Image


@dataclass(frozen=True, slots=True)
class Version:
    before: str
    numbers: Numbers
    behind: str

    def is_like(self, other: Version) -> bool:
        return (self.before, self.behind) == (other.before, other.behind)


def parse_image(text: str) -> Image | None:
    """Returns None for what is no reference to an image."""
    found = _REFERENCE.fullmatch(text)
    if found is None or "//" in text:
        return None
    return Image(found["name"], found["tag"] or "", found["digest"] or "")


def used_images(spec: Spec) -> Iterator[UsedImage]:
    """Yields the fields of containers that name an image."""
    for resource in spec:
        if isinstance(resource.id, KubernetesId):
            for path, text in _fields(resource.attributes, ()):
                image = parse_image(text)
                if image is not None:
                    yield UsedImage(resource.id, path, image)


def _fields(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in _CONTAINERS and isinstance(each, list):
                for index, one in enumerate(each):
                    if isinstance(one, Mapping) and isinstance(one.get("image"), str):
                        yield (*path, key, index, "image"), one["image"]
            else:
                yield from _fields(each, (*path, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _fields(each, (*path, index))


def parse_version(tag: str) -> Version | None:
    """Returns None for a tag that is no version, such as `latest`."""
    found = _VERSION.fullmatch(tag)
    if found is None:
        return None
    numbers = [int(each) for each in found["numbers"].split(".")]
    padded = [*numbers, 0, 0][:3]
    return Version(found["before"], (padded[0], padded[1], padded[2]), found["behind"] or "")


def newest(current: Version, tags: Iterable[str], wanted: str) -> str | None:
    """Returns the newest tag of a range that is not older than the present one and like it; None where none is.

    Raises `BadRange`.
    """
    bounds = parse_range(wanted)
    found: dict[str, Numbers] = {}
    for tag in tags:
        version = parse_version(tag)
        if version is None or not version.is_like(current) or version.numbers < current.numbers:
            continue
        if all(low <= version.numbers < high for low, high in bounds):
            found[tag] = version.numbers
    return max(found, key=lambda tag: (found[tag], tag.count("."), tag)) if found else None


_TOP: Final[Numbers] = (10**9, 0, 0)
Bounds = tuple[Numbers, Numbers]


def parse_range(text: str) -> tuple[Bounds, ...]:
    """Reads `^1.2`, `~1.2.3`, `1.x`, `>=1.2 <3`, `*`: all of the parts have to hold. Raises `BadRange`."""
    bounds: list[Bounds] = []
    rest = text.replace(",", " ").strip()
    while rest:
        if rest[0] == "*" and (len(rest) == 1 or rest[1] == " "):
            bounds.append(((0, 0, 0), _TOP))
            rest = rest[1:].strip()
            continue
        found = _COMPARED.match(rest)
        if found is None or (found.end() < len(rest) and rest[found.end()] != " "):
            break
        bounds.append(_bounds(found[1] or "", [found[2], found[3], found[4]]))
        rest = rest[found.end() :].strip()
    if rest or not bounds:
        raise BadRange(f"{text!r} is no range of versions", hint="write ^1.2, ~1.2.3, 1.x, '>=1.2 <3', '*', or digest")
    return tuple(bounds)


def _bounds(sign: str, parts: list[str | None]) -> Bounds:
    numbers = [int(each) for each in parts if each is not None and each.isdigit()]
    low: Numbers = ((*numbers, 0, 0)[0], (*numbers, 0, 0)[1], (*numbers, 0, 0, 0)[2])
    match sign:
        case ">=":
            return low, _TOP
        case ">":
            return _after(numbers), _TOP
        case "<":
            return (0, 0, 0), low
        case "<=":
            return (0, 0, 0), _after(numbers)
        case "^":
            kept = next((place for place, each in enumerate(numbers) if each), len(numbers) - 1)
            return low, _after(numbers[: kept + 1])
        case "~":
            return low, _after(numbers[:2])
        case _:
            return low, _after(numbers)


def _after(numbers: list[int]) -> Numbers:
    """Returns the first version that does not begin with these numbers."""
    raised = [*numbers[:-1], numbers[-1] + 1]
    padded = [*raised, 0, 0][:3]
    return padded[0], padded[1], padded[2]

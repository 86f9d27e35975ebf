"""The order in which test files are worth running after a change, and how many of them.

First, whatever it takes: test files that were changed, and the folder of tests that mirrors the changed module
(`tests/kcl/syntax` for `kcl/syntax/nodes.py`), or that the changed data lies in. Then by how many imports lie between
the file and the change, quick ones before slow ones, until the time is used up. What is no module counts as changed
wherever its name, or its folder's, is written; what the whole suite rests on (`pyproject.toml`) reaches every test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from tests.affected.reach import PACKAGES, Reach

_EVERYTHING = ("pyproject.toml", "setup.py", ".ci/")
_FAR = 1_000  # more imports than lie between any two modules


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths of test files. `near` runs always; of what else may break, `far` fits into the time and `left` does not."""

    near: tuple[str, ...]
    far: tuple[str, ...]
    left: tuple[str, ...]


def select(changed: Collection[str], reach: Reach, seconds: Mapping[str, float], budget: float) -> Selection:
    """What to run after a change of the files `changed` (from the root, with slashes; they may be gone).

    `seconds` says what each test file takes, and `budget` how much of that there is for all of them.
    """
    distances = _distances(_sources(changed, reach), reach)
    tests = {module.path: distances[name] for name, module in reach.modules.items() if name in distances}
    if any(path.startswith(_EVERYTHING) for path in changed):
        tests = {module.path: _FAR for module in reach.modules.values()} | tests
    tests = {path: distance for path, distance in tests.items() if is_test_file(path)}
    folders = tuple({folder for path in changed for folder in _mirrors(path, reach)})
    files = [module.path for module in reach.modules.values() if is_test_file(module.path)]
    near = {path for path in files if path.startswith(folders)}
    near |= {path for path, distance in tests.items() if distance == 0}
    left = budget - sum(seconds[path] for path in near)
    far = []
    rest = sorted((distance, seconds[path], path) for path, distance in tests.items() if path not in near)
    for _, cost, path in rest:
        left -= cost
        if left < 0:
            break
        far.append(path)
    return Selection(tuple(sorted(near)), tuple(far), tuple(path for _, _, path in rest[len(far) :]))


def is_test_file(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")


def _sources(changed: Collection[str], reach: Reach) -> Iterator[tuple[str, int]]:
    """The modules in which a change begins, with how far from it they are."""
    for path in changed:
        if changed_modules := reach.at(path):
            yield from ((name, 0) for name in changed_modules)
            continue
        # data, or a module that is gone: the modules beside it read it, and so do those that name it
        folder, name = _package_folder(path, reach), PurePosixPath(path).name
        top = None if "/" not in path or path.startswith(PACKAGES) else path.partition("/")[0]
        for module, each in reach.modules.items():
            if name in each.text or str(PurePosixPath(each.path).parent) == folder:
                yield module, 1
            elif top is not None and any(form in each.text for form in (f'"{top}', f"{top}/")):
                yield module, 2


def _package_folder(path: str, reach: Reach) -> str | None:
    """The nearest folder around `path` that is a package."""
    for folder in PurePosixPath(path).parents:
        if reach.at(f"{folder}/__init__.py"):
            return str(folder)
    return None


def _mirrors(path: str, reach: Reach) -> Iterator[str]:
    """The folder of tests that belongs to a changed file, with a slash at its end: the deepest that there is."""
    if path.startswith("tests/"):
        folder = _package_folder(path, reach)
        if not path.endswith(".py") and folder not in (None, "tests"):
            yield f"{folder}/"
        return
    place = PurePosixPath("tests", path).with_suffix("")
    for mirror in (place, *place.parents):
        if len(mirror.parts) > 2 and reach.at(f"{mirror}/__init__.py"):
            yield f"{mirror}/"
            return


def _distances(sources: Iterator[tuple[str, int]], reach: Reach) -> dict[str, int]:
    """How many imports lie between a module and the nearest of `sources`."""
    distances: dict[str, int] = {}
    for name, distance in sources:
        distances[name] = min(distance, distances.get(name, distance))
    waiting = deque(sorted(distances, key=distances.__getitem__))
    while waiting:
        name = waiting.popleft()
        for other in reach.resting_on.get(name, ()):
            if distances[name] + 1 < distances.get(other, _FAR):
                distances[other] = distances[name] + 1
                waiting.append(other)
    return distances

"""How the tests are collected and handed out where several processes run them.

Each process imports all of them, which takes longer than most of them run. They are handed out a file at a time, in
the order in which they are collected: by name, those that wait for servers and terminals would run next to each other
and leave the cores idle, and whoever took the longest of the last would work alone in the end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import zlib
from collections.abc import Collection, Iterator, Mapping

import pytest

from tests.affected import seconds

_LONG_SECONDS, _LONGEST_SECONDS = 2.0, 15.0
_COLLECTING = 50_000, 20, 20


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collects without looking for garbage, since next to all that is made here stays until the end, and is not looked
    through again: tests that look for garbage themselves, and the products, would take half a second each time.
    Afterwards it is looked for as often as `wb` does itself, which is a tenth of the time less than by default.
    """
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*_COLLECTING)
        gc.enable()


def pytest_unconfigure() -> None:
    """Looks once for garbage of which somebody hears that it was not closed; pytest looks five times through all that
    is there, which by now is for good: seconds in each process, while nothing else is left to do.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        files = dict.fromkeys(_file(each) for each in items)
        slow = {_file(each) for each in items if each.get_closest_marker("slow")}
        places = {file: number for number, file in enumerate(ordered(files, seconds.measured(), slow))}
        items.sort(key=lambda item: places[_file(item)])


def ordered(files: Collection[str], taken: Mapping[str, float], slow: Collection[str]) -> list[str]:
    """Returns all files: first those that take longest, mixed, then those that take long, mixed as well, then the
    others, which fill what is left, as given. One of a minute that came last would keep one core alone busy.

    The order is the same in each process and each time.
    """

    def place(file: str) -> tuple[int, int]:
        seconds = _LONGEST_SECONDS if file in slow else taken.get(file, 0.0)
        if seconds < _LONG_SECONDS:
            return 2, 0
        return 0 if seconds >= _LONGEST_SECONDS else 1, zlib.crc32(file.encode())

    return sorted(files, key=place)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _import_share(config: pytest.Config) -> None:
    """Imports one part of the test files, each process another one.

    What one compiled the others find compiled: else all of them compile all of it at the same time after a checkout.
    What fails fails again where pytest imports it, and is reported there.
    """
    worker: dict[str, int | str] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    for name in _modules(config)[number::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception, pytest.fail.Exception):
            importlib.import_module(name)


def _modules(config: pytest.Config) -> list[str]:
    asked = [config.invocation_params.dir / each.partition("::")[0] for each in config.args]
    found = {file for path in asked for file in (path.rglob("test_*.py") if path.is_dir() else [path])}
    inside = [file.relative_to(config.rootpath) for file in found if file.is_relative_to(config.rootpath)]
    return sorted(".".join(file.with_suffix("").parts) for file in inside)

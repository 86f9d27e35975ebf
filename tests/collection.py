"""How the tests are collected: each process imports all of them, which takes longer than most of them run."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collects without looking for garbage: next to all that is made here stays until the end."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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

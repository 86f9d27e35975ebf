"""The recorded exchanges of a real API server, sent to the sandbox: it must answer the same."""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
import yaml

from runtimes.sandbox.clock import VirtualClock

from .serving import served

ROOT = pathlib.Path(__file__).resolve().parents[3]
CORPUS = (
    pathlib.Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", ROOT.parent / "shared" / "conformance"))
    / "kube-api-1.34"
)
TOKENS = {"admin": "replay-admin", "alice": "replay-alice", "viewer": "replay-viewer"}
KNOWN: dict[str, str] = yaml.safe_load((pathlib.Path(__file__).parent / "known_differences.yaml").read_text()) or {}
SECONDS = 60


@functools.cache
def replayer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recorded_replay", CORPUS / "replay.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # its dataclasses look their module up by name
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def recorded() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = replayer().load_cases(CORPUS)
    return loaded


def cases(needs_controllers: bool) -> list[Any]:
    if not (CORPUS / "replay.py").is_file():
        reason = f"no recorded exchanges at {CORPUS}: set KONFIG_WORKBENCH_CONFORMANCE to their folder"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason), id="none")]
    found = []
    for case in recorded():
        name = case["scenario"]
        if bool(case.get("needs")) == needs_controllers:
            marks = [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
            found.append(pytest.param(case, id=name, marks=marks))
    return found


@pytest.fixture(scope="module")
def quiet_server() -> Iterator[str]:
    """Without controllers: nobody else writes. All is of one moment, which decides the order of field managers."""
    moment = VirtualClock(datetime.now(UTC))
    with served(tokens=TOKENS, controllers=False, tls=False, clock=moment) as sandbox:
        yield sandbox.urls[0]


@pytest.fixture(scope="module")
def living_server() -> Iterator[str]:
    with served(tokens=TOKENS, controllers=True, tls=False) as sandbox:
        yield sandbox.urls[0]


def run(case: dict[str, Any], url: str) -> str:
    server = replayer().Server(url)
    try:
        return "\n".join(map(str, replayer().run_scenario(case, server, TOKENS, SECONDS)))
    finally:
        # the replayer keeps its connection for the next request and leaves it open
        if server.kept is not None:
            server.kept.close()


@pytest.mark.parametrize("case", cases(needs_controllers=False))
def test_the_server_answers_as_recorded(case: dict[str, Any], quiet_server: str) -> None:
    assert run(case, quiet_server) == ""


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(needs_controllers=True))
def test_controllers_bring_about_what_was_recorded(case: dict[str, Any], living_server: str) -> None:
    assert run(case, living_server) == ""


def test_known_differences_are_scenarios() -> None:
    if not (CORPUS / "replay.py").is_file():
        pytest.skip(f"no recorded exchanges at {CORPUS}")
    names = {case["scenario"] for case in recorded()}
    assert set(KNOWN) <= names

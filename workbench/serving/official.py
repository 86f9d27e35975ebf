"""Methods of the official KCL service, each call in a process that can be ended whatever it does.

Secrets are taken out of the answers (`masking.py`). What a client sent itself (`FormatCode`,
`RenameCode`) comes back as it is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process

from kcl.bounded import Allowance
from kcl.bounded.search_path import search_path
from kcl.compat.methods import INSTEAD, METHODS
from kcl.compat.service import writes
from kcl.secrecy.rules import SecretRules
from workbench.engine.compile import shown
from workbench.engine.compiled import CompileInputs
from workbench.project.masking import read_masking
from workbench.serving.errors import (
    FAILED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_ALLOWED,
    TIMED_OUT,
    CallFailed,
)
from workbench.serving.masking import masked
from workbench.serving.verbs import Allowed, Work

_GRACE_SECONDS: Final = 5.0
_MOST_CALLS: Final = 200
"""Of one process: what a program leaves behind is gone with it."""
_MOST_IDLE: Final = 2
_MOST_BYTES: Final = 64_000_000
"""Of an answer, which is masked and sent as a whole."""
_OF_THE_CLIENT: Final = frozenset({"KclService.FormatCode", "KclService.RenameCode"})
_OF_TREES: Final = frozenset({"KclService.ParseFile", "KclService.ParseProgram"})
"""Their answers say all that files do, as a tree: no text of it can be told to be a secret by its place."""
_CODES: Final = {"method": METHOD_NOT_FOUND, "params": INVALID_PARAMS, "limit": TIMED_OUT, "bug": INTERNAL_ERROR}


def is_official(method: str) -> bool:
    return method in METHODS or method in INSTEAD


async def answer(work: Work, processes: Processes, method: str, params: object) -> Any:
    """Answers one call in the root of the repository; raises `CallFailed`."""
    if method in METHODS:
        _refuse(work.allowed, method, params)
    async with work.open() as session:
        if session.trust.untrusted:
            raise CallFailed(
                NOT_ALLOWED,
                f"the repository is untrusted, as {session.trust.untrusted}: no official method is answered",
                hint="wb.compile evaluates a stack of it within bounds",
            )
        if session.settings.is_read_only and method in METHODS and writes(method, params):
            raise CallFailed(NOT_ALLOWED, "this session is read-only (WB_READONLY)")
        allowance, root, rules = session.settings.allowance, session.root, read_masking(session.root)
    answered = await processes.ask({"method": method, "params": params}, allowance, root)
    if "error" in answered:
        said = str(answered["message"])
        said = said if work.allowed.secrets else shown(said, CompileInputs(), rules, _given(params, rules))
        raise CallFailed(_CODES.get(answered["error"], FAILED), said, kind=answered["error"])
    result = answered["result"]
    return result if work.allowed.secrets or method in _OF_THE_CLIENT else masked(result, rules)


def _given(params: object, rules: SecretRules) -> frozenset[str]:
    """Secrets that a client hands in as values of options, and that a message may quote."""
    args = params.get("args") if isinstance(params, Mapping) else None
    pairs = [each for each in args if isinstance(each, Mapping)] if isinstance(args, list) else []
    return frozenset(str(each.get("value", "")) for each in pairs if rules.names_secret(str(each.get("name", ""))))


def _refuse(allowed: Allowed, method: str, params: object) -> None:
    if writes(method, params) and not allowed.edits:
        raise CallFailed(
            NOT_ALLOWED, f"{method} writes files, and this server writes none: start it with --allow-edits"
        )
    if method in _OF_TREES and not allowed.secrets:
        raise CallFailed(
            NOT_ALLOWED,
            f"{method} answers with all that the files say, secrets as well",
            hint="start with --show-secrets, or ask KclService.ListVariables, LoadPackage or LintPath",
        )


class Processes:
    """Processes that answer one call after the other, each alone with its call; one that is cancelled is ended.

    Loading the language takes longer than most calls do, so some wait for the next.
    """

    def __init__(self) -> None:
        self._idle: list[_Worker] = []

    async def ask(self, asked: dict[str, Any], allowance: Allowance, folder: Path) -> dict[str, Any]:
        """What the process of a call answers; raises `CallFailed` where it does not."""
        limits = {"seconds": allowance.deadline_seconds, "bytes": allowance.max_memory_bytes}
        request = json.dumps({**asked, **limits, "folder": str(folder)}).encode()
        worker = self._alive() or _Worker(await _started())
        answered: dict[str, Any] | None = None
        try:
            with anyio.fail_after(allowance.deadline_seconds + _GRACE_SECONDS):
                answered = _read(await worker.exchange(request))
        except TimeoutError:
            raise CallFailed(TIMED_OUT, allowance.deadline_problem, hint=allowance.deadline_hint) from None
        finally:
            is_good = answered is not None and answered.get("error") not in ("limit", "bug")
            if is_good and worker.calls < _MOST_CALLS and len(self._idle) < _MOST_IDLE:
                self._idle.append(worker)
            else:
                await worker.end()
        return answered

    def _alive(self) -> _Worker | None:
        while self._idle:
            if not (worker := self._idle.pop()).has_ended:
                return worker
        return None

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().end()


class _Worker:
    def __init__(self, process: Process) -> None:
        self._process = process
        self.calls = 0

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def exchange(self, request: bytes) -> bytes:
        """The line that is answered; less than that where the process ends before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.calls += 1
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(request + b"\n")
        found = bytearray()
        async for chunk in self._process.stdout:
            found += chunk
            if len(found) > _MOST_BYTES:
                raise CallFailed(FAILED, f"the answer is larger than {_MOST_BYTES} bytes", kind="limit")
            if chunk.endswith(b"\n"):
                break
        return bytes(found)

    async def end(self) -> None:
        """Ends the process and what it started, such as those that run tests."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await self._process.aclose()


async def _started() -> Process:
    paths = os.pathsep.join(dict.fromkeys(search_path()))
    return await anyio.open_process(
        [sys.executable, "-P", "-m", "kcl.compat.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
    )


def _read(text: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        raise CallFailed(
            FAILED, "the process of the call ended without an answer; it may have run out of memory", kind="limit"
        ) from None
    return found

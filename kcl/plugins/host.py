"""The program's side of plugins: found when first used, held to their signatures and time limits, gone with the run.

Each plugin runs in one process of its own per run (see worker.py), started by the first call that needs it. Failures
are `ValueFailure`s, so the evaluator puts them at the KCL call that asked.
"""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final

from kcl.evaluator.value import Builtin, Value, ValueFailure
from kcl.plugins.code import EntryPointCode, FileCode, ForkedCode, PluginCode, PluginFinder, PluginRefused
from kcl.plugins.process import PluginProcess
from kcl.stdlib.access import Access
from kcl.stdlib.conversion import to_plain, to_value
from kcl.stdlib.declaration import Function, Parameter, parse_signature

PREFIX: Final = "kcl_plugin."
START_SECONDS: Final = 20.0
_CAPTURE: Final = "plugin"


class PluginModules(Mapping[str, Mapping[str, Builtin | Value]]):
    """The plugins of one run as modules by `kcl_plugin.NAME`; a context that ends their processes."""

    def __init__(self, finder: PluginFinder) -> None:
        self._finder = finder
        self._workers: dict[str, _Worker] = {}
        self._members: dict[str, Mapping[str, Builtin | Value]] = {}

    def __enter__(self) -> PluginModules:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers.values():
            worker.stop()

    @property
    def printed(self) -> str:
        """What the plugins printed, once their processes have ended: lines of a log, each with its plugin's name."""
        return "".join(worker.printed for worker in self._workers.values())

    @property
    def files(self) -> frozenset[str]:
        """What the plugins used so far were found by."""
        return frozenset(path for worker in self._workers.values() for path in worker.plugin.files)

    def __getitem__(self, package: str) -> Mapping[str, Builtin | Value]:
        if not package.startswith(PREFIX):
            raise KeyError(package)
        if package not in self._members:
            try:
                found = self._finder.find(package.removeprefix(PREFIX))
            except PluginRefused as refused:
                raise ValueFailure(str(refused)) from None
            worker = self._workers.setdefault(package, _Worker(package, found))
            self._members[package] = {name: each.builtin(Access()) for name, each in worker.functions().items()}
        return self._members[package]

    def __contains__(self, package: object) -> bool:
        return isinstance(package, str) and package.startswith(PREFIX)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class Joined(Mapping[str, Mapping[str, Builtin | Value]]):
    """System modules and plugins as one."""

    def __init__(self, system: Mapping[str, Mapping[str, Builtin | Value]], plugins: PluginModules) -> None:
        self._system, self._plugins = system, plugins

    def _of(self, name: object) -> Mapping[str, Mapping[str, Builtin | Value]]:
        return self._plugins if name in self._plugins else self._system

    def __getitem__(self, name: str) -> Mapping[str, Builtin | Value]:
        return self._of(name)[name]

    def __contains__(self, name: object) -> bool:
        return name in self._of(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._system
        yield from self._plugins

    def __len__(self) -> int:
        return len(self._system) + len(self._plugins)


class _Worker:
    """One plugin's process; started again by the call after one that had to be ended."""

    def __init__(self, package: str, plugin: PluginCode) -> None:
        self.plugin = plugin
        self._package = package
        self._process: PluginProcess | None = None
        self._spent = 0.0
        self.printed = ""

    def functions(self) -> dict[str, Function]:
        """Starts the process and returns what the plugin offers; raises ValueFailure."""
        offered: dict[str, Function] = {}
        for each in self._start():
            try:
                function = parse_signature(each["signature"], lambda: None)
            except ValueError as error:
                raise ValueFailure(f"the plugin {self._package} declares what is {error}") from None
            answers = parse_signature(f"answer(value: {function.result}) -> any", lambda: None).parameters[0]
            limit = min(float(each["timeoutSeconds"]), self.plugin.timeout_seconds)
            remote = self._remote(function.name, answers, limit, bool(each.get("isSecret")))
            offered[function.name] = parse_signature(each["signature"], remote, capture=_CAPTURE)
        return offered

    def _remote(self, name: str, result: Parameter, limit: float, is_secret: bool) -> Any:
        def call(*args: Value, **named: Value) -> Value:
            if self._process is None:
                self._start()
            seconds = min(limit, self.plugin.budget_seconds - self._spent)
            if seconds <= 0:
                raise ValueFailure(
                    f"calls of {self._package} took {self.plugin.budget_seconds:g} s in this run: no more are made"
                )
            began = time.monotonic()
            reply = self._ask(
                {
                    "call": name,
                    "args": [to_plain(each) for each in args],
                    "named": {key: to_plain(each) for key, each in named.items()},
                    "seconds": seconds,
                },
                seconds,
                f"{self._package}.{name}()",
            )
            self._spent += time.monotonic() - began
            if is_secret:
                self.plugin.on_secret(reply.get("answer"))  # before anything can quote it
            answer = to_value(reply.get("answer"))
            try:
                result.check(answer)
            except ValueFailure as failure:
                raise ValueFailure(f"the answer of {self._package}.{name}() is wrong: {failure.message}") from None
            return answer

        return call

    def _start(self) -> list[dict[str, Any]]:
        match self.plugin.code:
            case FileCode(path, text):
                load: dict[str, Any] = {"file": path, "text": text}
            case EntryPointCode(group, name):
                load = {"entryPoint": [group, name]}
            case ForkedCode():
                load = {"forked": True}
        try:
            self._process = PluginProcess(self.plugin)
        except OSError as error:
            raise ValueFailure(f"the plugin {self._package} cannot be started: {error.strerror}") from None
        request = {"load": load, "settings": dict(self.plugin.settings)}
        reply = self._ask(request, START_SECONDS, f"the plugin {self._package}")
        offered: list[dict[str, Any]] = reply["functions"]
        return offered

    def _ask(self, request: dict[str, Any], seconds: float, who: str) -> dict[str, Any]:
        assert self._process is not None
        try:
            self._process.send(json.dumps(request).encode())
            line = self._process.lines.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            raise ValueFailure(f"{who} did not answer within {seconds:g} s and was stopped") from None
        except (BrokenPipeError, ConnectionError):
            line = None
        except BaseException:
            self.stop()
            raise
        if not line or not line.endswith(b"\n"):
            self.stop()
            what = "answered more than can be taken" if line else "ended without an answer"
            raise ValueFailure(f"{who} {what}") from None
        try:
            reply: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            self.stop()
            raise ValueFailure(f"{who} answered what cannot be read") from None
        if "failed" in reply:
            hint = f" ({reply['hint']})" if reply.get("hint") else ""
            raise ValueFailure(f"{who}: {reply['failed']}{hint}")
        return reply

    def stop(self) -> None:
        """Ends the process and what it started. Never raises."""
        process, self._process = self._process, None
        if process is not None:
            self.printed += process.stop()

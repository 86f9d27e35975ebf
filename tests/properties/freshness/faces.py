"""The ways to compile a stack: `warm` with the caches of before, `cold` with none."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import anyio

from kcl import api
from kcl.cli import main as kcl
from kcl.memo.inputs import Moment, now
from tests.properties.freshness import observation
from tests.properties.freshness.observation import Observation
from tests.properties.freshness.repositories import Repository
from workbench.engine.compile import compile_now
from workbench.engine.compile_all import Chunk, Outcome, Wanted, compile_chunk, prepare
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.memos import memos
from workbench.project import WorkbenchError, discover
from workbench.session import Session
from workbench.settings import Settings


class Face(Protocol):
    """One way to compile. What is looked at comes back with what was seen."""

    name: str

    def warm(self, stack: str) -> Observation: ...

    def cold(self, stack: str) -> Observation: ...


@dataclass
class Places:
    """Where the caches of one repository lie."""

    repository: Repository
    folder: Path

    def store(self, name: str) -> api.Store:
        (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        return api.Store(str(self.folder / name))


@dataclass
class Run:
    """`api.run` with a cache on disk: in a process that has it in memory too, and in one that has just begun.

    Its clock is `ahead` of this machine's by so many nanoseconds, which may change from one run to the next.
    """

    places: Places
    overlay: dict[str, str] = field(default_factory=dict)
    name: str = "api.run"
    ahead: int = 0
    _files: dict[str, frozenset[Path]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._store = self.places.store(self.name)
        self._resident = api.ParseCache(store=self._store, clock=self._clock)

    def files(self, stack: str) -> list[Path]:
        """What the stack was made of when it was last right."""
        return sorted(self._files.get(stack, ()))

    def warm(self, stack: str) -> Observation:
        seen = self._seen(stack, self._resident)
        again = self._seen(stack, api.ParseCache(store=self._store, clock=self._clock))
        return {**{f"resident {name}": value for name, value in seen.items()}, **again}

    def cold(self, stack: str) -> Observation:
        seen = self._seen(stack, None)
        return {**{f"resident {name}": value for name, value in seen.items()}, **seen}

    def _seen(self, stack: str, cache: api.ParseCache | None) -> Observation:
        disk = api.OsFileSystem(self._clock)
        reader = api.OverlayFileSystem(disk, self.overlay) if self.overlay else disk
        folder = self.places.repository.folder(stack)
        try:
            result = api.run(work_dir=folder, settings=["kcl.yaml"], cache=cache, file_system=reader)
        except api.ProgramError as problem:
            return observation.of_program_error(problem)
        except OSError as problem:  # the folder of the stack may be gone
            return {"failure": str(problem)}
        self._files[stack] = result.dependencies
        return observation.of_result(result)

    def _clock(self) -> Moment:
        wall, steady = now()
        return wall + self.ahead, steady


@dataclass
class CommandLine:
    """`kcl run`, which looks for what it printed before it loads the language."""

    places: Places
    name: str = "kcl run"

    def __post_init__(self) -> None:
        self._store = self.places.store(self.name)

    def warm(self, stack: str) -> Observation:
        return self._seen(stack, self._store)

    def cold(self, stack: str) -> Observation:
        return self._seen(stack, None)

    def _seen(self, stack: str, store: api.Store | None) -> Observation:
        folder = self.places.repository.folder(stack)
        out, err = io.StringIO(), io.StringIO()
        status = kcl(
            ["run", "-Y", "kcl.yaml"], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment={},
            store=store,
        )  # fmt: skip
        return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


@dataclass
class Everything:
    """`wb compile --all --into FOLDER`, here in one process that compiles all that is out of date."""

    places: Places
    name: str = "wb compile --all"

    def __post_init__(self) -> None:
        self._into = self.places.folder / "specs"
        self._store = self.places.store(self.name)

    def warm(self, stack: str) -> Observation:
        with _environment(KCL_RUN_CACHE=self._store.folder):
            return self._seen(self._into, _in_this_process)

    def cold(self, stack: str) -> Observation:
        new = self.places.folder / "alone"
        shutil.rmtree(new, ignore_errors=True)
        return self._seen(new, _each_alone)

    def _seen(self, into: Path, pool: Callable[[Sequence[Chunk]], Iterator[Sequence[Outcome]]]) -> Observation:
        try:
            wanted = Wanted(discover(self.places.repository.root), CompileInputs(), into)
            outcomes = list(prepare(wanted).run(pool))
        except WorkbenchError as problem:
            return {"failure": str(problem)}
        failed = {each.stack: each.failure for each in outcomes if each.failure is not None}
        return {
            "failed": failed,
            "specs": {str(each.relative_to(into)): each.read_text() for each in into.rglob("*.yaml")},
        }


@dataclass
class Resident:
    """A session, whose processes keep what they learned."""

    places: Places
    name: str = "Session.compile"

    def __post_init__(self) -> None:
        self._store = self.places.store(self.name)
        settings = Settings(self.places.folder / "state", self.places.folder / "cache")
        self._session = Session.open(self.places.repository.root, settings=settings)

    def warm(self, stack: str) -> Observation:
        with _environment(KCL_RUN_CACHE=self._store.folder):
            return _compiled(lambda: anyio.run(self._session.compile, self._session.select(stack)))

    def cold(self, stack: str) -> Observation:
        return _compiled(lambda: compile_now(discover(self.places.repository.root).select(stack), CompileInputs()))


@dataclass
class Command:
    """`wb compile` in a process of its own."""

    places: Places
    name: str = "wb compile"

    def __post_init__(self) -> None:
        self._store = self.places.store(self.name)

    def warm(self, stack: str) -> Observation:
        return self._seen(stack, self._store.folder)

    def cold(self, stack: str) -> Observation:
        return self._seen(stack, "off")

    def _seen(self, stack: str, cache: str) -> Observation:
        folder = self.places.folder
        told = {"KCL_RUN_CACHE": cache, "WB_STATE_DIR": str(folder / "state"), "WB_CACHE_DIR": str(folder / "cache")}
        root = self.places.repository.root
        ended = subprocess.run(
            [sys.executable, "-P", "-c", "from workbench.cli.main import main; main()", "compile", stack, "-w", root],
            env={**os.environ, **told}, capture_output=True, text=True, timeout=300, check=False, cwd=root.parent,
        )  # fmt: skip
        return {"status": ended.returncode, "out": ended.stdout, "err": ended.stderr}


def _in_this_process(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
    for chunk in chunks:
        yield compile_chunk(chunk)


def _each_alone(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
    for chunk in chunks:
        for stack in chunk.stacks:
            memos.forget()
            yield compile_chunk(replace(chunk, stacks=(stack,)))
    memos.forget()


def _compiled(compile_: Callable[[], CompiledStack]) -> Observation:
    try:
        return observation.of_stack(compile_())
    except WorkbenchError as problem:
        return observation.of_stack_error(problem)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def in_process(places: Places) -> list[Face]:
    return [Run(places), CommandLine(places), Everything(places)]

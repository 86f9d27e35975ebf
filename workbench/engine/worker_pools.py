"""Who compiles the chunks of a batch: processes of this machine, or the workers of a dask scheduler.

Each stack has the whole allowance. One that exceeds it costs its process and only itself: what else that process had
to do, another does. A stack whose process dies without a known reason, as when the machine has no memory left, is tried
again when nothing else runs.

Workers of a scheduler need this package in the same version, and the repository and the folder for Specs at the same
paths, as on a shared file system. The scheduler gives what a lost worker had to others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from kcl.bounded import Allowance
from kcl.records import dataclass, replace
from workbench.engine.compile_all import Chunk, Outcome, WorkerPool, compile_each, ended_outcome
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.errors import EngineError, EvaluationEnded
from workbench.engine.evaluators import Evaluators, cores, evaluators
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.shipped import Shipped, compile_apart, ended_as_failure
from workbench.project import Stack, WorkbenchError

__all__ = ["Compiling", "compiled_on", "cores", "in_processes", "on_scheduler"]

W = TypeVar("W")
R = TypeVar("R")

_CONNECT_SECONDS = 15.0
_RETRIES = 5


def in_processes(jobs: int) -> WorkerPool:
    """A pool of `jobs` processes, which end with it; a single one is that which evaluates for sessions, too."""

    def pool(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        if jobs == 1 or len(chunks) < 2:
            for chunk in chunks:
                yield from ([each] for each in _outcomes(evaluators, chunk))
            return
        processes = Evaluators(min(jobs, len(chunks)))
        lost: list[Chunk] = []
        try:
            yield from _in_threads(processes, chunks, min(jobs, len(chunks)), lost)
            for single in lost:  # alone: others may have taken the memory that it had needed
                yield list(_outcomes(processes, single))
        finally:
            processes.close()

    return pool


def _in_threads(
    processes: Evaluators, chunks: Sequence[Chunk], jobs: int, lost: list[Chunk]
) -> Iterator[Sequence[Outcome]]:
    """Yields what is done; puts into `lost` stacks whose process died for a reason that nobody knows."""
    waiting: SimpleQueue[Chunk | None] = SimpleQueue()
    done: SimpleQueue[Sequence[Outcome] | BaseException | None] = SimpleQueue()

    def work() -> None:
        try:
            while (chunk := waiting.get()) is not None:
                for outcome in _outcomes(processes, chunk, lost):
                    done.put([outcome])
        except BaseException as error:  # the folder cannot be written, or the pool was closed
            done.put(error)
        finally:
            done.put(None)

    for chunk in (*chunks, *([None] * jobs)):
        waiting.put(chunk)
    for number in range(jobs):
        threading.Thread(target=work, name=f"wb-pool-{number}", daemon=True).start()
    while jobs:
        match done.get():
            case None:
                jobs -= 1
            case BaseException() as error:
                raise error
            case outcomes:
                yield outcomes


def _outcomes(processes: Evaluators, chunk: Chunk, lost: list[Chunk] | None = None) -> Iterator[Outcome]:
    """Has a chunk compiled. A stack that exceeds its limits costs its process, and only itself.

    One whose process died for no known reason is put into `lost`, if there is such a list.
    """
    left = list(chunk.stacks)
    while left:
        try:
            for outcome in processes.items(chunk.allowance, compile_each, replace(chunk, stacks=tuple(left))):
                del left[0]
                yield outcome
        except EvaluationEnded as ended:
            if not left:  # it died when it had told everything
                return
            stack = left.pop(0)
            if ended.is_unexplained and lost is not None:
                lost.append(replace(chunk, stacks=(stack,)))
            else:
                yield ended_outcome(chunk, stack, ended)


def _compile_apart(chunk: Chunk) -> Sequence[Outcome]:
    """What a worker of a scheduler does: like any other it has the stacks compiled where that can be ended."""
    return list(_outcomes(evaluators, chunk))


def on_scheduler(address: str) -> WorkerPool:
    """A pool of dask workers behind a scheduler such as `tcp://10.0.0.5:8786`. Raises `EngineError`."""
    _require_client()

    def pool(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        for chunk, outcomes in _scheduled(address, _compile_apart, chunks):
            yield outcomes if outcomes is not None else [ended_outcome(chunk, each, _DIED) for each in chunk.stacks]

    return pool


_DIED = EvaluationEnded("the workers it was given to died", hint="see what the scheduler says")


@dataclass(frozen=True, slots=True)
class Compiling:
    """What each of some stacks is compiled with."""

    inputs: CompileInputs
    root: Path
    allowance: Allowance
    plugins: RepositoryPlugins | None

    def __call__(self, stack: Stack) -> Shipped | WorkbenchError:
        return compile_apart(stack, self.inputs, self.root, self.allowance, self.plugins)


def compiled_on(
    address: str, stacks: Sequence[Stack], compiling: Compiling
) -> dict[str, CompiledStack | WorkbenchError]:
    """Has stacks compiled by the workers of a scheduler, and returns by name what comes of each; blocks.

    Raises `EngineError` where no scheduler with a worker answers.
    """
    _require_client()
    found: dict[str, CompiledStack | WorkbenchError] = {}
    for stack, shipped in _scheduled(address, compiling, stacks):
        if shipped is None:
            found[stack.name] = ended_as_failure(_DIED, stack.directory)
        else:
            found[stack.name] = shipped.unpack(stack) if isinstance(shipped, Shipped) else shipped
    return found


def _require_client() -> None:
    if find_spec("distributed") is None:
        raise EngineError("dask.distributed is not installed", hint="pip install 'konfig-workbench[scheduler]'")


def _scheduled(address: str, work: Callable[[W], R], items: Sequence[W]) -> Iterator[tuple[W, R | None]]:
    """Has work done by the workers of a scheduler; yields what comes of each, None where its workers died."""
    import distributed

    hint = "is the scheduler there, and has it workers? `dask scheduler` and `dask worker ADDRESS` start them"
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(f"no scheduler answers: {error}", where=address, hint=hint) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise EngineError("the scheduler has no workers", where=address, hint=hint) from error
        futures = {client.submit(work, each, pure=False, retries=_RETRIES): each for each in items}
        for future in distributed.as_completed(list(futures), loop=client.loop):
            item = futures.pop(future)
            try:
                result: R | None = future.result()
            except distributed.KilledWorker:
                result = None
            future.release()
            yield item, result

"""Processes that evaluate: what is needed first comes first, and the rest is there when somebody asks for it."""

from __future__ import annotations

import datetime
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from kcl.bounded import Allowance
from runtimes.base import KubernetesId, Resource, RuntimeType, TerraformId
from workbench.engine import evaluating, packing, shipped
from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import Evaluators
from workbench.engine.spec import Origin, Spec
from workbench.project import Stack, discover

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
ALLOWANCE = Allowance()


@pytest.fixture
def evaluators() -> Iterator[Evaluators]:
    made = Evaluators(2)
    yield made
    made.close()


def process_and_rest(gate: str) -> Iterator[int]:
    """Yields the process, and again once there is a file `gate`."""
    yield os.getpid()
    while gate and not Path(gate).exists():
        time.sleep(0.01)
    yield os.getpid()


def process_and_death() -> Iterator[int]:
    yield os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)


def process_and_error() -> Iterator[int]:
    yield os.getpid()
    raise KeyError("what is wrong")


async def test_the_first_is_there_before_the_rest_is_made(evaluators: Evaluators, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first, rest = await evaluators.afirst(ALLOWANCE, process_and_rest, str(gate))
    assert evaluators.busy == 1
    gate.touch()
    assert rest.get() == first == rest.get()


async def test_a_process_that_is_about_to_be_free_is_waited_for(evaluators: Evaluators) -> None:
    """What it knows would have to be learned again by another."""
    asked = [await evaluators.afirst(ALLOWANCE, process_and_rest, "") for _ in range(20)]
    assert len({first for first, _ in asked}) == 1
    assert {rest.get() for _, rest in asked} == {asked[0][0]}


async def test_one_that_does_not_get_free_is_not_waited_for(evaluators: Evaluators, tmp_path: Path) -> None:
    first, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, str(tmp_path / "never"))
    assert await evaluators.acall(ALLOWANCE, os.getpid) != first


async def test_a_death_after_the_first_is_told_to_who_wants_the_rest(evaluators: Evaluators) -> None:
    first, rest = await evaluators.afirst(ALLOWANCE, process_and_death)
    with pytest.raises(EvaluationEnded, match="the process that evaluated it died"):
        rest.get()
    with pytest.raises(EvaluationEnded):
        rest.get()
    assert await evaluators.acall(ALLOWANCE, os.getpid) != first


async def test_what_goes_wrong_after_the_first_is_told_and_the_process_stays(evaluators: Evaluators) -> None:
    first, rest = await evaluators.afirst(ALLOWANCE, process_and_error)
    with pytest.raises(KeyError, match="what is wrong"):
        rest.get()
    assert await evaluators.acall(ALLOWANCE, os.getpid) == first


def large_and_process(given: bytes) -> Iterator[Any]:
    yield len(given)
    yield os.getpid()


def never() -> Iterator[int]:
    while True:
        time.sleep(0.01)
    yield 0


def only_closes_its_output() -> Iterator[int]:
    os.closerange(3, 100)
    while True:
        time.sleep(0.01)
    yield 0


async def test_a_process_that_is_there_is_asked_without_a_thread(
    evaluators: Evaluators, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, "")
    await _free(evaluators)
    monkeypatch.setattr(anyio.to_thread, "run_sync", _no_thread)
    assert (await evaluators.afirst(ALLOWANCE, process_and_rest, ""))[0] == first


async def _no_thread(*_: object, **__: object) -> None:
    pytest.fail("a thread was started")


async def _free(evaluators: Evaluators) -> None:
    while evaluators.busy:  # noqa: ASYNC110 - nothing tells of it
        await anyio.sleep(0.01)


async def test_what_a_pipe_may_not_hold_arrives_all_the_same(evaluators: Evaluators) -> None:
    process, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, "")
    for size in (1, 1 << 14, 1 << 22, 1):
        await _free(evaluators)
        first, rest = await evaluators.afirst(ALLOWANCE, large_and_process, bytes(size))
        assert (first, rest.get()) == (size, process)


@pytest.mark.parametrize("work", [never, only_closes_its_output])
async def test_what_never_answers_is_ended_at_its_deadline_the_second_time_as_well(
    evaluators: Evaluators, work: Callable[[], Iterator[int]]
) -> None:
    first, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, "")
    await _free(evaluators)
    with pytest.raises(EvaluationEnded):
        await evaluators.afirst(Allowance(deadline_seconds=0.5), work)
    assert evaluators.busy == 0
    assert await evaluators.acall(ALLOWANCE, os.getpid) != first


async def test_what_nobody_waits_for_any_more_is_ended_the_second_time_as_well(evaluators: Evaluators) -> None:
    first, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, "")
    await _free(evaluators)
    with anyio.move_on_after(0.2):
        await evaluators.afirst(ALLOWANCE, never)
    await _free(evaluators)
    assert await evaluators.acall(ALLOWANCE, os.getpid) != first


def error_at_once() -> Iterator[int]:
    raise KeyError("what is wrong")
    yield 0


async def _in_a_thread(work: Callable[[], object]) -> None:
    await anyio.to_thread.run_sync(work)


async def test_who_leaves_before_the_thread_begins_that_takes_the_answer_leaves_the_process_free(
    evaluators: Evaluators,
) -> None:
    await evaluators.acall(ALLOWANCE, os.getpid)
    going_on = threading.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    async with anyio.create_task_group() as others, anyio.create_task_group() as asking:
        try:
            for _ in range(int(limiter.total_tokens)):
                others.start_soon(_in_a_thread, going_on.wait)
            while limiter.available_tokens:  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.001)
            asking.start_soon(evaluators.afirst, ALLOWANCE, error_at_once)
            while not limiter.statistics().tasks_waiting:  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.001)
            assert evaluators.busy == 1
            asking.cancel_scope.cancel()
        finally:
            going_on.set()
    with anyio.fail_after(30):
        await _free(evaluators)


async def test_what_waits_for_a_process_and_is_left_is_not_done(tmp_path: Path) -> None:
    one, made = Evaluators(1), [tmp_path / str(number) for number in range(3)]
    try:
        async with anyio.create_task_group() as first:
            first.start_soon(one.acall, ALLOWANCE, time.sleep, 3600)
            while not one.busy:  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.001)
            async with anyio.create_task_group() as waiting:
                for each in made:
                    waiting.start_soon(one.acall, ALLOWANCE, os.mkdir, str(each))
                while anyio.to_thread.current_default_thread_limiter().borrowed_tokens < 4:  # noqa: ASYNC110 - as above
                    await anyio.sleep(0.001)
                waiting.cancel_scope.cancel()
            first.cancel_scope.cancel()
        assert await one.acall(ALLOWANCE, os.getpid) > 0
        assert not [each for each in made if each.exists()]
    finally:
        one.close()


async def test_what_cannot_be_handed_over_leaves_the_process_free(evaluators: Evaluators) -> None:
    first, _ = await evaluators.afirst(ALLOWANCE, process_and_rest, "")
    await _free(evaluators)
    with pytest.raises(TypeError):
        await evaluators.afirst(ALLOWANCE, large_and_process, threading.Lock())
    assert evaluators.busy == 0 and await evaluators.acall(ALLOWANCE, os.getpid) == first


def process_error(_: int) -> int:
    raise KeyError("what is wrong")


async def test_the_memory_of_who_asks_is_not_that_of_the_evaluation(evaluators: Evaluators) -> None:
    """A notebook may hold gigabytes when it starts one, which then fails of something else."""
    held = b"x" * (384 << 20)
    with pytest.raises(KeyError, match="what is wrong"):
        await evaluators.acall(Allowance(max_memory_bytes=2 * len(held) - (64 << 20)), process_error, len(held))


_kept: list[bytes] = []


def keep(size: int) -> int:
    """Keeps so much in its process, as what it learned of a large repository."""
    _kept.append(b"x" * size)
    return os.getpid()


async def test_what_a_larger_request_left_is_not_counted_against_a_smaller_one(evaluators: Evaluators) -> None:
    large, small = Allowance(max_memory_bytes=2 << 30), Allowance(max_memory_bytes=256 << 20)
    full = await evaluators.acall(large, keep, 300 << 20)
    assert await evaluators.acall(large, os.getpid) == full
    lean = await evaluators.acall(small, os.getpid)
    assert lean != full
    assert await evaluators.acall(large, os.getpid) == lean


async def test_the_environment_is_that_of_who_asks(evaluators: Evaluators, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("one", "other", "other"):
        monkeypatch.setenv("WB_TOLD", value)
        assert await evaluators.acall(ALLOWANCE, os.getenv, "WB_TOLD") == value
    monkeypatch.delenv("WB_TOLD")
    assert await evaluators.acall(ALLOWANCE, os.getenv, "WB_TOLD") is None


def _stack(name: str) -> Stack:
    return discover(SAMPLE).select(name)


@pytest.mark.parametrize("name", ["checkout/prod", "orders/prod"])
async def test_what_another_process_compiles_is_what_this_one_does(name: str) -> None:
    stack = _stack(name)
    here, there = (
        compile_now(stack, CompileInputs()),
        await shipped.compile_stack(stack, CompileInputs(), SAMPLE, ALLOWANCE),
    )
    assert there.spec == here.spec
    assert (there.spec.origins, there.spec.secrets) == (here.spec.origins, here.spec.secrets)
    assert (there.diagnostics, there.dependencies, there.log) == (here.diagnostics, here.dependencies, here.log)
    for each in here.spec:
        assert list(there.spec.get(each.id).attributes) == list(each.attributes)  # type: ignore[union-attr] # equal
        for key in each.attributes:
            assert there.spec.chain(each.id, (key,)) == here.spec.chain(each.id, (key,)) != ()


def test_everything_a_spec_may_hold_arrives() -> None:
    one, other = KubernetesId("v1", "ConfigMap", "", "a:b"), TerraformId("hashicorp", "random", "random_id", "x")
    day = datetime.date(2026, 1, 2)
    values = {"yes": True, "one": 1, "half": 0.5, "text": "\ud800 ü", "nothing": None, "all": [{}, []], "day": day}
    resources = (
        Resource(one, RuntimeType.KUBERNETES, values),
        Resource(other, RuntimeType.TERRAFORM, {"large": 1 << 200}, (one,), {"provider": "x"}),
    )
    origins: dict[KubernetesId | TerraformId, Origin] = {
        one: Origin(0, ()),
        other: Origin(1, ("resources", 2, "attributes")),
    }
    stack = _stack("checkout/prod")
    spec = Spec(str(stack.path), resources, origins, None, frozenset({"a secret"}))
    compiled = CompiledStack(spec, (), frozenset(), 0.5, "said")
    arrived = packing.unpacked(packing.packed(compiled, ["/b", "/a"]), stack, lambda document, path: ())
    assert repr(arrived.spec.resources) == repr(resources)
    assert [repr(each.attributes) for each in arrived.spec] == [repr(each.attributes) for each in resources]
    assert arrived.spec == spec and arrived.spec.origins == origins and arrived.spec.secrets == spec.secrets
    assert (arrived.seconds, arrived.log) == (0.5, "said") and arrived.dependencies == {Path("/a"), Path("/b")}


def stack_and_death(of_repository: bytes, *rest: Any) -> Iterator[Any]:
    """Sends the Spec, and dies before its provenance."""
    yield next(evaluating.compiled(of_repository, *rest))
    os.kill(os.getpid(), signal.SIGKILL)


async def test_provenance_that_is_lost_is_not_told_as_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "COMPILED", stack_and_death)
    stack = _stack("checkout/prod")
    compiled = await shipped.compile_stack(stack, CompileInputs(), SAMPLE, ALLOWANCE)
    with pytest.raises(CompileFailed, match="the process that evaluated it died"):
        compiled.spec.await_provenance()
    with pytest.raises(CompileFailed, match="the process that evaluated it died"):
        compiled.spec.chain(compiled.spec.resources[0].id)


async def test_a_finding_arrives_as_it_is(tmp_path: Path) -> None:
    for name, text in (
        ("project.yaml", "name: web\n"),
        ("dev/stack.yaml", "name: dev\n"),
        ("dev/main.k", "a: int = ''"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (stack,) = discover(tmp_path).stacks()
    with pytest.raises(CompileFailed) as failed:
        await shipped.compile_stack(stack, CompileInputs(), tmp_path, ALLOWANCE)
    with pytest.raises(CompileFailed) as expected:
        compile_now(stack, CompileInputs())
    assert (failed.value.rendered, failed.value.where) == (expected.value.rendered, expected.value.where)

"""From the bytes of a request to those of its answer: JSON-RPC 2.0, with batches, notifications and cancelling.

Whatever is sent, the answer is an answer: what cannot be read, is too deep, too much or not there is an error with a
code, and the server goes on. `$/cancelRequest` with an id ends a call of the same client; `$/progress` tells of events.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self

import anyio

from kcl.bounds import LimitError, check_depth, check_json
from kcl.compat.json_form import BadMessage, message
from kcl.records import dataclass, field
from workbench.serving import official
from workbench.serving.errors import (
    BUSY,
    CANCELLED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TIMED_OUT,
    CallFailed,
    call_failed,
)
from workbench.serving.methods import METHODS, Changes, Method
from workbench.serving.plans import Plans
from workbench.serving.verbs import Allowed, Work
from workbench.session import Session

MOST_BYTES: Final = 16_000_000
MOST_IN_A_BATCH: Final = 100
MOST_AT_ONCE: Final = 16
CALL_SECONDS: Final = 900.0
"""A call that takes longer is ended. A watch has a time of its own, and so has each step of an apply."""
_CANCEL: Final = "$/cancelRequest"
_PROGRESS: Final = "$/progress"
_ABSENT: Final = object()

Id = str | int | float | None
Tell = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _Running:
    work: Work
    scope: anyio.CancelScope
    is_watch: bool
    was_cancelled: bool = False


@dataclass(slots=True, eq=False)
class Client:
    """Who asks: the calls of one connection. `tell` sends a notification, None where none are taken.

    `has_ended`: nothing more is asked, and nobody waits for what has no end of its own.
    """

    tell: Tell | None = None
    has_ended: bool = False
    running: dict[Id, _Running] = field(default_factory=dict)


class Calls:
    """Answers requests over one repository. `say` is for whoever looks after the server."""

    def __init__(
        self, open_session: Callable[[], Session], allowed: Allowed, plans: Plans, say: Callable[[str], None]
    ) -> None:
        self._open, self._allowed, self._plans, self._say = open_session, allowed, plans, say
        self._count = 0
        self._processes = official.Processes()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the processes that wait for calls."""
        await self._processes.close()

    async def answer(self, raw: bytes, client: Client) -> bytes | None:
        """Answers a request or a batch; None where there is nothing to answer, as for notifications."""
        try:
            sent = parsed(raw)
        except CallFailed as problem:
            return encoded(_failed(None, problem))
        if not isinstance(sent, list):
            reply = await self._one(sent, client)
            return None if reply is None else encoded(reply)
        if not sent or len(sent) > MOST_IN_A_BATCH:
            said = f"a batch has {MOST_IN_A_BATCH} requests at most" if sent else "the batch is empty"
            return encoded(_failed(None, CallFailed(INVALID_REQUEST, said)))
        replies: dict[int, dict[str, Any]] = {}

        async def one(number: int, each: object) -> None:
            found = await self._one(each, client)
            if found is not None:
                replies[number] = found

        async with anyio.create_task_group() as tasks:
            for number, each in enumerate(sent):
                tasks.start_soon(one, number, each)
        return encoded([replies[number] for number in sorted(replies)]) if replies else None

    async def call(self, method: str, params: object, client: Client, id_: Id = None) -> Any:
        """Makes one call; raises `CallFailed`."""
        found = METHODS.get(method)
        if found is None and not official.is_official(method):
            raise CallFailed(METHOD_NOT_FOUND, f"there is no method {method!r}", hint="wb.methods lists them")
        if self._count >= MOST_AT_ONCE:
            raise CallFailed(BUSY, f"{self._count} calls are being answered, and no more are at once: ask again later")
        self._count += 1
        try:
            return await self._bounded(found, method, params, client, id_)
        finally:
            self._count -= 1

    async def stop(self, client: Client) -> None:
        """Stops every call of a client, in order where a call knows how."""
        for each in tuple(client.running.values()):
            await _stop(each)

    async def end_watches(self, client: Client) -> None:
        """After the last request of a client: what it asked is answered, but nothing is watched for it any more."""
        client.has_ended = True
        for each in tuple(client.running.values()):
            if each.is_watch:
                await _stop(each)

    async def _one(self, sent: object, client: Client) -> dict[str, Any] | None:
        id_: Id = None
        try:
            method, params, id_, is_notification = understood(sent)
        except CallFailed as problem:
            return _failed(_id_of(sent), problem)
        if method == _CANCEL and is_notification:
            await _cancel(client, params)
            return None
        try:
            result = await self.call(method, params, client, None if is_notification else id_)
        except CallFailed as problem:
            return None if is_notification else _failed(id_, problem)
        return None if is_notification else {"jsonrpc": "2.0", "id": id_, "result": result}

    async def _bounded(self, found: Method | None, method: str, params: object, client: Client, id_: Id) -> Any:
        if id_ is not None and id_ in client.running:
            raise CallFailed(INVALID_REQUEST, f"a request with the id {id_!r} is still being answered")
        is_endless = found is not None and found.streams

        async def tell(event: Mapping[str, Any]) -> None:
            if client.tell is not None and id_ is not None:
                await client.tell({"jsonrpc": "2.0", "method": _PROGRESS, "params": {"id": id_, "event": event}})

        work = Work(self._open, self._allowed, self._plans, tell, self._say)
        deadline = float("inf") if is_endless else anyio.current_time() + CALL_SECONDS
        is_watch = found is not None and found.streams and found.changes is Changes.NOTHING
        running = _Running(work, anyio.CancelScope(deadline=deadline), is_watch)
        if is_watch and client.has_ended:
            await _stop(running)
        if id_ is not None:
            client.running[id_] = running
        try:
            with running.scope:
                return await self._done(found, method, params, work)
        finally:
            client.running.pop(id_, None)
            if work.left:
                self._say(f"{method} ended before its end: what was begun may or may not have been done; {work.left}")
        left = {"mayHaveBeenDone": work.left} if work.left else {}
        if running.was_cancelled:
            raise CallFailed(CANCELLED, "the request was cancelled", **left)
        raise CallFailed(TIMED_OUT, f"the call took longer than {CALL_SECONDS:g} s", **left)

    async def _done(self, found: Method | None, method: str, params: object, work: Work) -> Any:
        try:
            if found is None:
                return await official.answer(work, self._processes, method, params)
            return await found.answer(work, message(found.takes, {} if params is None else params))
        except BadMessage as problem:
            raise CallFailed(INVALID_PARAMS, str(problem)) from None
        except (Exception, BaseExceptionGroup) as error:
            problem_of_call = call_failed(error)
            if work.left:
                problem_of_call.data["mayHaveBeenDone"] = work.left
            raise problem_of_call from None


async def _cancel(client: Client, params: object) -> None:
    id_ = params.get("id") if isinstance(params, Mapping) else None
    if isinstance(id_, str | int | float) and (found := client.running.get(id_)) is not None:
        await _stop(found)


async def _stop(running: _Running) -> None:
    running.was_cancelled = True
    if running.work.stop is not None:
        await running.work.stop()
    else:
        running.scope.cancel()


def parsed(raw: bytes) -> Any:
    """The JSON that was sent; raises `CallFailed`."""
    if len(raw) > MOST_BYTES:
        raise too_large()
    try:
        check_json(raw)
        sent = json.loads(raw.decode("utf-8-sig"), parse_constant=_no_number)
        check_depth(sent)
    except UnicodeDecodeError:
        raise CallFailed(PARSE_ERROR, "the request is not UTF-8") from None
    except LimitError as problem:
        raise CallFailed(PARSE_ERROR, f"the request {problem.problem}") from None
    except RecursionError:
        raise CallFailed(PARSE_ERROR, "the request is nested too deep") from None
    except ValueError as problem:
        # a number of thousands of digits is refused by Python in words of its own
        said = f"{problem.msg} at character {problem.pos}" if isinstance(problem, json.JSONDecodeError) else "a number"
        raise CallFailed(PARSE_ERROR, f"the request is not JSON: {said}") from None
    return sent


def too_large() -> CallFailed:
    return CallFailed(PARSE_ERROR, f"the request is larger than {MOST_BYTES} bytes")


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def understood(sent: object) -> tuple[str, object, Id, bool]:
    """Method, parameters, id, and whether it is a notification; raises `CallFailed`."""
    if not isinstance(sent, Mapping):
        raise CallFailed(INVALID_REQUEST, "a request needs to be an object")
    if sent.get("jsonrpc") != "2.0":
        raise CallFailed(INVALID_REQUEST, 'a request needs "jsonrpc": "2.0"')
    if not isinstance(sent.get("method"), str):
        raise CallFailed(INVALID_REQUEST, "a request needs a method, as a text")
    id_ = sent.get("id", _ABSENT)
    if id_ is not _ABSENT and _id_of(sent) is None and id_ is not None:
        raise CallFailed(INVALID_REQUEST, "the id of a request needs to be a text or a number")
    params = sent.get("params")
    if params is not None and not isinstance(params, Mapping):
        raise CallFailed(INVALID_PARAMS, "params needs to be an object, by names")
    return sent["method"], params, _id_of(sent), id_ is _ABSENT


def _id_of(sent: object) -> Id:
    id_ = sent.get("id") if isinstance(sent, Mapping) else None
    return id_ if isinstance(id_, str | int | float) and not isinstance(id_, bool) else None


def _failed(id_: Id, problem: CallFailed) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": problem.document()}


def encoded(reply: object) -> bytes:
    """As one line of ASCII: characters that a terminal takes for orders are escaped with all others."""
    return json.dumps(reply, default=str).encode()

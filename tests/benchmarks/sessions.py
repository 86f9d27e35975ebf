"""What somebody waits for who works through a session, as screens, notebooks and commands do: everything included.

That is the event loop, the process that evaluates and what goes between the two, which a call of the compiler leaves
out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from runtimes.base import value_at
from tests.benchmarks.edits import Edit
from workbench.engine.compiled import CompileInputs
from workbench.engine.spec import Spec
from workbench.session import Session
from workbench.settings import Settings

T = TypeVar("T")


class Resident:
    """An event loop that stands still between calls and keeps what it has, as that of a screen does between keys.

    One task does all the work: threads that wait for others belong to the task they were started from.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._asked: asyncio.Queue[tuple[Coroutine[Any, Any, Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._serving = self._loop.create_task(self._serve())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        answer: asyncio.Future[T] = self._loop.create_future()
        self._asked.put_nowait((work, answer))
        return self._loop.run_until_complete(answer)

    def close(self) -> None:
        self._serving.cancel()
        self._loop.run_until_complete(asyncio.gather(self._serving, return_exceptions=True))
        self._loop.close()

    async def _serve(self) -> None:
        while True:
            work, answer = await self._asked.get()
            try:
                answer.set_result(await work)
            except Exception as error:
                answer.set_exception(error)


class Editor:
    """Somebody who tries one edit after the other in a session, without touching the file."""

    def __init__(self, root: Path, folder: Path, settings: tuple[str, ...], state: Path) -> None:
        """`folder` is that of the stack, `state` is for what the session keeps."""
        self._loop = Resident()
        self._session = Session.open(root, settings=Settings(state_dir=state, cache_dir=state))
        self._stack = next(each for each in self._session.tree().stacks() if each.directory == folder)
        self._whatif = self._session.whatif(self._stack, CompileInputs(settings=settings))

    def see(self, edit: Edit, number: int) -> None:
        """Makes an edit, and waits for a Spec that has the new value."""
        spec = self._loop.run(self._spec_of(edit, number))
        assert _deployed(spec, edit) == edit.other(number), "the Spec is not that of the edit"

    def close(self) -> None:
        self._loop.run(self._session.__aexit__(None, None, None))
        self._loop.close()

    async def _spec_of(self, edit: Edit, number: int) -> Spec:
        tried = self._whatif.edit(edit.name, edit.edited(number))
        compiled = await self._session.compile(self._stack, tried.inputs)
        return compiled.spec


def _deployed(spec: Spec, edit: Edit) -> object:
    """The value in the Spec that an edit is of."""
    document, path = edit.reached
    for resource in spec:
        origin = spec.origins[resource.id]
        if origin.document == document and path[: len(origin.prefix)] == origin.prefix:
            return value_at(resource.attributes, path[len(origin.prefix) :])
    return None

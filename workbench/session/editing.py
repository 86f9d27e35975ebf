"""Edits of the source by the fields they set: made, proven, and what they do to all stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import replace
from workbench.project import Stack, WorkbenchError, meant
from workbench.session.changing import Changing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import FieldPath, KubernetesId
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.impact import Compiled, ImpactReport, StackImpact
    from workbench.engine.masking import Seal
    from workbench.engine.setting import FieldSet, Where
    from workbench.engine.whatif import WhatIf


class Editing(Changing):
    """Sets fields of the output at the lines that decide them."""

    async def set_fields(
        self,
        stack: Stack,
        resource: str,
        values: Mapping[str, str | None],
        inputs: CompileInputs | None = None,
        *,
        where: Where | None = None,
    ) -> tuple[WhatIf, tuple[FieldSet, ...]]:
        """Returns edits after which the fields of a resource have the values, written nowhere yet; see `setting`.

        `resource` is an id or Kind/name, `values` texts by paths, None for a field to take away.
        Raises `EditFailed` where one of them can't be had.
        """
        from runtimes.base import format_path
        from workbench.engine.errors import EditFailed
        from workbench.engine.setting import Where as Places
        from workbench.engine.setting import assign, missed
        from workbench.present import explain, paths

        edits = self.whatif(stack, inputs)
        found = explain.find((await self.compile(stack, edits.inputs)).spec, resource)
        done: list[FieldSet] = []
        for path, text in values.items():
            edits, one = await assign(
                edits,
                lambda given: self.compile(stack, given),
                stack,
                found.id,
                paths.parse(path),
                text,
                where or Places.AUTO,
            )
            done.append(one)
        if len(done) > 1 and (lost := missed((await self.compile(stack, edits.inputs)).spec, done)) is not None:
            raise EditFailed(
                f"{format_path(lost.path)} would not keep its value: one line sets it and another of these fields",
                where=lost.place,
                hint="give both one value, or edit the file instead",
            )
        return edits, tuple(done)

    def leave_to_others(
        self,
        stack: Stack,
        id_: KubernetesId,
        path: FieldPath,
        reason: str,
        *,
        manager: str = "",
        of_stack: bool = False,
    ) -> WhatIf:
        """Returns the edit that leaves a field of one object to others, by a rule of the project or the stack.

        It is written nowhere yet. Raises `BrokenFile` or `EditFailed` where there can be no such rule.
        """
        from runtimes.base import format_path, parse_path
        from workbench.engine.errors import EditFailed
        from workbench.project.ignore_writing import with_rule

        written = format_path(path)
        if parse_path(written) != path:
            raise EditFailed("this field can't be named in a rule", hint="name a field that it is in")
        file = stack.directory / "stack.yaml" if of_stack else stack.project_directory / "project.yaml"
        kind = f"{id_.group}/{id_.kind}" if id_.group else id_.kind
        rule = {"kind": kind, "name": id_.name, "path": written, "manager": manager, "reason": reason.strip()}
        edits = self.whatif(stack)
        return edits.edit(file, with_rule(file, edits.text(file), {key: text for key, text in rule.items() if text}))

    async def effect(self, edits: WhatIf) -> ImpactReport:
        """Returns what edits do to every stack that reads one of their files, by compiling with and without them."""
        import anyio

        from workbench.engine.impact import ImpactReport, State
        from workbench.engine.masking import Seal
        from workbench.engine.worker_pools import cores

        tree = self.tree()
        touched = set(self.affected(edits.files).stacks)
        stacks = [each for each in tree.stacks() if each.path in touched]
        limiter, seal = anyio.CapacityLimiter(cores()), Seal.random()
        impacts: dict[int, StackImpact] = {}

        async def one(number: int, stack: Stack) -> None:
            async with limiter:
                impacts[number] = await self._effect_on(stack, edits, seal)

        async with anyio.create_task_group() as tasks:
            for number, stack in enumerate(stacks):
                tasks.start_soon(one, number, stack)
        every = [impacts[number] for number in range(len(stacks))]
        shown = tuple(each for each in every if each.reads or each.state is not State.SAME)
        total = sum(1 for _ in tree.stacks())
        return ImpactReport(self.root, "the files", "this edit", edits.files, shown, total)

    async def _effect_on(self, stack: Stack, edits: WhatIf, seal: Seal) -> StackImpact:
        import anyio.to_thread

        from workbench.engine.impact import compare

        before = await self._side(stack, edits.base, "before")
        reading = {} if before.failure else meant(before.read, edits.files)
        before = replace(before, read=before.read.union(file for file, by in reading.items() if by))
        is_read = any(reading.values())
        after = await self._side(stack, edits.inputs, "after") if is_read or before.failure else before
        return await anyio.to_thread.run_sync(compare, before, after, edits.files, seal)

    async def _side(self, stack: Stack, inputs: CompileInputs, name: str) -> Compiled:
        from workbench.engine.impact import Compiled, Failure
        from workbench.engine.read_files import read_by

        side = Compiled(stack, self.tree().clusters)
        try:
            compiled = await self.compile(stack, inputs)
        except WorkbenchError as error:
            failure = Failure(name, error.message, error.where, error.hint)
            return replace(side, failure=failure, read=self._read.get(stack.path, frozenset()))
        own, shared = read_by(stack, compiled.dependencies)
        return replace(side, spec=compiled.spec, read=frozenset(map(Path, own | shared)))

    def write_files(self, stack: Stack, edits: WhatIf) -> tuple[Path, ...]:
        """Writes edited files, as `WhatIf.write` does. Raises `Refused` where nothing of the stack may be written."""
        self.refuse_writing(stack)
        return edits.write()

    def refuse_writing(self, stack: Stack) -> None:
        """Raises `Refused` in a read-only session, and for a stack that the repository makes read-only."""
        from workbench.engine.errors import Refused

        if why := self.read_only(stack):
            raise Refused([why], where=stack.name)

    async def write_edits(self, stack: Stack, edits: WhatIf, expected: Sequence[FieldSet]) -> None:
        """Writes the files and compiles them once more, as they are on disk.

        Raises `EditFailed` where a field does not have its value then; the files are as before. Raises `Refused` where
        nothing of the stack may be written.
        """
        from workbench.engine.errors import EditFailed
        from workbench.engine.setting import missed

        self.write_files(stack, edits)
        try:
            is_wrong = missed((await self.compile(stack, edits.base)).spec, expected) is not None
        except BaseException:
            edits.restore()
            raise
        if is_wrong:
            edits.restore()
            raise EditFailed(
                "compiled from the disk, a field does not have the value: the files are as before",
                where=stack.name,
                hint="somebody else may be editing them: try again",
            )

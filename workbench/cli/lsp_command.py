"""`wb lsp`: the language server of `kcl lsp`, which also knows the stacks of the repository."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcl.records import replace
from kcl.terminal import harmless
from kcl.tools.lsp.repositories import LiveField, NotLooked, Place, Setting, StackSettings
from workbench.cli.stacks import compile_options, inputs, workdir_option

if TYPE_CHECKING:
    from runtimes.base import FieldPath
    from workbench.cli.context import Context
    from workbench.engine.compiled import CompiledStack, CompileInputs
    from workbench.project import Stack
    from workbench.session import Session


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="serve over standard input and output, which is the only way there is")
@click.option(
    "--live",
    is_flag=True,
    help="ask clusters for the live values of fields that a line decides, and show them beside it",
)
@compile_options
@workdir_option
@click.pass_context
def command(
    ctx: click.Context,
    stdio: bool,
    live: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
) -> None:
    """Serve an editor as `kcl lsp` does, and report what lines do in the stacks of the repository.

    Stacks are compiled while nobody types, with the unsaved texts of the editor. Nothing is written, and no cluster is
    asked anything without `--live`.
    """
    from kcl.tools.lsp import main

    context: Context = ctx.obj
    given, session = inputs(options, settings), context.open(workdir=workdir)
    reader = StackReader(session, given, live=live)
    status = main(
        [],
        cwd=session.root,
        stdin=sys.stdin,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environment=os.environ,
        repository=reader,
        clusters=reader if live else None,
    )
    ctx.exit(status)


class StackReader:
    """The `Repository` of the language server, and its `Clusters`: stacks, compiled by a session."""

    def __init__(self, session: Session, given: CompileInputs, *, live: bool = False) -> None:
        self._session, self._given, self._is_live = session, given, live
        self._stacks: dict[str, Stack] = {}

    async def stacks(self) -> Sequence[str]:
        import anyio

        from workbench.project import WorkbenchError

        try:
            tree = await anyio.to_thread.run_sync(self._session.tree)
        except (OSError, WorkbenchError) as problem:
            raise NotLooked(str(problem)) from problem
        self._stacks = {each.name: each for each in tree.stacks()}
        return tuple(self._stacks)

    async def look(self, stack: str, texts: Mapping[str, str]) -> StackSettings:
        import anyio

        from workbench.project import WorkbenchError

        given = replace(self._given, overlay=self._inside(texts))
        try:
            compiled = await self._session.compile(self._stacks[stack], given)
            return await anyio.to_thread.run_sync(settings_of, compiled, self._is_live)
        except (OSError, WorkbenchError) as problem:
            raise NotLooked(str(problem)) from problem

    async def effect(self, texts: Mapping[str, str]) -> str:
        from datetime import UTC, datetime

        from workbench.engine.whatif import WhatIf
        from workbench.present import impact
        from workbench.present.glyphs import UNICODE
        from workbench.project import WorkbenchError

        inside = self._inside(texts)
        try:
            edits = WhatIf(self._session.root, self._given)
            for path, text in inside.items():
                edits = edits.edit(path, text)
            report = await self._session.effect(edits)
        except (OSError, WorkbenchError) as problem:
            raise NotLooked(str(problem)) from problem
        lines = [str(each) for each in impact.lines(report, UNICODE, datetime.now(UTC), live_hint=False)]
        outside = (each for each in texts if Path(each) not in inside)
        lines += [f"{harmless(each)}: not in the repository, and not compared" for each in outside]
        return "".join(f"{each}\n" for each in lines)

    async def live(
        self, stack: str, texts: Mapping[str, str], fields: Collection[tuple[str, str]]
    ) -> Mapping[tuple[str, str], tuple[LiveField, ...]]:
        from workbench.cli.lsp_live import fields_of
        from workbench.project import WorkbenchError

        found = self._stacks.get(stack)
        if found is None:
            raise NotLooked("the stack is not there any more")
        given = replace(self._given, overlay=self._inside(texts))
        try:
            return await fields_of(self._session, found, await self._session.compile(found, given), fields)
        except (OSError, WorkbenchError) as problem:
            raise NotLooked(self._session.masked(str(problem))) from problem

    async def difference(self, stacks: Sequence[str], texts: Mapping[str, str], path: str, line: int) -> str:
        from workbench.cli.lsp_live import difference

        given = replace(self._given, overlay=self._inside(texts))
        found = [self._stacks[each] for each in stacks if each in self._stacks]
        return await difference(self._session, found, lambda stack: self._session.compile(stack, given), path, line)

    def _inside(self, texts: Mapping[str, str]) -> dict[Path, str]:
        root = str(self._session.root) + os.sep
        return {Path(path): text for path, text in texts.items() if path.startswith(root)}


def settings_of(compiled: CompiledStack, with_values: bool = False) -> StackSettings:
    """The fields of a Spec with the places behind them; what nobody wrote, and what is empty around it, is left out."""
    from runtimes.base import format_path
    from workbench.cli.lsp_live import values_of
    from workbench.engine.scrubbing import masked_text

    spec = compiled.spec

    def shown(text: str) -> str:  # a secret may also be a key, or part of a name
        return masked_text(text, spec.secrets, spec.rules) if spec.secrets else text

    found = []
    for resource in spec:
        name = shown(str(resource.id))
        value = values_of(spec, resource) if with_values else _untold
        for path in _leaves(resource.attributes):
            chain = spec.own_chain(resource.id, path)
            if chain:
                places = tuple(Place(str(each.file), each.line, each.column) for each in chain)
                found.append(Setting(name, shown(format_path(path)), places, value(path)))
    return StackSettings(tuple(found), frozenset(map(str, compiled.dependencies)))


def _untold(path: FieldPath) -> str:
    return ""


def _leaves(value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    match value:
        case Mapping() if value:
            for key, each in value.items():
                yield from _leaves(each, (*path, key))
        case list() if value:
            for index, each in enumerate(value):
                yield from _leaves(each, (*path, index))
        case _:
            yield path

"""A recovery program → its document: one KCL file with what it imports, told the incident by options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from kcl import api
from kcl.diagnostics import position
from workbench.engine.compile import CompileFailed, CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.recovery import document
from workbench.engine.recovery.document import RecoveryDocument


async def compile_document(
    file: Path, inputs: CompileInputs, *, plugins: api.PluginFinder | None = None, cache: api.ParseCache | None = None
) -> RecoveryDocument:
    """Compiles on a worker thread. Raises `EngineError`, `CompileFailed` (the KCL is wrong) or `InvalidRecovery`."""
    work = partial(compile_now, file, inputs, plugins=plugins, cache=cache)
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def compile_now(
    file: Path, inputs: CompileInputs, *, plugins: api.PluginFinder | None = None, cache: api.ParseCache | None = None
) -> RecoveryDocument:
    """As `compile_document`, here and now."""
    if not file.is_file() and file not in inputs.overlay:
        raise EngineError("there is no such file", where=str(file), hint="name a KCL file such as ops/AppRecovery.k")
    overlay = {str(path): text for path, text in inputs.overlay.items()}
    try:
        result = api.run(
            [str(file)],
            work_dir=file.parent,
            settings=list(inputs.settings),
            options={name: api.argument_value(text) for name, text in inputs.options.items()},
            file_system=api.OverlayFileSystem(api.OsFileSystem(), overlay),
            cache=cache,
            plugins=plugins,
        )
    except api.ProgramError as error:
        raise _failed(error, file) from None
    return document.find(result.documents, where=str(file))


def _failed(error: api.ProgramError, file: Path) -> CompileFailed:
    first = error.diagnostics[0]
    where = str(file)
    if first.primary is not None:
        place = position(error.sources.get(first.primary.path, ""), first.primary.start)
        where = f"{first.primary.path}:{place.line}:{place.column}"
    message = f"{first.code.title}: {first.message}"
    return CompileFailed(message, where=where, diagnostics=error.diagnostics, rendered=error.render())

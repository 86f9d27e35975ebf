"""A recovery program → its document: one KCL file with what it imports, told the incident by options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from kcl import api
from workbench.engine.compile import CompileInputs, failed
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
            needs_sums=True,
        )
    except api.ProgramError as error:
        raise failed(error, str(file), inputs) from None
    return document.find(result.documents, where=str(file))

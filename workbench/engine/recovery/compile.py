"""A recovery program → its document: one KCL file with what it imports, told the incident by options."""

from __future__ import annotations

from pathlib import Path

from kcl import api
from workbench.engine.compile import CompileInputs, failed, read_from
from workbench.engine.errors import EngineError
from workbench.engine.recovery import document
from workbench.engine.recovery.document import RecoveryDocument
from workbench.project import named, top


def compile_now(
    file: Path, inputs: CompileInputs, *, plugins: api.PluginFinder | None = None, cache: api.ParseCache | None = None
) -> RecoveryDocument:
    """Compiles here and now, in this process and without limits; see `workbench.engine.shipped`.

    Raises `EngineError`, `CompileFailed` (the KCL is wrong) or `InvalidRecovery`.
    """
    if not file.is_file() and file not in inputs.overlay:
        raise EngineError("there is no such file", where=str(file), hint="name a KCL file such as ops/AppRecovery.k")
    if file not in inputs.overlay:
        file = named(file, Path.cwd())
    file_system = read_from(top(file.parent), file.parent, inputs)
    try:
        result = api.run(
            [str(file)],
            work_dir=file.parent,
            settings=list(inputs.settings),
            options={name: api.argument_value(text) for name, text in inputs.options.items()},
            file_system=file_system,
            cache=cache,
            plugins=plugins,
            needs_sums=True,
        )
    except api.ProgramError as error:
        raise failed(error, str(file), inputs) from None
    return document.find(result.documents, where=str(file))

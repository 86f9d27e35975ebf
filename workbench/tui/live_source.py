"""From a live object back to the KCL line that says it, where the labels of a stack are on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio.to_thread

from runtimes.base import FieldPath, KubernetesId, RuntimeFailure
from workbench.engine.live import owners
from workbench.project import WorkbenchError
from workbench.tui.later import later
from workbench.tui.state import StackState

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.tui.app import WorkbenchApp
    from workbench.tui.frame import Frame

Open = Callable[[StackState, "Path", int], None]


def open_line(screen: Frame, labels: Mapping[str, str], id_: KubernetesId, path: FieldPath, do: Open) -> None:
    """Finds the line of a field, or of what is around it, and does something with it; says why there is none."""
    app = screen.workbench
    stack = owners(app.states)(labels)
    if stack is None:
        app.notify("it carries the labels of no stack here: no KCL line is known for it", severity="warning")
        return
    screen.run_worker(later(_open, app, app.states[stack], id_, path, do), group="source", exclusive=True)


async def _open(app: WorkbenchApp, state: StackState, id_: KubernetesId, path: FieldPath, do: Open) -> None:
    try:
        compiled = state.compiled or await app.session.compile(state.stack, state.inputs)
    except (WorkbenchError, RuntimeFailure) as error:
        app.notify(str(error), severity="warning")
        return
    await anyio.to_thread.run_sync(compiled.spec.await_provenance)
    for each in compiled.spec:
        if _is_said(each.id, id_) and (chain := compiled.spec.chain(each.id, path)):
            do(state, chain[0].file, chain[0].line)
            return
    app.notify(f"the configuration of {state.stack.name} does not name it any more", severity="warning")


def _is_said(said: object, id_: KubernetesId) -> bool:
    """Whether a resource of the configuration is this object: by any version, and where its place is chosen later."""
    return (
        isinstance(said, KubernetesId)
        and (said.group, said.kind, said.name) == (id_.group, id_.kind, id_.name)
        and said.namespace in ("", id_.namespace)
    )

"""The boundary of a task that screens run beside themselves: what goes wrong there is shown, and ends nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from runtimes.base import RuntimeFailure
from workbench.present import errors
from workbench.project import WorkbenchError
from workbench.tui.state import Trouble


async def tried(do: Callable[[], Awaitable[object]]) -> Trouble | None:
    """Returns what went wrong, None where nothing did; what is no failure of ours is shown as a bug."""
    try:
        await do()
    except (WorkbenchError, RuntimeFailure) as error:
        return error
    except Exception as error:
        return errors.Bug(error)
    return None

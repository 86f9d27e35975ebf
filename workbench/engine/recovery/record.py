"""What a recovery did, kept so that doing it again does nothing.

The first line about a step is written before its write is sent. A run that is killed in between leaves a step that was
started: nobody knows whether it happened, so it is not started again.
"""

from __future__ import annotations

from typing import Protocol

from workbench.engine.recovery.values import StepResult


class RecoveryLog(Protocol):
    def record(self, result: StepResult) -> None:
        """Blocks until the state is safe. Raises `ReleaseFailure`; then no further step is started."""

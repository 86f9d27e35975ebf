"""How a recovery reaches its clusters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from runtimes.base import LiveOperations

Reach = Callable[[str], Awaitable[LiveOperations]]
"""Gives the operations of a cluster by its name; raises `RuntimeFailure` or `WorkbenchError`."""

"""Evaluations that end: how long one may take and how much memory its process may hold, and who sees to it.

`allowance` says how much there is, `watchdog` ends the process that takes more, `supervising` runs a command in a
process that can be ended from outside whatever it does. Where in the program it was is told by
`kcl.evaluator.whereabouts`.
"""

from kcl.bounded.allowance import (
    DEADLINE_SECONDS,
    LEAST_MEMORY_BYTES,
    MAX_MEMORY_BYTES,
    Allowance,
    BadAllowance,
    in_force,
    memory_text,
    parse_deadline,
    parse_memory,
)

__all__ = [
    "DEADLINE_SECONDS",
    "LEAST_MEMORY_BYTES",
    "MAX_MEMORY_BYTES",
    "Allowance",
    "BadAllowance",
    "in_force",
    "memory_text",
    "parse_deadline",
    "parse_memory",
]

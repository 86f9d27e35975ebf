"""Where releases are kept: one folder a stack on this machine.

store      release records, newest first, written atomically; the key that seals their secrets
lock       one worker a stack at a time
encoding   release ↔ JSON
checkouts  which checkout records belong to, and what others on this machine have of a stack
files      writing so that a crash, or a full disk, leaves the old or the new and nothing else
"""

from workbench.release.lock import Lock
from workbench.release.store import ReleaseJournal, ReleaseStore

__all__ = ["Lock", "ReleaseJournal", "ReleaseStore"]

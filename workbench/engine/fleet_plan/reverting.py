"""What a run did to a stack, and whether that can be taken back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.records import dataclass
from workbench.engine.events import Action
from workbench.engine.release import Phase, Release


@dataclass(frozen=True, slots=True)
class Concern:
    """A stack that a run changed. `why` it can't be given back what it had, empty where it can; `is_new` where that is
    nothing at all."""

    why: str = ""
    is_new: bool = False


def concern_of(releases: Sequence[Release], run: str) -> Concern | None:
    """Returns what taking back a run means for a stack, by its releases, the newest first.

    None where the run did not change it, or where it is again as it was before.
    """
    own = [each for each in releases if each.rollout == run]
    if not own:
        return None
    latest = releases[0]
    # All that came before is of the run: nothing did. A first record that is lost would be missing here.
    is_new = {each.revision for each in own} == set(range(1, own[0].revision + 1))
    if latest.rollout == run:
        return Concern(_taken_over(own), is_new=True) if is_new else Concern()
    if is_new and all(each.action is Action.DELETE for each in latest.resources.values()):
        return None if latest.phase is Phase.SUCCEEDED else Concern(is_new=True)
    if 0 < latest.rolled_back_to < own[-1].revision:
        return None if latest.phase is Phase.SUCCEEDED else Concern()
    return Concern(f"release {latest.revision} was made since")


def _taken_over(own: Sequence[Release]) -> str:
    """Returns why what a new stack has can't simply go: some of it was there before the stack was."""
    first = {address: each for release in own for address, each in release.resources.items()}  # the oldest says last
    there = [str(address) for address, each in first.items() if each.action is not Action.CREATE]
    if not there:
        return ""
    more = f" and {len(there) - 1} more" if len(there) > 1 else ""
    return f"it took over what was there before, {there[0]}{more}, and no release holds what that was"

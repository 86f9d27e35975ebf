"""Whether a recovery may run: what was typed, and whether it is still what was looked at."""

from __future__ import annotations

from workbench.engine.errors import ConfirmationRequired, MovedObject, Refused, StalePlan
from workbench.engine.recovery.ledger import Ledger
from workbench.engine.recovery.values import Recovery


def approve(recovery: Recovery, confirm: str, *, dry_run: bool, is_read_only: bool) -> None:
    """Raises `Refused` or `ConfirmationRequired`. A dry run needs no phrase.

    A phrase is checked also where there is nothing to do: it then has to be one that confirmed an earlier run of this
    incident. Any other was read off a preview of something that is not there any more, or was never looked at.
    """
    if dry_run:
        return
    given = confirm.strip()
    quoted = repr(recovery.document.withheld.text(given))
    if recovery.is_empty:
        if given and given not in recovery.phrases:
            why = f"{quoted} confirms nothing: there is nothing in this preview that could be run"
            raise Refused([why], where=recovery.name, hint="look at the preview for what holds its hosts")
        return
    if is_read_only:
        raise Refused(["this session is read-only"], where=recovery.name, hint="unset WB_READONLY to recover")
    if given != recovery.phrase:
        why = f"{recovery.document.operation} on {', '.join(recovery.clusters)}"
        if given:
            why += f"; {quoted} was for other pods, hosts or limits"
        raise ConfirmationRequired(recovery.phrase, why, where=recovery.name)


def check_unchanged(recovery: Recovery, now: Ledger) -> None:
    """Raises `StalePlan` where a run of the incident began anything since the preview, here or elsewhere."""
    known = {each.step.id for each in recovery.previous}
    relevant = now if recovery.is_named else now.since(recovery.made_at)
    if since := [each for each in relevant.begun if each.step.id not in known]:
        raise StalePlan([MovedObject(None, f"{each.step}: was done since") for each in since], where=recovery.name)

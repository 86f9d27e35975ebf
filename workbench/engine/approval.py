"""Whether a plan may run: its guards, and what was confirmed."""

from __future__ import annotations

from workbench.engine.errors import ConfirmationRequired, Refused, UnresolvedConflict
from workbench.engine.plan import Level, Plan


def approve(plan: Plan, confirm: str) -> None:
    """Raises `Refused`, `UnresolvedConflict` or `ConfirmationRequired`. The phrase is as good as a yes."""
    failed = [each for each in plan.guards if not each.passed]
    failed = [each for each in failed if not each.is_unknown] or failed
    conflicts = [(change.address, each) for change in plan.changes for each in change.conflicts]
    if [each.name for each in failed] == ["no conflicts"]:
        raise UnresolvedConflict(conflicts, where=plan.stack)
    if failed:
        raise Refused(
            [f"{each.name}: no ({each.message})" for each in failed],
            where=plan.stack,
            hint="put it right and plan again",
        )
    if plan.is_empty and plan.gaps:
        # a release of nothing would be remembered as if all were known to be done
        raise Refused([str(each) for each in plan.gaps], where=plan.stack, hint=plan.gaps[0].hint or "plan again")
    wanted = plan.confirmation
    accepted = {wanted.phrase, plan.stack} if wanted.level is Level.YES else {wanted.phrase}
    if wanted.level is not Level.NOTHING and confirm.strip() not in accepted:
        raise ConfirmationRequired(wanted.phrase, "; ".join(wanted.reasons), where=plan.stack)

"""Recovery of failing hosts: resolve → preview → run → verify → report.

document   what a declarative recovery says: hosts, operation, limits
values     what is looked at and decided: targets, steps, the preview, the report
events     what happens while it runs
preview    document + live state → a `Recovery`, every limit applied
ledger     what all runs of an incident did, so that doing it again does nothing; `shared`: the one in the clusters;
           `places`: which cluster a record tells of
intake     where secrets are taken out: in all that comes in; `withheld`: which ones
history    what that means for the pods and hosts of now
hosts      every hostname, accounted for; what may be accepted
execute    the run, with its waiting for replacements

A session offers it so:

    recovery = await session.recovery("ops/AppRecovery.k", CompileInputs(options={"hostnames": "h-1,h-2"}))
    async with session.recover(recovery, dry_run=False, confirm=recovery.phrase) as events:
        async for event in events: ...              # RecoveryStarted first, RecoveryFinished(report) last
    session.audit().entries()
"""

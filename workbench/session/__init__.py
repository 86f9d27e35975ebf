"""A session: one repository, one set of settings, connections to its clusters. What every face works through.

    async with Session.open(path) as session:
        stack = session.select("shop/prod")
        plan = await session.plan(stack)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for event in events: ...
        async with session.watch(stack, until_settled=True, timeout_seconds=300) as trees:
            async for tree in trees: ...

It is the composition root: with `connections` the only place that names concrete runtimes and stores. Opening one reads
no cluster and no KCL; connections are made when a verb first needs them and closed with the session. All verbs may be
cancelled, and may run side by side on one event loop.
"""

from workbench.session.attaching import Attaching
from workbench.session.configuring import Configuring
from workbench.session.impacting import Impacting
from workbench.session.importing import Importing
from workbench.session.judging import Judging
from workbench.session.listing import ListingLive
from workbench.session.looking import Looking, Watchlist
from workbench.session.recovering import Recovering
from workbench.session.revealing import Revealing
from workbench.session.rolling_out import RollingOut
from workbench.session.siting import Siting
from workbench.session.spanning import Spanning
from workbench.session.state_keeping import StateKeeping
from workbench.session.updating import Updating


class Session(
    Looking,
    Updating,
    Importing,
    Siting,
    Impacting,
    Judging,
    Configuring,
    ListingLive,
    Attaching,
    Revealing,
    RollingOut,
    Spanning,
    Recovering,
    StateKeeping,
):
    """See the module. Methods that take a `Stack` take one of `tree()` or `select()`."""


__all__ = ["Session", "Watchlist"]

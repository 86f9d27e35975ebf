"""The process dies in the middle of an apply, without a word: nothing is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from tests.scenarios.conftest import HANGZHOU, SHANGHAI, Practice, apply, release
from workbench.engine.events import ApplyFinished
from workbench.engine.release import Phase

APPLY = """
import asyncio, os, sys
from pathlib import Path
from workbench.session import Session
from workbench.settings import Settings

async def main():
    root, state, kubeconfig, name, repository = sys.argv[1:]
    settings = Settings(Path(state), Path(state), kubeconfig=kubeconfig, user="ann", host="box", repository=repository)
    async with Session.open(root, settings=settings) as session:
        plan = await session.plan(session.select(name))
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for event in events:
                print(type(event).__name__, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "repository"), [(1, ""), (2, "git.example.org/x"), (3, ""), (9, "git.example.org/x"), (14, ""), (30, "")]
)
async def test_the_next_plan_continues(practice: Practice, after: int, repository: str) -> None:
    """With a `repository`, its releases are in the clusters, and so is the lock that it leaves."""
    session = practice.session(repository=repository)
    stack = session.select("gateway/prod")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        APPLY,
        str(practice.root),
        str(practice.home / "state"),
        str(practice.home / "admin.kubeconfig"),
        stack.name,
        repository,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    for _ in range(after):
        assert await process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    await process.wait()

    record = session.releases(stack)[0]
    assert record.phase is Phase.APPLYING
    written = {}
    for cluster in (HANGZHOU, SHANGHAI):
        api = practice.sandbox.clusters[cluster]
        for name in ("gateway-api", "webhooks"):
            if each := api.find("deployments.apps", "gateway-prod", name):
                written[cluster, name] = each["metadata"]["uid"]
    plan = await session.plan(stack)
    assert not plan.is_refused
    assert "was not finished" in plan.notes[0]
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome == "succeeded"
    for (cluster, name), uid in written.items():
        live = practice.live(cluster, "deployments.apps", "gateway-prod", name)
        assert live["metadata"]["uid"] == uid, "what was there is kept, not made again"
    assert (await session.plan(stack)).is_empty
    assert session.releases(stack)[0].phase is Phase.SUCCEEDED
    await release(session, stack)

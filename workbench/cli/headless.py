"""`wb demo --headless`: practice clusters and a CMDB that serve until stopped, for notebooks and scripts.

While it runs, every session that is opened in the same repository without a kubeconfig of its own works on them, and
the sample's CMDB plugin is trusted and told where the CMDB is.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from workbench.cli.practice import (
    Practice,
    PracticeFailed,
    change_by_hand,
    child_process,
    practise,
    ready_line,
    sample_root,
    seed,
)
from workbench.local import AlreadyServed, LocalState, ServedPractice
from workbench.project import find_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.session import Session
    from workbench.settings import Settings

INCIDENT = "INC-1042"
PLUGIN = "cmdb"
NAMESPACE = "checkout-prod"
SHARE = 0.7
"""Of each workload, how many pods the alarm names: what AppRecovery.k allows at once."""
CONTEXTS: Mapping[str, str] = {"hangzhou": "sandbox-1", "shanghai": "sandbox-2"}
_TOKEN_VARIABLE = "CMDB_TOKEN"


@asynccontextmanager
async def served(settings: Settings, here: Path, said: Callable[[str], None]) -> AsyncIterator[ServedPractice]:
    """Starts everything, makes it known, and stops it when the context ends; raises `WorkbenchError`.

    `said` is told the steps.
    """
    from workbench.session import Session

    local = LocalState(settings.state_dir, find_root(sample_root(here)))
    if local.practice() is not None:
        raise AlreadyServed("practice clusters are served already", hint="use them, or stop that `wb demo` first")
    said("starting two practice clusters and yesterday's version on them ...")
    async with (
        practise(settings, here) as place,
        Session.open(place.root, settings=place.settings) as session,
    ):
        await seed(session)
        said(await change_by_hand(place))
        async with serving(place, session, local) as practice:
            yield practice


@asynccontextmanager
async def serving(place: Practice, session: Session, local: LocalState) -> AsyncIterator[ServedPractice]:
    """Adds a CMDB to clusters that run the demo's stacks, and makes both known in `local` while the context lasts."""
    async with _cmdb(place) as (url, token):
        found, claimed = await anyio.to_thread.run_sync(_alarm, Path(place.settings.kubeconfig))
        await anyio.to_thread.run_sync(_enter_by_hand, url, token, claimed)
        practice = ServedPractice(
            kubeconfig=place.settings.kubeconfig,
            state_dir=str(place.settings.state_dir),
            plugins={PLUGIN: {"url": url, "token": token}},
            trusted={PLUGIN: _digest(session)},
            incident=INCIDENT,
            hostnames=(*found, *_DOUBTFUL),
            terraform_mirrors=tuple(str(each) for each in place.settings.terraform_mirrors),
            terraform_environment=place.settings.terraform_environment,
        )
        with local.serve(practice):
            yield practice


async def until_stopped() -> None:
    """Returns on SIGINT or SIGTERM."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


_DOUBTFUL = ("cart-moved", "cart-of-last-week", "host-nobody-knows")
"""Host names of the alarm beside those of pods: claimed by two, not seen for days, in no record."""


def _digest(session: Session) -> str:
    from workbench.engine.plugins import digest, read_code
    from workbench.project.plugins import read_allowed_plugins

    plugin = read_allowed_plugins(session.root)[PLUGIN]
    return digest(plugin, read_code(plugin))


@asynccontextmanager
async def _cmdb(place: Practice) -> AsyncIterator[tuple[str, str]]:
    """Starts the CMDB; yields its URL and token."""
    token = secrets.token_urlsafe(24)
    clusters = [word for name, context in CONTEXTS.items() for word in ("--cluster", f"{name}={context}")]
    arguments = ("--kubeconfig", place.settings.kubeconfig, "--database", str(place.home / "cmdb.sqlite"), *clusters)
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "runtimes.sandbox.cmdb", "--parent", str(os.getpid()), *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", _TOKEN_VARIABLE: token},
    )
    async with child_process(process):
        yield (await ready_line(process, "the CMDB")).split()[1], token


def _alarm(kubeconfig: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Returns the host names of some pods of every workload of the demo's stack, over all clusters.

    And one pod by cluster that is not among them.
    """
    from runtimes.sandbox import visitor

    found: list[str] = []
    others: dict[str, str] = {}
    for cluster, context in CONTEXTS.items():
        by_workload: dict[str, list[str]] = {}
        for pod in visitor.pods(kubeconfig, context):
            if pod["metadata"]["namespace"] == NAMESPACE and not pod["metadata"].get("deletionTimestamp"):
                workload = pod["metadata"]["labels"]["app.kubernetes.io/name"]
                by_workload.setdefault(workload, []).append(pod["metadata"]["name"])
        for _, names in sorted(by_workload.items()):
            taken = max(1, int(len(names) * SHARE))
            found += sorted(names)[:taken]
            for name in sorted(names)[taken:]:
                others.setdefault(cluster, name)
    if not found or len(others) < len(CONTEXTS):
        raise PracticeFailed(f"too few pods run in {NAMESPACE} on the practice clusters")
    return tuple(found), others


def _enter_by_hand(url: str, token: str, claimed: Mapping[str, str]) -> None:
    """Makes the inventory what inventories are: wrong in places. One host is the pod of every cluster in `claimed`."""
    moved, old, _ = _DOUBTFUL
    last_week = datetime.now(UTC) - timedelta(days=7)
    records: list[dict[str, Any]] = [
        *(
            {"hostname": moved, "cluster": cluster, "namespace": NAMESPACE, "pod": pod}
            for cluster, pod in claimed.items()
        ),
        {
            "hostname": old,
            "cluster": "hangzhou",
            "namespace": NAMESPACE,
            "pod": "cart-7d9c6b5f4-x2x7q",
            "seen": last_week.isoformat(),
        },
    ]
    request = urllib.request.Request(
        f"{url}/v1/hosts",
        method="PUT",
        data=json.dumps({"hosts": records}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback is never behind a proxy
    with opener.open(request, timeout=10):
        pass

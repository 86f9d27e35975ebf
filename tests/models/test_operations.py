"""`models.operations`, and the program that empties a cell: what the product takes of it, and carries out."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from runtimes.sandbox.cmdb import Cmdb
from tests.workbench.cli.conftest import Place, place, root, wb
from tests.workbench.cli.test_recovering import phrase, pods, running
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.recovery.compile import compile_now
from workbench.engine.recovery.document import NodeRecord, Operation, RecoveryDocument
from workbench.exit_codes import ExitCode

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
TOKEN = "canary-token-of-the-inventory"
GIVEN = {"cell": "rack-7", "cluster": "hangzhou", "nodes": "n-1, n-2", "hostnames": "h-1,h-2", "incident": "CHG-7"}

__all__ = ["place", "root", "wb"]

PROGRAM = """import manifests
import models.operations
import models.recovery as rec

_hosts = [h.split("=") for h in option("hostnames").split(",")]
_cell = operations.Cell {name = "rack-7", cluster = "hz", nodes = [option("node")]}
_found = [rec.Host {
    hostname = h[0]
    cluster = "hz"
    namespace = "shop"
    pod = h[1]
    node = option("node")
} for h in _hosts]
_step = option("step")
_recovery = operations.fill(_cell, "CHG-7") if _step == "fill" else operations.drain(_cell, _step, _found, "CHG-7")
manifests.yaml_stream([_recovery])
"""


@pytest.fixture
async def cmdb() -> AsyncIterator[Cmdb]:
    async with Cmdb(token=TOKEN) as cmdb:
        hosts = (("h-1", "hangzhou", "n-1"), ("h-2", "hangzhou", "n-2"), ("h-3", "hangzhou", "n-3"))
        cmdb.inventory.put(
            [
                {
                    "hostname": host,
                    "cluster": cluster,
                    "namespace": "shop",
                    "pod": host,
                    "uid": f"u-{host}",
                    "node": node,
                }
                for host, cluster, node in hosts
            ],
            seen=time.time(),
            by_hand=False,
        )
        yield cmdb


async def drained(cmdb: Cmdb, **options: str) -> RecoveryDocument:
    plugins = RepositoryPlugins(SAMPLE, lambda bound: True, {"cmdb": {"url": cmdb.url, "token": TOKEN}}, {})
    inputs = CompileInputs(options={**GIVEN, **options})
    work = partial(compile_now, SAMPLE / "ops" / "DrainCell.k", inputs, plugins=plugins)
    return await anyio.to_thread.run_sync(work)


async def test_a_cell_is_emptied_of_what_the_inventory_knows(cmdb: Cmdb) -> None:
    found = await drained(cmdb, step="cordon", hostnames="h-1,h-2,h-lost")
    assert (found.operation, found.name, found.reason) == (Operation.CORDON, "drain-rack-7-cordon", "CHG-7")
    assert {each.hostname for each in found.hosts} == {"h-1", "h-2"} and found.unresolved == ("h-lost",)
    found = await drained(cmdb, step="evict")
    assert (found.operation, found.limits.max_pods, found.limits.per_owner) == (Operation.EVICT, 4, 1)
    assert found.nodes == ()


async def test_all_nodes_of_a_cell_are_cordoned_and_given_back_whatever_is_on_them(cmdb: Cmdb) -> None:
    cordoned = await drained(cmdb, step="cordon", nodes="n-1,n-2,n-4")
    back = await drained(cmdb, step="uncordon", nodes="n-1,n-2,n-4", hostnames="")
    assert back.nodes == cordoned.nodes == tuple(NodeRecord("hangzhou", name) for name in ("n-1", "n-2", "n-4"))
    assert (back.operation, back.name, back.hosts) == (Operation.UNCORDON, "fill-rack-7", ())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"step": "evict", "hostnames": "h-1,h-2,h-3"}, "on no node of it"),
        ({"step": "evict", "cluster": "shanghai"}, "on no node of it"),
        ({"step": "both"}, "first cordon, then evict"),
    ],
)
async def test_a_cell_that_is_another_is_refused(cmdb: Cmdb, options: dict[str, str], said: str) -> None:
    with pytest.raises(CompileFailed, match=said):
        await drained(cmdb, **options)


async def test_both_steps_leave_a_node_empty_and_it_is_given_back(place: Place) -> None:
    given = await running(place)
    for package in ("operations", "recovery"):
        shutil.copytree(SAMPLE / "models" / package, place.root / "models" / package)
    (place.root / "ops" / "DrainCell.k").write_text(PROGRAM)
    node = pods(place)[0]["spec"]["nodeName"]
    names = [each["metadata"]["name"] for each in pods(place) if each["spec"]["nodeName"] == node]
    hosts = ",".join(each for each in given.split(",") if each.split("=")[1] in names)
    command = ("run", Path("ops/DrainCell.k"), "-D", f"hostnames={hosts}", "-D", f"node={node}", "-D")

    for step in ("cordon", "evict"):
        shown = await place(*command, f"step={step}")
        assert shown.code == ExitCode.OK, shown.text
        done = await place(*command, f"step={step}", "--confirm", phrase(shown))
        assert done.code == ExitCode.OK, done.text

    assert place.live("nodes", "", node)["spec"]["unschedulable"] is True
    assert [each for each in pods(place) if each["spec"].get("nodeName") == node] == []

    shown = await place(*command, "step=fill")
    assert shown.code == ExitCode.OK and "uncordon 1 node" in shown.err and "Nodes(1)" in shown.out, shown.text
    done = await place(*command, "step=fill", "--confirm", phrase(shown))
    assert done.code == ExitCode.OK, done.text
    assert "unschedulable" not in place.live("nodes", "", node)["spec"]
    trail = await place("audit")
    assert f"Node/{node}" in trail.out and "uncordon" in trail.out

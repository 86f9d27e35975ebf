"""A kind as a table that is kept up to date, against the sandbox with and without disturbances, and a lost route."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base.tables import LiveColumn, LiveKind, TableReport
from runtimes.kubernetes import table_feed, tables
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Limits, Transport
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.black_hole import in_front_of

MAPS = LiveKind("v1", "ConfigMap", "configmaps", True)
COLUMNS = (LiveColumn("Name"), LiveColumn("Restarts"), LiveColumn("Age"))


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(seed=1, tokens={"admin": "token-of-admin", "limited": "token-of-limited"}) as sandbox:
        for name in ("a", "b", "c"):
            put(sandbox, name)
        yield sandbox


def put(sandbox: Sandbox, name: str, **data: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    sandbox.clusters[0].create("configmaps", "default", {**body, "data": data})


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    limits = Limits(connect_seconds=0.5, answer_seconds=1.0, patience_seconds=0.2)
    client = Client(Transport(Kubeconfig([kubeconfig]).connection(), place="here", limits=limits))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def following(
    kubeconfig: Path, kind: LiveKind = MAPS, *, most: int = 100
) -> AsyncIterator[AsyncIterator[TableReport]]:
    namespaces = ("default",) if kind is MAPS else ()
    async with client_of(kubeconfig) as client, table_feed.following(client, kind, namespaces, most) as reports:
        yield reports


def followed(
    sandbox: Sandbox, tmp_path: Path, kind: LiveKind = MAPS, *, most: int = 100
) -> AbstractAsyncContextManager[AsyncIterator[TableReport]]:
    sandbox.write_kubeconfig(tmp_path / "kubeconfig")
    return following(tmp_path / "kubeconfig", kind, most=most)


async def until(reports: AsyncIterator[TableReport], wanted: Callable[[TableReport], object]) -> TableReport:
    async with asyncio.timeout(20):
        async for report in reports:
            if wanted(report):
                return report
    raise AssertionError("it ended")


def names(report: TableReport) -> list[str]:
    return sorted(each.id.name for each in (report.table.rows if report.table else ()) if "kube" not in each.id.name)


async def test_what_comes_changes_and_goes_is_in_the_table_without_a_new_list(tmp_path: Path, sandbox: Sandbox) -> None:
    async with followed(sandbox, tmp_path) as reports:
        await until(reports, lambda each: each.is_watched and names(each) == ["a", "b", "c"])
        lists = sandbox.disturbances[0].add(Disturbance("delay", verbs=("list",), times=10))
        put(sandbox, "d", one="1", two="2")
        sandbox.clusters[0].delete("configmaps", "default", "a")
        report = await until(reports, lambda each: names(each) == ["b", "c", "d"])
        assert report.table is not None and report.is_watched and report.table.is_whole
        columns = [each.name for each in report.table.columns]
        new = next(each for each in report.table.rows if each.id.name == "d")
        assert new.cells[columns.index("Data")] == "2"
        assert lists.times == 10


async def test_a_version_that_is_forgotten_means_a_new_list(tmp_path: Path, sandbox: Sandbox) -> None:
    watch = sandbox.disturbances[0].add(Disturbance("gone", verbs=("watch",), times=2))
    async with followed(sandbox, tmp_path) as reports:
        await until(reports, lambda each: each.is_watched and names(each) == ["a", "b", "c"])
        assert watch.times == 0
        put(sandbox, "d")
        await until(reports, lambda each: each.is_watched and names(each) == ["a", "b", "c", "d"])


async def test_what_may_not_be_watched_is_listed_again_and_says_so(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "LIST_AGAIN_SECONDS", 0.1)
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "lists"}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    subject = {"kind": "User", "name": "limited", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": "lists", "apiGroup": "rbac.authorization.k8s.io"}
    cluster = sandbox.clusters[0]
    cluster.create("clusterroles.rbac.authorization.k8s.io", "", {**head, "kind": "ClusterRole", "rules": [rule]})
    binding = {**head, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": ref}
    cluster.create("clusterrolebindings.rbac.authorization.k8s.io", "", binding)
    sandbox.write_kubeconfig(tmp_path / "limited", "limited")
    async with following(tmp_path / "limited") as reports:
        report = await until(reports, lambda each: names(each) == ["a", "b", "c"])
        assert not report.is_watched and report.failure is None
        put(sandbox, "d")
        report = await until(reports, lambda each: names(each) == ["a", "b", "c", "d"])
        assert not report.is_watched


async def test_a_silent_server_is_said_and_what_it_had_is_as_old_as_its_last_word(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    sandbox.write_kubeconfig(tmp_path / "kubeconfig")
    async with in_front_of(tmp_path / "kubeconfig") as proxy, following(tmp_path / "kubeconfig") as reports:
        await until(reports, lambda each: each.is_watched)
        went = datetime.now(UTC)
        proxy.swallow()
        report = await until(reports, lambda each: each.failure is not None)
        assert names(report) == ["a", "b", "c"] and not report.is_watched
        assert report.at is not None and report.at < went + timedelta(seconds=5)
        assert (datetime.now(UTC) - went).total_seconds() < 8
        put(sandbox, "d")
        proxy.pass_on()
        await until(reports, lambda each: each.is_watched and names(each) == ["a", "b", "c", "d"])


async def test_of_more_than_can_be_held_the_first_are_shown_and_others_do_not_creep_in(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    async with followed(sandbox, tmp_path, most=2) as reports:
        report = await until(reports, lambda each: each.is_watched)
        assert names(report) == ["a", "b"] and report.table is not None and not report.table.is_whole
        put(sandbox, "aa")
        sandbox.clusters[0].delete("configmaps", "default", "a")
        assert names(await until(reports, lambda each: names(each) != ["a", "b"])) == ["b"]


async def test_a_kind_that_is_not_served_is_no_empty_table(tmp_path: Path, sandbox: Sandbox) -> None:
    async with followed(sandbox, tmp_path, LiveKind("acme.io/v1", "Widget", "widgets", True)) as reports:
        report = await until(reports, lambda each: each.failure is not None)
        assert report.table is None


NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)


def _table(age: str, created: str, restarts: str = "0") -> dict[str, Any]:
    metadata = {"name": "front", "namespace": "shop", "uid": "1", "creationTimestamp": created}
    return {"kind": "Table", "rows": [{"cells": ["front", restarts, age], "object": {"metadata": metadata}}]}


@pytest.mark.parametrize(
    ("age", "created", "is_counted_on"),
    [
        ("90s", "2026-11-24T11:58:30Z", True),
        ("5m2s", "2026-11-24T11:54:56Z", True),
        ("3d", "2026-11-21T02:00:00Z", True),
        ("3d", "2026-11-24T11:00:00Z", False),
        ("10m", "2026-11-24T11:58:30Z", False),
        ("<unknown>", "2026-11-24T11:58:30Z", False),
        ("90s", "yesterday", False),
    ],
)
def test_an_age_is_counted_on_only_where_it_counts_from_the_creation(
    age: str, created: str, is_counted_on: bool
) -> None:
    ((_, row),) = tables.rows(_table(age, created), MAPS, COLUMNS, NOW)
    assert (row.created_at is not None) == is_counted_on
    assert tables.counts_time(row, COLUMNS) == (not is_counted_on and age != "<unknown>")


def test_a_cell_that_counts_time_is_known() -> None:
    ((_, row),) = tables.rows(_table("90s", "2026-11-24T11:58:30Z", "5 (3m ago)"), MAPS, COLUMNS, NOW)
    assert tables.counts_time(row, COLUMNS)

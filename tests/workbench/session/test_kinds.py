"""Which kind a word means, where some servers say nothing."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Never

import pytest

from runtimes.base import KubernetesId
from runtimes.base.tables import LiveKind, LiveKinds
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.live import UnknownKind

PODS = LiveKind("v1", "Pod", "pods", True)


class Aggregating(FakeCluster):
    """The server that it forwards metrics to is away."""

    async def kinds(self) -> LiveKinds:
        return LiveKinds((PODS,), {"metrics.k8s.io/v1beta1": "503"})

    async def events(self, id_: KubernetesId, uid: str) -> tuple[()]:
        raise AssertionError

    def follow(self, kind: LiveKind, namespaces: Collection[str] = (), *, most: int = 0) -> Never:
        raise AssertionError


async def test_a_server_behind_the_server_that_is_away_hides_no_other_kind(tmp_path: Path) -> None:
    clusters = Clusters()
    clusters.by_name["hz"] = Aggregating("hz")
    async with session(shop(tmp_path), clusters) as opened:
        assert await opened.find_kind("pods", ["hz"]) == PODS
        assert await opened.kind_names(["hz"]) == ("pod", "pods")
        with pytest.raises(
            UnknownKind, match=r"the server behind metrics.k8s.io/v1beta1 of hz \(503\) did not answer, and may"
        ):
            await opened.find_kind("nodemetrics", ["hz"])
        with pytest.raises(
            UnknownKind, match=r"away, the server behind metrics.k8s.io/v1beta1 of hz \(503\) did not answer"
        ):
            await opened.find_kind("nodemetrics", ["away", "hz"])

"""Places that keep releases, for tests: each makes a fresh view of the same records, as another process would have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runtimes.base import RecordKeeper
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.sandbox.server import Sandbox
from tests.bucket_server import BucketServer
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.world import STACK
from workbench.bucket_url import BucketUrl
from workbench.engine.release import Phase, Release, ReleasedResource
from workbench.release import ReleaseStore
from workbench.release.contract import Records
from workbench.release.folder import FolderRecords
from workbench.release.in_bucket import BucketKeeper
from workbench.release.lease import Timing
from workbench.release.packing import Place
from workbench.release.remote_records import RemoteRecords

NAMESPACE = "konfig-workbench"
REPOSITORY = "git.example.org/shop/config"
AT = Place(NAMESPACE, STACK, REPOSITORY)


@dataclass
class Ticking:
    """A clock that goes on by a second whenever somebody looks, so that nothing is waited for."""

    seconds: float = 0.0
    step: float = 1.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


def timing(clock: Callable[[], float] | None = None, wall: datetime | None = None) -> Timing:
    return Timing(
        look_seconds=0.001, clock=clock or Ticking(step=0.0), wall=lambda: wall if wall else datetime.now(UTC)
    )


@dataclass
class Opened:
    """`view` opens the records once more. `runtime` and `sandbox` are a cluster's, `bucket` is a bucket's."""

    view: Callable[[], Records]
    runtime: KubernetesRuntime | None = None
    sandbox: Sandbox | None = None
    bucket: BucketUrl | None = None

    @property
    def keeper(self) -> RecordKeeper:
        """A fresh one for a bucket, as another process has it."""
        if self.bucket is not None:
            return BucketKeeper(self.bucket)
        assert self.runtime is not None, "a folder has none"
        return self.runtime.records

    def cluster(self, at: Place = AT, times: Timing | None = None) -> RemoteRecords:
        return RemoteRecords(self.keeper, at, times or timing())


@asynccontextmanager
async def in_folder(tmp_path: Path) -> AsyncIterator[Opened]:
    yield Opened(lambda: FolderRecords(ReleaseStore(tmp_path / "state", Path("/repo")), STACK))


@asynccontextmanager
async def in_sandbox(tmp_path: Path) -> AsyncIterator[Opened]:
    async with Sandbox() as sandbox:
        kubeconfig = tmp_path / "kubeconfig"
        sandbox.write_kubeconfig(kubeconfig)
        async with at_kubeconfig(kubeconfig) as opened:
            opened.sandbox = sandbox
            yield opened


@asynccontextmanager
async def in_bucket(server: BucketServer) -> AsyncIterator[Opened]:
    url = server.bucket()
    yield Opened(lambda: RemoteRecords(BucketKeeper(url), AT, timing()), bucket=url)


@asynccontextmanager
async def at_kubeconfig(kubeconfig: Path) -> AsyncIterator[Opened]:
    runtime = KubernetesRuntime.connect(kubeconfig=kubeconfig)
    opened = Opened(lambda: RemoteRecords(runtime.records, AT, timing()), runtime)
    try:
        yield opened
    finally:
        await runtime.close()


def released(
    revision: int = 1, phase: Phase = Phase.APPLYING, resources: Iterable[ReleasedResource] = (), **changes: object
) -> Release:
    found = {each.address: each for each in resources}
    values: dict[str, object] = {
        "stack": str(STACK),
        "revision": revision,
        "phase": phase,
        "plan": "p-1",
        "user": "ann",
        "host": "box",
        "started": EPOCH,
        "finished": None,
        "resources": found,
    }
    return Release(**{**values, **changes})  # type: ignore[arg-type]  # as its fields are typed

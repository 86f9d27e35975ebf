"""What all tests share."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import collection
from tests.affected.seconds import Seconds
from tests.bucket_server import CREDENTIALS, BucketServer, serving
from tests.hanging import Bounded, Watched
from tests.sample import SampleCopy
from tests.sizes import SOAK, is_soak
from workbench.ci import VARIABLES

# A shell that starts the tests in the background makes them ignore ^C, and all they start with them: tests that send
# it would then wait for ever. A handler of ours is not inherited, so what they start has the system's default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So it is with the end of the terminal, where the tests are to outlive theirs.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A CI that runs the tests says what it builds: what they write is another repository.
for _said_by_ci in VARIABLES:
    os.environ.pop(_said_by_ci, None)

# Processes that tests start neither take nor leave anything in the folder of whoever runs the tests.
os.environ["KCL_RUN_CACHE"] = "off"

# Terraform, and what else is written in Go, ends before its memory is worth looking through for garbage: a quarter of
# what its processor does is that.
os.environ.setdefault("GOGC", "400")

# How long it takes to make or to try an example depends on what else the machine does: that is no finding.
settings.register_profile("konfig-workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("konfig-workbench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not is_soak():
        for each in items:
            if each.get_closest_marker("soak"):
                each.add_marker(pytest.mark.skip(reason=f"a part of make soak ({SOAK}=1)"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(collection)
    is_worker, hands_out = hasattr(config, "workerinput"), bool(config.getoption("tx", None))
    if not is_worker:
        config.pluginmanager.register(Seconds())
    config.pluginmanager.register(Watched() if hands_out and not is_worker else Bounded())


@pytest.fixture(scope="session")
def sample_copy(tmp_path_factory: pytest.TempPathFactory) -> SampleCopy:
    return SampleCopy(tmp_path_factory.mktemp("sample") / "konfig")


@pytest.fixture
def sample_konfig(sample_copy: SampleCopy) -> Path:
    """The sample repository, which the test may change as it likes."""
    return sample_copy.restored()


@pytest.fixture(scope="module")
def bucket_server() -> Iterator[BucketServer]:
    """An S3 server on loopback, with credentials for it in the environment. Skips where moto is not installed."""
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield server

"""`wb demo --headless`: served in one process, found by commands in another, recovered, gone when it is stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from workbench.local import LocalState, ServedPractice

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
START_SECONDS = 90.0

pytestmark = pytest.mark.slow


@dataclass
class Demo:
    process: subprocess.Popen[str]
    environment: dict[str, str]
    local: LocalState
    said: str

    @property
    def served(self) -> ServedPractice:
        found = self.local.practice()
        assert found is not None
        return found

    def wb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "workbench", *arguments],
            cwd=SAMPLE,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    home = tmp_path_factory.mktemp("headless")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("WB_", "KUBECONFIG"))}
    environment |= {
        "WB_STATE_DIR": str(home / "state"),
        "WB_CACHE_DIR": str(home / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "demo", "--headless"],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("READY"):
            break
    watchdog.cancel()
    try:
        assert "READY" in said, said
        yield Demo(process, environment, LocalState(home / "state", SAMPLE.resolve()), said)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def test_sessions_in_the_repository_find_it(demo: Demo) -> None:
    ended = demo.wb("diff", "checkout/prod")
    assert ended.stderr == ""
    assert "6 update" in ended.stdout and "1 drift" in ended.stdout


def test_it_is_served_once(demo: Demo) -> None:
    ended = demo.wb("demo", "--headless")
    assert ended.returncode == 1 and "served already" in ended.stderr


def test_the_hosts_of_the_alarm_are_recovered(demo: Demo) -> None:
    served = demo.served
    assert f"alarm {served.incident}: {','.join(served.hostnames)}" in demo.said
    given = (
        "run", "ops/AppRecovery.k", "-D", f"hostnames={','.join(served.hostnames)}", "-D", f"incident={served.incident}"
    )  # fmt: skip
    shown = demo.wb(*given)
    assert shown.returncode == 0, shown.stderr
    assert "restart 11 pods" in shown.stdout and "hangzhou, shanghai" in shown.stdout

    found = re.search(r"restart 11 pods [0-9a-f]{6}", shown.stdout)
    assert found
    confirm = ("--confirm", found[0], "--allow-unresolved")

    done = demo.wb(*given, *confirm)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 recovered" in done.stdout
    for hostname, state in (("cart-moved", "held"), ("cart-of-last-week", "stale"), ("host-nobody-knows", "unknown")):
        assert any(line.split()[:2] == [hostname, state] for line in done.stdout.splitlines()), done.stdout

    again = demo.wb(*given, *confirm)
    assert again.returncode == 0 and "11 done before" in again.stdout

    token = served.plugins["cmdb"]["token"]
    said = demo.said + "".join(each.stdout + each.stderr for each in (shown, done, again))
    assert len(token) > 20 and token not in said


def test_it_is_gone_when_it_is_stopped(demo: Demo) -> None:
    kubeconfig = Path(demo.served.kubeconfig)
    assert kubeconfig.is_file()
    demo.process.send_signal(signal.SIGTERM)
    assert demo.process.wait(20) == 0
    assert demo.local.practice() is None
    assert not kubeconfig.exists()

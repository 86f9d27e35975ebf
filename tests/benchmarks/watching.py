"""What watching many objects costs: from an event to the status that says so, at rest, and in memory.

    python -m tests.benchmarks.watching [--objects 10000] [--events 100] [--idle 20] [--kubeconfig FILE]

Half of the objects are Deployments without replicas, half ConfigMaps. Whoever watches is a process of its own; from
outside, the template of one Deployment at a time is changed, and what is measured is the time from the server's answer
until the watch has told another status of it. Idle is the processor's time of the watching process while nothing
happens. Without --kubeconfig the server is the sandbox, else the current context of that file, whose cluster should be
one to throw away.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import queue
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.benchmarks.clusters import NAMESPACE, Bench, bench, server

_PATIENCE_SECONDS = 600.0
_REST_SECONDS = 6.0
_GOAL_SECONDS, _GOAL_IDLE, _GOAL_BYTES = 0.1, 0.05, 500_000_000
_WATCHER = """
import asyncio, json, sys, time
from workbench.session import Session

async def main():
    async with Session.open(".") as session:
        stack = session.select("bench/dev")
        async with session.watch(stack) as trees:
            before, heard = (), False
            async for tree in trees:
                # what is not another object says what it said; a reader that goes through all would measure itself
                pairs = zip(before, tree.resources) if before else ((None, each) for each in tree.resources)
                changed = [each for old, each in pairs if old is not each]
                before = tree.resources
                heard = heard or all(each.health.status.value == "Current" for each in before)
                news = [[each.address.id.name, each.health.status.value] for each in changed[:50]]
                said = {"at": time.monotonic(), "all": heard, "count": len(before), "news": news}
                print(json.dumps(said), flush=True)

asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.watching")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100)
    parser.add_argument("--idle", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--kubeconfig", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.kubeconfig:
            _measured(Path(name), arguments.kubeconfig, "a real control plane", arguments)
        else:
            with server() as kubeconfig:
                _measured(Path(name), kubeconfig, "the sandbox", arguments)


def _measured(folder: Path, kubeconfig: Path, what: str, arguments: argparse.Namespace) -> None:
    with bench(folder, arguments.objects, kubeconfig) as made, Watcher(made, kubeconfig) as watcher:
        took = watcher.until_all(arguments.objects)
        sys.stdout.write(f"{arguments.objects} objects on {what}: all ready after {took:.1f} s\n")
        sys.stdout.write(f"nothing moves any more {watcher.until_rest():.1f} s later\n")
        used, began = watcher.processor_seconds(), time.monotonic()
        time.sleep(arguments.idle)
        idle = (watcher.processor_seconds() - used) / (time.monotonic() - began)
        sys.stdout.write(f"at rest {idle:.1%} of a core (goal: under {_GOAL_IDLE:.0%}: {_met(idle < _GOAL_IDLE)})\n")
        delays = [watcher.delay_of(number) for number in range(arguments.events)]
        p95 = statistics.quantiles(delays, n=20)[18]
        sys.stdout.write(
            f"event to status: median {statistics.median(delays) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms "
            f"(goal: under {_GOAL_SECONDS * 1000:.0f} ms at p95: {_met(p95 < _GOAL_SECONDS)})\n"
        )
        peak = watcher.peak_bytes()
        sys.stdout.write(
            f"memory {peak / 1e6:.0f} MB (goal: under {_GOAL_BYTES / 1e6:.0f} MB: {_met(peak < _GOAL_BYTES)}), "
            f"load {os.getloadavg()[0]:.2f}\n"
        )


def _met(is_met: bool) -> str:
    return "met" if is_met else "not met"


class Server:
    """The current context of a kubeconfig, over one connection that stays open."""

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        context = next(each["context"] for each in content["contexts"] if each["name"] == content["current-context"])
        cluster = next(each["cluster"] for each in content["clusters"] if each["name"] == context["cluster"])
        user = next(each["user"] for each in content["users"] if each["name"] == context["user"])
        address = urlsplit(cluster["server"])
        if "certificate-authority-data" in cluster:
            tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        else:
            tls = ssl.create_default_context(cafile=kubeconfig.parent / cluster["certificate-authority"])
        if "client-certificate-data" in user:
            with tempfile.TemporaryDirectory() as folder:
                pem = Path(folder, "pem")
                parts = (user["client-certificate-data"], user["client-key-data"])
                pem.write_bytes(b"".join(map(base64.b64decode, parts)))
                tls.load_cert_chain(pem)
        self._headers: dict[str, str] = {}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        self._connection = http.client.HTTPSConnection(address.netloc, context=tls)

    def patch(self, path: str, body: object) -> float:
        """Returns when it was answered, by the monotonic clock."""
        return self._sent("PATCH", path, body, "application/strategic-merge-patch+json", (200,))

    def create(self, path: str, body: object) -> None:
        """What is there already stays as it is."""
        self._sent("POST", path, body, "application/json", (201, 409))

    def _sent(self, method: str, path: str, body: object, content_type: str, codes: tuple[int, ...]) -> float:
        self._connection.request(method, path, json.dumps(body), {**self._headers, "Content-Type": content_type})
        answer = self._connection.getresponse()
        answered = time.monotonic()
        text = answer.read()
        if answer.status not in codes:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:200]!r}")
        return answered


class Watcher:
    """A process that watches, and what it said."""

    def __init__(self, made: Bench, kubeconfig: Path) -> None:
        self._made, self._kubeconfig = made, kubeconfig
        self._server = Server(kubeconfig)
        self._said: queue.Queue[dict[str, object]] = queue.Queue()

    def __enter__(self) -> Watcher:
        environment = {**self._made.environment, "KUBECONFIG": str(self._kubeconfig)}
        command = [sys.executable, "-c", _WATCHER]
        self._process = subprocess.Popen(
            command, cwd=self._made.root, env=environment, stdout=subprocess.PIPE, text=True
        )
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))

    def until_all(self, objects: int) -> float:
        began = time.monotonic()
        while True:
            said = self._said.get(timeout=_PATIENCE_SECONDS)
            if said["all"] and said["count"] == objects + 1:
                return time.monotonic() - began

    def until_rest(self) -> float:
        """Waits until no status was another one for some seconds; returns how long the last one took to come.

        Controllers go on after everything is ready: that is work, and no rest.
        """
        began = last = time.monotonic()
        while time.monotonic() - last < _REST_SECONDS:
            try:
                if self._said.get(timeout=_REST_SECONDS)["news"]:
                    last = time.monotonic()
            except queue.Empty:
                break
        return last - began

    def delay_of(self, number: int) -> float:
        """Changes a Deployment and returns the seconds from the server's answer to the status."""
        name = f"app-{number}"
        while not self._said.empty():
            self._said.get()
        body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": f"app:{time.time_ns()}"}]}}}}
        answered = self._server.patch(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}", body)
        while True:
            said = self._said.get(timeout=_PATIENCE_SECONDS)
            news, at = said["news"], said["at"]
            assert isinstance(news, list) and isinstance(at, float)
            if any(each[0] == name for each in news):
                return max(0.0, at - answered)

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()

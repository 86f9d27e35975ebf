"""`wb diff` beside `kubectl diff --server-side`, of the same objects on the same server.

    python -m tests.benchmarks.clusters [--objects 1000] [--rounds 5] [--kubeconfig FILE] [--apply]

Half of the objects are Deployments, half ConfigMaps; a tenth of each is changed. Both are whole processes that take
turns, straight and through a proxy that holds every packet for half of 20 ms. Without --kubeconfig the server is the
sandbox, which serves one request after another in Python; with it the current context of that file is used, whose
cluster should be one to throw away. `--objects 2` is a small diff, whose time is that of a start. What wb evaluates is
cached by the first run, as kubectl gets YAML that is written already. --apply measures instead how objects are written
of which every one is changed. Where the server tells, it says how many requests it sent back as too many (429): where
there are none, what bounds wb is its own 10 in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

ROUND_TRIP_SECONDS = 0.02
NAMESPACE = "bench"
_STACK = "bench/dev"
_WB = (sys.executable, "-c", "from workbench.cli.process import process; process()")
_MAIN = """\
import manifests

_count = {count}
_revision = option("revision", default="{revision}")
_changed = lambda number {{ _revision if number % {every} == 0 else "1" }}

manifests.yaml_stream([{{
    apiVersion = "v1"
    kind = "Namespace"
    metadata.name = "{namespace}"
}}] + [{{
    apiVersion = "apps/v1"
    kind = "Deployment"
    metadata = {{name = "app-${{number}}", namespace = "{namespace}", labels = {{app = "app-${{number}}"}}}}
    spec = {{
        replicas = 0
        selector.matchLabels = {{app = "app-${{number}}"}}
        template = {{
            metadata.labels = {{app = "app-${{number}}"}}
            spec.containers = [{{
                name = "main"
                image = "registry.example/app:" + _changed(number)
                args = ["serve", "--port", "8080"]
                env = [{{name = "A", value = "1"}}, {{name = "B", value = "2"}}]
                ports = [{{name = "http", containerPort = 8080}}]
                resources = {{requests = {{cpu = "100m", memory = "128Mi"}}, limits = {{memory = "256Mi"}}}}
                readinessProbe = {{httpGet = {{path = "/ready", port = 8080}}, periodSeconds = 5}}
            }}]
        }}
    }}
}} for number in range(_count // 2)] + [{{
    apiVersion = "v1"
    kind = "ConfigMap"
    metadata = {{name = "settings-${{number}}", namespace = "{namespace}"}}
    data = {{REVISION = _changed(number), REGION = "east", "app.yaml" = "level: info\\nport: 8080\\n"}}
}} for number in range(_count // 2)])
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """A repository of one stack, whose objects are on the server as of revision 1. `environment` is for processes."""

    root: Path
    objects: int
    environment: dict[str, str]
    every: int = 10
    """One in so many differs between revisions."""

    def write(self, revision: str) -> None:
        text = _MAIN.format(count=self.objects, revision=revision, namespace=NAMESPACE, every=self.every)
        (self.root / "bench/dev/main.k").write_text(text)

    def wb(self, *arguments: str, kubeconfig: Path, codes: tuple[int, ...] = (0,)) -> str:
        return self._run((*_WB, *arguments), kubeconfig, codes)

    def kubectl(self, *arguments: str, kubeconfig: Path, codes: tuple[int, ...] = (0,)) -> str:
        return self._run(("kubectl", *arguments), kubeconfig, codes)

    def _run(self, command: tuple[str, ...], kubeconfig: Path, codes: tuple[int, ...]) -> str:
        environment = {**self.environment, "KUBECONFIG": str(kubeconfig)}
        ended = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=900)
        if ended.returncode not in codes:
            raise SystemExit(f"{' '.join(command[:4])} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout


@contextmanager
def bench(folder: Path, objects: int, kubeconfig: Path, every: int = 10) -> Iterator[Bench]:
    """Applies revision 1, and leaves the objects to the server."""
    context = yaml.safe_load(kubeconfig.read_text())["current-context"]
    root = folder / "repository"
    for path, text in {
        "kcl.mod": '[package]\nname = "repository"\n',
        "clusters.yaml": f"clusters:\n  here: {{context: {json.dumps(context)}}}\n"
        'placements:\n- {stacks: ["*"], clusters: [here]}\n',
        "bench/project.yaml": "name: bench\n",
        "bench/dev/stack.yaml": "name: dev\n",
        "bench/dev/kcl.yaml": "kcl_cli_configs:\n  file:\n    - main.k\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WB_", "PYTHONDONTWRITE"))},
        "HOME": str(folder / "home"),
        "WB_STATE_DIR": str(folder / "state"),
        "WB_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    made = Bench(root, objects, environment, every)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    made.write("1")
    made.wb("trust", kubeconfig=kubeconfig, codes=(0, 1, 2, 64))
    made.wb("apply", _STACK, "--yes", "--no-watch", kubeconfig=kubeconfig)
    yield made


@contextmanager
def server() -> Iterator[Path]:
    """Yields the kubeconfig of a sandbox in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig")
        command = [sys.executable, "-m", "runtimes.sandbox.server", "--kubeconfig", str(kubeconfig)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("READY")
            yield kubeconfig
        finally:
            process.terminate()
            process.wait()


@contextmanager
def delayed(kubeconfig: Path, folder: Path) -> Iterator[Path]:
    """Yields a kubeconfig whose server is a proxy that hands every packet on half of a round trip later."""
    content = yaml.safe_load(kubeconfig.read_text())
    names = {each["name"]: each["context"]["cluster"] for each in content["contexts"]}
    cluster = next(each for each in content["clusters"] if each["name"] == names[content["current-context"]])
    address = urlsplit(cluster["cluster"]["server"])
    assert address.hostname is not None
    ready: queue.Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = queue.Queue()
    host, port = address.hostname, address.port or 443

    async def serve() -> None:
        done = asyncio.Event()
        # connections that are open at the end are torn off, which is nobody's concern
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with await _proxy(host, port) as proxy:
            ready.put((proxy.sockets[0].getsockname()[1], asyncio.get_running_loop(), done))
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    served, loop, done = ready.get()
    cluster["cluster"]["server"] = f"{address.scheme}://{host}:{served}"
    to = folder / "delayed"
    to.write_text(json.dumps(content))
    to.chmod(0o600)
    try:
        yield to
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()


async def _proxy(host: str, port: int) -> asyncio.Server:
    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            data = b"-"
            while data:
                data = await reader.read(1 << 16)
                waiting.put_nowait((time.monotonic() + ROUND_TRIP_SECONDS / 2, data))

        async def write() -> None:
            while True:
                at, data = await waiting.get()
                await asyncio.sleep(max(0.0, at - time.monotonic()))
                if not data:
                    writer.close()
                    return
                writer.write(data)
                await writer.drain()

        with suppress(OSError):
            await asyncio.gather(read(), write())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(passed_on(reader, to_writer), passed_on(to_reader, writer))

    return await asyncio.start_server(serve, host, 0)


def compared(made: Bench, kubeconfig: Path, manifests: Path, rounds: int) -> dict[str, Any]:
    """Returns medians of both and the median of their ratios; both have to name the same objects."""
    expected = 2 * len(range(0, made.objects // 2, made.every))  # of both kinds

    def ours() -> float:
        start = time.perf_counter()
        found = json.loads(made.wb("diff", _STACK, "-o", "json", kubeconfig=kubeconfig, codes=(1,)))
        took = time.perf_counter() - start
        assert len(found["changes"]) == expected, found["summary"]
        return took

    def theirs() -> float:
        start = time.perf_counter()
        text = made.kubectl(
            "diff",
            "--server-side",
            "--field-manager=workbench",
            "--concurrency=10",
            "-f",
            str(manifests),
            kubeconfig=kubeconfig,
            codes=(1,),
        )
        took = time.perf_counter() - start
        assert sum(line.startswith("diff ") for line in text.splitlines()) >= expected
        return took

    return _in_turns(ours, theirs, rounds)


def applied(made: Bench, kubeconfig: Path, manifests: Path, rounds: int) -> dict[str, Any]:
    """As `compared`, of writing what changed: each has objects as the other left them, at another revision."""
    revision = [1]

    def revised() -> str:
        revision[0] += 1
        return f"{revision[0]}"

    def ours() -> float:
        made.write(revised())
        start = time.perf_counter()
        made.wb("apply", _STACK, "--yes", "--no-watch", kubeconfig=kubeconfig)
        return time.perf_counter() - start

    def theirs() -> float:
        made.write(revised())
        write_manifests(made, manifests, kubeconfig)
        start = time.perf_counter()
        made.kubectl("apply", "--server-side", "--field-manager=workbench", "-f", str(manifests), kubeconfig=kubeconfig)
        return time.perf_counter() - start

    return _in_turns(ours, theirs, rounds)


def _in_turns(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Both return the seconds that count, without what prepares and checks them."""
    ours(), theirs()  # what either stores is there
    times = [(ours(), theirs()) for _ in range(rounds)]
    ratios = [peer / own for own, peer in times]
    return {
        "ours": statistics.median(own for own, _ in times),
        "peer": statistics.median(peer for _, peer in times),
        "ratio": statistics.median(ratios),
        "spread": (min(ratios), max(ratios)),
    }


def write_manifests(made: Bench, to: Path, kubeconfig: Path) -> None:
    """Writes what the configuration compiles to with the labels that wb adds, so that both diff the same."""
    text = made.wb("compile", _STACK, kubeconfig=kubeconfig)
    documents = [each["attributes"] for each in yaml.safe_load(text)]
    live = json.loads(made.kubectl("get", "namespace", NAMESPACE, "-o", "json", kubeconfig=kubeconfig))
    labels = {
        name: value for name, value in live["metadata"]["labels"].items() if name != "kubernetes.io/metadata.name"
    }
    for each in documents:
        each["metadata"]["labels"] = {**each["metadata"].get("labels", {}), **labels}
    to.write_text(yaml.safe_dump_all(documents))


def sent_back(made: Bench, kubeconfig: Path) -> float | None:
    """Returns how many requests the server refused as too many since it began; None where it keeps no account."""
    found = made.kubectl("get", "--raw", "/metrics", kubeconfig=kubeconfig, codes=(0, 1))
    lines = [each for each in found.splitlines() if each.startswith("apiserver_")]
    refused = [each for each in lines if each.startswith("apiserver_request_total{") and 'code="429"' in each]
    return sum(float(each.rpartition(" ")[2]) for each in refused) if lines else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.clusters")
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--apply", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("kubectl") is None:
        raise SystemExit("needs kubectl on PATH")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.kubeconfig:
            _measured(folder, arguments.kubeconfig, "a real control plane", arguments)
        else:
            with server() as kubeconfig:
                _measured(folder, kubeconfig, "the sandbox", arguments)


def _measured(folder: Path, kubeconfig: Path, what: str, arguments: argparse.Namespace) -> None:
    work, peer = (
        (applied, "kubectl apply --server-side") if arguments.apply else (compared, "kubectl diff --server-side")
    )
    every = 1 if arguments.apply else 10
    with bench(folder, arguments.objects, kubeconfig, every) as made, delayed(kubeconfig, folder) as slow:
        made.write("2")
        manifests = folder / "manifests.yaml"
        write_manifests(made, manifests, kubeconfig)
        for latency, file in (("no latency", kubeconfig), ("20 ms round trip", slow)):
            load, before = os.getloadavg()[0], sent_back(made, kubeconfig)
            found = work(made, file, manifests, arguments.rounds)
            low, high = found["spread"]
            after = sent_back(made, kubeconfig)
            told = "" if after is None or before is None else f", {after - before:.0f} requests sent back (429)"
            sys.stdout.write(
                f"{arguments.objects} objects on {what}, {latency}: "
                f"wb {found['ours']:.2f} s, {peer} {found['peer']:.2f} s, "
                f"{found['ratio']:.2f}x ({low:.2f} to {high:.2f}, {arguments.rounds} rounds, load {load:.2f}{told})\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

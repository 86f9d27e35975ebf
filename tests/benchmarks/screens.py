"""The screens from outside: first paint, keys in 10,000 rows, bytes over the wire, memory, processor at rest.

    python -m tests.benchmarks.screens [--objects 10000] [--stacks 200] [--kubeconfig FILE] [--k9s PATH]

A terminal of 120x40 in 24-bit colour. The objects are ConfigMaps of one namespace, which are put there first. Without
--kubeconfig the server is the sandbox, which serves from the same cores; else the current context of that file, whose
cluster should be one to throw away. --k9s measures that program beside, and prints the ratios (its figure by ours).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.benchmarks.clusters import server
from tests.benchmarks.terminal import Paint, Terminal
from tests.benchmarks.watching import Server

_NAMESPACE = "bench-screens"
_KEYS = 100
_IDLE_SECONDS, _SETTLING_SECONDS = 10.0, 5.0
_CHANGES_A_SECOND = 100
_WB = (sys.executable, "-c", "import sys; from workbench.cli.main import main; sys.exit(main())")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure; `goal` is the most that is wanted, in the unit of the row."""

    name: str
    unit: str
    goal: float | None
    ours: float
    peer: float | None = None

    def __str__(self) -> str:
        is_met = "" if self.goal is None else "met" if self.ours <= self.goal else "not met"
        goal = "" if self.goal is None else f"{self.goal:g}"
        peer = "" if self.peer is None else f"{self.peer:.3g}"
        ratio = "" if self.peer is None or not self.ours else f"{self.peer / self.ours:.2f}"
        return f"| {self.name} | {self.unit} | {goal} | {self.ours:.3g} | {is_met} | {peer} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.screens")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--stacks", type=int, default=200)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--k9s", metavar="PATH")
    arguments = parser.parse_args()
    sys.stdout.write("| what | unit | goal | wb | | k9s | ratio |\n| --- | --- | --- | --- | --- | --- | --- |\n")
    with tempfile.TemporaryDirectory() as name:
        if arguments.kubeconfig:
            _measured(Path(name), arguments.kubeconfig, arguments)
        else:
            with server() as kubeconfig:
                _measured(Path(name), kubeconfig, arguments)
    sys.stdout.write(f"load {os.getloadavg()[0]:.2f}\n")


def _measured(folder: Path, kubeconfig: Path, arguments: argparse.Namespace) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WB_", "PYTHONDONTWRITE"))},
        "HOME": str(folder / "home"),
        "WB_STATE_DIR": str(folder / "state"),
        "WB_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "KUBECONFIG": str(kubeconfig.resolve()),
    }
    repository = _repository(folder / "repository", arguments.stacks, kubeconfig)
    _fill(Server(kubeconfig), arguments.objects)
    for each in _starting(repository, environment, arguments.stacks):
        _print(each)
    ours = dict(
        _listing(_WB, ":configmaps@here " + _NAMESPACE + "\r", repository, environment, arguments.objects, kubeconfig)
    )
    peer: dict[str, float] = {}
    if arguments.k9s:
        command = (arguments.k9s, "-n", _NAMESPACE, "--command", "configmaps")
        peer = dict(_listing(command, "", repository, environment, arguments.objects, kubeconfig))
    for name, unit, goal in _GOALS:
        _print(Row(name, unit, goal, ours[name], peer.get(name)))


def _print(row: Row) -> None:
    sys.stdout.write(f"{row}\n")
    sys.stdout.flush()


_GOALS: tuple[tuple[str, str, float | None], ...] = (
    ("10,000 objects: first rows", "s", 1.0),
    ("10,000 objects: all rows", "s", 5.0),
    ("key to paint: median", "ms", 20.0),
    ("key to paint: p99", "ms", 50.0),
    ("bytes of a cursor move: median", "bytes", 400.0),
    ("bytes of a move that scrolls: median", "bytes", None),
    ("memory with all watched", "MB", 200.0),
    ("processor at rest", "% of a core", 2.0),
    ("100 changes a second: paints", "a second", 4.0),
    ("100 changes a second: key to paint, median", "ms", 50.0),
    ("100 changes a second: key to paint, p99", "ms", None),
)


def _starting(repository: Path, environment: Mapping[str, str], stacks: int) -> Iterator[Row]:
    painted, usable = [], []
    for _ in range(5):
        with Terminal(_WB, repository, environment) as terminal:
            painted.append(terminal.until_first())
            terminal.until("Filter")  # the line of keys, which the frame before the screens has not
            terminal.press("j")
            usable.append(time.perf_counter() - terminal.began - 0.12)
    yield Row("first paint", "s", 0.4, statistics.median(painted))
    yield Row(f"{stacks} stacks: until a key moves among them", "s", 0.7, statistics.median(usable))


def _listing(
    command: tuple[str, ...],
    typed: str,
    repository: Path,
    environment: Mapping[str, str],
    objects: int,
    kubeconfig: Path,
) -> Iterator[tuple[str, float]]:
    with Terminal(command, repository, environment) as terminal:
        if typed:
            terminal.until("Filter")
            terminal.rest(1)
            terminal.forget()
        began = time.perf_counter()
        terminal.type(typed)
        terminal.until("settings-")
        yield "10,000 objects: first rows", time.perf_counter() - began
        _until_last(terminal, f"settings-{objects - 1:05}", began)
        yield "10,000 objects: all rows", time.perf_counter() - began
        terminal.press("gg" if typed else "g")
        terminal.rest(_SETTLING_SECONDS)
        moves = [terminal.press(key) for _ in range(_KEYS // 20) for key in "j" * 10 + "k" * 10]
        scrolls = [terminal.press("j") for _ in range(_KEYS)]
        yield "key to paint: median", _milliseconds(moves + scrolls, 0.5)
        yield "key to paint: p99", _milliseconds(moves + scrolls, 0.99)
        yield "bytes of a cursor move: median", statistics.median(each.size for each in moves)
        yield "bytes of a move that scrolls: median", statistics.median(each.size for each in scrolls[_KEYS // 2 :])
        used = terminal.processor_seconds()
        terminal.rest(_IDLE_SECONDS)
        yield "processor at rest", (terminal.processor_seconds() - used) / _IDLE_SECONDS * 100
        with _changing(kubeconfig, objects):
            terminal.rest(2)
            yield "100 changes a second: paints", terminal.rest(_IDLE_SECONDS) / _IDLE_SECONDS
            keys = [terminal.press("j") for _ in range(_KEYS)]
        yield "100 changes a second: key to paint, median", _milliseconds(keys, 0.5)
        yield "100 changes a second: key to paint, p99", _milliseconds(keys, 0.99)
        yield "memory with all watched", terminal.peak_bytes() / 1e6


def _until_last(terminal: Terminal, name: str, began: float) -> None:
    """Goes to the end of the list until that is the last object of all."""
    while time.perf_counter() - began < 300:
        terminal.forget()
        terminal.type("G")
        try:
            terminal.until(name, seconds=0.5)
        except TimeoutError:
            continue
        return
    raise TimeoutError(f"{name} never came")


def _milliseconds(keys: list[Paint], share: float) -> float:
    first = sorted(each.first for each in keys)
    return first[min(len(first) - 1, round(share * (len(first) - 1)))] * 1000


@contextmanager
def _changing(kubeconfig: Path, objects: int) -> Iterator[None]:
    """Changes one object after the other, so many a second as the server answers, at most `_CHANGES_A_SECOND`."""
    over, served = threading.Event(), Server(kubeconfig)

    def change() -> None:
        began = time.monotonic()
        for number in range(10**9):
            if over.wait(max(0.0, began + number / _CHANGES_A_SECOND - time.monotonic())):
                return
            name = f"settings-{number * 7 % objects:05}"
            served.patch(f"/api/v1/namespaces/{_NAMESPACE}/configmaps/{name}", {"data": {"at": str(number)}})

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _fill(served: Server, objects: int) -> None:
    served.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    for number in range(objects):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"settings-{number:05}"},
            "data": {"a": "1"},
        }
        served.create(f"/api/v1/namespaces/{_NAMESPACE}/configmaps", body)


def _repository(root: Path, stacks: int, kubeconfig: Path) -> Path:
    context = yaml.safe_load(kubeconfig.read_text())["current-context"]
    files = {
        "kcl.mod": '[package]\nname = "repository"\n',
        "clusters.yaml": yaml.safe_dump(
            {"clusters": {"here": {"context": context}}, "placements": [{"stacks": ["*"], "clusters": ["here"]}]}
        ),
    }
    for number in range(stacks // 4):
        folder = f"domain-{number // 10}/project-{number:02}"
        files[f"{folder}/project.yaml"] = f"name: project-{number:02}\n"
        for stack in ("dev", "pre", "gray", "prod"):
            files[f"{folder}/{stack}/stack.yaml"] = f"name: {stack}\n"
            files[f"{folder}/{stack}/kcl.yaml"] = "kcl_cli_configs:\n  file:\n    - main.k\n"
            files[f"{folder}/{stack}/main.k"] = 'apiVersion = "v1"\nkind = "ConfigMap"\nmetadata.name = "a"\n'
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


if __name__ == "__main__":
    main()

"""What somebody who types waits for: the language server, as a process, with an editor before it.

    python -m tests.benchmarks.editor [--stacks] [--rounds 2] [--key 0.12]

On a copy of konfig-2023 the main.k of a stack, its base.k and the schema that both use are open. Words are typed into
main.k and into the schema, key by key, as a person does: a key every so often, a pause after each line, in which the
linter begins. With each key the editor asks for completion. Measured are, for every key, the time from the edit to the
first diagnostics of just that text, debouncing included, and the time from the edit to the answer of the completion;
then what has been typed is deleted again. Beside them the processor's time of the server for each key, and its peak
memory. `--stacks` asks `wb lsp`, which compiles the stacks of the repository in the pauses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.kcl.conformance import corpus
from tests.kcl.tools.lsp.editor import Editor, change

_GUESTBOOK: Final = "appops/guestbook"
_MODEL: Final = "base/pkg/kusion_models/kube/frontend/server.k"
_GOAL_MEDIAN, _GOAL_P95, _GOAL_MEGABYTES = 60.0, 150.0, 300
_PAUSE_SECONDS: Final = 0.4
"""After a line: longer than the server waits before it has the linter look."""
_STACK_LINES: Final = (
    "    replicas = 3",
    '    mainContainer.env = [{name = "LOG_LEVEL", value = "debug"}]',
    '    labels = {tier = "frontend", "app.kubernetes.io/part-of" = "guestbook"}',
    "    schedulingStrategy.resource = res_tpl.small",
)
_MODEL_LINES: Final = (
    "    # How many pods may be missing while new ones start",
    '    maxUnavailable?: int | str = "25%"',
    "    minReadySeconds?: int = 10 if replicas > 1 else 0",
    "    check:",
    "        minReadySeconds >= 0, 'seconds are not negative'",
)


@dataclass
class Measured:
    """Milliseconds for each key, and of the processor all in all."""

    name: str
    diagnostics: list[float] = field(default_factory=list)
    completion: list[float] = field(default_factory=list)
    busy_seconds: float = 0.0
    keys: int = 0


@dataclass
class Typist:
    """Types into one file; `line` is where whole lines go, which are deleted again."""

    editor: Editor
    path: Path
    line: int
    seconds: float

    def type(self, lines: Sequence[str], found: Measured) -> None:
        """Types lines and deletes them; what each key took is added to `found`."""
        before = _busy_seconds(self.editor)
        self._key((self.line, 0), (self.line, 0), "\n" * len(lines), None, found)
        for number, text in enumerate(lines):
            for column, key in enumerate(text):
                at = self.line + number, column
                asks = (at[0], column + 1) if key.isalnum() or key in "._" else None
                self._key(at, at, key, asks, found)
            time.sleep(_PAUSE_SECONDS)
        for number, text in reversed(list(enumerate(lines))):
            for column in range(len(text) - 1, -1, -1):
                self._key((self.line + number, column), (self.line + number, column + 1), "", None, found)
        self._key((self.line, 0), (self.line + len(lines), 0), "", None, found)
        found.busy_seconds += _busy_seconds(self.editor) - before

    def _key(
        self, start: tuple[int, int], end: tuple[int, int], text: str, asks: tuple[int, int] | None, found: Measured
    ) -> None:
        began = time.perf_counter()
        version = self.editor.edit(self.path, change(start, end, text))
        uri = self.path.as_uri()
        number = None
        if asks is not None:
            position = {"line": asks[0], "character": asks[1]}
            params = {"textDocument": {"uri": uri}, "position": position}
            number = self.editor.request("textDocument/completion", params)
        waiting = {"diagnostics", *(() if number is None else ("completion",))}
        while waiting:
            message = self.editor.message()
            took = (time.perf_counter() - began) * 1000
            params = message.get("params") or {}
            is_told = message.get("method") == "textDocument/publishDiagnostics"
            if is_told and params["uri"] == uri and params.get("version") == version and "diagnostics" in waiting:
                waiting.remove("diagnostics")
                found.diagnostics.append(took)
            if number is not None and message.get("id") == number and "method" not in message:
                assert "error" not in message, message
                waiting.remove("completion")
                found.completion.append(took)
        found.keys += 1
        self.editor.published.clear()
        time.sleep(max(0.0, began + self.seconds - time.perf_counter()))


def _busy_seconds(editor: Editor) -> float:
    """The processor's time of the server's process so far; 0 where the system does not tell."""
    status = Path(f"/proc/{editor.process.pid}/stat")
    if not status.exists():
        return 0.0
    fields = status.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(root: Path, command: Sequence[str], rounds: int, seconds: float) -> tuple[list[Measured], int]:
    """What keys took in the stack and in the schema, and the peak memory in MB."""
    base, prod, model = root / _GUESTBOOK / "base/base.k", root / _GUESTBOOK / "prod/main.k", root / _MODEL
    in_stack, in_model = Measured("a line of main.k"), Measured("an attribute of a shared schema")
    with Editor(root, command=command) as editor:
        for path in (base, model, prod):
            editor.open(path)
        editor.diagnostics_of_version(prod)
        of_stack = Typist(editor, prod, _line_after(prod, "    image ="), seconds)
        of_model = Typist(editor, model, _line_after(model, "    database?:"), seconds)
        for typist, lines in ((of_stack, _STACK_LINES[:1]), (of_model, _MODEL_LINES[:1])):
            typist.type(lines, Measured("what is only done once"))
        for _ in range(rounds):
            of_stack.type(_STACK_LINES, in_stack)
            of_model.type(_MODEL_LINES, in_model)
        return [in_stack, in_model], editor.peak_megabytes()


def _line_after(path: Path, start: str) -> int:
    """The number of the line after the one that begins so; it is there, if need be after a line end that was not."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        path.write_text(text + "\n", encoding="utf-8")
    return next(number for number, line in enumerate(text.split("\n")) if line.startswith(start)) + 1


def _rows(found: Sequence[Measured]) -> Iterator[str]:
    for each in found:
        for what, values in (("diagnostics", each.diagnostics), ("completion", each.completion)):
            cuts = statistics.quantiles(values, n=100)
            median, p95 = statistics.median(values), cuts[94]
            verdict = "met" if median < _GOAL_MEDIAN and p95 < _GOAL_P95 else "not met"
            yield (
                f"| {each.name}, edit to {what} | {median:.0f} ms | {p95:.0f} ms | {cuts[98]:.0f} ms "
                f"| {max(values):.0f} ms | {len(values)} | {verdict} |"
            )
        busy = each.busy_seconds / each.keys * 1000
        yield f"| {each.name}, the server's processor time a key | {busy:.0f} ms | | | | {each.keys} | |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.editor")
    parser.add_argument("--stacks", action="store_true", help="ask wb lsp")
    parser.add_argument("--rounds", type=int, default=2, help="how often everything is typed")
    parser.add_argument("--key", type=float, default=0.12, help="seconds from one key to the next")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "konfig"
        shutil.copytree(corpus("konfig-2023"), root)
        command = ("workbench", "-w", str(root), "lsp") if given.stacks else ("kcl", "lsp")
        found, megabytes = measure(root, command, given.rounds, given.key)
    write = sys.stdout.write
    write(f"{'wb' if given.stacks else 'kcl'} lsp, load {os.getloadavg()[0]:.1f}\n\n")
    write("| a key in | median | p95 | p99 | worst | keys | |\n| --- | --- | --- | --- | --- | --- | --- |\n")
    write("\n".join(_rows(found)) + "\n")
    verdict = "met" if megabytes < _GOAL_MEGABYTES else "not met"
    write(f"\npeak memory {megabytes} MB, {verdict}\n")


if __name__ == "__main__":
    main()

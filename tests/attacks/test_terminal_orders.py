"""A repository, its clusters and its programs say things that a terminal would take for orders: none gets there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcl import cli as kcl_cli
from kcl.terminal import WithoutOrders
from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Ended, Wb

ORDERS = {
    "fill the clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "set the title": "\x1b]0;title\x1b\\",
    "clear the screen": "\x1b[2J\x1b[H",
    "hide what follows": "\x1b[8m",
    "ask who it is": "\x1b[c",
    "a device control string": "\x1bP$q\x1b\\",
    "clear in one character": "\x9b2J",
    "an operating system command in one character": "\x9d52;c;aGk=\x9c",
    "go back and write over": "fine\rwrong\b\b",
    "ring and tabulate": "\a\v\f",
    "delete": "\x7f",
    "next line": "\x85",
    "override to the left": "\u202egnp.exe",
    "embed and pop": "\u202b\u202c",
    "isolate": "\u2066x\u2069",
    "marks": "\u200f\u200e\u061c",
    "separators": "\u2028\u2029",
    "a mark of byte order": "\ufeff",
    "tags, which nobody sees": "\U000e0072\U000e006d",
}
_IS_ORDER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def orders(said: str) -> list[str]:
    """Returns what a text tells a terminal, the workbench's own colours aside."""
    return [hex(ord(each)) for each in _IS_ORDER.findall(re.sub(r"\x1b\[[0-9;]*m", "", said))]


def written(text: str) -> str:
    return '"' + "".join(f"\\U{ord(each):08x}" for each in text) + '"'


@pytest.fixture
def ordering(hostile: Hostile) -> Hostile:
    """A stack whose texts, keys, messages and prints hold all orders, one of the files with each as it is."""
    data = ", ".join(f"k{number} = {written('a' + each + 'b')}" for number, each in enumerate(ORDERS.values()))
    keys = ", ".join(f"{written('example.com/' + each)} = 'x'" for each in ORDERS.values())
    hostile.write(
        "web/dev/main.k",
        "\n".join(
            [
                *(f"print({written(each)})" for each in ORDERS.values()),
                'resources = [{id = "v1:ConfigMap:shop:web", type = "Kubernetes", attributes = {'
                'apiVersion = "v1", kind = "ConfigMap", metadata = {name = "web", namespace = "shop", '
                f"annotations = {{{keys}}}}}, data = {{{data}}}}}}}]",
                "",
            ]
        ),
    )
    return hostile


Run = Callable[..., Ended]


@pytest.fixture
def terminal(wb: Wb, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: str) -> Ended:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        return wb(*arguments)

    return run


@pytest.mark.parametrize("arguments", [(), ("-o", "json"), ("-o", "table")])
def test_compile_gives_a_terminal_no_orders(ordering: Hostile, terminal: Run, arguments: tuple[str, ...]) -> None:
    ended = terminal("compile", *arguments, "web/dev")
    assert ended.code == 0 and orders(ended.text) == []
    assert "web" in ended.out


@pytest.mark.parametrize(("arguments", "read"), [((), yaml.safe_load), (("-o", "json"), json.loads)])
def test_what_is_piped_says_the_same_with_escapes(
    ordering: Hostile, wb: Wb, arguments: tuple[str, ...], read: Callable[[str], Any]
) -> None:
    ended = wb("compile", *arguments, "web/dev")
    assert ended.code == 0 and orders(ended.text) == []
    (resource,) = read(ended.out)
    assert list(resource["attributes"]["data"].values()) == [f"a{each}b" for each in ORDERS.values()]
    keys = resource["attributes"]["metadata"]["annotations"]
    assert list(keys) == [f"example.com/{each}" for each in ORDERS.values()]


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_errors_quote_no_orders(hostile: Hostile, wb: Wb, terminal: Run, order: str) -> None:
    """A value in a message, and a source line with the order as it is."""
    raw = "".join(each for each in order if each not in "\r\n\v\f\x85\u2028\u2029\x00\ufeff")
    hostile.write("web/dev/main.k", f"schema A:\n    x: int\n# {raw}\na = A {{x = {written(order)}}} # {raw}\n")
    for run in (wb, terminal):
        ended = run("compile", "web/dev")
        assert ended.code != 0 and "main.k" in ended.text and orders(ended.text) == []


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_names_and_broken_files_give_no_orders(hostile: Hostile, wb: Wb, terminal: Run, order: str) -> None:
    hostile.write("web/project.yaml", json.dumps({"name": f"we{order}b", "labels": {f"a{order}": order}}))
    hostile.write("clusters.yaml", json.dumps({"clusters": {f"h{order}z": {"context": order, f"u{order}": 1}}}))
    hostile.write("web/dev/stack.yaml", json.dumps({"name": f"de{order}v", "clusters": [order]}))
    for arguments in (
        ("ls",),
        ("ls", "-o", "json"),
        ("ls", "-o", "yaml"),
        ("diff", "web/dev"),
        ("explain", order, "."),
    ):
        assert orders(terminal(*arguments).text) == [], arguments
        assert orders(wb(*arguments).err) == [], arguments


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_the_language_gives_a_terminal_no_orders(
    hostile: Hostile, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """A process of its own prints: what it says is heard where it ends up, not in this process."""
    monkeypatch.setenv("KCL_RUN_CACHE", "off")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for program, begins in ((f"a = {written(order)}\nprint(a)\n", "a: "), (f"a: int = {written(order)}\n", "error")):
        monkeypatch.setattr(sys, "argv", ["kcl", "run", str(hostile.write("main.k", program))])
        kcl_cli.entry()
        said = capfd.readouterr()
        assert begins in said.out + said.err and orders(said.out + said.err) == []


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals of one's own here")
def test_what_was_printed_before_gives_a_terminal_no_orders(hostile: Hostile, tmp_path: Path) -> None:
    """The same command answers from what it kept, without the rest of the language."""
    hostile.write("main.k", f"a = {written(ORDERS['tags, which nobody sees'])}\n")
    own = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "KCL_RUN_CACHE": "on"}
    for _ in range(3):  # what was written a moment ago is not relied on
        terminal, inner = os.openpty()
        subprocess.run([sys.executable, "-P", "-m", "kcl", "run", "main.k"], cwd=hostile.root, env=own, stdout=inner,
                       stdin=subprocess.DEVNULL, timeout=120, check=True)  # fmt: skip
        said = os.read(terminal, 10_000).decode().replace("\r\n", "\n")
        os.close(inner)
        os.close(terminal)
        assert said.startswith("a: ") and orders(said) == []


def test_a_stream_keeps_what_is_no_order() -> None:
    class Kept(list[str]):
        def write(self, text: str) -> int:
            self.append(text)
            return len(text)

    kept = Kept()
    WithoutOrders(kept).write("a\n\tb 😀 中文 é\n")  # type: ignore[arg-type]  # all of a stream that is asked for
    assert kept == ["a\n\tb 😀 中文 é\n"]


def test_lines_of_a_screen_give_no_orders() -> None:
    """Also what a widget draws of itself, as the editor of What if does."""
    from rich.segment import Segment
    from textual.color import Color

    from workbench.tui.tones import WithoutOrders as Filter

    drawn = Filter().apply([Segment(f"中{each}文") for each in ORDERS.values()], Color(0, 0, 0))
    assert orders("".join(each.text for each in drawn)) == []
    assert all(each.text.startswith("中") and each.text.endswith("文") for each in drawn)


async def test_what_is_edited_gives_the_terminal_no_orders(ordering: Hostile, tmp_path: Path) -> None:
    from tests.workbench.tui.test_screens import LARGE, opened, says, until
    from workbench.session import Session
    from workbench.settings import Settings
    from workbench.tui.app import WorkbenchApp

    raw = ORDERS["fill the clipboard"] + ORDERS["override to the left"] + ORDERS["clear in one character"]
    main = ordering.stack / "main.k"
    main.write_text(f"# here: {raw}\n" + main.read_text())
    session = Session.open(ordering.root, settings=Settings(tmp_path / "state", tmp_path / "cache", user="ann"))
    app = WorkbenchApp(session, open_at="web/dev")
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: says(app, "compiled in"))
        drawn = {"spec": _drawn(app)}
        await pilot.press("i")
        await until(pilot, lambda: type(app.screen).__name__ == "WhatIfScreen")
        await until(pilot, lambda: "# here:" in _drawn(app))
        drawn["what if"] = _drawn(app)
    assert {name: orders(said) for name, said in drawn.items()} == {"spec": [], "what if": []}


def _drawn(app: Any) -> str:
    """What the terminal is sent of a whole screen, colours and places aside."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(each.text for each in strip if not each.control) for strip in strips)

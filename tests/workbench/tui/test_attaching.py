"""Shells in containers and forwarded ports from the screens: what is opened, refused, listed, stopped, and audited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtimes.base import KubernetesId, Moved, PodTarget, Unreachable
from runtimes.base.terminals import Ended, ExecRequest
from runtimes.sandbox.server import Sandbox
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import Clusters, session, shop
from tests.workbench.tui.test_live import names, sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SIZES, released, says, until
from workbench.engine.errors import Refused
from workbench.session.attaching import LOOPBACK
from workbench.tui import equivalents
from workbench.tui.attaching import SHELL
from workbench.tui.screens.forwards import ForwardsScreen
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.terminal import LEAVE, attach

__all__ = ["sandbox"]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "front", "namespace": "web-prod"}}


class Echo:
    """A program that says in capitals what is typed, and ends at `exit`; a port that sends everything back."""

    def __init__(self) -> None:
        self.written = asyncio.Queue[bytes]()
        self.sizes: list[tuple[int, int]] = []
        self.ended: Ended | None = None

    async def read(self) -> bytes:
        return await self.written.get()

    async def write(self, typed: bytes) -> None:
        if typed == b"lose":
            raise Unreachable("reset")
        if typed.startswith(b"exit"):
            self.ended = Ended(int(typed[4:] or b"0"))
            await self.written.put(b"")
        else:
            await self.written.put(typed.upper())

    async def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))


class AttachedCluster(FakeCluster):
    failure: Exception | None = None

    @asynccontextmanager
    async def execute(self, request: ExecRequest) -> AsyncIterator[Echo]:
        if self.failure is not None:
            raise self.failure
        yield Echo()

    @asynccontextmanager
    async def connect_port(self, pod: PodTarget, port: int) -> AsyncIterator[Echo]:
        if self.failure is not None:
            raise self.failure
        yield Echo()


def attached() -> tuple[Clusters, PodTarget]:
    clusters = Clusters("sh")
    clusters.by_name["hz"] = AttachedCluster("hz")
    id_ = clusters["hz"].put(POD)
    return clusters, PodTarget("web-prod", "front", clusters["hz"].objects[id_].uid)


async def test_a_program_is_in_the_trail_with_who_and_where_and_not_with_what_it_was(tmp_path: Path) -> None:
    clusters, pod = attached()
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        async with opened.execute_live("hz", ExecRequest(pod, "app", ("login", "--password=canary"))) as remote:
            await remote.write(b"canary typed")
        with pytest.raises(Moved, match="made again"):
            async with opened.execute_live("hz", ExecRequest(PodTarget("web-prod", "front", "other"), "app", ("sh",))):
                raise AssertionError("it was opened")
        entries = opened.audit().entries()
        said = [(each.action, each.result, each.target, each.cluster, each.detail) for each in entries]
        target = str(KubernetesId("v1", "Pod", "web-prod", "front"))
        assert said == [
            ("live exec", "done", target, "hz", "container app"),
            ("live exec", "started", target, "hz", "container app"),
        ]
        assert "canary" not in repr(entries)


async def test_a_read_only_session_opens_neither_a_program_nor_a_port(tmp_path: Path) -> None:
    clusters, pod = attached()
    async with session(shop(tmp_path / "shop"), clusters, is_read_only=True) as opened:
        with pytest.raises(Refused, match="read-only"):
            async with opened.execute_live("hz", ExecRequest(pod, "app", ("sh",))):
                raise AssertionError("it was opened")
        with pytest.raises(Refused, match="read-only"):
            async with opened.forward_port("hz", pod, 80, 0):
                raise AssertionError("it was opened")
        assert opened.audit().entries() == ()


async def test_a_forwarded_port_carries_bytes_both_ways_on_loopback_and_ends_when_it_is_left(tmp_path: Path) -> None:
    clusters, pod = attached()
    cluster = clusters["hz"]
    assert isinstance(cluster, AttachedCluster)
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        async with opened.forward_port("hz", pod, 80, 0) as found:
            reader, writer = await asyncio.open_connection(LOOPBACK, found.local)
            writer.write(b"hello")
            assert await reader.read(5) == b"HELLO" and (found.connections, found.opened) == (1, 1)
            cluster.failure = Unreachable("the pod's port is closed", target="hz")
            other, writing = await asyncio.open_connection(LOOPBACK, found.local)
            assert await other.read() == b"" and "the pod's port is closed" in found.failure
            writing.close()
            assert found.opened == 2
        assert await reader.read() == b"", "who is connected is let go"
        writer.close()
        with pytest.raises(OSError):
            await asyncio.open_connection(LOOPBACK, found.local)
        assert [each.result for each in opened.audit().entries()] == ["done", "started"]


async def typing(remote: Echo, *typed: bytes) -> tuple[str, bytes]:
    """Types into a terminal, each text when the one before was answered; returns how it ended and what was shown."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    try:
        task = asyncio.create_task(attach(remote, in_read, out_write, lambda: (80, 24)))
        shown = b""
        for each in typed:
            os.write(in_write, each)
            if not each.startswith((b"exit", LEAVE, b"lose")):
                shown += await asyncio.to_thread(os.read, out_read, 100)
        return await asyncio.wait_for(task, 10), shown
    finally:
        for fd in (in_read, in_write, out_read, out_write):
            os.close(fd)


async def test_a_terminal_shows_bytes_as_they_are_and_says_how_it_ended() -> None:
    assert await typing(Echo(), b"ls\r", b"\x1b[A", b"exit7") == ("ended with exit code 7", b"LS\r\x1b[A")
    assert await typing(Echo(), b"a" + LEAVE, LEAVE) == ("left: what runs there may go on", b"A" + LEAVE)
    assert (await typing(Echo(), LEAVE + LEAVE))[0].startswith("left")
    with pytest.raises(Unreachable):
        await typing(Echo(), b"lose")


@SIZES
async def test_ports_are_forwarded_listed_and_stopped_by_key(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        await pilot.press("colon", *"forward 8080", "enter")
        assert app.forwards.open == [], "what is forwarded has to be seen"
        await pilot.press("colon", *"pods@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and bool(names(app)))
        await pilot.press("colon", *"forward web", "enter")
        assert app.forwards.open == []
        await pilot.press("colon", *"forward 8080:0", "enter")
        await until(pilot, lambda: len(app.forwards.open) == 1)
        (found,) = app.forwards.open
        assert " port-forward pod/front-" in app.command_log.acts[-1].line
        await pilot.press("colon", *"forwards", "enter")
        await until(pilot, lambda: isinstance(app.screen, ForwardsScreen) and says(app, f"127.0.0.1:{found.local}"))
        reader, writer = await asyncio.open_connection(LOOPBACK, found.local)
        assert await reader.read() == b""
        writer.close()
        await until(pilot, lambda: any("nothing runs in" in each.failure for each in app.forwards.open))
        await until(pilot, lambda: says(app, "nothing runs in"))
        await pilot.press("K")
        await until(pilot, lambda: app.forwards.open == [] and says(app, "no port is forwarded"))


async def test_a_shell_needs_a_pod_a_command_and_a_terminal(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = workbench(tmp_path)

    def said(text: str) -> bool:
        return any(text in each.message for each in app._notifications)

    async with app.session, app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"deploy@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        await pilot.press("colon", *"shell", "enter")
        assert said("put the cursor on a pod")
        await pilot.press("escape", "colon", *"pods@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and bool(names(app)) and says(app, "Running"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "kind: Pod"))
        await pilot.press("colon", *"exec", "enter")
        assert said("say exec -c CONTAINER COMMAND")
        await pilot.press("colon", *"exec 'ls", "enter")
        assert said("the command can't be read")
        await pilot.press("colon", *"shell other", "enter")
        assert said("no container 'other': there are ")
        monkeypatch.setattr("os.isatty", lambda fd: False)
        await pilot.press("colon", *"exec ls -l", "enter")
        await until(pilot, lambda: said("this needs a terminal"))
        assert app.command_log.acts[-1].line.endswith("-n web-prod -- ls -l")
        monkeypatch.setattr("os.isatty", lambda fd: True)
        await pilot.press("colon", *"shell", "enter")
        await until(pilot, lambda: said("nothing runs in"))
        trail = [(each.action, each.result) for each in app.session.audit().entries()][:2]
        assert trail == [("live exec", "failed"), ("live exec", "started")]


def test_what_kubectl_does_the_same_is_quoted() -> None:
    request = ExecRequest(PodTarget("shop", "front", "1"), "a b", ("sh", "-c", "echo $HOME"))
    assert equivalents.execute(request, None) == "kubectl exec -it front -c 'a b' -n shop -- sh -c 'echo $HOME'"
    assert equivalents.forward(request.pod, 80, 8080, None) == "kubectl port-forward pod/front 8080:80 -n shop"
    assert SHELL[0] == "sh"

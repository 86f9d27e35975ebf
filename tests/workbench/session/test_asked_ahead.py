"""Clusters are asked ahead, while a stack is compiled: nobody waits for that, and nothing is heard of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kcl.records import replace
from tests.workbench.session.shop import shop
from workbench.engine.compiled import CompileFailed
from workbench.session import Session
from workbench.settings import Settings


@asynccontextmanager
async def silent_servers(folder: Path) -> AsyncIterator[tuple[Path, dict[str, asyncio.Event]]]:
    """Two that take requests and answer none. Yields a kubeconfig, and by context whether its server was asked."""
    heard = {"one": asyncio.Event(), "two": asyncio.Event()}
    async with AsyncExitStack() as servers:
        ports = {name: await _listening(each, servers) for name, each in heard.items()}
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": f"http://127.0.0.1:{port}"}} for name, port in ports.items()
            ],
            "users": [{"name": "ann", "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "ann"}} for name in ports],
            "current-context": "one",
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(kubeconfig))
        file.chmod(0o600)
        yield file, heard


async def _listening(heard: asyncio.Event, servers: AsyncExitStack) -> int:
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        servers.callback(writer.close)
        if await reader.readline():
            heard.set()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    servers.callback(server.close)
    port: int = server.sockets[0].getsockname()[1]
    return port


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What an event loop says of tasks that nobody looked after."""
    yield caplog
    assert not [each for each in caplog.records if each.name == "asyncio" and each.levelname != "DEBUG"]


def settings(folder: Path, kubeconfig: Path) -> Settings:
    made = Settings(folder / "state", folder / "cache", kubeconfig=str(kubeconfig), user="ann", host="box")
    return replace(made, releases_namespace="")  # no records are looked for in the clusters


@pytest.mark.usefixtures("said")
async def test_a_stack_that_does_not_compile_waits_for_no_cluster(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    (root / "web" / "prod" / "main.k").write_text("a = 1 +\n")
    async with silent_servers(tmp_path) as (kubeconfig, _):
        async with Session(root, settings(tmp_path, kubeconfig)) as session:
            with pytest.raises(CompileFailed):
                await asyncio.wait_for(session.diff(session.select("web/prod")), 60)
            tasks = session._connections._preparing
        assert not tasks, "what was asked ahead is given up with the session"


@pytest.mark.usefixtures("said")
async def test_only_clusters_that_a_comparison_is_with_are_asked_ahead(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    async with silent_servers(tmp_path) as (kubeconfig, heard):
        async with Session(root, settings(tmp_path, kubeconfig)) as session:
            comparing = asyncio.ensure_future(session.diff(session.select("web/prod"), clusters=["sh"]))
            await asyncio.wait_for(heard["two"].wait(), 120)
            comparing.cancel()
            await asyncio.gather(comparing, return_exceptions=True)
        assert not heard["one"].is_set()


async def test_who_closes_while_the_client_is_imported_is_left_without_connections(tmp_path: Path) -> None:
    root, loaded, loop = shop(tmp_path / "shop"), asyncio.Event(), asyncio.get_running_loop()
    async with silent_servers(tmp_path) as (kubeconfig, _):
        async with Session(root, settings(tmp_path, kubeconfig)) as session:
            connections = session._connections
            connections.prepare(["hz"], dict, lambda: loop.call_soon_threadsafe(loaded.set))
        await asyncio.wait_for(loaded.wait(), 120)
        assert not connections.open and not connections._preparing


def test_connecting_imports_nothing_that_another_thread_may_be_importing(tmp_path: Path) -> None:
    """The planner is imported beside it: of a module that is half imported, another thread may see that half."""
    program = """
import asyncio, sys
from runtimes.base import RuntimeFailure, RuntimeType
from runtimes.registry import connect, load
load(RuntimeType.KUBERNETES)
import yaml
before = set(sys.modules)
async def ask():
    runtime = connect(RuntimeType.KUBERNETES, {"kubeconfig": [sys.argv[1]], "context": None, "place": "hz",
                      "untrusted": (), "trusted_kubeconfigs": ()})
    try:
        await runtime.prepare(lambda: {"a": "b"})
    except RuntimeFailure:
        pass
    await runtime.close()
asyncio.run(ask())
print(*sorted(each for each in set(sys.modules) - before if each.split(".")[0] in ("kcl", "runtimes", "workbench")))
"""
    file = tmp_path / "kubeconfig"
    cluster = {"server": "http://127.0.0.1:9"}
    file.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "a", "cluster": cluster}],
                "users": [{"name": "a", "user": {}}],
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "current-context": "a",
            }
        )
    )
    ran = subprocess.run([sys.executable, "-P", "-c", program, str(file)], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout.split()) == (0, []), ran.stderr

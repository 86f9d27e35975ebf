"""A backend that a repository names is neither contacted nor written before its user trusts it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.with_terraform import STACK, TERRAFORM, HostileStack, data
from workbench.engine.errors import Refused
from workbench.session import Session
from workbench.trust import backends as backend_trust

NEEDS_TERRAFORM = pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH")


@dataclass
class Host:
    """Somebody else's machine. `asked` is what reached it."""

    address: str
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def host() -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Host(f"http://127.0.0.1:{server.server_port}/states")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def http(host: Host, **more: Any) -> dict[str, Any]:
    return {"backend": {"type": "http", "config": {"address": host.address, "retry_max": 0, **more}}}


@NEEDS_TERRAFORM
async def test_nobody_is_contacted_before_the_user_trusts_it(tmp_path: Path, host: Host) -> None:
    hostile = HostileStack(tmp_path)
    hostile.write(data(), terraform=http(host))
    async with hostile.session() as opened:
        stack = opened.select(STACK)
        for plan in (await opened.plan(stack), await opened.plan_destroy(stack)):
            assert not plan.is_certain
            with pytest.raises(Refused):
                async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
                    async for _ in events:
                        pass
    said = hostile.wb("diff", STACK, NO_PROXY="127.0.0.1")
    assert said.code == 3, said.text
    for each in (host.address, "stack.yaml:2:", "not contacted", f"wb trust backend {STACK}"):
        assert each in said.text, said.text
    assert host.asked == []

    assert hostile.wb("trust", "backend", STACK).code == 0
    assert hostile.wb("diff", STACK, NO_PROXY="127.0.0.1").code == 1
    assert host.asked
    host.asked.clear()
    async with hostile.session() as opened:
        assert trusts(opened)
        hostile.write(data(), terraform=http(host, username="eve"))
        assert not trusts(opened), "another setting makes it another backend"
    hostile.write(data(), terraform=http(host))
    assert hostile.wb("trust", "backend", "--revoke", STACK).code == 0
    assert hostile.wb("diff", STACK, NO_PROXY="127.0.0.1").code == 3
    assert host.asked == []


def trusts(opened: Session) -> bool:
    want = opened.backend_want(opened.select(STACK))
    return want is None or opened.trust.allows(want)


@NEEDS_TERRAFORM
async def test_a_ci_says_it_in_its_settings(tmp_path: Path, host: Host) -> None:
    hostile = HostileStack(tmp_path)
    hostile.write(data(), terraform=http(host))
    async with hostile.session(trusts_backends=True) as opened:
        assert (await opened.plan(opened.select(STACK))).is_certain
    assert host.asked


@NEEDS_TERRAFORM
async def test_no_file_outside_is_written(tmp_path: Path) -> None:
    hostile, victim = HostileStack(tmp_path), tmp_path / "victim.tfstate"
    hostile.write(data(), terraform={"backend": {"type": "local", "config": {"path": str(victim)}}})
    said = hostile.wb("apply", "--yes", STACK)
    assert said.code not in (0, 1) and "is not trusted on this machine" in said.text, said.text
    assert not victim.exists()


REMOTE = (
    *("http", "remote", "cloud", "consul", "s3", "gcs", "azurerm", "kubernetes", "pg", "oss", "cos"),
    *("etcdv3", "inmem", "swift", "artifactory", "made-up", "Local", "local "),
)


@pytest.mark.parametrize("type_", REMOTE)
def test_every_other_type_needs_trust(tmp_path: Path, type_: str) -> None:
    assert needs_trust(tmp_path, {"type": type_, "config": {}})
    assert needs_trust(tmp_path, {"type": type_, "config": {"path": "x.tfstate"}})


PATHS = {
    "shop.tfstate": False,
    "below/shop.tfstate": False,
    "{root}/states/shop.tfstate": False,
    "/etc/cron.d/x": True,
    "/var/x.tfstate": True,
    "../other/terraform.tfstate": True,
    "below/../../x.tfstate": True,
    "~/x.tfstate": True,
    "{root}/link/x.tfstate": True,
    "{root}/linked.tfstate": True,
    "{root}/loop/x.tfstate": True,
    "{root}/.git/x.tfstate": True,
    "{root}/.git/hooks/pre-commit": True,
    "{root}/shop/dev/main.k": True,
    "main.tf.json": True,
    "{root}": True,
    "": True,
    "x\0.tfstate": True,
}


@pytest.mark.parametrize("path", PATHS)
def test_a_local_one_stays_inside(tmp_path: Path, path: str) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    (root / "linked.tfstate").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    config = {"path": path.format(root=root)}
    assert needs_trust(tmp_path, {"type": "local", "config": config}) is PATHS[path]


@pytest.mark.parametrize("config", [{"path": 1}, {"path": ["x.tfstate"]}, {"workspace_dir": "/etc"}, {"made-up": ""}])
def test_a_local_one_has_a_path_and_nothing_else(tmp_path: Path, config: dict[str, Any]) -> None:
    assert needs_trust(tmp_path, {"type": "local", "config": config})


def needs_trust(home: Path, backend: dict[str, Any]) -> bool:
    return backend_trust.needs_trust(backend, folder=home / "state/shop/dev", root=home / "repository")


def test_the_name_of_a_backend_shows_no_secret_and_no_control_character() -> None:
    config = {"address": "https://eve:canary@host.example/x?token=canary#canary", "password": "canary"}
    assert backend_trust.named({"type": "http", "config": config}) == "http (https://host.example/x)"
    assert "\x1b" not in backend_trust.named({"type": "\x1b[2J", "config": {"bucket": "\x1b]52;c;x\x07\u202e"}})


def test_the_same_path_from_another_folder_is_another_backend(tmp_path: Path) -> None:
    backend = {"type": "local", "config": {"path": "../../x.tfstate"}}
    found = {backend_trust.digest(backend, folder=tmp_path / each) for each in ("a/b/c", "d/e/f")}
    assert len(found) == 2

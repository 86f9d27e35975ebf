"""Bad input and faults, through the command line: what, where, what to do; the right code; nothing half-written."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.scenarios.conftest import HANGZHOU, SHANGHAI, Practice
from tests.workbench.cli.command import Ended, Wb
from workbench.exit_codes import ExitCode

STACK, SPACE = "gateway/dev", "gateway-dev"
BASE = "payments/gateway/base/base.k"


class Desk:
    """A person at a terminal that is none: `wb` on the practice repository."""

    def __init__(self, practice: Practice, wb: Wb) -> None:
        self.practice, self._wb = practice, wb
        self.kubeconfig = practice.home / "kubeconfig"
        practice.sandbox.write_kubeconfig(self.kubeconfig)

    async def __call__(self, *arguments: str | Path) -> Ended:
        return await self._wb.meanwhile("-w", self.practice.root, "--kubeconfig", self.kubeconfig, *arguments)

    async def released(self) -> None:
        ended = await self("apply", STACK, "--yes", "--no-watch")
        assert ended.code == 0, ended.text

    def reach(self, *, server: str = "", token: str = "") -> None:
        """Rewrites the kubeconfig: the first cluster is elsewhere, or the token is another."""
        config = json.loads(self.kubeconfig.read_text())
        if server:
            config["clusters"][0]["cluster"]["server"] = server
        if token:
            config["users"][0]["user"]["token"] = token
        self.kubeconfig.write_text(json.dumps(config))

    @property
    def state(self) -> Path:
        return self.practice.home / "state"

    def records(self) -> list[Path]:
        return sorted(self.state.rglob("[0-9]*.json"))

    def leftovers(self) -> list[Path]:
        """What no command may leave behind: temporary files, logs of an apply that ended, locks."""
        return [each for each in self.state.rglob("*") if each.name.startswith(".") or each.suffix == ".log"]

    def is_untouched(self) -> bool:
        names = {each["metadata"]["name"] for each in self.practice.sandbox.clusters[HANGZHOU].list("namespaces").items}
        return SPACE not in names and not self.records()


@pytest.fixture
def desk(practice: Practice, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("WB_CONTEXT", "WB_READONLY", "WB_TIMEOUT", "WB_ASCII", "NO_COLOR", "FORCE_COLOR", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WB_STATE_DIR", str(practice.home / "state"))
    return Desk(practice, Wb(capsys))


async def test_an_unknown_stack(desk: Desk) -> None:
    for command, code in (("compile", 64), ("diff", 3), ("plan", 64), ("apply", 64), ("watch", 64)):
        ended = await desk(command, "gatway/dev")
        assert ended.code == code
        assert "there is no stack 'gatway/dev'" in ended.err and "gateway/dev" in ended.err.splitlines()[-1]
    assert desk.is_untouched()


async def test_broken_yaml(desk: Desk) -> None:
    root = desk.practice.root
    for file, text, place in (
        ("clusters.yaml", "clusters: a: b", ":1:12"),
        ("payments/gateway/project.yaml", "name: [x\n", ":2:1"),
        ("payments/gateway/dev/stack.yaml", "name: dev\nprotected: maybe\n", ""),
        ("payments/gateway/dev/stack.yaml", "name: {\n", ":2:1"),
    ):
        kept = (root / file).read_text()
        (root / file).write_text(text)
        for command, code in (("diff", 3), ("plan", 1), ("apply", 1)):
            ended = await desk(command, STACK)
            assert ended.code == code, f"{file}: {ended.text}"
            assert f"{root / file}{place}" in ended.err and "→" in ended.err
        assert (await desk("ls")).code == 1
        (root / file).write_text(kept)
    kcl = root / "payments/gateway/dev/kcl.yaml"
    kcl.write_text("kcl_cli_configs: {file: [\n")
    ended = await desk("apply", STACK)
    assert ended.code == 1 and "kcl.yaml" in ended.err and str(kcl.parent) in ended.err
    assert desk.is_untouched()


async def test_an_error_in_the_kcl(desk: Desk) -> None:
    place = desk.practice.place(BASE, "gateway:3.2.5")
    desk.practice.edit(BASE, '"registry.orchard.example/payments/gateway:3.2.5"', "[3]")
    for command, code in (("compile", 1), ("diff", 3), ("plan", 1), ("apply", 1), ("watch", 1)):
        ended = await desk(command, STACK)
        assert ended.code == code
        assert re.search(rf"--> {re.escape(str(desk.practice.root / place))}:\d+$", ended.err, re.M), ended.err
        lines = ended.err.splitlines()
        at = next(index for index, line in enumerate(lines) if "image = [3]" in line)
        assert lines[at].index("image") == lines[at + 1].index("^") and "expected str" in lines[at + 1]
        hint = "→ correct the source (`kcl explain E2G22` says more); nothing was sent to a cluster"
        assert lines[-1] == hint
    assert desk.is_untouched()


async def test_a_cluster_that_is_down(desk: Desk) -> None:
    desk.reach(server="https://127.0.0.1:1")
    for command, code in (("diff", 3), ("plan", 4), ("apply", 4)):
        ended = await desk(command, STACK)
        assert ended.code == code
        assert "hangzhou: https://127.0.0.1:1 cannot be reached: connection refused" in ended.text
        assert "is the cluster up, and the address right?" in ended.text
        assert "nothing to change" not in ended.text
    ended = await desk("watch", STACK, "--timeout", "2")
    assert ended.code == ExitCode.NOT_READY
    assert ended.out.splitlines()[-1].startswith("? hangzhou: https://127.0.0.1:1 cannot be reached")
    assert desk.is_untouched()


async def test_one_of_two_clusters_is_down(desk: Desk) -> None:
    desk.reach(server="https://127.0.0.1:1")
    ended = await desk("apply", "gateway/prod", "--confirm", "gateway/prod")
    assert ended.code == ExitCode.REFUSED
    assert "refused by: clusters answer. Nothing was applied." in ended.err
    names = {each["metadata"]["name"] for each in desk.practice.sandbox.clusters[SHANGHAI].list("namespaces").items}
    assert "gateway-prod" not in names and not desk.records()


async def test_a_token_that_is_refused(desk: Desk) -> None:
    desk.reach(token="canary-of-a-token")
    for command, code in (("diff", 3), ("plan", 4), ("apply", 4)):
        ended = await desk(command, STACK)
        assert ended.code == code
        assert "hangzhou: the cluster does not accept the credentials" in ended.text
        assert "log in again: the token or certificate of context 'sandbox-1' is refused" in ended.text
        assert "canary" not in ended.text
    assert desk.is_untouched()


async def test_a_user_who_may_not_is_told_once_what_to_ask_for(desk: Desk) -> None:
    desk.practice.sandbox.write_kubeconfig(desk.kubeconfig, "viewer")
    ended = await desk("apply", STACK, "--yes")
    assert ended.code == ExitCode.REFUSED
    assert 'User "viewer" cannot' in ended.out and ended.out.count("ask for this right") == 1
    assert len({line for line in ended.out.splitlines() if "cannot" in line}) == ended.out.count("cannot")
    assert desk.is_untouched()


async def test_somebody_else_owns_the_field(desk: Desk) -> None:
    await desk.released()
    desk.practice.change(HANGZHOU, "deployments.apps", SPACE, "webhooks", {"spec": {"replicas": 7}})
    before = desk.records()
    ended = await desk("apply", STACK, "--yes")
    assert ended.code == ExitCode.REFUSED
    (line,) = [each for each in ended.out.splitlines() if "belongs to" in each]
    assert "Deployment gateway-dev/webhooks @hangzhou: spec.replicas belongs to kubectl-edit since 20" in line
    assert "Nothing was applied" in ended.err and "--force" in ended.err
    assert desk.practice.live(HANGZHOU, "deployments.apps", SPACE, "webhooks")["spec"]["replicas"] == 7
    assert desk.records() == before
    ended = await desk("apply", STACK, "--yes", "--force", "--no-watch")
    assert ended.code == ExitCode.REFUSED and f"--confirm {STACK!r}" in ended.err
    ended = await desk("apply", STACK, "--force", "--no-watch", "--confirm", STACK)
    assert ended.code == 0
    assert desk.practice.live(HANGZHOU, "deployments.apps", SPACE, "webhooks")["spec"]["replicas"] == 1


async def test_an_object_deleted_between_plan_and_apply(desk: Desk) -> None:
    await desk.released()
    desk.practice.edit(BASE, "gateway:3.2.5", "gateway:3.3.0")
    plan = desk.practice.home / "saved.plan"
    assert (await desk("plan", STACK, "--out", plan)).code == 0
    desk.practice.sandbox.clusters[HANGZHOU].delete("deployments.apps", SPACE, "gateway-api")
    ended = await desk("apply", plan, "--yes", "--no-watch")
    assert ended.code == ExitCode.STALE
    assert "Deployment:gateway-dev:gateway-api@hangzhou: changed" in ended.err and "plan again" in ended.err
    assert len(desk.records()) == 1
    again = await desk("apply", STACK, "--yes", "--no-watch")
    assert again.code == 0 and "create Deployment gateway-dev/gateway-api" in again.out


async def test_a_circle_of_dependencies(desk: Desk) -> None:
    render = desk.practice.root / "models/render/render.k"
    loop = """
_loop = lambda name: str, other: str {
    {
        id = "v1:ConfigMap:gateway-dev:" + name
        $type = "Kubernetes"
        attributes = {apiVersion = "v1", kind = "ConfigMap", metadata = {name = name, namespace = "gateway-dev"}}
        dependsOn = ["v1:ConfigMap:gateway-dev:" + other]
    }
}
manifests.yaml_stream([_loop("one", "two"), _loop("two", "one")])
"""
    render.write_text(render.read_text() + loop)
    for command, code in (("compile", 1), ("diff", 3), ("apply", 1)):
        ended = await desk(command, STACK)
        assert ended.code == code
        assert re.search(r"circle: v1:ConfigMap:\S+:(\w+) -> \S+:(\w+) -> \S+:\1\n", ended.err), ended.err
        assert f"{STACK}: " in ended.err and "take one of them out" in ended.err
    assert desk.is_untouched()


async def test_a_resource_the_cluster_refuses(desk: Desk) -> None:
    await desk.released()
    desk.practice.edit(BASE, 'name = "metrics"}', 'name = "Metrics_"}')
    ended = await desk("apply", STACK, "--yes")
    assert ended.code == ExitCode.REFUSED
    assert "Deployment:gateway-dev:webhooks@hangzhou: " in ended.out and "Metrics_" in ended.out
    assert len(desk.records()) == 1


async def test_a_step_that_fails_leaves_the_rest_told(desk: Desk) -> None:
    """Two Services want one port of the nodes: either may have it, so that only the second apply is refused."""
    render = desk.practice.root / "models/render/render.k"
    services = """
_service = lambda name: str, number: int {
    {
        id = "v1:Service:gateway-dev:" + name
        $type = "Kubernetes"
        attributes = {
            apiVersion = "v1"
            kind = "Service"
            metadata = {name = name, namespace = "gateway-dev"}
            spec = {type = "NodePort", ports = [{port = 80, nodePort = number}]}
        }
        dependsOn = ["v1:Namespace:gateway-dev"]
    }
}

manifests.yaml_stream([_service("one", 30123), _service("two", 30123)] + ["""
    render.write_text(render.read_text().replace("\nmanifests.yaml_stream([", services))
    ended = await desk("apply", STACK, "--yes", "--no-watch")
    assert ended.code == ExitCode.PARTIAL, ended.text
    (line,) = [each for each in ended.out.splitlines() if each.startswith("  ✗ create Service")]
    assert "provided port is already allocated" in line
    assert "11 done, 1 failed" in ended.out and "put it right and apply again" in ended.err
    (release,) = (await desk("release", "list", STACK, "-o", "json")).json()["releases"]
    assert sorted({each["state"] for each in release["resources"]}) == ["done", "failed"]
    loser = line.partition("gateway-dev/")[2].split()[0]
    render.write_text(render.read_text().replace(f'"{loser}", 30123', f'"{loser}", 30124'))
    again = await desk("apply", STACK, "--yes", "--no-watch")
    assert again.code == 0 and "1 done, 0 failed" in again.out
    assert (await desk("diff", STACK)).code == 0


@contextmanager
def _no_space(limit: int) -> Iterator[None]:
    """No file of this process may grow beyond `limit` bytes: the system then fails writing as on a full disk."""
    import resource
    import signal

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # what is imported now would be cut off
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_bytecode
        signal.signal(signal.SIGXFSZ, ignored)


async def test_no_room_for_the_release_record(desk: Desk) -> None:
    assert (await desk("plan", STACK)).code == 0  # makes the key, which is small
    with _no_space(200):
        ended = await desk("apply", STACK, "--yes", "--no-watch")
    assert ended.code == ExitCode.ERROR
    # the audit trail says what begins before the release does: whichever has no room, nothing is begun
    named = rf"{re.escape(str(desk.state))}/(audit/\S+\.jsonl|releases/\S+/(lock|1\.json)): cannot be written: "
    assert re.search(named, ended.err), ended.text
    assert "WB_STATE_DIR" in ended.err
    assert desk.is_untouched() and not desk.leftovers()
    again = await desk("apply", STACK, "--yes", "--no-watch")
    assert again.code == 0 and len(desk.records()) == 1


async def test_no_room_for_a_saved_plan(desk: Desk) -> None:
    plan = desk.practice.home / "saved.plan"
    plan.write_text("an older one")
    assert (await desk("plan", STACK)).code == 0
    with _no_space(200):
        ended = await desk("plan", STACK, "--out", plan)
    assert ended.code == ExitCode.ERROR and f"{plan}: cannot be written" in ended.err
    assert plan.read_text() == "an older one"
    assert not [each for each in plan.parent.iterdir() if each.name.startswith(".saved")]


async def test_state_that_is_no_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = desk.practice.home / "file"
    file.write_text("")
    monkeypatch.setenv("WB_STATE_DIR", str(file / "state"))
    ended = await desk("apply", STACK, "--yes", "--no-watch")
    assert ended.code == ExitCode.ERROR
    assert str(file) in ended.err and "WB_STATE_DIR" in ended.err
    assert desk.is_untouched()


def _shapes(secret: str) -> tuple[str, ...]:
    """How a value may show: as it is, in base64 at any offset, in a URL, in JSON."""
    found = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    for offset in range(3):
        encoded = base64.b64encode(b"x" * offset + secret.encode()).decode()
        found.add(encoded[4 if offset else 0 : -4])
    return tuple(found)


async def test_secrets_show_nowhere(desk: Desk) -> None:
    old, new = "canary/old+value?4f1d8e", "canary/new+value?77aa21"
    shapes = (*_shapes(old), *_shapes(new))
    checkout = ("checkout/dev", "-D")
    plan = desk.practice.home / "saved.plan"
    said: list[Ended] = []

    async def run(*arguments: str | Path) -> Ended:
        ended = await desk(*arguments)
        said.append(ended)
        return ended

    assert (await run("diff", *checkout, f"session_key={old}")).code == 1
    assert (await run("apply", *checkout, f"session_key={old}", "--yes", "--timeout", "60")).code == 0
    live = desk.practice.live(HANGZHOU, "secrets", "checkout-dev", "web-secrets")
    assert base64.b64decode(live["data"]["SESSION_KEY"]).decode() == old
    for format_ in ("table", "json", "yaml"):
        ended = await run("diff", *checkout, f"session_key={new}", "-o", format_)
        assert ended.code == 1 and "masked#" in ended.out
        assert (await run("plan", *checkout, f"session_key={new}", "-o", format_, "--out", plan)).code == 0
    assert (await run("apply", plan, "--yes")).code == 1
    assert (await run("apply", plan, "--yes", "-D", f"session_key={old}")).code == ExitCode.STALE
    ended = await run("explain", *checkout, f"session_key={new}", "Secret/web-secrets", "data.SESSION_KEY")
    assert ended.code == 0 and "masked#" in ended.out
    desk.practice.change(HANGZHOU, "secrets", "checkout-dev", "web-secrets", {"data": {"SESSION_KEY": "aGFuZA=="}})
    assert (await run("diff", *checkout, f"session_key={old}")).code == 1
    assert (await run("apply", *checkout, f"session_key={new}", "--yes")).code == ExitCode.REFUSED
    # a value that the API itself refuses, and would quote
    desk.practice.edit("models/backend/pods.k", "data = {k = base64.encode(v)", "data = {k = v")
    assert (await run("apply", *checkout, f"session_key={new}", "--yes")).code == ExitCode.REFUSED
    desk.practice.edit("models/backend/pods.k", "data = {k = v", "data = {k = base64.encode(v)")
    force = ("--force", "--confirm", "checkout/dev", "--no-watch")
    assert (await run("apply", *checkout, f"session_key={new}", *force)).code == 0
    assert (await run("watch", *checkout, f"session_key={new}", "-o", "json", "--timeout", "60")).code == 0
    assert (await run("release", "list", "checkout/dev", "-o", "json")).code == 0
    live = desk.practice.live(HANGZHOU, "secrets", "checkout-dev", "web-secrets")
    assert base64.b64decode(live["data"]["SESSION_KEY"]).decode() == new

    texts = [each.text for each in said]
    texts += [each.read_text(errors="replace") for each in desk.state.rglob("*") if each.is_file()]
    texts.append(plan.read_text())
    assert len(desk.records()) == 2
    for text in texts:
        for shape in shapes:
            assert shape not in text, text[max(0, text.index(shape) - 200) :][:400]
    assert not {each for each in os.environ.values() if "canary" in each}

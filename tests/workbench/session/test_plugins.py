"""Which Python code of a repository a session lets run, and what AppRecovery.k of the sample makes of an inventory."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from runtimes.base import KubernetesId
from runtimes.sandbox.cmdb import Cmdb
from tests.workbench.session.shop import shop
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.recovery.compile import compile_now
from workbench.engine.recovery.document import RecoveryDocument
from workbench.local import ServedPractice
from workbench.project.plugins import read_allowed_plugins
from workbench.session import Session
from workbench.settings import Settings
from workbench.trust import plugins

SAMPLE = Path(__file__).parents[3] / "sample-konfig"
PLUGIN = """from kcl.plugins import Plugin
from pathlib import Path
PLUGIN = Plugin()
Path({mark!r}).touch()
@PLUGIN.function("replicas(name: str) -> int")
def replicas(call, name):
    return int(call.settings.get("replicas", "4"))
"""
TOKEN = "canary-token-of-the-inventory"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "state", tmp_path / "cache", kubeconfig=str(tmp_path / "none"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The shop, with a plugin that its stack web/dev takes its replicas from."""
    root = shop(tmp_path / "repository")
    (root / "plugins").mkdir()
    (root / "plugins" / "sizes.py").write_text(PLUGIN.format(mark=str(tmp_path / "ran")))
    (root / "plugins.yaml").write_text("plugins: {sizes: }\n")
    (root / "web" / "dev" / "main.k").write_text(
        """import models.server
import kcl_plugin.sizes
front: server.Server {
    replicas = sizes.replicas("front")
}
"""
    )
    return root


async def compiled(root: Path, settings: Settings) -> CompiledStack:
    async with Session.open(root, settings=settings) as session:
        return await session.compile(session.select("web/dev"))


def trust(root: Path, settings: Settings) -> None:
    opened = Session.open(root, settings=settings)
    opened.trust.trust(plugins.want(read_allowed_plugins(root)["sizes"]))


async def test_code_of_a_repository_does_not_run_before_it_is_trusted(
    root: Path, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(CompileFailed, match="is not trusted on this machine") as error:
        await compiled(root, settings)
    assert "wb trust plugin sizes" in error.value.message
    assert error.value.where.startswith(str(root / "web" / "dev" / "main.k:4:"))
    assert not (tmp_path / "ran").exists()


async def test_trusted_code_runs_until_it_changes(root: Path, settings: Settings, tmp_path: Path) -> None:
    trust(root, settings)
    found = await compiled(root, settings)
    assert (tmp_path / "ran").exists()
    (deployment,) = [each for each in found.spec if isinstance(each.id, KubernetesId) and each.id.kind == "Deployment"]
    assert deployment.attributes["spec"]["replicas"] == 4
    assert {root / "plugins.yaml", root / "plugins" / "sizes.py"} <= found.dependencies
    with (root / "plugins" / "sizes.py").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(CompileFailed, match="is not trusted on this machine"):
        await compiled(root, settings)


async def test_a_what_if_edit_cannot_bring_code(root: Path, settings: Settings, tmp_path: Path) -> None:
    plugin = root / "plugins" / "sizes.py"
    trust(root, settings)
    overlay = CompileInputs(overlay={plugin: "raise SystemExit", root / "plugins.yaml": "plugins: {}"})
    async with Session.open(root, settings=settings) as session:
        await session.compile(session.select("web/dev"), overlay)


async def test_who_trusts_the_repository_need_not_trust_its_plugins_one_by_one(root: Path, settings: Settings) -> None:
    await compiled(root, replace(settings, trusts_plugins=True))


async def test_a_plugin_that_is_not_listed_is_refused_even_if_trusted(root: Path, settings: Settings) -> None:
    trust(root, settings)
    (root / "plugins.yaml").write_text("plugins: {other: }\n")
    with pytest.raises(
        CompileFailed, match=r"the plugin sizes is not allowed here: it is not listed in .*plugins\.yaml"
    ):
        await compiled(root, settings)


async def test_a_broken_list_is_said_where_a_plugin_is_used(root: Path, settings: Settings) -> None:
    (root / "plugins.yaml").write_text("plugins: 3\n")
    with pytest.raises(CompileFailed, match="plugins needs to be a mapping"):
        await compiled(root, settings)


async def test_a_listed_plugin_without_code_is_said(root: Path, settings: Settings) -> None:
    (root / "plugins" / "sizes.py").unlink()
    with pytest.raises(CompileFailed, match=r"sizes\.py: cannot be read"):
        await compiled(root, settings)


def test_settings_come_from_the_file_then_from_practice_then_from_the_environment(root: Path) -> None:
    (root / "plugins.yaml").write_text("plugins: {sizes: {settings: {a: file, b: file, c: file}}}\n")
    environment = {"WB_PLUGIN_SIZES_C": "environment", "WB_PLUGIN_OTHER_A": "no"}
    practice = {"sizes": {"b": "practice", "c": "practice"}}
    found = RepositoryPlugins(root, lambda bound: True, practice, environment).find("sizes")
    assert dict(found.settings) == {"a": "file", "b": "practice", "c": "environment"}


# --- the sample


@pytest.fixture
async def cmdb() -> AsyncIterator[Cmdb]:
    async with Cmdb(token=TOKEN) as cmdb:
        yield cmdb


def record(hostname: str, cluster: str = "hangzhou", pod: str | None = None) -> dict[str, str]:
    pod = hostname if pod is None else pod
    return {"hostname": hostname, "cluster": cluster, "namespace": "checkout-prod", "pod": pod, "uid": f"uid-{pod}"}


async def recovery(url: str, token: str, **options: str) -> RecoveryDocument:
    plugins = RepositoryPlugins(SAMPLE, lambda bound: True, {"cmdb": {"url": url, "token": token}}, {})
    work = partial(compile_now, SAMPLE / "ops" / "AppRecovery.k", CompileInputs(options=options), plugins=plugins)
    return await anyio.to_thread.run_sync(work)


async def test_app_recovery_accounts_for_every_host(cmdb: Cmdb) -> None:
    put, now = cmdb.inventory.put, time.time()
    put([record("web-1"), record("web-2", "shanghai")], seen=now, by_hand=False)
    put([record("old-1")], seen=now - 3600, by_hand=False)
    put([record("moved-1")], seen=now - 3600, by_hand=False)
    put([record("moved-1", "shanghai")], seen=now, by_hand=False)
    put([record("twice-1", "hangzhou", "a"), record("twice-1", "shanghai", "b")], seen=now, by_hand=True)
    put([record("bare-1", pod="")], seen=now, by_hand=True)
    found = await recovery(cmdb.url, TOKEN, hostnames="web-1, web-2\nold-1,moved-1,twice-1 bare-1,lost-1,web-1,")
    assert {(each.hostname, each.cluster, each.state) for each in found.hosts} == {
        ("web-1", "hangzhou", "ok"),
        ("web-2", "shanghai", "ok"),
        ("old-1", "hangzhou", "stale"),
        ("moved-1", "shanghai", "ok"),
        ("twice-1", "hangzhou", "duplicate"),
        ("twice-1", "shanghai", "duplicate"),
        ("bare-1", "hangzhou", "unknown"),
    }
    assert found.unresolved == ("lost-1",)
    assert {each.uid for each in found.hosts if each.hostname == "web-1"} == {"uid-web-1"}


async def test_app_recovery_takes_limits_and_operation_as_options(cmdb: Cmdb) -> None:
    given = {"operation": "cordon", "max_pods": "3", "max_fraction": "1", "batch": "2", "timeout": "9"}
    found = await recovery(cmdb.url, TOKEN, hostnames='["a", "b"]', incident="INC-7", **given)
    assert (found.operation, found.reason, found.unresolved) == ("cordon", "INC-7", ("a", "b"))
    limits = found.limits
    assert (limits.max_pods, limits.max_fraction, limits.batch, limits.timeout_seconds) == (3, 1.0, 2, 9)


async def test_app_recovery_of_two_thousand_hosts_asks_in_portions(cmdb: Cmdb) -> None:
    names = [f"web-{number}" for number in range(2000)]
    cmdb.inventory.put([record(each) for each in names[:1950]], seen=time.time(), by_hand=False)
    found = await recovery(cmdb.url, TOKEN, hostnames=",".join(names))
    assert [each.hostname for each in found.hosts] == names[:1950]
    assert found.unresolved == tuple(names[1950:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hostnames": "a", "operation": "reboot"}, "expect"),
        ({"hostnames": "a", "max_fraction": "2"}, "maxFraction needs to be above 0 and at most 1"),
        ({}, "hostnames"),
    ],
)
async def test_app_recovery_refuses_what_makes_no_sense(cmdb: Cmdb, options: dict[str, str], message: str) -> None:
    with pytest.raises(CompileFailed) as error:
        await recovery(cmdb.url, TOKEN, **options)
    assert message in error.value.rendered


async def test_an_inventory_that_refuses_is_said_without_the_token(cmdb: Cmdb) -> None:
    with pytest.raises(CompileFailed, match=r"kcl_plugin\.cmdb\.hosts\(\): the CMDB answered 401") as error:
        await recovery(cmdb.url, "canary-wrong-token", hostnames="a")
    assert "canary" not in error.value.rendered + str(error.value) + repr(error.value)
    assert error.value.where.startswith(str(SAMPLE / "ops" / "AppRecovery.k:"))


async def test_an_inventory_that_is_gone_is_said() -> None:
    async with Cmdb(token=TOKEN) as cmdb:
        url = cmdb.url
    with pytest.raises(CompileFailed, match="the CMDB cannot be asked"):
        await recovery(url, TOKEN, hostnames="a")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("<html>please log in</html>", "the CMDB answered no JSON but text/html"),
        ("", "the CMDB answered no JSON but text/html"),
        ("[]", "something else than expected"),
        ("{}", "something else than expected"),
        ('{"hosts": null}', "something else than expected"),
        ('{"hosts": ["a"]}', "something else than expected"),
        ('{"hosts": [{"hostname": "a", "pod": "a-0"}]}', "something else than expected"),
    ],
)
async def test_what_answers_in_place_of_an_inventory_tells_of_no_host(answer: str, message: str) -> None:
    async def say(_: web.Request) -> web.Response:
        return web.Response(text=answer, content_type="text/html")

    app = web.Application()
    app.router.add_post("/v1/hosts/lookup", say)
    async with TestServer(app, host="127.0.0.1") as server:
        with pytest.raises(CompileFailed, match=message):
            await recovery(str(server.make_url("/")), TOKEN, hostnames="a")


async def test_a_list_with_a_byte_order_mark_names_the_same_hosts(cmdb: Cmdb) -> None:
    cmdb.inventory.put([record("web-1"), record("web-2")], seen=time.time(), by_hand=False)
    found = await recovery(cmdb.url, TOKEN, hostnames="\ufeffweb-1\r\nweb-2\r\n\r\n web-1 ")
    assert [each.hostname for each in found.hosts] == ["web-1", "web-2"] and not found.unresolved


async def test_a_session_finds_what_is_served_for_its_repository(cmdb: Cmdb, tmp_path: Path) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(SAMPLE, root)
    settings = Settings(tmp_path / "state", tmp_path / "cache", terraform_config="/my/own.tfrc")
    served = ServedPractice(
        kubeconfig=str(tmp_path / "kubeconfig"),
        state_dir=str(tmp_path / "practice"),
        plugins={"cmdb": {"url": cmdb.url, "token": TOKEN}},
        trusted={"cmdb": plugins.want(read_allowed_plugins(root)["cmdb"]).digest},
        hostnames=("lost-1",),
        terraform_mirrors=(str(tmp_path / "providers"),),
        terraform_environment={"KONFIG_PRACTICE_WORLD": "/world"},
    )
    with Session.open(root, settings=settings).local.serve(served):
        async with Session.open(root / "ops", settings=settings) as session:
            assert session.served == served
            assert session.settings.kubeconfig == served.kubeconfig
            assert session.settings.state_dir == tmp_path / "practice"
            assert session.settings.terraform_mirrors == (tmp_path / "providers",)
            assert session.settings.terraform_environment == served.terraform_environment
            assert session.settings.terraform_config == "", "the user's own may say that providers come from elsewhere"
            found = await session.recovery("AppRecovery.k", CompileInputs(options={"hostnames": "lost-1"}))
            assert [each.hostname for each in found.hosts] == ["lost-1"] and not found.steps
        own = replace(settings, kubeconfig="/my/own")
        assert Session.open(root, settings=own).settings == own
    after = Session.open(root, settings=settings)
    assert after.served is None and after.settings == settings

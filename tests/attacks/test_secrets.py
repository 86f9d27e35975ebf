"""Canaries in every place where a secret may stand: no command, format, screen, record or cache has one in clear.

Two things are left out: the repository itself, and `wb compile` to a pipe, which is what its user asked for.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtimes.sandbox.server import Sandbox
from tests.attacks.secret_repository import KINDS, SPACE, Vault, vault
from tests.workbench.cli.command import Ended, Wb
from workbench.exit_codes import ExitCode
from workbench.settings import Settings

FORMATS = ("table", "json", "yaml")


@dataclass(frozen=True)
class Opened:
    vault: Vault
    home: Path
    sandbox: Sandbox
    wb: Wb
    monkeypatch: pytest.MonkeyPatch

    async def __call__(self, *arguments: str, given: bool = True) -> Ended:
        """Runs a command, with the options of the stack if it takes any."""
        return await self.wb.meanwhile(*arguments, *(self.vault.arguments if given else ()))

    async def on_terminal(self, *arguments: str) -> Ended:
        with self.monkeypatch.context() as patch:
            patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
            return await self(*arguments)

    def settings(self) -> Settings:
        state, cache = self.home / "state", self.home / "cache"
        kubeconfig = os.environ["KUBECONFIG"]
        return Settings(state, cache, kubeconfig=kubeconfig, user="ann", host="box", trusts_plugins=True)

    def leaks(self, said: Ended | str) -> list[str]:
        return self.vault.canaries.leaks(said.text if isinstance(said, Ended) else said)

    def leaking_files(self) -> dict[str, list[str]]:
        """All that is written down on this machine beside the repository."""
        folders = [each for each in self.home.iterdir() if each.is_dir() and each.name != "repo"]
        return self.vault.canaries.leaking_files(*folders)

    def change_by_hand(self) -> None:
        """What a person leaves in the cluster, with secrets that are in no file."""
        given = self.vault.canaries
        before = base64.b64encode(given.strong("live", "data of a Secret").encode()).decode()
        self._patch("secrets", "texts", {"data": {"text-0": before, "mine": before}})
        url = f"postgres://app:{given.weak('live', 'URL')}@old.example/orders"
        self._patch("configmaps", "settings", {"data": {"url-postgres": url, "mine": url}})
        env = [{"name": "SIDE_PASSWORD", "value": given.weak("live", "variable")}]
        container = {"containers": [{"name": "web", "env": env}]}
        self._patch("deployments.apps", "web", {"spec": {"template": {"spec": container}}}, "strategic")

    def _patch(self, resource: str, name: str, patch: Any, form: str = "merge") -> None:
        self.sandbox.clusters[0].patch(resource, SPACE, name, patch, form, manager="kubectl-edit")


@pytest.fixture
async def opened(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    made = vault()
    made.write(tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kcl"))
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    async with Sandbox(names=("one",), clusters=1, tokens={"admin": "token-of-admin"}, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield Opened(made, tmp_path, sandbox, wb, monkeypatch)


def format_of(format_: str) -> tuple[str, ...]:
    return () if format_ == "table" else ("-o", format_)


async def test_no_format_of_what_is_new_shows_a_secret(opened: Opened) -> None:
    """All objects are in a namespace that the plan itself creates, so no cluster was asked about them."""
    leaking = {}
    for verb in ("diff", "plan"):
        for format_ in FORMATS:
            ended = await opened(verb, "vault/dev", *format_of(format_))
            assert ended.code in (ExitCode.OK, ExitCode.DIFFERENT), ended.text
            assert "settings" in ended.out
            leaking[f"{verb} {format_}"] = opened.leaks(ended)
    assert not any(leaking.values()), leaking


async def test_no_command_shows_or_keeps_a_secret(opened: Opened) -> None:
    """From the first look to the end, with changes by hand in between."""
    leaking: dict[str, list[str]] = {}

    def look(name: str, ended: Ended, *codes: int) -> None:
        assert ended.code in (codes or (0,)), f"{name}: {ended.text}"
        leaking[name] = opened.leaks(ended)

    for format_ in FORMATS:
        look(f"compile {format_}", await opened.on_terminal("compile", "vault/dev", *format_of(format_)))
    saved = str(opened.home / "out" / "a.plan")
    Path(saved).parent.mkdir()
    look("plan --out", await opened("plan", "vault/dev", "--out", saved))
    look("apply a plan", await opened("apply", saved, "--confirm", "yes", "--no-watch"))
    look("same", await opened("diff", "vault/dev"))
    opened.change_by_hand()
    for format_ in FORMATS:
        look(f"drift {format_}", await opened("diff", "vault/dev", *format_of(format_)), ExitCode.DIFFERENT)
        look(f"plan {format_}", await opened("plan", "vault/dev", "--force", *format_of(format_)))
    look("drift alone", await opened("diff", "vault/dev", "--drift"), ExitCode.DIFFERENT)
    for kind, name, path in (
        ("Secret", "texts", "stringData.text-0"),
        ("Secret", "encoded", "data.word-0"),
        ("Secret", "given", "stringData.door"),
        ("ConfigMap", "settings", "data.url-word"),
        ("ConfigMap", "settings", "."),
        ("ConfigMap", "again", "data.in_jwt"),
        ("Deployment", "web", "spec.template.spec.containers[name=web].env[name=JWT].value"),
        ("CronJob", "night", "spec.jobTemplate.spec.template.spec.containers[name=job].env"),
    ):
        look(f"explain {name} {path}", await opened("explain", "vault/dev", f"{kind}/{name}", path))
    look("apply", await opened("apply", "vault/dev", "--force", "--confirm", "vault/dev", "--no-watch"))
    look("watch", await opened("watch", "vault/dev", "--timeout", "1", "-o", "json"), 0, *ExitCode)
    for arguments in (
        ("release", "list", "vault/dev"),
        ("release", "list", "vault/dev", "-o", "json"),
        ("audit",),
        ("audit", "-o", "json", "--verify"),
        ("ls", "-o", "json"),
    ):
        look(" ".join(arguments), await opened(*arguments, given=False))
    look("destroy", await opened("destroy", "vault/dev", "--confirm", "vault/dev", "--no-watch"), 0, *ExitCode)
    assert not any(leaking.values()), {name: found for name, found in leaking.items() if found}
    assert opened.leaking_files() == {}
    assert any((opened.home / "state").rglob("*.json"))


async def test_no_error_shows_a_secret(opened: Opened) -> None:
    """The cluster refuses and quotes; the program fails in the midst of values; both are logged by CI."""
    main = opened.home / "repo/vault/dev/main.k"
    sound = main.read_text()
    leaking = {}
    for name, wrong in {
        "a type": "x: int = _db_password\n",
        "a type, in a line with another": 'password = "cnry-in-a-line-9x"\ny: int = _gate + "1"\n',
        "an assertion": 'assert _jwt == "", "jwt is ${_jwt}, gate is ${_pgpassword}"\n',
        "a plugin": "z = safe.fail()\n",
        "what a plugin returned": 'assert _plugged.issued == "", "${_plugged.issued} ${_plugged.door}"\n',
        "a schema": "schema A:\n    a: int\nb = A {a = _smtp_auth}\n",
    }.items():
        main.write_text(sound + wrong)
        ended = await opened("diff", "vault/dev")
        assert ended.code == ExitCode.DIFF_FAILED and "main.k" in ended.text
        leaking[name] = [*opened.leaks(ended), *(["a line"] if "cnry-in-a-line-9x" in ended.text else [])]
    main.write_text(sound.replace('"url-word"', '"not a name of a key"'))
    ended = await opened("apply", "vault/dev", "--confirm", "yes", "--no-watch")
    assert ended.code == ExitCode.PARTIAL and "regex" in ended.text
    leaking["a refusal"] = opened.leaks(ended)
    assert not any(leaking.values()), leaking


async def test_no_screen_shows_a_secret(opened: Opened) -> None:
    from tests.workbench.tui.test_screens import LARGE, says, shown, state, until
    from tests.workbench.tui.test_screens import opened as started
    from workbench.session import Session
    from workbench.tui.app import WorkbenchApp

    main = opened.home / "repo/vault/dev/main.k"
    text = main.read_text()
    for each in opened.vault.arguments:
        name, equals, value = each.partition("=")
        if equals:
            text = text.replace(f'option("{name}")', f'option("{name}", default={json.dumps(value)})')
    settings = json.loads((main.parent / "settings.yaml").read_text())["kcl_options"]
    for each in settings:
        text = text.replace(f'option("{each["key"]}")', f'option("{each["key"]}", default={json.dumps(each["value"])})')
    main.write_text(text)
    session = Session.open(opened.home / "repo", settings=opened.settings())
    app = WorkbenchApp(session, open_at="vault/dev")
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = "\n".join(shown(app)) + app.export_screenshot().replace("&#160;", " ")

    async with session, app.run_test(size=LARGE) as pilot:
        await started(pilot)
        await pilot.press("c")
        await until(pilot, lambda: says(app, "compiled in"))
        for number in range(10):
            look(f"spec {number}")
            await pilot.press("j")
        await pilot.press("escape", "d")
        await until(pilot, lambda: says(app, "create"))
        for number in range(10):
            look(f"diff {number}")
            await pilot.press("j")
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and not state(app).busy)
        look("plan")
    leaking = {name: opened.leaks(said) for name, said in seen.items()}
    assert not any(leaking.values()), {name: each for name, each in leaking.items() if each}
    assert "masked#" in "".join(seen.values())


async def test_no_frame_of_a_notebook_has_a_secret(opened: Opened) -> None:
    results: Any = pytest.importorskip("workbench.notebook.results")
    from workbench.engine.compile import CompileInputs
    from workbench.session import Session

    options = dict(each.split("=", 1) for each in opened.vault.arguments if "=" in each)
    inputs = CompileInputs(options, ("settings.yaml",))
    said: dict[str, str] = {}
    async with Session.open(opened.home / "repo", settings=opened.settings()) as session:
        stack = session.select("vault/dev")
        roots = results.roots_of(session.root, stack.project_directory)
        compiled = results.Compiled(await session.compile(stack, inputs), ("hz",), roots)
        found = results.Diff(await session.diff(stack, inputs), None, roots)
        for name, each in (("compiled", compiled), ("diff", found)):
            bundle = json.dumps(each._repr_mimebundle_(), ensure_ascii=False)
            said[name] = "".join((bundle, str(each), repr(each), each.df.to_csv(), each.df.to_string()))
        for each in compiled:
            said[str(each)] = json.dumps(each._repr_mimebundle_()) + each.yaml + repr(each.explain("."))
    leaking = {name: opened.leaks(each) for name, each in said.items()}
    assert not any(leaking.values()), {name: each for name, each in leaking.items() if each}
    assert "masked#" in said["diff"]


def test_there_is_a_hundred_of_them() -> None:
    given = vault().canaries.given
    kinds = Counter(each.kind for each in given)
    assert len(given) >= 80 and {*kinds} >= {*KINDS} - {"live"}


WAYS_IN: dict[str, Callable[[str, Path], dict[str, Any]]] = {
    "a token": lambda secret, home: {"token": secret},
    "a password": lambda secret, home: {"username": "ann", "password": secret},
    "a key": lambda secret, home: {"client-key-data": base64.b64encode(secret.encode()).decode()},
    "a command": lambda secret, home: {"exec": _command(secret, home)},
    "a command that fails": lambda secret, home: {"exec": {**_command(secret, home), "args": ["-c", "exit 3"]}},
    "an argument of a command": lambda secret, home: {"exec": {**_command("x", home), "args": ["--token", secret]}},
    "a variable of a command": lambda secret, home: {
        "exec": {**_command("x", home), "env": [{"name": "TOKEN", "value": secret}]}
    },
    "a provider of long ago": lambda secret, home: {
        "auth-provider": {"name": "oidc", "config": {"id-token": secret, "refresh-token": secret}}
    },
}


def _command(secret: str, home: Path) -> dict[str, Any]:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": secret},
    }
    file = home / "repo" / "answer.json"  # what a person's own program reads is none of ours
    file.write_text(json.dumps(answer))
    version = "client.authentication.k8s.io/v1"
    return {"apiVersion": version, "interactiveMode": "Never", "command": "/bin/sh", "args": ["-c", f"cat '{file}'"]}


PLACES = ("refused", "nobody there", "a password in its address")
ALL = os.environ.get("KONFIG_WORKBENCH_CANARIES") == "all"
"""All ways into all places; else one place for each way that is most in use."""
INTO = [(way, place) for way in WAYS_IN for place in PLACES] if ALL else [*zip(list(WAYS_IN)[::3], PLACES, strict=True)]


@pytest.mark.parametrize(("way", "place"), INTO)
async def test_no_way_into_a_cluster_is_shown(opened: Opened, way: str, place: str) -> None:
    given = opened.vault.canaries
    secret = given.strong("live", f"{way}, {place}")
    password = given.put("live", f"address, {way}", f"cnryAddress{len(given.given)}x")
    _use(WAYS_IN[way](secret, opened.home), place, password)
    opened.monkeypatch.setenv("WB_TIMEOUT", "2")
    for arguments in (("diff", "vault/dev"), ("plan", "vault/dev", "-o", "json")):
        ended = await opened(*arguments)
        assert ended.code != 0 and opened.leaks(ended) == [], ended.text
    assert opened.leaking_files() == {}


def _use(user: dict[str, Any], place: str, password: str) -> None:
    """Rewrites the kubeconfig: a user with this way in, at a place that will not take it."""
    file = Path(os.environ["KUBECONFIG"])
    content = yaml.safe_load(file.read_text())
    content["users"] = [{"name": each["name"], "user": user} for each in content["users"]]
    for each in content["clusters"]:
        if place == "nobody there":
            each["cluster"]["server"] = "http://127.0.0.1:9"
        elif place == "a password in its address":
            each["cluster"]["server"] = each["cluster"]["server"].replace("://", f"://ann:{password}@")
    file.write_text(json.dumps(content))

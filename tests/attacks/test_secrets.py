"""Canaries in every place where a secret may stand: no command, format, screen, record or cache has one in clear.

Two things are left out: the repository itself, and `wb compile` to a pipe, which is what its user asked for.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.attacks.opened_vault import Opened, opened_vault
from tests.attacks.secret_repository import KINDS, vault
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode


@pytest.fixture
async def opened(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    async with opened_vault(wb, tmp_path, monkeypatch) as found:
        yield found


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
    assert len(given) >= 100 and {*kinds} >= {*KINDS} - {"live"}


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
    _use(opened, WAYS_IN[way](secret, opened.home), place, password)
    opened.monkeypatch.setenv("WB_TIMEOUT", "2")
    for arguments in (("diff", "vault/dev"), ("plan", "vault/dev", "-o", "json")):
        ended = await opened(*arguments)
        assert ended.code != 0 and opened.leaks(ended) == [], ended.text
    assert opened.leaking_files() == {}


def _use(opened: Opened, user: dict[str, Any], place: str, password: str) -> None:
    """Rewrites the kubeconfig: a user with this way in, at a place that will not take it."""
    opened.rewrite_users(user)
    file = Path(os.environ["KUBECONFIG"])
    content = yaml.safe_load(file.read_text())
    for each in content["clusters"]:
        if place == "nobody there":
            each["cluster"]["server"] = "http://127.0.0.1:9"
        elif place == "a password in its address":
            each["cluster"]["server"] = each["cluster"]["server"].replace("://", f"://ann:{password}@")
    file.write_text(json.dumps(content))

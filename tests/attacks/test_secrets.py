"""Canaries in every place where a secret may stand: no command, format, screen, record or cache has one in clear.

Two things are left out: the repository itself, and `wb compile` to a pipe, which is what its user asked for.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
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
        "the name of an entry": "schema C:\n    a: int = 1\nc = C {**{_db_password = 1, $x = 2}, **{_jwt: 1}}\n",
        "a name that is not there": "d = {b = 1}\ne = d[_smtp_auth].f\n",
        "a name of a schema": 'schema G:\n    a?: int\ng = G {"${_apiKey}" = 1}\n',
        "the name of a file": 'import file\nh = file.read("files/${_jwt}/${_pgpassword}.txt")\n',
        "a file elsewhere": 'import file\nh = file.read("../../../${_jwt}")\n',
        "a pattern": 'import regex\ni = regex.match("x", _pgpassword + "(")\n',
        "a number": "j = int(_auth_header)\n",
        "JSON": "import json\nk = json.decode(_apiKey)\n",
        "YAML": 'import yaml\nl = yaml.decode("a: [" + _apiKey + ": }")\n',
        "a check": 'schema M:\n    a: str\n    check:\n        a == "x", "a is ${a}"\nm = M {a = _db_password}\n',
        "in base64": 'assert False, base64.encode("user:" + _db_password)\n',
        "in base64 twice": 'assert False, base64.encode(base64.encode("user:" + _db_password))\n',
        "in JSON in JSON": "assert False, json.encode({a = json.encode({b = json.encode({c = _db_password})})})\n",
        "in lines": 'assert False, "\\n".join([_db_password[0:9], _db_password[9:]])\n',
    }.items():
        modules = "".join(f"import {each}\n" for each in ("base64", "json") if f"{each}." in wrong)
        main.write_text(modules + sound + wrong.replace("import json\n", ""))
        ended = await opened("diff", "vault/dev")
        assert ended.code == ExitCode.DIFF_FAILED and "main.k" in ended.text
        leaking[name] = [*opened.leaks(ended), *(["a line"] if "cnry-in-a-line-9x" in ended.text else [])]
    main.write_text(sound.replace('"url-word"', '"not a name of a key"'))
    ended = await opened("apply", "vault/dev", "--confirm", "yes", "--no-watch")
    assert ended.code == ExitCode.PARTIAL and "regex" in ended.text
    leaking["a refusal"] = opened.leaks(ended)
    assert not any(leaking.values()), leaking


async def test_no_screen_shows_a_secret(opened: Opened) -> None:
    from tests.workbench.canaries.screens import Pictures
    from tests.workbench.tui.test_screens import LARGE
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
    async with session, app.run_test(size=LARGE) as pilot:
        pictures = Pictures(app, pilot)
        await pictures.of_a_stack(10)
    seen = pictures.seen
    leaking = {name: opened.leaks(said) for name, said in seen.items()}
    assert not any(leaking.values()), {name: each for name, each in leaking.items() if each}
    assert "masked#" in "".join(seen.values())


async def test_nothing_that_a_cell_of_a_notebook_ends_with_has_a_secret(opened: Opened) -> None:
    """Every class of results: as text, HTML and JSON, as a widget, as a table that is saved."""
    pytest.importorskip("workbench.notebook.results")
    loop = asyncio.get_running_loop()

    async def change() -> None:
        opened.change_by_hand()

    said = await asyncio.to_thread(
        _cells, opened, lambda: asyncio.run_coroutine_threadsafe(change(), loop).result(timeout=60)
    )
    leaking = {name: opened.leaks(each) for name, each in said.items()}
    assert not any(leaking.values()), {name: each for name, each in leaking.items() if each}
    assert "masked#" in said["Diff 2"] and "masked#" in said["Plan 3"]


def _cells(opened: Opened, change_by_hand: Callable[[], None]) -> dict[str, str]:
    import workbench
    from workbench.notebook.results import Shown

    options = dict(each.split("=", 1) for each in opened.vault.arguments if "=" in each)
    space = workbench.open(".")
    try:
        stack = space["vault/dev"].given(options, ("settings.yaml",))
        compiled = stack.compile()
        plan = stack.plan()
        results: list[Any] = [space.stacks(), compiled, stack.diff(), plan]
        results += [*compiled, *(each.explain(".") for each in compiled), stack.explain("ConfigMap/settings", "data")]
        run = plan.apply(dry_run=False, confirm=plan.phrase).wait()
        change_by_hand()
        watch = stack.watch(timeout="1s").wait(check=False)
        results += [run, watch, stack.releases(), space.audit(), stack.diff(), stack.plan(force=True)]
        results += [stack.plan_destroy(), stack.whatif(), stack.whatif().impact(), stack, space]
        results += [space.drift(), space.policies(), space.rollouts()]
        frames = [run.events, run.timeline, watch.events, watch.timeline]
        said = {f"{type(each).__name__} {index}": _said(each) for index, each in enumerate(results)}
        said |= {f"frame {index}": each.to_csv() + each.to_string() for index, each in enumerate(frames)}
    finally:
        space.close()
    every = {each for each in _subclasses(Shown) if not inspect.isabstract(each) and each.__module__.startswith(OURS)}
    of_recoveries = {each for each in every if each.__module__.endswith(".recovery") and each.__name__ != "Audit"}
    assert {type(each) for each in results} >= every - of_recoveries, "hosts and pods, of which no Spec is known"
    return said


OURS = "workbench.notebook."


def _subclasses(class_: type[Any]) -> Iterator[type[Any]]:
    for each in class_.__subclasses__():
        yield each
        yield from _subclasses(each)


def _said(result: Any) -> str:
    said = [str(result), repr(result)]
    if hasattr(result, "_repr_mimebundle_"):
        said.append(json.dumps(result._repr_mimebundle_(), ensure_ascii=False))
        said.append(str(result.widget().get_state()))
    if hasattr(result, "_repr_html_"):
        said.append(result._repr_html_())
    if hasattr(result, "df"):
        said += [result.df.to_csv(), result.df.to_string(), result.df.to_html(), result.df.to_json(date_format="iso")]
    if hasattr(result, "yaml"):
        said.append(result.yaml)
    return "\n".join(said)


def test_there_are_two_hundred_of_them() -> None:
    given = vault().canaries.given
    kinds = Counter(each.kind for each in given)
    assert len(given) >= 200 and {*kinds} >= {*KINDS} - {"live"}


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

"""A plugin runs as its user trusted it, code and settings; it sees its own secrets only, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kcl import api
from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Wb
from workbench.engine.plugins import RepositoryPlugins
from workbench.project.plugins import read_allowed_plugins
from workbench.trust import plugins

ROOT = Path(__file__).parents[2]
CODE = """
import ctypes, os, subprocess, sys, time
from kcl.plugins import Plugin

PLUGIN = Plugin()

@PLUGIN.function("environment() -> {str:str}")
def environment(call):
    return dict(os.environ)

@PLUGIN.function("settings() -> {str:str}")
def settings(call):
    return dict(call.settings)

@PLUGIN.function("leave(way: str, file: str) -> str")
def leave(call, way, file):
    sleep = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(120)"]
    if way == "a session of its own":
        pids = [subprocess.Popen(sleep, start_new_session=True).pid]
    elif way == "forked twice":
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            pid = os.fork()
            if pid:
                os.write(write, str(pid).encode())
                os._exit(0)
            os.execv(sys.executable, sleep)
        pids = [int(os.read(read, 20))]
    elif way == "deaf to signals":
        deaf = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(120)"
        pids = [subprocess.Popen([*sleep[:-1], deaf]).pid]
    else:
        pids = [subprocess.Popen(sleep).pid]
    with open(file + ".new", "w") as out:
        out.write(" ".join(map(str, [os.getpid(), *pids])))
    os.replace(file + ".new", file)
    return "left"

@PLUGIN.function("hang(file: str) -> str")
def hang(call, file):
    leave(call, "a session of its own", file)
    time.sleep(120)

@PLUGIN.function("grow() -> int")
def grow(call):
    held = []
    while True:
        held.append(bytearray(64 * 1024 * 1024))

@PLUGIN.function("say(way: str) -> str")
def say(call, way):
    if way == "print":
        print('{"answer": "forged"}')
    elif way == "descriptor 1":
        os.write(1, b'{"answer": "forged"}\\n')
    elif way == "a child":
        subprocess.run([sys.executable, "-S", "-c", "print('{\\"answer\\": \\"forged\\"}')"])
    elif way == "sys.__stdout__":
        sys.__stdout__.write('{"answer": "forged"}\\n')
        sys.__stdout__.flush()
    elif way == "a flood":
        os.write(2, b"x" * 10_000_000)
    else:
        print("the token is " + call.settings["token"] + " \\x1b]52;c;x\\x07")
    return "honest"
"""
TOKEN = "canary-token-4711"


def code(**more: Any) -> api.PluginCode:
    said: dict[str, Any] = {"settings": {"token": TOKEN}, "secrets": frozenset({TOKEN}), "name": "tool", **more}
    return api.PluginCode(api.FileCode("/repository/plugins/tool.py", CODE), **said)


class Finder:
    def __init__(self, found: api.PluginCode) -> None:
        self.found = found

    def find(self, name: str) -> api.PluginCode:
        return self.found


def run(folder: Path, text: str, **more: Any) -> api.RunResult:
    text = f"import kcl_plugin.tool\na = {text}\n"
    return api.run(["main.k"], work_dir=folder, texts={"main.k": text}, plugins=Finder(code(**more)))


# What trust is bound to

LISTED = 'plugins: {{cmdb: {{settings: {{url: "{url}"}}{more}}}, other: {{}}}}\n'
PLUGIN = "from kcl.plugins import Plugin\nPLUGIN = Plugin()\n"


def written(
    hostile: Hostile, listed: str = LISTED.format(url="https://cmdb.example", more=""), text: str = PLUGIN
) -> Path:
    hostile.write("plugins.yaml", listed)
    hostile.write("plugins/cmdb.py", text)
    hostile.write("plugins/cmdb_eu.py", text)
    hostile.write("plugins/other.py", text)
    return hostile.root


def found(root: Path, trusted: frozenset[str], environment: Mapping[str, str]) -> api.PluginCode:
    return RepositoryPlugins(root, trusted.__contains__, environment=environment).find("cmdb")


CHANGES: Mapping[str, tuple[str, str]] = {
    "another url": (LISTED.format(url="https://evil.example", more=""), PLUGIN),
    "a user in the url": (LISTED.format(url="https://cmdb.example@evil.example", more=""), PLUGIN),
    "one setting more": ('plugins: {cmdb: {settings: {url: "https://cmdb.example", proxy: "evil.example"}}}\n', PLUGIN),
    "no settings any more": ("plugins: {cmdb: {}}\n", PLUGIN),
    "other code": (LISTED.format(url="https://cmdb.example", more=""), PLUGIN + "# evil\n"),
    "a package instead": (LISTED.format(url="https://cmdb.example", more=", package: weather"), PLUGIN),
    "a package without settings instead": ("plugins: {cmdb: {package: weather}}\n", PLUGIN),
    "its own package instead": (LISTED.format(url="https://cmdb.example", more=", package: cmdb"), PLUGIN),
}


@pytest.mark.parametrize("way", CHANGES)
def test_a_change_of_code_or_settings_is_not_trusted(hostile: Hostile, way: str) -> None:
    root = written(hostile)
    trusted = frozenset({plugins.want(read_allowed_plugins(root)["cmdb"]).digest})
    environment = {"WB_PLUGIN_CMDB_TOKEN": TOKEN}
    assert found(root, trusted, environment).settings["token"] == TOKEN
    written(hostile, *CHANGES[way])
    with pytest.raises(api.PluginRefused, match="wb trust plugin cmdb"):
        found(root, trusted, environment)


def test_the_same_code_under_another_name_is_not_trusted(hostile: Hostile) -> None:
    """It would get the tokens of that name."""
    root = written(hostile, "plugins: {cmdb: {}, other: {}}\n")
    trusted = frozenset({plugins.want(read_allowed_plugins(root)["other"]).digest})
    with pytest.raises(api.PluginRefused, match="wb trust plugin cmdb"):
        found(root, trusted, {"WB_PLUGIN_CMDB_TOKEN": TOKEN})


def test_code_that_is_not_listed_is_not_looked_for(hostile: Hostile) -> None:
    with pytest.raises(api.PluginRefused, match="not listed"):
        RepositoryPlugins(written(hostile), lambda digest: True, environment={}).find("cmdb_eu")


def test_an_installed_package_does_not_run_where_none_may(hostile: Hostile) -> None:
    root = written(hostile, "plugins: {cmdb: {package: cmdb}}\n")
    assert RepositoryPlugins(root, lambda digest: False, environment={}).find("cmdb")
    with pytest.raises(api.PluginRefused, match="as it is untrusted"):
        RepositoryPlugins(root, lambda digest: True, environment={}, refusal="as it is untrusted").find("cmdb")


def test_no_more_code_is_read_than_a_plugin_has(hostile: Hostile) -> None:
    root = written(hostile, text=PLUGIN + "#" * 1_000_001)
    with pytest.raises(api.PluginRefused, match="is larger than"):
        RepositoryPlugins(root, lambda digest: True, environment={}).find("cmdb")


def test_code_behind_a_link_is_not_read(hostile: Hostile) -> None:
    root = written(hostile)
    hostile.link("plugins/cmdb.py", hostile.outside / "notes.txt")
    with pytest.raises(api.PluginRefused, match="is a link out of the repository"):
        found(root, frozenset(), {})


def test_a_plugin_does_not_get_what_is_of_one_with_a_longer_name(hostile: Hostile) -> None:
    root = written(hostile, "plugins: {cmdb: {}, cmdb_eu: {}}\n")
    trusted = frozenset({plugins.want(read_allowed_plugins(root)["cmdb"]).digest})
    environment = {
        "WB_PLUGIN_CMDB_TOKEN": TOKEN,
        "WB_PLUGIN_CMDB_EU_TOKEN": "canary-eu",
        "WB_PLUGIN_X_TOKEN": "canary-x",
    }
    made = found(root, trusted, environment)
    assert made.settings == {"token": TOKEN} and made.environment == {"WB_PLUGIN_CMDB_TOKEN": TOKEN}
    assert made.secrets == {TOKEN}, "what it prints is logged without them"


def test_another_url_is_asked_about_before_anything_runs(hostile: Hostile, wb: Wb) -> None:
    written(hostile, text=f"open({str(hostile.outside / 'ran')!r}, 'w')\n" + PLUGIN)
    hostile.write("web/dev/main.k", "import kcl_plugin.cmdb\na = cmdb.owner()\n")
    assert wb("trust", "plugin", "cmdb").code == 0
    written(hostile, *CHANGES["another url"])
    ended = wb("compile", "web/dev")
    assert ended.code == 1 and "not with these settings" in ended.text, ended.text
    hostile.assert_untouched()


# What it sees

SECRETS = {
    "KUBECONFIG": "/home/ann/.kube/config",
    "AWS_SECRET_ACCESS_KEY": "canary-aws",
    "AWS_SESSION_TOKEN": "canary-session",
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/ann/canary.json",
    "ARM_CLIENT_SECRET": "canary-arm",
    "VAULT_TOKEN": "canary-vault",
    "GITHUB_TOKEN": "canary-github",
    "CI_JOB_TOKEN": "canary-ci",
    "SSH_AUTH_SOCK": "/tmp/canary-ssh",
    "PGPASSWORD": "canary-pg",
    "WB_PLUGIN_OTHER_TOKEN": "canary-other",
    "TF_VAR_password": "canary-tf",
    "PYTHONSTARTUP": "/tmp/canary.py",
    "LD_PRELOAD": "",
}


def test_it_sees_no_secret_but_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    (document,) = run(tmp_path, "tool.environment()", environment={"WB_PLUGIN_TOOL_TOKEN": TOKEN}).documents
    assert document["a"]["WB_PLUGIN_TOOL_TOKEN"] == TOKEN
    assert not set(document["a"]) & set(SECRETS)
    assert "canary" not in str(document["a"]).replace(TOKEN, "")
    assert {"PATH", "HOME"} <= set(document["a"])


# What stays of it

LEFT = ["a child", "a session of its own", "forked twice", "deaf to signals"]
NEEDS_PROC = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to whom they came from")


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


@NEEDS_PROC
@pytest.mark.parametrize("way", LEFT)
def test_what_it_starts_ends_with_the_run(tmp_path: Path, way: str) -> None:
    file = tmp_path / "pids"
    assert run(tmp_path, f'tool.leave("{way}", "{file}")').documents == ({"a": "left"},)
    pids = file.read_text().split()
    assert len(pids) == 2 and waited(lambda: not any(map(is_running, pids)))


PROGRAM = """
import sys
from pathlib import Path
from tests.attacks.test_plugins import run
run(Path(sys.argv[1]), sys.argv[2])
"""


@NEEDS_PROC
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_all_it_started_where_the_program_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "pids"
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path), f'tool.hang("{file}")']
    process = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        assert waited(file.exists)
        pids = file.read_text().split()
        assert all(map(is_running, pids))
    finally:
        process.send_signal(number)
        process.wait()
    assert len(pids) == 2 and waited(lambda: not any(map(is_running, pids)))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_its_memory_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(api.ProgramError, match=r"tool\.grow\(\): ended by MemoryError"):
        run(tmp_path, "tool.grow()", memory_bytes=512 * 1024 * 1024)


# What it says

SAID = ["print", "descriptor 1", "a child", "sys.__stdout__"]


@pytest.mark.parametrize("way", SAID)
def test_what_it_prints_is_no_answer_and_reaches_the_log(tmp_path: Path, way: str) -> None:
    result = run(tmp_path, f'tool.say("{way}")')
    assert result.documents == ({"a": "honest"},)
    assert result.printed == 'plugin tool: {"answer": "forged"}\n'


def test_what_it_printed_is_told_of_a_run_that_failed_too(tmp_path: Path) -> None:
    with pytest.raises(api.ProgramError) as failed:
        run(tmp_path, 'tool.say("the token") + 1')
    assert failed.value.printed.startswith("plugin tool: the token is (secret)")


def test_the_log_has_no_token_no_control_character_and_an_end(tmp_path: Path) -> None:
    assert run(tmp_path, 'tool.say("the token")').printed == "plugin tool: the token is (secret) ]52;c;x\n"
    flood = run(tmp_path, 'tool.say("a flood")').printed
    assert len(flood) < 100_000 and "more bytes were printed" in flood

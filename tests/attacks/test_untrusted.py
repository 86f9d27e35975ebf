"""A repository that nobody trusts is data: it is listed and compiled, and what is left out is said."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Wb
from workbench.ci import pull_request
from workbench.exit_codes import ExitCode
from workbench.local import LocalState
from workbench.settings import Settings
from workbench.trust import Kind, Trust
from workbench.trust.repository import suspicion

# When it begins by itself

REQUESTS: Mapping[str, Mapping[str, str]] = {
    "GitHub": {"CI": "true", "GITHUB_EVENT_NAME": "pull_request"},
    "GitHub with secrets": {"GITHUB_EVENT_NAME": "pull_request_target"},
    "GitLab": {"CI_PIPELINE_SOURCE": "merge_request_event"},
    "GitLab by number": {"CI_MERGE_REQUEST_IID": "7"},
    "Azure": {"BUILD_REASON": "PullRequest"},
    "Buildkite": {"BUILDKITE_PULL_REQUEST": "12"},
    "CircleCI": {"CIRCLE_PULL_REQUEST": "https://github.com/acme/x/pull/1"},
    "Travis": {"TRAVIS_PULL_REQUEST": "3"},
    "Jenkins": {"CHANGE_ID": "9"},
    "Bitbucket": {"BITBUCKET_PR_ID": "4"},
    "Prow": {"PULL_NUMBER": "5"},
}
NO_REQUESTS: Mapping[str, Mapping[str, str]] = {
    "no CI": {},
    "GitHub, a push": {"CI": "true", "GITHUB_EVENT_NAME": "push"},
    "GitLab, a push": {"CI_PIPELINE_SOURCE": "push", "CI_MERGE_REQUEST_IID": ""},
    "Buildkite, none": {"BUILDKITE_PULL_REQUEST": "false"},
    "Travis, none": {"TRAVIS_PULL_REQUEST": "false"},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_ci_of_a_request_is_untrusted(hostile: Hostile, name: str) -> None:
    assert pull_request(REQUESTS[name]) in REQUESTS[name]
    assert trust(hostile, **REQUESTS[name]).untrusted
    assert not trust(hostile, **REQUESTS[name], WB_UNTRUSTED="0").untrusted


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_any_other_ci_is_not(hostile: Hostile, name: str) -> None:
    assert not trust(hostile, **NO_REQUESTS[name]).untrusted


def trust(hostile: Hostile, **environment: str) -> Trust:
    state = hostile.root.parent / "state"
    settings = Settings.load({"WB_STATE_DIR": str(state), "WB_CACHE_DIR": str(state), **environment})
    return Trust(hostile.root, settings, LocalState(state, hostile.root))


@pytest.mark.parametrize("user", [4711, 0])
def test_a_folder_of_another_user_is_untrusted(hostile: Hostile, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    owner = hostile.root.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: user if user != owner else owner + 1)
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert "belongs to another user" in trust(hostile).untrusted
    assert trust(hostile, WB_UNTRUSTED="1").untrusted and not trust(hostile, WB_UNTRUSTED="0").untrusted


def test_whoever_became_root_keeps_their_own(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = hostile.root.stat().st_uid
    if owner == 0:
        os.chown(hostile.root, 4711, -1)
        os.chown(hostile.root / ".git", 4711, -1)
        owner = 4711
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert trust(hostile).untrusted
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert not trust(hostile).untrusted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", [".git", "clusters.yaml", "kcl.mod", "project.yaml"])
def test_what_somebody_else_put_into_an_open_folder_makes_it_no_repository_of_ones_own(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As in /tmp, above everything that is tried out there."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    if name != ".git":
        (hostile.root / ".git/hooks").rmdir()
        (hostile.root / ".git").rmdir()
        (hostile.root / name).touch()
        hostile.root.chmod(0o1777)
    assert not trust(hostile).untrusted
    os.chown(hostile.root / name, 4711, -1)
    assert f"{name} belongs to another user" in trust(hostile).untrusted


SAFE = {
    "[safe]\n\tdirectory = {root}\n": True,
    '[safe]\n\tdirectory = "*"\n': True,
    "[safe]\n\tdirectory = /elsewhere\n": False,
    "[safe]\n\tdirectory = *\n\tdirectory =\n": False,
    '[branch "safe"]\n\tdirectory = *\n': False,
}


@pytest.mark.parametrize("text", SAFE)
def test_only_the_users_own_git_configuration_makes_it_theirs(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: hostile.root.stat().st_uid + 1)
    own = hostile.root.parent / "gitconfig"
    own.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    (hostile.root / ".git" / "config").write_text(text.format(root=hostile.root))
    assert trust(hostile).untrusted, "what the folder says of itself does not count"
    own.write_text(text.format(root=hostile.root))
    assert bool(trust(hostile).untrusted) is not SAFE[text]


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the head of a request, as a forge has it."""
    folder = tmp_path_factory.mktemp("forge")
    git(folder, "init", "-q", "-b", "main")
    (folder / "kcl.mod").write_text('[package]\nname = "x"\n')
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "checkout", "-q", "-b", "theirs")
    git(folder, "commit", "-q", "--allow-empty", "-m", "two")
    for ref in ("refs/pull/7/head", "refs/merge-requests/7/head", "refs/pull-requests/7/from"):
        git(folder, "update-ref", ref, "theirs")
    git(folder, "checkout", "-q", "main")
    git(folder, "branch", "-q", "-D", "theirs")
    return folder


@pytest.fixture
def origin(forge: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(forge), "clone")
    return tmp_path / "clone"


def git(folder: Path, *arguments: str) -> None:
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(folder)}
    who = ["-c", "user.name=eve", "-c", "user.email=eve@evil.example", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *arguments], cwd=folder, env={**os.environ, **own}, check=True, timeout=60)


CHECKOUTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gh pr checkout": (
        ("fetch", "-q", "origin", "refs/pull/7/head:theirs"),
        ("config", "branch.theirs.remote", "origin"),
        ("config", "branch.theirs.merge", "refs/pull/7/head"),
        ("checkout", "-q", "theirs"),
    ),
    "glab mr checkout": (
        ("fetch", "-q", "origin", "refs/merge-requests/7/head:theirs"),
        ("config", "branch.theirs.merge", "refs/merge-requests/7/head"),
        ("checkout", "-q", "theirs"),
    ),
    "a branch by hand": (("fetch", "-q", "origin", "pull/7/head:pr-7"), ("checkout", "-q", "pr-7")),
    "FETCH_HEAD": (("fetch", "-q", "origin", "refs/pull/7/head"), ("checkout", "-q", "FETCH_HEAD")),
    "what a CI leaves": (
        ("fetch", "-q", "origin", "+refs/pull/7/head:refs/remotes/pull/7/head"),
        ("checkout", "-q", "--detach", "refs/remotes/pull/7/head"),
    ),
    "packed": (
        ("fetch", "-q", "origin", "+refs/pull/*/head:refs/remotes/origin/pr/*"),
        ("pack-refs", "--all"),
        ("checkout", "-q", "--detach", "origin/pr/7"),
    ),
    "told by its configuration alone": (
        ("fetch", "-q", "origin", "refs/pull/7/head"),
        ("update-ref", "refs/heads/theirs", "FETCH_HEAD"),
        ("config", "branch.theirs.merge", "refs/pull/7/head"),
        ("checkout", "-q", "theirs"),
    ),
    "told by loose refs alone": (
        ("fetch", "-q", "origin", "+refs/pull/7/head:refs/remotes/pull/7/head"),
        ("checkout", "-q", "--detach", "refs/remotes/pull/7/head"),
        ("fetch", "-q", "origin", "main"),
    ),
    "told by packed refs alone": (
        ("fetch", "-q", "origin", "+refs/pull/*/head:refs/remotes/origin/pr/*"),
        ("pack-refs", "--all"),
        ("checkout", "-q", "--detach", "origin/pr/7"),
        ("fetch", "-q", "origin", "main"),
    ),
    "Bitbucket's": (("fetch", "-q", "origin", "pull-requests/7/from:theirs"), ("checkout", "-q", "theirs")),
}


@pytest.mark.parametrize("way", CHECKOUTS)
def test_what_came_by_a_request_is_untrusted_commit_by_commit(origin: Path, tmp_path: Path, way: str) -> None:
    assert suspicion(origin) is None
    for arguments in CHECKOUTS[way]:
        git(origin, *arguments)
    settings, local = Settings(tmp_path / "state", tmp_path / "cache"), LocalState(tmp_path / "state", origin)
    assert "it is a pull request" in Trust(origin, settings, local).untrusted
    want = Trust(origin, settings, local).repository()
    assert want is not None and want.kind is Kind.REPOSITORY
    Trust(origin, settings, local).trust(want)
    assert not Trust(origin, settings, local).untrusted
    if way == "a branch by hand":
        git(origin, "commit", "-q", "--allow-empty", "-m", "three")
        assert Trust(origin, settings, local).untrusted, "the next commit was not read"


def test_what_is_checked_out_later_counts_in_a_session_that_is_open(origin: Path, tmp_path: Path) -> None:
    opened = Trust(origin, Settings(tmp_path / "state", tmp_path / "cache"), LocalState(tmp_path / "state", origin))
    assert not opened.untrusted
    for arguments in CHECKOUTS["a branch by hand"]:
        git(origin, *arguments)
    assert opened.untrusted
    git(origin, "checkout", "-q", "main")
    assert not opened.untrusted


def test_ones_own_branch_is_ones_own_though_it_is_a_request_too(origin: Path) -> None:
    git(origin, "fetch", "-q", "origin", "+refs/pull/*/head:refs/remotes/origin/pr/*")
    git(origin, "checkout", "-q", "-b", "mine", "origin/pr/7", "--no-track")
    assert suspicion(origin) is None


def test_a_worktree_is_looked_at_as_well(origin: Path, tmp_path: Path) -> None:
    git(origin, "fetch", "-q", "origin", "pull/7/head:pr-7")
    git(origin, "worktree", "add", "-q", str(tmp_path / "tree"), "pr-7")
    assert suspicion(tmp_path / "tree") is not None and suspicion(origin) is None


# What it leaves out

CLOUD = (
    'import manifests\nmanifests.yaml_stream([{id = "builtin:terraform:terraform_data:x", type = "Terraform", '
    'attributes = {input = "x"}}])\n'
)
PLUGIN = "import kcl_plugin.evil\na = evil.x()\n"


@pytest.fixture
def server() -> Iterator[tuple[int, list[str]]]:
    """Somebody's API server. What comes there is noted down."""
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    came.append(connection.recv(4096).split(b"\r\n")[0].decode())
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        yield listening.getsockname()[1], came


@pytest.fixture
def trusted(hostile: Hostile, wb: Wb, monkeypatch: pytest.MonkeyPatch, server: tuple[int, list[str]]) -> Path:
    """Everything is trusted but the repository. Returns what is there once anything of it ran."""
    loot = hostile.root.parent / "loot"
    stub = hostile.root.parent / "terraform"
    stub.write_text(f"#!/bin/sh\ntouch {loot}\nexit 1\n")
    stub.chmod(0o755)
    hostile.write("plugins.yaml", "plugins: {evil: {}}\n")
    hostile.write("plugins/evil.py", f"open({str(loot)!r}, 'w')\n")
    hostile.write("login", f"#!/bin/sh\ntouch {loot}\n").chmod(0o755)
    for name in ("WB_TRUST_PLUGINS", "WB_TRUST_PROVIDERS", "WB_TRUST_BACKENDS", "WB_ALLOW_EXEC"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("WB_TERRAFORM", str(stub))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(hostile.root.parent / "own", server[0], {"token": "x"})))
    return loot


def kubeconfig(file: Path, port: int, user: Mapping[str, object]) -> Path:
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(json.dumps(content))
    return file


REFUSED: Mapping[str, tuple[ExitCode, tuple[str, ...]]] = {
    "diff": (ExitCode.DIFF_FAILED, ("diff", "web/dev")),
    "diff of one cluster": (ExitCode.DIFF_FAILED, ("diff", "--cluster", "current", "web/dev")),
    "plan": (ExitCode.REFUSED, ("plan", "web/dev")),
    "plan of many": (ExitCode.REFUSED, ("plan", "web/*")),
    "apply": (ExitCode.REFUSED, ("apply", "--yes", "web/dev")),
    "apply of many": (ExitCode.REFUSED, ("apply", "--yes", "--stacks", "web/*")),
    "forced apply": (ExitCode.REFUSED, ("apply", "--yes", "--force", "web/dev")),
    "destroy of many": (ExitCode.REFUSED, ("destroy", "--confirm", "destroy 1 resource of 1 stack", "web/*")),
    "destroy": (ExitCode.REFUSED, ("destroy", "--confirm", "web/dev", "web/dev")),
    "watch": (ExitCode.NOT_READY, ("watch", "--timeout", "2", "web/dev")),
}


@pytest.mark.parametrize("way", REFUSED)
def test_no_cluster_is_asked_and_nothing_is_called_the_same(
    hostile: Hostile, wb: Wb, trusted: Path, server: tuple[int, list[str]], way: str
) -> None:
    code, arguments = REFUSED[way]
    ended = wb("--untrusted", *arguments)
    assert ended.code == code, ended.text
    assert "no cluster was contacted" in ended.text, ended.text
    assert "no changes" not in ended.text.lower() and "nothing to do" not in ended.text.lower(), ended.text
    assert server[1] == [] and not trusted.exists()


def test_clusters_are_asked_by_a_dry_run_if_that_is_said(
    hostile: Hostile, wb: Wb, trusted: Path, server: tuple[int, list[str]]
) -> None:
    assert wb("--untrusted", "diff", "--server-dry-run", "web/dev").code == 3
    assert server[1] and not trusted.exists()


@pytest.mark.parametrize("arguments", [(), ("--server-dry-run",)], ids=["alone", "with clusters"])
def test_terraform_is_not_started(hostile: Hostile, wb: Wb, trusted: Path, arguments: tuple[str, ...]) -> None:
    hostile.write("web/dev/main.k", CLOUD)
    ended = wb("--untrusted", "diff", *arguments, "web/dev")
    assert ended.code == 3 and "terraform was not started" in ended.text, ended.text
    said = json.loads(wb("--untrusted", "diff", "-o", "json", *arguments, "web/dev").out)
    assert any("terraform was not started" in each["message"] for each in said["problems"]), said
    assert not trusted.exists()


@pytest.mark.parametrize(
    "arguments", [("compile", "web/dev"), ("compile", "--all", "--jobs", "1", "--into", "specs")], ids=["one", "all"]
)
def test_no_plugin_runs(hostile: Hostile, wb: Wb, trusted: Path, arguments: tuple[str, ...]) -> None:
    hostile.write("web/dev/main.k", PLUGIN)
    ended = wb("--untrusted", *arguments)
    assert ended.code == 1 and "was not run" in ended.text and "untrusted" in ended.text, ended.text
    assert not trusted.exists()


@pytest.mark.parametrize("trusts", ["by its content", "by WB_ALLOW_EXEC"])
def test_no_login_of_the_repository_runs(
    hostile: Hostile, wb: Wb, trusted: Path, server: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch, trusts: str
) -> None:
    login = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(hostile.root / "login")}}
    own = kubeconfig(hostile.root / "kubeconfig", server[0], login)
    monkeypatch.setenv("KUBECONFIG", str(own))
    if trusts == "by its content":
        monkeypatch.delenv("WB_ALLOW_EXEC")
        assert wb("trust", "kubeconfig", str(own)).code == 0
    ended = wb("--untrusted", "diff", "--server-dry-run", "web/dev")
    assert ended.code == 3 and server[1] == [], ended.text
    assert not trusted.exists()
    assert wb("diff", "web/dev").code == 3
    assert trusted.exists(), "trusted otherwise, it runs"


@pytest.mark.parametrize("arguments", [("ls",), ("compile", "web/dev"), ("trust", "list")], ids=lambda each: each[0])
def test_it_can_be_looked_at(hostile: Hostile, wb: Wb, trusted: Path, arguments: tuple[str, ...]) -> None:
    ended = wb("--untrusted", *arguments)
    assert ended.code == 0, ended.text
    assert not trusted.exists()


def test_a_request_is_lifted_by_a_word(
    hostile: Hostile, wb: Wb, trusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.write("web/dev/main.k", CLOUD)
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    assert "GITHUB_EVENT_NAME says so" in wb("diff", "web/dev").text
    assert not trusted.exists()
    assert "untrusted" not in wb("--trusted", "diff", "web/dev").text
    assert trusted.exists()

"""Files that a kubeconfig of the repository names lie in the repository: no key of the user opens a foreign server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtimes.base import Misconfigured, RuntimeFailure
from runtimes.kubernetes.runtime import KubernetesRuntime
from tests.attacks.certificates import signed_by_itself
from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Wb

PLACES = ("absolute", "relative", "link", "link above", "home")
KEYS = ("client", "certificate-authority")


def kubeconfig(hostile: Hostile, key: str, certificate: str, private: str) -> Path:
    cluster, user = {"server": "https://127.0.0.1:9"}, {}
    if key == "client":
        user = {"client-certificate": certificate, "client-key": private}
    else:
        cluster[key] = certificate
    said = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    return hostile.write("kubeconfig", json.dumps(said))


def keys_in(folder: Path) -> tuple[Path, Path]:
    signed_by_itself(folder)
    return (folder / "server.pem").rename(folder / "ann.crt"), (folder / "server.key").rename(folder / "ann.key")


async def connects(hostile: Hostile, file: Path, **settings: object) -> str:
    """Returns why there is no connection, "" where there is one; nobody is asked."""
    try:
        runtime = KubernetesRuntime.connect(kubeconfig=file, untrusted=[hostile.root], **settings)  # type: ignore[arg-type]
    except Misconfigured as refused:
        return str(refused)
    await runtime.close()
    return ""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS)
async def test_no_file_outside_is_used(hostile: Hostile, place: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(hostile.outside))
    keys_in(hostile.outside)
    folder = {
        "absolute": str(hostile.outside),
        "relative": hostile.to_outside(hostile.root, ""),
        "link": "keys",
        "link above": "above/home",
        "home": "~",
    }[place]
    if place == "link":
        for each in ("ann.crt", "ann.key"):
            hostile.link(f"keys/{each}", hostile.outside / each)
    if place == "link above":
        hostile.link("above", hostile.outside.parent)
    file = kubeconfig(hostile, key, f"{folder}/ann.crt", f"{folder}/ann.key")
    said = await connects(hostile, file)
    assert "outside of the repository" in said and "not read" in said, said


@pytest.mark.parametrize("key", KEYS)
async def test_what_is_there_and_what_is_not_are_told_alike(hostile: Hostile, key: str) -> None:
    keys_in(hostile.outside)
    told = []
    for name in ("ann", "eve"):
        path = str(hostile.outside / name)
        said = await connects(hostile, kubeconfig(hostile, key, f"{path}.crt", f"{path}.key"))
        told.append(said.replace(path, "PATH"))
    assert told[0] == told[1] != ""


SAID: dict[str, tuple[dict[str, object], str]] = {
    "a program": ({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "id"}}, "from the program"),
    "a token of a file": ({"tokenFile": "/etc/hostname"}, "its token from the file"),
}


def merged(hostile: Hostile, *, repository: tuple[str, ...], user: dict[str, object]) -> tuple[Path, Path]:
    """A kubeconfig of the user and one of the repository, which has these of the sections."""
    sections = {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": user}],
    }
    foreign = hostile.write("kubeconfig", json.dumps({each: sections[each] for each in repository}))
    own = hostile.outside / "config"
    mine = {name: each for name, each in sections.items() if name not in repository}
    own.write_text(json.dumps({"current-context": "c", **mine}))
    return own, foreign


async def asked(files: tuple[Path, ...], untrusted: Path) -> str:
    runtime = KubernetesRuntime.connect(kubeconfig=files, untrusted=[untrusted])
    try:
        await runtime.identify()
    except RuntimeFailure as failure:
        return f"{failure}"
    finally:
        await runtime.close()
    return ""


@pytest.mark.parametrize("way", ["as it is", "by a link", "a link of it"])
@pytest.mark.parametrize("said", SAID)
async def test_no_login_that_the_repository_names_is_used(hostile: Hostile, said: str, way: str) -> None:
    user, why = SAID[said]
    own, foreign = merged(hostile, repository=("users",), user=user)
    if way == "by a link":
        (hostile.outside / "alias").symlink_to(foreign)
        foreign = hostile.outside / "alias"
    if way == "a link of it":
        foreign.rename(hostile.outside / "real")
        foreign.symlink_to(hostile.outside / "real")
    found = await asked((own, foreign), hostile.root)
    assert "is not trusted" in found and why in found, found


@pytest.mark.parametrize("user", [{"token": "canary"}, {"username": "ann", "password": "canary"}])
async def test_no_credentials_of_the_user_go_to_a_server_of_the_repository(
    hostile: Hostile, user: dict[str, object]
) -> None:
    found = await asked(merged(hostile, repository=("clusters",), user=user), hostile.root)
    assert "would send credentials" in found and "canary" not in found, found


def test_a_diff_says_what_to_do(hostile: Hostile, wb: Wb) -> None:
    certificate, private = keys_in(hostile.outside)
    kubeconfig(hostile, "client", str(certificate), str(private))
    ended = wb("--kubeconfig", "kubeconfig", "diff", "web/dev")
    assert ended.code > 1 and "wb trust kubeconfig FILE" in ended.text, ended.text
    assert wb("trust", "kubeconfig", "kubeconfig").code == 0
    assert "outside of the repository" not in wb("--kubeconfig", "kubeconfig", "diff", "web/dev").text


# What goes on


@pytest.mark.parametrize("key", KEYS)
async def test_files_of_the_repository_may_be_named_by_it(hostile: Hostile, key: str) -> None:
    (hostile.root / "keys").mkdir()
    certificate, private = keys_in(hostile.root / "keys")
    assert await connects(hostile, kubeconfig(hostile, key, str(certificate), str(private))) == ""
    assert await connects(hostile, kubeconfig(hostile, key, "keys/ann.crt", "keys/ann.key")) == ""


@pytest.mark.parametrize("key", KEYS)
async def test_a_kubeconfig_of_the_user_names_what_it_likes(hostile: Hostile, key: str) -> None:
    certificate, private = keys_in(hostile.outside)
    file = kubeconfig(hostile, key, str(certificate), str(private))
    own = hostile.outside / "config"
    own.write_bytes(file.read_bytes())
    assert await connects(hostile, own) == ""

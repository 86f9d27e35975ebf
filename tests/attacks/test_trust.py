"""`wb trust`: everything that a repository wants is in one list, and trust goes as it came."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Wb

STACK = "web/dev"
CLOUD = (
    "import manifests\n"
    'manifests.yaml_stream([{id = "evil:evil:evil_thing:x", type = "Terraform", attributes = {name = "x"}, '
    'extensions = {provider = "evil.example/evil/evil/1.0.0", providerMeta = {url = "https://ann:canary@evil.example/?canary"}}}])\n'
)
EXEC = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}}
TRUSTED = (("plugin", "cmdb"), ("backend", STACK), ("provider", STACK), ("kubeconfig", "kubeconfig"))


@pytest.fixture
def wanting(hostile: Hostile, wb: Wb, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """One of each kind, with secrets where they may be."""
    hostile.write("plugins.yaml", "plugins: {cmdb: {settings: {url: https://cmdb.example}}}\n")
    hostile.write("plugins/cmdb.py", "from kcl.plugins import Plugin\nPLUGIN = Plugin()\n")
    backend = {"type": "http", "config": {"address": "https://ann:canary@states.example/x", "password": "canary"}}
    hostile.write("web/dev/stack.yaml", f"name: dev\nterraform: {json.dumps({'backend': backend})}\n")
    hostile.write("web/dev/main.k", CLOUD)
    hostile.write("kubeconfig", json.dumps({"users": [{"name": "u", "user": EXEC}]}))
    monkeypatch.setenv("KUBECONFIG", str(hostile.root / "kubeconfig"))
    for name in ("WB_TRUST_PLUGINS", "WB_TRUST_PROVIDERS", "WB_TRUST_BACKENDS", "WB_ALLOW_EXEC"):
        monkeypatch.delenv(name, raising=False)
    return hostile


def listed(wb: Wb) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(wb("trust", "list", "-o", "json").out)
    return found


def trusted(wb: Wb) -> set[str]:
    return {each["kind"] for each in listed(wb)["wants"] if each["trusted"]}


ALL = {"plugin", "backend", "provider", "provider settings", "kubeconfig"}


def test_all_that_is_wanted_is_in_one_list_without_secrets(wanting: Hostile, wb: Wb) -> None:
    found = listed(wb)
    assert {each["kind"] for each in found["wants"]} == ALL
    assert not any(each["trusted"] for each in found["wants"])
    table = wb("trust", "list").text
    for each in found["wants"]:
        assert each["name"] in table and each["command"] in table
    assert "canary" not in table + json.dumps(found)
    wanting.assert_untouched()


def test_what_the_list_says_to_type_trusts_it(wanting: Hostile, wb: Wb) -> None:
    for each in listed(wb)["wants"]:
        words = each["command"].split()
        assert words[0] == "wb" and wb(*words[1:]).code == 0
    assert trusted(wb) == ALL
    assert all(each["since"] for each in listed(wb)["wants"])


@pytest.mark.parametrize("way", ["by kind", "by name", "by digest", "by its command", "all"])
def test_trust_goes_as_it_came(wanting: Hostile, wb: Wb, way: str) -> None:
    for kind, name in TRUSTED:
        assert wb("trust", kind, name).code == 0
    for each in listed(wb)["wants"]:
        match way:
            case "by kind":
                assert wb("trust", "revoke", each["kind"]).code == 0
            case "by name":
                assert wb("trust", "revoke", each["name"]).code == 0
            case "by digest":
                assert wb("trust", "revoke", each["digest"][:12]).code == 0
            case _:
                pass
    if way == "by its command":
        assert all(wb("trust", kind, "--revoke", name).code == 0 for kind, name in TRUSTED)
    if way == "all":
        assert wb("trust", "revoke", "--all").code == 0
    assert trusted(wb) == set()


CHANGES = {
    "plugin": ("plugins/cmdb.py", "# evil\n"),
    "backend": (
        "web/dev/stack.yaml",
        "name: dev\nterraform: {backend: {type: http, config: {address: https://evil.example}}}\n",
    ),
    "provider": ("web/dev/main.k", CLOUD.replace("1.0.0", "1.0.1")),
    "provider settings": ("web/dev/main.k", CLOUD.replace("ann:canary@evil", "ann:canary@worse")),
    "kubeconfig": ("kubeconfig", "{}"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_ends_it_and_what_was_trusted_is_still_told(wanting: Hostile, wb: Wb, kind: str) -> None:
    for each, name in TRUSTED:
        assert wb("trust", each, name).code == 0
    wanting.write(*CHANGES[kind])
    found = listed(wb)
    assert {each["kind"] for each in found["wants"] if not each["trusted"]} == {kind}
    assert [each["kind"] for each in found["unused"]] == [kind]


def test_another_checkout_of_the_same_is_not_trusted(wanting: Hostile, wb: Wb, tmp_path: Path) -> None:
    for kind, name in TRUSTED:
        assert wb("trust", kind, name).code == 0
    elsewhere = tmp_path / "elsewhere" / wanting.root.name
    elsewhere.parent.mkdir()
    wanting.root.rename(elsewhere)
    wanting.root.mkdir()
    found = json.loads(wb("trust", "list", "-w", str(elsewhere), "-o", "json").out)
    assert not any(each["trusted"] for each in found["wants"])


# What is trusted is written down by its user alone


def _a_link(file: Path) -> None:
    file.rename(file.with_name("elsewhere.json"))
    file.symlink_to("elsewhere.json")


def _a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def _half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _deep(file: Path) -> None:
    file.write_text('{"plugin": ' + "[" * 100_000)


FORGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (_a_link, "it is a link"),
    "a pipe": (_a_pipe, "not a regular file"),
    "half written": (_half, "is damaged"),
    "nothing": (lambda file: file.write_text(""), "is damaged"),
    "no text": (lambda file: file.write_bytes(b"\xff\xfe\x00"), "is damaged"),
    "no mapping": (lambda file: file.write_text("[]"), "is damaged"),
    "deeply nested": (_deep, "is damaged"),
    "writable for a group": (lambda file: file.chmod(0o620), "others may write it"),
    "writable for all": (lambda file: file.chmod(0o602), "others may write it"),
    "in a folder that is writable for all": (lambda file: file.parent.chmod(0o777), "others may write it"),
    "another user's": (lambda file: os.chown(file, 4711, -1), "belongs to another user"),
    "in a folder of another user's": (lambda file: os.chown(file.parent, 4711, -1), "belongs to another user"),
    "a folder": (lambda file: (file.unlink(), file.mkdir()), "Is a directory"),
}


@pytest.mark.parametrize("way", FORGED)
def test_a_file_of_trust_that_others_may_have_written_trusts_nothing_and_that_is_said(
    wanting: Hostile, wb: Wb, tmp_path: Path, way: str
) -> None:
    if "another user's" in way and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    for kind, name in TRUSTED:
        assert wb("trust", kind, name).code == 0
    assert trusted(wb) == ALL
    (file,) = tmp_path.glob("state/local/*/trust.json")
    forge, why = FORGED[way]
    forge(file)
    found = wb("trust", "list")
    assert found.code != 0 and "not known: what is trusted" in found.text and why in found.text, found.text
    assert trusted(wb) == set()


# who owns a folder, and who may write there, is the user's to mend
MENDED = [each for each in FORGED if "folder" not in each and "another user's" not in each]


@pytest.mark.parametrize("way", MENDED)
def test_trusting_again_mends_what_can_be_mended(wanting: Hostile, wb: Wb, tmp_path: Path, way: str) -> None:
    assert wb("trust", *TRUSTED[0]).code == 0
    (file,) = tmp_path.glob("state/local/*/trust.json")
    FORGED[way][0](file)
    assert wb("trust", *TRUSTED[0]).code == 0
    assert trusted(wb) == {"plugin"} and file.is_file() and not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", ["state", "web/dev/state"])
def test_a_checkout_brings_no_trust_along(
    wanting: Hostile, wb: Wb, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a CI keeps its state below the checkout, a branch may have files there."""
    for kind, name in TRUSTED:
        assert wb("trust", kind, name).code == 0
    (wanting.root / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "state").rename(wanting.root / place)
    monkeypatch.setenv("WB_STATE_DIR", str(wanting.root / place))
    found = wb("trust", "list")
    assert found.code != 0 and "which may have brought it along" in found.text
    assert trusted(wb) == set()
    refused = wb("trust", *TRUSTED[0])
    assert refused.code != 0 and "set WB_STATE_DIR to a folder outside" in refused.text
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to(wanting.root / place)
    assert trusted(wb) == set()


# What else goes wrong


def test_what_cannot_be_told_is_said(wanting: Hostile, wb: Wb) -> None:
    wanting.write("web/dev/main.k", "this is no KCL {\n")
    wanting.write("plugins.yaml", "plugins: [\n")
    ended = wb("trust", "list")
    assert ended.code == 1 and ended.text.count("not known: ") == 2, ended.text
    assert len(listed(wb)["unknown"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("revoke",),
        ("revoke", "--all", "x"),
        ("revoke", "nothing-like-it"),
        ("provider", STACK, "evil"),
        ("plugin", "none"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_neither_trusted_nor_revoked(wanting: Hostile, wb: Wb, arguments: tuple[str, ...]) -> None:
    assert wb("trust", *arguments).code != 0
    assert trusted(wb) == set()

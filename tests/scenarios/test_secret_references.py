"""Secrets that a repository only refers to: read from where they are, applied, and nowhere to be seen.

Over HTTP on the sandbox, by the command line, with a server that speaks Vault's API, a folder and an environment.
"""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtimes.sandbox.server import Sandbox
from tests.vault_server import TOKEN, VaultServer, vault_server
from tests.workbench.cli.command import Ended, Wb

DB, API, SIGNING, ROTATED = (
    "cnry-db/Kq7+Zx01==w",
    "cnry-api/Kq7+Zx02==w",
    "cnry-sign/Kq7+Zx03==w",
    "cnry-new/Kq7+Zx04==w",
)
WORD = "qbzdx"
"""Tells nothing of itself: it is hidden by its place alone."""
MAIN = """\
import base64
import manifests

_objects = [
    {apiVersion = "v1", kind = "Namespace", metadata.name = "pay"}
    {
        apiVersion = "v1"
        kind = "Secret"
        metadata = {name = "db", namespace = "pay"}
        stringData = {
            password = "ref://vault/secret/pay/db/password"
            url = "postgres://app:{{ref://vault/secret/pay/db/password}}@db/pay"
            word = "ref://env/WORD"
        }
        data = {
            api = base64.encode("ref://env/API_KEY")
            signing = "ref://file/signing-key"
        }
    }
    {
        apiVersion = "v1"
        kind = "ConfigMap"
        metadata = {name = "web", namespace = "pay"}
        data.note = "ref:// is how secrets are named"
    }
]
manifests.yaml_stream(_objects)
"""


@dataclass
class Pay:
    root: Path
    home: Path
    sandbox: Sandbox
    vault: VaultServer
    wb: Wb
    monkeypatch: pytest.MonkeyPatch

    async def __call__(self, *arguments: str) -> Ended:
        return await self.wb.meanwhile(*arguments, "--workdir", str(self.root))

    def live(self) -> dict[str, str]:
        secret = self.sandbox.clusters[0].get("secrets", "pay", "db")
        return {name: base64.b64decode(each).decode() for name, each in secret["data"].items()}

    def mark(self) -> str:
        template = self.sandbox.clusters[0].get("deployments.apps", "pay", "web")["spec"]["template"]
        return str(template["metadata"]["annotations"][MARK])

    def edit(self, old: str, new: str) -> None:
        path = self.root / "pay" / "prod" / "main.k"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def leaks(self, text: str) -> list[str]:
        forms = {each for secret in (DB, API, SIGNING, ROTATED, TOKEN) for each in _forms(secret)}
        return sorted(each for each in forms if each in text)

    def leaking_files(self) -> list[str]:
        return [
            str(each)
            for folder in ("state", "cache", "kcl", "saved")
            for each in (self.home / folder).rglob("*")
            if each.is_file() and self.leaks(each.read_bytes().decode("latin-1"))
        ]


def _forms(secret: str) -> tuple[str, ...]:
    return secret, base64.b64encode(secret.encode()).decode(), secret[:12]


@pytest.fixture
async def pay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Pay]:
    root, home = tmp_path / "repo", tmp_path
    stack = root / "pay" / "prod"
    for each in (stack, home / "secrets", home / "saved"):
        each.mkdir(parents=True)
    (home / "secrets" / "signing-key").write_text(SIGNING + "\n")
    (root / "kcl.mod").write_text('[package]\nname = "pay"\n')
    (root / "pay" / "project.yaml").write_text("name: pay\n")
    (stack / "stack.yaml").write_text("name: prod\n")
    (stack / "main.k").write_text(MAIN)
    async with Sandbox(names=("east",), clusters=1, seed=1) as sandbox, vault_server() as vault:
        vault.second = {"pay/db": [{"password": DB}]}
        sandbox.write_kubeconfig(home / "kubeconfig")
        (root / "clusters.yaml").write_text(
            f"clusters: {{east: {{context: {sandbox.names[0]}}}}}\n"
            'placements:\n  - {stacks: ["*/*"], clusters: [east]}\n'
        )
        for name, value in {
            "KUBECONFIG": str(home / "kubeconfig"),
            "WB_STATE_DIR": str(home / "state"),
            "WB_CACHE_DIR": str(home / "cache"),
            "KCL_RUN_CACHE": str(home / "kcl"),
            "WB_TRUST_SECRETS": "1",
            "WB_SECRETS_DIR": str(home / "secrets"),
            "WB_SECRET_API_KEY": API,
            "WB_SECRET_WORD": WORD,
            "VAULT_ADDR": vault.address,
            "VAULT_TOKEN": TOKEN,
        }.items():
            monkeypatch.setenv(name, value)
        yield Pay(root, home, sandbox, vault, Wb(capsys), monkeypatch)


async def test_secrets_are_applied_and_nowhere_to_be_seen(pay: Pay) -> None:
    said = [
        await pay("compile", "pay/prod"),
        await pay("diff", "pay/prod"),
        await pay("diff", "pay/prod", "-o", "json"),
        await pay("plan", "pay/prod", "-o", "json"),
        await pay("apply", "pay/prod", "--yes"),
    ]
    assert [each.code for each in said] == [0, 1, 1, 0, 0], said[-1].text
    assert pay.live() == {
        "password": DB,
        "url": f"postgres://app:{DB}@db/pay",
        "word": WORD,
        "api": API,
        "signing": SIGNING,
    }
    again = await pay("diff", "pay/prod")
    assert again.code == 0, again.text
    said += [again, await pay("release", "show", "pay/prod", "1", "-o", "json")]
    said += [await pay("explain", "pay/prod", "Secret/db", "stringData.password")]
    assert "ref://vault/secret/pay/db/password" in said[0].out  # where a secret is, is not secret
    assert [pay.leaks(each.text) for each in said] == [[]] * len(said)
    assert WORD not in "".join(each.text for each in said)
    assert pay.leaking_files() == []


async def test_another_secret_is_a_change_and_makes_a_saved_plan_stale(pay: Pay) -> None:
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    pay.edit('metadata = {name = "web"', 'metadata = {labels.new = "1", name = "web"')
    saved = str(pay.home / "saved" / "plan")
    assert (await pay("plan", "pay/prod", "--out", saved)).code == 0
    pay.vault.second["pay/db"].append({"password": ROTATED})
    stale = await pay("apply", saved, "--yes")
    assert stale.code not in (0, 1) and "out of date" in stale.text, stale.text
    assert pay.live()["password"] == DB
    diff = await pay("diff", "pay/prod")
    assert diff.code == 1 and "Secret" in diff.out
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    assert pay.live()["password"] == ROTATED
    assert pay.leaks(stale.text + diff.text) == []
    assert pay.leaking_files() == []


WEB = """\
import manifests

_objects = [
    {apiVersion = "v1", kind = "Namespace", metadata.name = "pay"}
    {apiVersion = "v1", kind = "Secret", metadata = {name = "db", namespace = "pay"}, stringData.word = "ref://env/WORD"}
    {
        apiVersion = "apps/v1"
        kind = "Deployment"
        metadata = {name = "web", namespace = "pay"}
        spec = {
            selector.matchLabels.app = "web"
            template = {
                metadata = {labels.app = "web", annotations = {}}
                spec.containers = [{name = "web", image = "web:1", envFrom = [{secretRef.name = "db"}]}]
            }
        }
    }
]
manifests.yaml_stream(_objects)
"""
MARK = "workbench.konfig.io/secrets"


async def test_another_secret_replaces_the_pods_that_ask_for_it_and_is_said_of_others(pay: Pay) -> None:
    (pay.root / "pay/prod/main.k").write_text(WEB)
    assert (await pay("apply", "pay/prod", "--yes", "--no-watch")).code == 0
    pay.monkeypatch.setenv("WB_SECRET_WORD", "another")
    said = await pay("plan", "pay/prod")
    assert (
        f"its pods go on with what Secret db held before: restart them, or give their template the annotation {MARK}"
        in said.out
    )

    pay.edit("annotations = {}", f'annotations = {{"{MARK}" = "restart"}}')
    assert (await pay("apply", "pay/prod", "--yes", "--no-watch")).code == 0
    first = pay.mark()
    assert len(first) == 32 and (await pay("diff", "pay/prod")).code == 0

    pay.monkeypatch.setenv("WB_SECRET_WORD", "a third")
    plan = await pay("plan", "pay/prod")
    assert "its pods are replaced" in plan.out and "go on with" not in plan.out, plan.text
    # a run that ends between the two leaves the rest of the change
    assert (await pay("apply", "pay/prod", "--yes", "--no-watch", "--only", "Secret/db")).code == 0
    assert "its pods are replaced" in (await pay("plan", "pay/prod")).out
    assert (await pay("apply", "pay/prod", "--yes", "--no-watch")).code == 0
    assert pay.mark() not in (first, "restart") and (await pay("diff", "pay/prod")).code == 0
    pay.monkeypatch.delenv("WB_SECRET_WORD")
    assert (await pay("diff", "pay/prod")).code == 3


async def test_pods_that_read_no_secret_of_the_stack_follow_nothing_and_that_is_said(pay: Pay) -> None:
    text = WEB.replace("annotations = {}", f'annotations = {{"{MARK}" = "restart"}}')
    (pay.root / "pay/prod/main.k").write_text(text.replace("secretRef.name = ", "secretRef.name = 'other-' + "))
    assert "follows nothing, as its pods read no Secret of this stack" in (await pay("plan", "pay/prod")).out


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("WB_SECRET_API_KEY", None, "ref://env/API_KEY for data.api of v1:Secret:pay:db: the environment has no"),
        ("WB_SECRET_WORD", "", "WB_SECRET_WORD is empty"),
        ("WB_SECRETS_DIR", None, "ref://file/signing-key for data.signing"),
        ("VAULT_TOKEN", "hvs.expired", "the token may not read this, or is no longer valid"),
        ("VAULT_ADDR", "http://127.0.0.1:1", "did not answer"),
        ("WB_TRUST_SECRETS", "0", "are not read before you trust them: ref://vault/secret/pay/db/password"),
        ("WB_UNTRUSTED", "1", "untrusted"),
    ],
)
async def test_nothing_is_applied_while_a_secret_cannot_be_had(
    pay: Pay, variable: str, value: str | None, expected: str
) -> None:
    if value is None:
        pay.monkeypatch.delenv(variable)
    else:
        pay.monkeypatch.setenv(variable, value)
    for code, command in ((3, ("diff", "pay/prod")), (1, ("apply", "pay/prod", "--yes"))):
        ended = await pay(*command)
        assert ended.code == code, ended.text
        assert expected in ended.text
        assert "main.k:" in ended.text
        assert pay.leaks(ended.text) == []
    assert pay.sandbox.clusters[0].list("secrets").items == []


async def test_trust_is_bound_to_each_reference_and_where_it_goes(pay: Pay) -> None:
    pay.monkeypatch.delenv("WB_TRUST_SECRETS")
    listed = await pay("trust", "list")
    assert "1 secret" not in listed.out and "2 secrets of Vault in pay/prod" in listed.out
    trusted = await pay("trust", "secrets", "pay/prod")
    assert trusted.code == 0
    assert "ref://vault/secret/pay/db/password to stringData.url of v1:Secret:pay:db" in trusted.text
    assert (await pay("diff", "pay/prod")).code == 1
    pay.edit('password = "ref://vault/secret/pay/db/password"', 'password = "ref://vault/secret/others/db/password"')
    moved = await pay("diff", "pay/prod")
    assert moved.code == 3 and "are not read before you trust them" in moved.text
    assert not any("others" in each for each in pay.vault.asked)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'data.note = "ref:// is how secrets are named"',
            'data.note = "{{ref://env/API_KEY}}"',
            "data.note of v1:ConfigMap:pay:web would show the secret to everybody",
        ),
        ("ref://env/WORD", "ref://env/not-a-name", "is no reference to a secret: expected ref://env/NAME"),
        ("ref://env/WORD", "ref://keychain/word", "there is no store of that name"),
        ("{{ref://vault/secret/pay/db/password}}", "ref://vault/secret/pay/db/password", "stands in braces"),
    ],
)
async def test_a_wrong_reference_is_a_finding_with_its_line(pay: Pay, old: str, new: str, expected: str) -> None:
    pay.edit(old, new)
    ended = await pay("compile", "pay/prod")
    assert ended.code == 1
    assert expected in ended.text and "main.k:" in ended.text


async def test_a_status_needs_no_secrets(pay: Pay) -> None:
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    pay.monkeypatch.delenv("VAULT_TOKEN")
    ended = await pay("watch", "pay/prod", "--timeout", "20")
    assert ended.code == 0, ended.text


async def test_no_program_gets_them(pay: Pay) -> None:
    """The environment of this product is for nobody else."""
    from kcl.secrecy.environments import for_others

    assert not any(name.startswith("WB_SECRET") for name in for_others(os.environ))


async def test_a_rollback_gives_what_the_reference_still_says_and_refuses_what_nobody_has(pay: Pay) -> None:
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    pay.edit('metadata = {name = "web"', 'metadata = {labels.new = "1", name = "web"')
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    back = await pay("rollback", "pay/prod", "--yes")
    assert back.code == 0, back.text
    assert pay.live()["password"] == DB
    pay.vault.second["pay/db"].append({"password": ROTATED})
    assert (await pay("apply", "pay/prod", "--yes")).code == 0
    refused = await pay("rollback", "pay/prod", "--to", "1", "--yes")
    assert refused.code == 4 and "password" in refused.text, refused.text
    assert pay.live()["password"] == ROTATED
    assert pay.leaks(back.text + refused.text) == []

"""A provider that a repository names is neither fetched nor run before its user trusts it and how it is configured.

Terraform is the real one. All it could ask stands behind a proxy of the test, which counts who came.
"""

from __future__ import annotations

import json
import platform
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Misconfigured, ProviderUse, Rejected, Resource, RuntimeType, parse_id
from runtimes.terraform import lock, uses
from tests.attacks.with_terraform import STACK, TERRAFORM, HostileStack, data
from tests.workbench.cli.command import Wb
from workbench.local import LocalState
from workbench.project import discover
from workbench.settings import Settings
from workbench.trust import Trust, providers

NEEDS_TERRAFORM = pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH")
EVIL = "evil.example/evil/evil"
REGISTRY = "registry.terraform.io"


@dataclass
class Proxy:
    """What terraform was told to reach the world by. `came` is the first line of whoever did."""

    port: int
    came: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.port}"
        return dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), address) | {"NO_PROXY": ""}


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Proxy(server.getsockname()[1])
        thread = threading.Thread(target=_refuse_all, args=(server, found), daemon=True)
        thread.start()
        yield found


def _refuse_all(server: socket.socket, proxy: Proxy) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            proxy.came.append(connection.recv(4096).split(b"\r\n")[0].decode(errors="replace"))
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def resource(id_: str, provider: str | None = None, **extensions: Any) -> dict[str, Any]:
    said = {"provider": provider} if provider else {}
    return {"id": id_, "type": "Terraform", "attributes": {"name": "x"}, "extensions": {**said, **extensions}}


@pytest.fixture
def shop(tmp_path: Path, proxy: Proxy, wb: Wb, monkeypatch: pytest.MonkeyPatch) -> HostileStack:
    """A hostile repository, in which one stands; what is started there sees nothing of the world but the proxy."""
    found = HostileStack(tmp_path)
    found.write(data())
    for name, value in proxy.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.chdir(found.root)
    return found


NAMED: Mapping[str, dict[str, Any]] = {
    "a host of its own": resource("evil:evil:evil_thing:x", f"{EVIL}/1.0.0"),
    "any version": resource("evil:evil:evil_thing:x", EVIL),
    "an unknown publisher": resource("evil:aws:aws_instance:x", "evil/aws/5.0.0"),
    "implied by the id": resource("evil:evil:evil_thing:x"),
    "of the publisher, doing what it is told": resource("hashicorp:external:external_x:x"),
    "a host that says it is built in": resource(
        "builtin:terraform:terraform_data:x", "evil.example/builtin/terraform/1.0"
    ),
    "a type that terraform knows a provider for": resource("builtin:terraform:vault_mount:x"),
    "a known name on another host": resource(
        "hashicorp:aws:aws_x:x", "registry.terraform.io.evil.example/hashicorp/aws/5"
    ),
    "a known name in capitals": resource("HashiCorp:aws:aws_x:x", "HashiCorp/aws/5.0.0"),
    "a port": resource("hashicorp:aws:aws_x:x", "registry.terraform.io:8443/hashicorp/aws/5.0.0"),
    "a known one, elsewhere": resource(
        "hashicorp:aws:aws_x:x", providerMeta={"endpoints": {"sts": "http://evil.example"}}
    ),
    "a known one, with a program": resource(
        "hashicorp:aws:aws_x:x", providerMeta={"shared_config_files": ["./config"]}
    ),
    "a region that is a host": resource("hashicorp:aws:aws_x:x", providerMeta={"region": "evil.example/#"}),
}


@NEEDS_TERRAFORM
@pytest.mark.parametrize("way", ["a host of its own", "a type that terraform knows a provider for"])
def test_nobody_is_asked_for_it_and_the_line_is_named(shop: HostileStack, wb: Wb, proxy: Proxy, way: str) -> None:
    shop.write(NAMED[way])
    for command in (["diff"], ["apply", "--yes"]):
        said = wb(*command, STACK)
        assert said.code in (3, 4), said.text
        assert "main.k:" in said.text, said.text
        assert "nothing to do" not in said.text and "No changes" not in said.text
    assert proxy.came == []


def trust_of(home: Path, **settings: Any) -> Trust:
    made = Settings(home / "state", home / "cache", **settings)
    return Trust(home / "repository", made, LocalState(made.state_dir, home / "repository"))


def used(written: Mapping[str, Any], *others: Mapping[str, Any], lock_text: str = "") -> tuple[ProviderUse, ...]:
    made = [
        Resource(
            parse_id(each["id"], RuntimeType.TERRAFORM),
            RuntimeType.TERRAFORM,
            each["attributes"],
            extensions=each["extensions"],
        )
        for each in (written, *others)
    ]
    return uses.of_resources(made, mirrors=(), lock_text=lock_text)


def refused(trust: Trust, stack: Any, found: tuple[ProviderUse, ...]) -> bool:
    try:
        trust.refuse_providers(stack, found)
    except Rejected as error:
        assert f"wb trust provider {STACK}" in error.hint
        return True
    return False


@pytest.fixture
def stack(tmp_path: Path) -> Any:
    HostileStack(tmp_path).write(data())
    return discover(tmp_path / "repository").select(STACK)


@pytest.mark.parametrize("way", NAMED)
def test_every_way_to_name_one_needs_trust(tmp_path: Path, stack: Any, way: str) -> None:
    try:
        found = used(NAMED[way])
    except Misconfigured as error:
        assert "built into terraform has no" in error.message
        return
    assert refused(trust_of(tmp_path), stack, found)


HONEST = {
    "a cloud's own": resource("hashicorp:aws:aws_instance:x", "hashicorp/aws/5.0.1"),
    "with a region": resource("hashicorp:aws:aws_instance:x", providerMeta={"region": "eu-west-1"}),
    "with labels": resource("hashicorp:aws:aws_instance:x", providerMeta={"default_tags": {"tags": {"team": "a b/c"}}}),
    "with a subscription": resource(
        "hashicorp:azurerm:azurerm_x:x", providerMeta={"subscription_id": "0-1", "features": {}}
    ),
    "with a project": resource(
        "hashicorp:google:google_x:x", providerMeta={"project": "acme", "region": "europe-west1"}
    ),
    "terraform's own": data(),
}


@pytest.mark.parametrize("way", HONEST)
def test_nobody_is_asked_about_the_usual_ones(tmp_path: Path, stack: Any, way: str) -> None:
    assert not refused(trust_of(tmp_path), stack, used({"extensions": {}, **HONEST[way]}))


VAULT = resource(
    "hashicorp:vault:vault_mount:x", "hashicorp/vault/4.0.0", providerMeta={"address": "https://vault.acme.example"}
)
LOCK = (
    'provider "registry.terraform.io/hashicorp/vault" {{\n  version = "4.0.0"\n  hashes = [\n'
    '    "h1:{0}",\n    "zh:{0}",\n  ]\n}}\n'
)


def vault(provider: str = "hashicorp/vault/4.0.0", **meta: Any) -> dict[str, Any]:
    return resource(
        "hashicorp:vault:vault_mount:x", provider, providerMeta={"address": "https://vault.acme.example", **meta}
    )


CHANGED: Mapping[str, tuple[dict[str, Any], str]] = {
    "another version": (vault("hashicorp/vault/4.0.1"), "a"),
    "no version": (vault("hashicorp/vault"), "a"),
    "another host": (vault("evil.example/hashicorp/vault/4.0.0"), "a"),
    "another address": (vault(address="https://evil.example"), "a"),
    "another user in the address": (vault(address="https://vault.acme.example@evil.example"), "a"),
    "one setting more": (vault(ca_cert_file="./ca.pem"), "a"),
    "a login elsewhere": (vault(auth_login={"path": "auth/evil/login"}), "a"),
    "an address that is called a token": (vault(token_url="https://evil.example"), "a"),
    "an address in a token": (vault(token="https://evil.example"), "a"),
    "a program that is called a credential": (vault(credential_process="sh -c loot"), "a"),
    "other checksums": (VAULT, "b"),
    "no checksums any more": (VAULT, ""),
}


@pytest.mark.parametrize("way", CHANGED)
def test_trust_ends_where_anything_changes(tmp_path: Path, stack: Any, way: str) -> None:
    trust = trust_of(tmp_path)
    for each in trust.providers(stack, used(VAULT, lock_text=LOCK.format("a"))):
        trust.trust(each.want)
    assert not refused(trust, stack, used(VAULT, lock_text=LOCK.format("a")))
    assert not refused(trust, stack, used(vault(token="renewed"), lock_text=LOCK.format("a"))), "a token is no place"
    changed, checksum = CHANGED[way]
    assert refused(trust, stack, used(changed, lock_text=LOCK.format(checksum) if checksum else ""))


@pytest.mark.parametrize("patterns", [(), ("*/acme/cloud",)], ids=["the provider", "its settings"])
def test_trust_in_a_source_is_none_in_another(tmp_path: Path, stack: Any, patterns: tuple[str, ...]) -> None:
    """With nothing in a lock file that would tell them apart."""
    trust = trust_of(tmp_path, trusted_providers=patterns)
    meta = {"providerMeta": {"url": "https://acme.example"}} if patterns else {}

    def of(host: str) -> tuple[ProviderUse, ...]:
        return used(resource("acme:cloud:cloud_x:x", f"{host}/acme/cloud/1.0", **meta))

    for each in trust.providers(stack, of("acme.example")):
        trust.trust(each.want)
    assert not refused(trust, stack, of("acme.example"))
    assert refused(trust, stack, of("evil.example"))


def test_what_a_setting_refers_to_counts(tmp_path: Path, stack: Any) -> None:
    trust = trust_of(tmp_path)
    written = vault(address="$kusion_path.builtin:terraform:terraform_data:far.output")

    def far(text: str) -> dict[str, Any]:
        return {**data(), "id": "builtin:terraform:terraform_data:far", "attributes": {"input": text}, "extensions": {}}

    for each in trust.providers(stack, used(written, far("https://vault.acme.example"))):
        trust.trust(each.want)
    assert not refused(trust, stack, used(written, far("https://vault.acme.example")))
    assert refused(trust, stack, used(written, far("https://evil.example")))


@pytest.mark.parametrize(
    "text",
    [
        "provider_installation {}",
        'provider "a/b/c" {\n  version = "1"\n}\n',
        'module "x" {\n}\n',
        "{",
        LOCK.format("a") * 2,
    ],
)
def test_a_lock_file_is_that_and_nothing_else(text: str) -> None:
    with pytest.raises(Misconfigured, match="can't be used"):
        lock.read(text, where=lock.FILE)


def test_patterns_of_the_user_hold_for_whole_names(tmp_path: Path, stack: Any) -> None:
    trust = trust_of(tmp_path, trusted_providers=("registry.terraform.io/acme/*",))
    assert not refused(trust, stack, used(resource("acme:cloud:cloud_x:x")))
    assert refused(trust, stack, used(resource("acme:cloud:cloud_x:x", "evil.example/acme/cloud/1.0")))
    assert refused(trust, stack, used(resource("acme:cloud:cloud_x:x", providerMeta={"url": "https://evil.example"})))
    assert not providers.is_well_known("registry.terraform.io/acme/x/evil", ("registry.terraform.io/acme/*",))
    assert not providers.is_well_known("evil.example/registry.terraform.io/acme/x", ("registry.terraform.io/acme/*",))


def test_a_long_name_does_not_hide_whose_it_is() -> None:
    host = f"registry.terraform.io.{'a' * 300}.evil.example"
    assert ".evil.example/hashicorp/aws" in providers.code(ProviderUse(f"{host}/hashicorp/aws")).name
    assert providers.code(ProviderUse("r\u0435gistry.terraform.io/hashicorp/aws")).name.isascii()


HEADER = {"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "l"}
STATE = {
    "managed": {
        "mode": "managed",
        "type": "evil_thing",
        "name": "x",
        "provider": f'provider["{EVIL}"]',
        "instances": [{"attributes": {"id": "1"}}],
    },
    "data": {"mode": "data", "type": "evil_thing", "name": "x", "provider": f'provider["{EVIL}"]', "instances": []},
    "nothing left": {
        "mode": "managed",
        "type": "evil_thing",
        "name": "x",
        "provider": f'provider["{EVIL}"]',
        "instances": [],
    },
    "in a module": {
        "module": "module.m",
        "mode": "managed",
        "type": "evil_thing",
        "name": "x",
        "provider": f'module.m.provider["{EVIL}"]',
        "instances": [],
    },
    "says it is built in": {
        "mode": "managed",
        "type": "terraform_data",
        "name": "y",
        "provider": 'provider["evil.example/builtin/terraform"]',
        "instances": [],
    },
}


@NEEDS_TERRAFORM
@pytest.mark.parametrize("way", ["managed", "data"])
def test_a_state_in_the_repository_brings_none(shop: HostileStack, wb: Wb, proxy: Proxy, way: str) -> None:
    state = shop.root / "states" / "shop.tfstate"
    shop.write(data(), terraform={"backend": {"type": "local", "config": {"path": str(state)}}})
    state.parent.mkdir()
    state.write_text(json.dumps({**HEADER, "outputs": {}, "resources": [STATE[way]]}))
    said = wb("diff", STACK)
    assert said.code == 3 and EVIL in said.text, said.text
    assert f"wb trust provider {STACK} {EVIL}" in said.text, said.text
    assert proxy.came == []


@pytest.mark.parametrize("way", STATE)
def test_whatever_a_state_names_is_seen(way: str) -> None:
    from runtimes.terraform import configuration
    from runtimes.terraform.state import read_prior

    state = read_prior({**HEADER, "resources": [STATE[way]]})
    written = configuration.build([], state=state)
    assert [str(provider.source).startswith("evil.example/") for _, provider in written.providers] == [True]


@NEEDS_TERRAFORM
@pytest.mark.parametrize("way", ["a host of its own", "any version", "a port", "a state"])
def test_terraform_itself_asks_nobody_whom_its_user_does_not_trust(
    shop: HostileStack, wb: Wb, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """What is refused before terraform starts is refused by its own configuration too, should a way past be found."""
    monkeypatch.setattr(Trust, "refuse_providers", lambda *_: None)
    if way == "a state":
        state = shop.root / "states" / "shop.tfstate"
        shop.write(data(), terraform={"backend": {"type": "local", "config": {"path": str(state)}}})
        state.parent.mkdir()
        state.write_text(json.dumps({**HEADER, "outputs": {}, "resources": [STATE["managed"]]}))
    else:
        shop.write(NAMED[way])
    said = wb("diff", STACK)
    assert said.code == 3 and "was not found in any of the search locations" in said.text, said.text
    assert [each for each in proxy.came if "evil.example" in each or ":8443" in each] == []


@NEEDS_TERRAFORM
def test_once_trusted_it_is_asked_for_until_that_is_revoked(
    shop: HostileStack, wb: Wb, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_asked() -> bool:
        proxy.came.clear()
        assert wb("diff", STACK).code == 3
        return any("evil.example:443" in each for each in proxy.came)

    shop.write(NAMED["a host of its own"])
    assert wb("trust", "provider", STACK).code == 0
    assert has_asked()
    assert wb("trust", "revoke", EVIL).code == 0
    assert not has_asked() and proxy.came == []
    monkeypatch.setenv("WB_TRUST_PROVIDERS", "evil.example/evil/*")
    assert has_asked()
    monkeypatch.setenv("WB_TRUST_PROVIDERS", "1")
    assert has_asked()


@NEEDS_TERRAFORM
@pytest.mark.parametrize("checksum", ["h1:" + "A" * 43 + "=", "zh:" + "0" * 64])
def test_a_package_with_other_checksums_than_the_repositorys_is_not_run(
    shop: HostileStack, wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checksum: str
) -> None:
    """Terraform is shown any program as the package: it would fail otherwise, if it were started."""
    name = f"{platform.system().lower()}_{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'amd64'}"
    program = (
        tmp_path / "mirror" / "mirror.example" / "acme" / "cloud" / "1.0.0" / name / "terraform-provider-cloud_v1.0.0"
    )
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {shop.loot}\n")
    program.chmod(0o755)
    monkeypatch.setenv("WB_TERRAFORM_MIRROR", str(tmp_path / "mirror"))
    shop.write(resource("acme:cloud:cloud_thing:x", "mirror.example/acme/cloud/1.0.0"))
    pinned = f'provider "mirror.example/acme/cloud" {{\n  version = "1.0.0"\n  hashes = [\n    "{checksum}",\n  ]\n}}\n'
    (shop.root / ".terraform.lock.hcl").write_text(pinned)
    said = wb("diff", STACK)
    assert said.code == 3 and "checksum" in said.text, said.text
    assert "nothing to do" not in said.text
    assert not shop.loot.exists()
    (shop.root / ".terraform.lock.hcl").unlink()
    assert wb("diff", STACK).code == 3
    assert shop.loot.exists(), "a mirror of this machine is trusted"

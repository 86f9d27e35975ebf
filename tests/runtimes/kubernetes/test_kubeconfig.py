"""Kubeconfig files: merged as kubectl merges them, and refused with a reason."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

import pytest

from runtimes.base import Misconfigured, RuntimeType
from runtimes.kubernetes.kubeconfig import Endpoint, ExecPlugin, Kubeconfig, Token
from runtimes.registry import connect

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
PEM_DATA = base64.b64encode(PEM.encode()).decode()


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _one(tmp_path: Path, cluster: str = "server: https://one:6443", user: str = "token: t-o-k-e-n") -> Path:
    return _write(
        tmp_path / "config",
        f"""
current-context: one
clusters: [{{name: c, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]
contexts: [{{name: one, context: {{cluster: c, user: u}}}}]
""",
    )


def test_the_current_context_is_resolved(tmp_path: Path) -> None:
    connection = Kubeconfig([_one(tmp_path)]).connection()
    assert (connection.context, connection.namespace) == ("one", "default")
    assert connection.endpoint.server == "https://one:6443"
    assert connection.credential == Token("t-o-k-e-n")
    assert "t-o-k-e-n" not in repr(connection)


def test_the_first_of_several_files_wins_and_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "ca.pem", PEM)
    first = _write(
        tmp_path / "a" / "config",
        """
clusters: [{name: c, cluster: {server: "https://a", certificate-authority: ca.pem}}]
contexts: [{name: one, context: {cluster: c, user: u, namespace: shop}}]
""",
    )
    second = _write(
        tmp_path / "b" / "config",
        """
current-context: one
clusters: [{name: c, cluster: {server: "https://b"}}]
users: [{name: u, user: {token: b}}]
contexts: [{name: two, context: {cluster: c, user: u}}]
""",
    )
    merged = Kubeconfig([first, tmp_path / "absent", second])
    assert merged.contexts == ("one", "two")
    connection = merged.connection()
    assert connection.endpoint.server == "https://a"
    assert connection.endpoint.ca_pem == PEM
    assert connection.namespace == "shop"
    assert connection.credential == Token("b")


def test_kubectls_files_are_found(tmp_path: Path) -> None:
    path = _one(tmp_path)
    assert Kubeconfig.found({"KUBECONFIG": f"{tmp_path / 'absent'}:{path}"}).contexts == ("one",)


def test_data_in_the_file_is_decoded(tmp_path: Path) -> None:
    data = base64.b64encode(PEM.encode()).decode()
    path = _one(
        tmp_path,
        f"server: 'https://one', certificate-authority-data: {data}, tls-server-name: kube",
        f"client-certificate-data: {data}, client-key-data: {data}",
    )
    connection = Kubeconfig([path]).connection()
    assert connection.endpoint.ca_pem == PEM and connection.endpoint.tls_server_name == "kube"
    assert connection.certificate is not None and connection.certificate.key_pem == PEM
    assert "MIIB" not in repr(connection)


def test_a_credential_program_is_described_and_not_run(tmp_path: Path) -> None:
    user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [--secret, s-e-c], env: null}"
    credential = Kubeconfig([_one(tmp_path, user=user)]).connection().credential
    assert isinstance(credential, ExecPlugin)
    assert credential.command == str(tmp_path / "bin" / "login")
    assert "s-e-c" not in repr(credential)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clusters: [", "not valid YAML"),
        ("- a", "not a mapping"),
        ("{kind: Cluster, current-context: x}", "another kind than Config"),
        ("{clusters: [{name: c, cluster: {}}, {name: d}, {name: c, cluster: {}}]}", "two clusters with the name 'c'"),
        ("{users: [{name: u, user: {token: a}}, {name: u, user: {token: b}}]}", "two users with the name 'u'"),
        ("{contexts: [{name: x}, {name: x}], current-context: x}", "two contexts with the name 'x'"),
        ("{}", "no context was named"),
        ("current-context: x", "no context 'x'"),
        ("{current-context: x, contexts: [{name: x, context: {cluster: c}}]}", "names cluster 'c'"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_why(tmp_path: Path, text: str, words: str) -> None:
    path = _write(tmp_path / "config", text)
    with pytest.raises(Misconfigured, match=words) as refused:
        Kubeconfig([path]).connection()
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ("server: one", "token: t", "no server URL"),
        ("server: https://one, certificate-authority: absent.pem", "token: t", "absent.pem.*cannot be read"),
        ("server: https://one, certificate-authority-data: '###'", "token: t", "not base64"),
        ("server: https://one", "auth-provider: {name: gcp}", "has removed"),
        ("server: https://one", "exec: {apiVersion: v1}", "without command"),
        (
            f"server: https://one, insecure-skip-tls-verify: true, certificate-authority-data: {PEM_DATA}",
            "",
            "verified",
        ),
        ("server: https://one, proxy-url: 'ftp://31337@p'", "token: t", "proxy-url of cluster 'c' is none"),
        ("server: https://one, proxy-url: 'p:1080'", "token: t", "proxy-url of cluster 'c' is none"),
        ("server: https://one", "token: t, username: a, password: b", "one of them alone"),
        ("server: https://one", f"client-certificate-data: {PEM_DATA}", "no client-key"),
    ],
)
def test_a_context_that_cannot_be_used_says_why(tmp_path: Path, cluster: str, user: str, words: str) -> None:
    with pytest.raises(Misconfigured, match=words):
        Kubeconfig([_one(tmp_path, cluster, user)]).connection()


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ("server: [https://one]", "token: t", "server of cluster 'c' is not text"),
        ("server: https://one, tls-server-name: 1", "token: t", "tls-server-name of cluster 'c' is not text"),
        ("server: https://one, proxy-url: {a: b}", "token: t", "proxy-url of cluster 'c' is not text"),
        ("server: https://one, insecure-skip-tls-verify: 'false'", "token: t", "is not true or false"),
        ("server: https://one, certificate-authority: [a]", "token: t", "certificate-authority of cluster"),
        ("server: https://one", "token: 31337", "token of user 'u' is not text"),
        ("server: https://one", "{username: 31337, password: p}", "username of user"),
        ("server: https://one", "{username: a, password: 31337}", "password of user"),
        ("server: https://one", "client-key-data: 31337", "client-key-data of user"),
        ("server: https://one", "exec: 31337", "exec of user 'u' is not a mapping"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, args: true}", "args of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, args: '31337'}", "args of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, args: [31337]}", "args of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, env: 1.5}", "env of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, env: {A: b}}", "env of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, env: [{name: A, value: 1}]}", "env of the exec"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, env: [{value: b}]}", "env of the exec section"),
        ("server: https://one", "exec: {apiVersion: v1, command: x, provideClusterInfo: 'no'}", "provideClusterInfo"),
        ("server: https://one", "{token: t, as: [31337]}", "as of user 'u' is not text"),
        ("server: https://one", "{token: t, as: a, as-groups: '31337'}", "as-groups of user 'u' is not a list"),
        ("server: https://one", "{token: t, as: a, as-user-extra: {b: '31337'}}", "as-user-extra of user 'u'"),
        ("server: https://one", "{token: t, as-groups: [a]}", "but no user"),
        ("server: https://one", "{token: t, as-uid: a}", "but no user"),
    ],
)
def test_what_kubectl_cannot_read_is_refused_and_not_guessed_at(
    tmp_path: Path, cluster: str, user: str, words: str
) -> None:
    with pytest.raises(Misconfigured, match=words) as refused:
        Kubeconfig(
            [_one(tmp_path, cluster, user.removeprefix("{").removesuffix("}") if user[0] == "{" else user)]
        ).connection()
    assert "31337" not in str(refused.value)


def test_what_is_null_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    user = "token: t, exec: null, as: null, as-groups: null"
    connection = Kubeconfig([_one(tmp_path, "server: https://one, proxy-url: null", user)]).connection()
    assert (connection.credential, connection.impersonate, connection.endpoint.proxy) == (Token("t"), (), None)


def test_who_is_taken_on_is_told_whole(tmp_path: Path) -> None:
    user = "token: t, as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {'acme.com/Why': [x, y]}"
    assert Kubeconfig([_one(tmp_path, user=user)]).connection().impersonate == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-acme.com%2FWhy", "x"),
        ("Impersonate-Extra-acme.com%2FWhy", "y"),
    )


def test_no_file_at_all_is_told_with_the_places_looked_at(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="absent"):
        Kubeconfig([tmp_path / "absent"])


def test_a_token_is_not_quoted_from_a_broken_file(tmp_path: Path) -> None:
    path = _write(tmp_path / "config", "users:\n- user: {token: s-e-c-r-e-t, : }\n  x: [")
    with pytest.raises(Misconfigured) as refused:
        Kubeconfig([path])
    assert "s-e-c-r-e-t" not in str(refused.value) and refused.value.__cause__ is None


def test_the_shown_address_has_no_password() -> None:
    """Nor is one used: tests/attacks/test_connections.py."""
    assert Endpoint("https://me:pw@one:6443/path").shown == "https://one:6443/path"


async def test_the_registry_connects_by_name(tmp_path: Path) -> None:
    runtime = connect(RuntimeType.KUBERNETES, {"kubeconfig": _one(tmp_path), "place": "shop-eu"})
    assert runtime.place == "shop-eu"
    await runtime.close()
    with pytest.raises(Misconfigured, match="no setting colour"):
        connect(RuntimeType.KUBERNETES, {"colour": "blue"})
    with pytest.raises(Misconfigured, match="needs the setting folder"):
        connect(RuntimeType.TERRAFORM, {})


def test_the_client_loads_what_it_uses_of_its_package_and_leaves_the_package_to_others() -> None:
    code = (
        "import sys, runtimes.kubernetes.transport\n"
        "unused = {'kubernetes', 'pydantic', 'oauthlib', 'requests', 'urllib3'} & set(sys.modules)\n"
        "assert not unused, unused\n"
        "import kubernetes.aio.client.rest; from kubernetes.aio.client import ApiClient\n"
        "assert ApiClient.__module__ and kubernetes.aio.client.rest.RESTClientObject\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_the_registry_imports_no_client_by_itself() -> None:
    code = "import sys, runtimes.registry; assert not {'kubernetes', 'aiohttp'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

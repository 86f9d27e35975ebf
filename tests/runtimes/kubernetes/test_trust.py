"""A user's own kubeconfig works as with kubectl; one that came with a repository names no programs and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.kubernetes.credentials import without_consent
from runtimes.kubernetes.kubeconfig import Kubeconfig

CLUSTER = 'clusters: [{name: c, cluster: {server: "https://one:6443"}}]\n'
CONTEXT = "current-context: one\ncontexts: [{name: one, context: {cluster: c, user: u}}]\n"
EXEC = "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login}}}]\n"
TOKEN_FILE = "users: [{name: u, user: {tokenFile: /home/ann/.ssh/id}}]\n"
TOKEN = "users: [{name: u, user: {token: t-o-k-e-n}}]\n"


@pytest.mark.parametrize(
    ("own", "foreign", "refusal"),
    [
        (CONTEXT + CLUSTER + EXEC, "", ""),
        (CONTEXT + CLUSTER + TOKEN_FILE, "", ""),
        ("", CONTEXT + CLUSTER + TOKEN, ""),
        ("", CONTEXT + CLUSTER + EXEC, "program"),
        ("", CONTEXT + CLUSTER + TOKEN_FILE, "/home/ann/.ssh/id"),
        (CONTEXT + CLUSTER, EXEC, "program"),
        (EXEC, CONTEXT + CLUSTER, "program"),
        (TOKEN, CONTEXT + CLUSTER, "would send credentials"),
        (CLUSTER + TOKEN, CONTEXT, ""),
        (CLUSTER + EXEC, CONTEXT, ""),
        (CONTEXT + CLUSTER, TOKEN, ""),
    ],
)
@pytest.mark.parametrize("order", [1, -1], ids=["own-first", "foreign-first"])
def test_what_a_repository_says_of_credentials_needs_consent(
    tmp_path: Path, own: str, foreign: str, refusal: str, order: int
) -> None:
    repository = tmp_path / "work" / "konfig"
    repository.mkdir(parents=True)
    (tmp_path / "config").write_text(own)
    (repository / "kubeconfig").write_text(foreign)
    connection = Kubeconfig([tmp_path / "config", repository / "kubeconfig"][::order]).connection()
    found = without_consent(connection, [repository])
    assert refusal in found and bool(refusal) == bool(found)
    assert str(repository / "kubeconfig") in found or not refusal
    assert "t-o-k-e-n" not in found
    assert without_consent(connection, []) == ""


@pytest.mark.parametrize("real", ["inside", "outside"])
def test_links_make_no_file_ones_own(tmp_path: Path, real: str, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "konfig"
    repository.mkdir()
    inside, outside = repository / "kubeconfig", tmp_path / "config"
    file, link = (inside, outside) if real == "inside" else (outside, inside)
    file.write_text(CONTEXT + CLUSTER + EXEC)
    link.symlink_to(file)
    assert without_consent(Kubeconfig([link]).connection(), [repository])
    monkeypatch.chdir(repository)
    assert without_consent(Kubeconfig([Path("kubeconfig")]).connection(), [repository])
    assert without_consent(Kubeconfig([Path("../konfig/kubeconfig")]).connection(), [Path(".")])

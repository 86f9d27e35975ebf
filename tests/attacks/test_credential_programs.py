"""Programs that a kubeconfig names for its credentials, and what they print: without end, or what can't be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import KubernetesId, Misconfigured, ReadRequest, RuntimeFailure, Unauthenticated
from runtimes.kubernetes.runtime import KubernetesRuntime

NAMESPACE = KubernetesId("v1", "Namespace", "", "default")


async def reading(tmp_path: Path, user: str) -> RuntimeFailure:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        f"users: [{{name: a, user: {user}}}]\n"
    )
    try:
        runtime = KubernetesRuntime.connect(kubeconfig=kubeconfig)
    except RuntimeFailure as failure:
        return failure
    try:
        with pytest.raises(RuntimeFailure) as told:
            await runtime.read(ReadRequest(NAMESPACE))
    finally:
        await runtime.close()
    return told.value


def program(tmp_path: Path, text: str) -> str:
    file = tmp_path / "login"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return f"{{exec: {{command: '{file}', apiVersion: client.authentication.k8s.io/v1}}}}"


@pytest.mark.parametrize("to", ["", " >&2"])
async def test_a_program_that_prints_without_end_is_ended(to: str, tmp_path: Path) -> None:
    found = await reading(
        tmp_path, program(tmp_path, f"while :; do echo yesyesyesyesyesyesyesyesyesyesyesyesyes; done{to}")
    )
    assert isinstance(found, Unauthenticated)
    assert ("printed more than 1 MB" in found.message) or "ended with status" in found.message


@pytest.mark.parametrize("token", ['"a\\nX-Other: b"', '"a\\u0000"', "{}", "7", '"\\u00e4"'])
async def test_a_token_that_would_begin_another_header_is_none(token: str, tmp_path: Path) -> None:
    answer = f'{{"kind": "ExecCredential", "status": {{"token": {token}}}}}'
    found = await reading(tmp_path, program(tmp_path, f"cat <<'END'\n{answer}\nEND"))
    assert (isinstance(found, Unauthenticated) and "can't be sent" in found.message) or "neither token" in found.message


@pytest.mark.parametrize("way", ["token", "tokenFile"])
async def test_a_token_of_a_file_that_is_none_is_not_sent(way: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a\nX-Other: b\n")
    said = '{token: "a\\nX-Other: b"}' if way == "token" else "{tokenFile: token}"
    assert isinstance(await reading(tmp_path, said), Misconfigured)


@pytest.mark.parametrize(
    "named", ['as: "a\\nX: b"', 'as: a, as-groups: ["g\\r\\nX: b"]', 'as: a, as-user-extra: {k: ["\\0"]}']
)
async def test_a_name_that_is_taken_on_begins_no_other_header(named: str, tmp_path: Path) -> None:
    found = await reading(tmp_path, f"{{token: t, {named}}}")
    assert isinstance(found, Misconfigured) and "control characters" in found.message

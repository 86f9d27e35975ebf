"""kubectl, as people use it, against a sandbox with controllers."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from .serving import served

KUBECTL = shutil.which("kubectl", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("kubectl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(KUBECTL is None, reason="no kubectl: install the development requirements"),
]

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("kubectl")
    with served() as sandbox:
        sandbox.write_kubeconfig(folder / "config")
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(folder / "config")}

        def run(*arguments: str, given: str | None = None, expect: int = 0) -> subprocess.CompletedProcess[str]:
            assert KUBECTL is not None
            done = subprocess.run(
                [KUBECTL, *arguments], input=given, env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == expect, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
            return done

        yield run


def deployment(name: str, image: str = "example/app:1", replicas: int = 2) -> str:
    labels = {"app": name}
    container = {"name": "main", "image": image}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


def test_apply_from_the_client(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", given=deployment("web")).stdout == "deployment.apps/web created\n"
    assert kubectl("apply", "-f", "-", given=deployment("web")).stdout == "deployment.apps/web unchanged\n"
    changed = kubectl("diff", "-f", "-", given=deployment("web", replicas=3), expect=1).stdout
    assert "-  replicas: 2\n+  replicas: 3\n" in changed
    assert kubectl("apply", "-f", "-", given=deployment("web", replicas=3)).stdout == "deployment.apps/web configured\n"
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=30s").stdout


def test_apply_on_the_server(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=deployment("api"))
    # kubectl compares versions too, so the diff is empty only once the controllers have nothing more to say
    kubectl("rollout", "status", "deploy/api", "--timeout=30s")
    assert kubectl("diff", "--server-side", "-f", "-", given=deployment("api")).stdout == ""
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl(*other, given=deployment("api", "example/app:2"), expect=1).stderr
    assert 'conflict with "kubectl": .spec.template.spec.containers[name="main"].image' in refused
    kubectl(*other, "--force-conflicts", given=deployment("api", "example/app:2"))
    kubectl("rollout", "status", "deploy/api", "--timeout=30s")
    wide = kubectl("get", "deploy", "api", "-o", "wide", "--no-headers").stdout.split()
    assert wide[:4] == ["api", "2/2", "2", "2"]
    assert wide[5:] == ["main", "example/app:2", "app=api"]


def test_look_into_what_runs(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("seen", replicas=1))
    kubectl("rollout", "status", "deploy/seen", "--timeout=30s")
    described = kubectl("describe", "pods", "-l", "app=seen").stdout
    assert "Successfully assigned default/seen-" in described
    assert "Started container main" in described
    assert len(kubectl("logs", "deploy/seen", "--tail=2").stdout.splitlines()) == 2
    assert kubectl("get", "pods", "-l", "app=seen", "-o", "jsonpath={.items[*].status.phase}").stdout == "Running"
    assert "replicas <integer>" in kubectl("explain", "deployment.spec.replicas").stdout


def test_change_what_runs(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("moving", replicas=1))
    kubectl("scale", "deploy/moving", "--replicas=2")
    kubectl("rollout", "restart", "deploy/moving")
    kubectl("rollout", "status", "deploy/moving", "--timeout=30s")
    assert "2         <none>" in kubectl("rollout", "history", "deploy/moving").stdout
    kubectl("set", "image", "deploy/moving", "main=example/app:9")
    kubectl("label", "deploy/moving", "tier=front")
    kubectl("patch", "deploy/moving", "-p", '{"spec":{"replicas":1}}')
    kubectl("patch", "deploy/moving", "--type=json", "-p", '[{"op":"replace","path":"/spec/replicas","value":3}]')
    shown = json.loads(kubectl("get", "deploy", "moving", "-o", "json").stdout)
    assert shown["spec"]["replicas"] == 3
    assert shown["metadata"]["labels"] == {"tier": "front"}
    assert shown["spec"]["template"]["spec"]["containers"][0]["image"] == "example/app:9"


def test_watch(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("watched", replicas=1))
    shown = kubectl("wait", "deploy/watched", "--for=condition=Available", "--timeout=30s").stdout
    assert shown == "deployment.apps/watched condition met\n"
    listed = kubectl("get", "deploy", "watched", "-w", "--output-watch-events", "--request-timeout=2s").stdout
    assert listed.splitlines()[1].split()[:3] == ["ADDED", "watched", "1/1"]


def test_commands_that_send_protobuf(kubectl: Kubectl) -> None:
    kubectl("create", "ns", "made")
    kubectl("create", "configmap", "c", "-n", "made", "--from-literal=a=b")
    kubectl("create", "deployment", "d", "-n", "made", "--image=example/app:1", "--replicas=1", "--port=80")
    kubectl("create", "ingress", "i", "-n", "made", "--rule=a.example.com/*=d:80")
    assert kubectl("get", "cm", "c", "-n", "made", "-o", "jsonpath={.data.a}").stdout == "b"
    assert kubectl("get", "ing", "i", "-n", "made", "--no-headers").stdout.split()[:3] == [
        "i",
        "<none>",
        "a.example.com",
    ]
    assert kubectl("auth", "can-i", "create", "pods").stdout == "yes\n"
    kubectl("drain", "node-1", "--ignore-daemonsets", "--force", "--timeout=50s")
    kubectl("uncordon", "node-1")


def test_delete(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"gone"}}')
    kubectl("apply", "-n", "gone", "-f", "-", given=deployment("web", replicas=1))
    kubectl("delete", "ns", "gone", "--timeout=60s")
    assert "NotFound" in kubectl("get", "ns", "gone", expect=1).stderr

"""The model library of the sample repository: what it makes, held to the API, the official compiler and its own tests.

`example/` is a stack with one of everything. It is no stack of the sample repository, whose stacks are a tutorial.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kcl.api import run
from kcl.cli import main
from kcl.loader import load_yaml
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError
from tests.conformance.kcl_suite import same
from tests.differential.comparing import documents
from tests.models.definitions import DEFINITIONS
from tests.properties.official import official

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
EXAMPLE = Path(__file__).parent / "example"
PAGE = SAMPLE.parent / "docs" / "models.md"
STAGES = ("dev", "prod")
ARGUMENTS = ("-D", "project=shop", "-D", "stack=prod")

_AS_THEY_WERE = {"cloud.k", "cloud_backend.k", "sizes.k"}
"""Written before there was a formatter."""

_OFFICIAL_TESTS = """
import json, sys
from kcl_lib.api import API, Argument, ExecProgramArgs, TestArgs
options = ExecProgramArgs(args=[Argument(name="project", value='"shop"'), Argument(name="stack", value='"prod"')])
verdicts = {}
for folder in json.load(sys.stdin):
    for each in API().test(TestArgs(exec_args=options, pkg_list=[folder])).info:
        verdicts[folder + ":" + each.name] = each.error
json.dump(verdicts, sys.stdout)
"""

Object = dict[str, Any]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample repository with the example in it, once for each stage."""
    root = tmp_path_factory.mktemp("models") / "konfig"
    shutil.copytree(SAMPLE, root)
    for stage in STAGES:
        folder = root / "shop" / "example" / stage
        shutil.copytree(EXAMPLE, folder)
        settings = folder / "kcl.yaml"
        settings.write_text(settings.read_text().replace("value: prod", f"value: {stage}"))
    return root


def compiled(repository: Path, stage: str) -> list[Any]:
    return documents(run(work_dir=repository / "shop" / "example" / stage).yaml())


def kcl(folder: Path, *argv: str) -> tuple[int, str]:
    out = io.StringIO()
    status = main(argv, cwd=folder, stdin=io.StringIO(), stdout=out, stderr=out, environment={})
    return status, out.getvalue()


def test_tests_pass_and_reach_the_models_together_with_the_stacks() -> None:
    status, said = kcl(
        SAMPLE, "cover", "./...", "--tests", "models/...", *ARGUMENTS, "--of", "models", "--fail-under", "95"
    )
    assert status == 0, said
    assert " programs, 0 failed\n" in said
    assert " tests, 0 failed\n" in said


def test_tests_pass_in_a_stack_that_is_not_prod() -> None:
    status, said = kcl(SAMPLE, "test", "models/tests", "-D", "project=shop", "-D", "stack=dev", "--run", "prod")
    assert status == 0, said


def test_tests_pass_officially(repository: Path) -> None:
    if importlib.util.find_spec("kcl_lib") is None:
        pytest.skip("kcl-lib is not installed")
    folders = sorted({str(each.parent) for each in (repository / "models").rglob("*_test.k")})
    done = subprocess.run(
        [sys.executable, "-c", _OFFICIAL_TESTS], input=json.dumps(folders), capture_output=True, text=True, check=True
    )
    verdicts: dict[str, str] = json.loads(done.stdout)
    assert len(verdicts) > 40
    assert not {name: error for name, error in verdicts.items() if error}


def test_what_is_written_is_laid_out_and_free_of_findings() -> None:
    status, said = kcl(SAMPLE, "lint", "./...")
    assert status == 0, said
    files = [str(each) for each in sorted((SAMPLE / "models").rglob("*.k")) if each.name not in _AS_THEY_WERE]
    status, said = kcl(SAMPLE, "fmt", "--check", *files, str(EXAMPLE / "main.k"))
    assert status == 0, said


def test_the_examples_of_the_page_about_models_compile(repository: Path, tmp_path: Path, cluster: Cluster) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(repository, root)
    folder = root / "shop" / "example" / "prod"
    examples = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text())
    assert len(examples) > 5
    (folder / "main.k").write_text("\n".join(examples))
    resources = documents(run(work_dir=folder).yaml())
    for body in objects(resources):
        applied(cluster, body)
    made = {each["id"] for each in resources}
    assert {"apps/v1:Deployment:shop-prod:shop", "v1:ResourceQuota:shop-prod:quota"} <= made


@pytest.mark.parametrize("stage", STAGES)
def test_the_official_compiler_makes_the_same(repository: Path, stage: str) -> None:
    folder = repository / "shop" / "example" / stage
    settings: Any = load_yaml((folder / "kcl.yaml").read_text())
    files = [str(name).replace("${KCL_MOD}", str(repository)) for name in settings["kcl_cli_configs"]["file"]]
    options = [(str(item["key"]), str(item["value"])) for item in settings["kcl_options"]]
    with official(seconds=60) as compiler:
        theirs = compiler.run_files(
            str(folder), {"files": [str((folder / name).resolve()) for name in files], "options": options}
        )
    assert theirs.yaml is not None, theirs.complaint
    assert same(compiled(repository, stage), documents(theirs.yaml + "\n"))


def objects(resources: list[Any]) -> Iterator[Object]:
    return (each["attributes"] for each in resources if each["type"] == "Kubernetes")


def applied(cluster: Cluster, body: Object) -> Object:
    """As a client applies it: any field that the API does not know is refused."""
    group, _, version = body["apiVersion"].rpartition("/")
    resource = cluster.resources.of_kind(group, version, body["kind"])
    assert resource is not None, f"{body['kind']} of {body['apiVersion']} is not served"
    metadata = body["metadata"]
    return cluster.patch(
        resource,
        metadata.get("namespace"),
        metadata["name"],
        body,
        "apply",
        force=True,
        manager="models",
        field_validation="Strict",
    )


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    for each in DEFINITIONS:
        made.create("customresourcedefinitions.apiextensions.k8s.io", None, each)
    return made


@pytest.mark.parametrize("stage", STAGES)
def test_a_cluster_accepts_every_object(repository: Path, cluster: Cluster, stage: str) -> None:
    resources = compiled(repository, stage)
    for body in objects(resources):
        live = applied(cluster, body)
        assert live["kind"] == body["kind"]
    assert {body["kind"] for body in objects(resources)} == {
        "Certificate",
        "ConfigMap",
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Gateway",
        "HTTPRoute",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Job",
        "LimitRange",
        "Namespace",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "PriorityClass",
        "PrometheusRule",
        "ResourceQuota",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
        "StatefulSet",
        "StorageClass",
    }


def test_a_cluster_would_refuse_what_is_misspelt(repository: Path, cluster: Cluster) -> None:
    """What the test above rests on, for a built-in kind and for one that is defined."""
    wanted = {body["kind"]: body for body in objects(compiled(repository, "prod"))}
    applied(cluster, wanted["Namespace"])
    for kind in ("StatefulSet", "HTTPRoute"):
        with pytest.raises(ApiError):
            applied(cluster, {**wanted[kind], "spec": {**wanted[kind]["spec"], "misspelt": 1}})


def test_every_id_is_there_once_and_what_is_waited_for_is_there(repository: Path) -> None:
    resources = compiled(repository, "prod")
    ids = [each["id"] for each in resources]
    assert len(ids) == len(set(ids))
    assert {needed for each in resources for needed in each.get("dependsOn", ())} <= set(ids)


def test_two_components_of_one_name_are_refused(repository: Path, tmp_path: Path) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(repository, root)
    file = root / "shop" / "example" / "prod" / "main.k"
    file.write_text(file.read_text().replace('name = "clean"', 'name = "web"'))
    status, said = kcl(file.parent, "run")
    assert status != 0
    assert "two components of the stack have the same name: rename one" in said

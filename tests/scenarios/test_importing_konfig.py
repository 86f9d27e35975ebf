"""`wb import live` of what the stacks of Konfig of July 2023 make: the first plan changes no field.

Three stacks are sampled; `IMPORTED_STACKS=all` imports every one. What an API server refuses of a stack is not live,
and so not imported; two stacks make nothing in a cluster.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.base import KubernetesId
from runtimes.sandbox.server import Sandbox
from tests.kcl.conformance import FOLDER, corpus
from tests.scenarios.importing import applied_by_kubectl
from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompileInputs
from workbench.project import Stack, discover
from workbench.session import Session
from workbench.settings import Settings

pytestmark = pytest.mark.slow

KONFIG = FOLDER / "konfig-2023"
SETTINGS = "ci-test/settings.yaml"
SAMPLED = ("nginx-example/dev", "base/examples/server/app_stateful_set/prod", "guestbook/dev")
TERRAFORM_ALONE = ("alicloud_instance/alicoud_instance", "alicloud_oss/alicloud_oss")
REFUSED = {
    "base/examples/server/app_main_container/prod": "startupProbe.successThreshold: Invalid value: 2",
    "base/examples/server/app_secret/prod": "illegal base64 data",
}
"""What of these no API server takes, nor one of 2023: the rest of the stack is imported."""


def _stacks() -> list[str]:
    if not KONFIG.is_dir():
        return ["absent"]
    every = [each.name for each in discover(KONFIG).stacks() if each.name not in TERRAFORM_ALONE]
    return every if os.environ.get("IMPORTED_STACKS") == "all" else [each for each in every if each in SAMPLED]


def inputs(stack: Stack) -> CompileInputs:
    return CompileInputs(settings=(SETTINGS,) if (stack.directory / SETTINGS).is_file() else ())


@pytest.mark.parametrize("name", _stacks())
async def test_the_first_plan_of_an_imported_namespace_is_empty(name: str, tmp_path: Path) -> None:
    stack = discover(corpus("konfig-2023")).select(name)
    made = [each.attributes for each in compile_now(stack, inputs(stack)).spec if isinstance(each.id, KubernetesId)]
    root = tmp_path / "konfig"
    root.mkdir()
    (root / "kcl.mod").write_text('[package]\nname = "konfig"\n')
    (root / "clusters.yaml").write_text(
        'clusters:\n  one: {context: one}\nplacements:\n  - {stacks: ["none/none"], clusters: [one]}\n'
    )
    async with Sandbox(names=("one",), clusters=1, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        applied = applied_by_kubectl(sandbox.clusters[0], made)
        assert len(applied.refused) == (name in REFUSED), applied.refused
        assert all(REFUSED[name] in each for each in applied.refused)
        assert applied.namespaces
        state = tmp_path / "state"
        settings = Settings(state, state, kubeconfig=str(tmp_path / "kubeconfig"), user="ann", host="box")
        async with Session.open(root, settings=settings) as session:
            for namespace in applied.namespaces:
                wanted = session.destination("imported", namespace, cluster="one", namespace=namespace)
                makes_it = KubernetesId("v1", "Namespace", "", namespace) in applied.live
                intake = await session.import_live(wanted, with_namespace=makes_it)
                session.write_import(intake)
                first = await session.first_plan(intake)
                assert first.is_known, first.plan.problems
                assert [(str(each.address), each.fields, each.conflicts) for each in first.changed] == []
                in_place = {
                    str(replace(each.id, namespace=namespace if each.id.kind != "Namespace" else ""))
                    for each in intake.objects.values()
                }
                taken = {(each.id.kind, each.id.name) for each in intake.objects.values()}
                assert {str(each.address.id) for each in first.claimed} == in_place
                expected = {(each.kind, each.name) for each in applied.live if each.namespace == namespace}
                expected |= {("Namespace", namespace)} if makes_it else set()
                assert taken == expected

"""Outputs of a stack whose resources a real terraform has in its state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runtimes.base import KubernetesId, TerraformId
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.outputs import StackOutputs
from workbench.engine.plan import Plan
from workbench.engine.reads import OutputValue
from workbench.session import Session

pytestmark = pytest.mark.skipif(
    not (shutil.which("terraform") or shutil.which("tofu")), reason="neither terraform nor tofu is on PATH"
)
FILES = {
    "clusters.yaml": "clusters: {hz: {context: one}}\nplacements: [{stacks: ['app/*'], clusters: [hz]}]\n",
    "base/project.yaml": """\
name: base
outputs:
  host: $kusion_path.builtin:terraform:terraform_data:db.output.host
  all: $kusion_path.builtin:terraform:terraform_data:db.output
  key: $kusion_path.builtin:terraform:terraform_data:key.output
""",
    "base/prod/stack.yaml": "name: prod\n",
    "base/prod/main.k": """\
import manifests

_data = "builtin:terraform:terraform_data:"
manifests.yaml_stream([
    {id = _data + "db", type = "Terraform", attributes.input = {host = "db.example", port = 5432}}
    {id = _data + "key", type = "Terraform", attributes.input = "canary-77x", extensions.sensitive = ["input"]}
])
""",
    "app/project.yaml": "name: app\n",
    "app/dev/stack.yaml": "name: dev\n",
    "app/dev/main.k": """\
import manifests

manifests.yaml_stream([
    {apiVersion = "v1", kind = "Namespace", metadata.name = "app"}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "own", namespace = "app"}, data = {
        url = 'http://$workbench.output["base/prod", "host"]:80'
        key = '$workbench.output["base/prod", "key"]'
    }}
    {
        id = "builtin:terraform:terraform_data:mine"
        type = "Terraform"
        attributes.input = {
            whole = '$workbench.output["base/prod", "all"]'
            login = '$workbench.base64encode["x$workbench.output[\\\\"base/prod\\\\", \\\\"key\\\\"]"]'
        }
    }
])
""",
}


async def apply(opened: Session, stack: str) -> Plan:
    plan = await opened.plan(opened.select(stack))
    async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
        _ = [each async for each in events]
    return plan


async def test_a_real_state_is_read_and_what_it_repeats_of_a_secret_is_one(tmp_path: Path) -> None:
    root, clusters = shop(tmp_path / "repo", FILES), Clusters("hz")
    async with session(root, clusters) as opened:
        await apply(opened, "base/prod")
        found: StackOutputs = await opened.outputs(opened.select("base/prod"))
        assert {name: each.is_secret for name, each in found.outputs.items() if isinstance(each, OutputValue)} == {
            "host": False, "all": False, "key": True,
        }, "terraform does not say that the output of a sensitive input is sensitive: its value does"  # fmt: skip
        plan = await apply(opened, "app/dev")
        assert "canary" not in repr(plan) + "".join(plan.notes)
        assert "output key of base/prod is «masked#" in "".join(plan.notes)
        assert clusters["hz"].body(KubernetesId("v1", "ConfigMap", "app", "own"))["data"] == {
            "url": "http://db.example:80", "key": "canary-77x",
        }  # fmt: skip
        assert (await opened.plan(opened.select("app/dev"))).is_empty
        state = await opened.state(opened.select("app/dev"))
        assert [each.id for each in state.resources] == [TerraformId("builtin", "terraform", "terraform_data", "mine")]
        assert "canary" not in repr([each.body for each in state.resources])

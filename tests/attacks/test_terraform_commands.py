"""Commands on a resource are in no diff or plan and run when it is applied: they are refused wherever they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Rejected, Resource, RuntimeType, TerraformId
from runtimes.terraform import settings
from tests.attacks.with_terraform import STACK, TERRAFORM, HostileStack, data
from workbench.engine.errors import Refused

NEEDS_TERRAFORM = pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH")


def local_exec(loot: Path) -> list[dict[str, Any]]:
    return [{"local-exec": {"command": f"touch {loot}"}}]


@NEEDS_TERRAFORM
@pytest.mark.parametrize("name", ["provisioner", "connection"])
async def test_no_command_runs_and_the_line_is_named(tmp_path: Path, name: str) -> None:
    hostile = HostileStack(tmp_path)
    written = {"provisioner": local_exec(hostile.loot), "connection": {"host": "127.0.0.1"}}[name]
    hostile.write(data(attributes={name: written}))
    lines = (hostile.root / "shop/dev/main.k").read_text().splitlines()
    (number,) = [index for index, line in enumerate(lines, 1) if f'"{name}" =' in line]
    async with hostile.session() as opened:
        stack = opened.select(STACK)
        plan = await opened.plan(stack)
        assert plan.is_refused
        with pytest.raises(Refused):
            async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
                async for _ in events:
                    pass
        assert (await opened.diff(stack)).is_different or not (await opened.diff(stack)).is_certain
    for command in ("diff", "plan", "apply"):
        said = hostile.wb(command, *(["--yes"] if command == "apply" else []), STACK)
        assert said.code not in (0, 1), said.text
        assert f"'{name}' would run commands" in said.text, said.text
        assert f"main.k:{number}" in said.text, said.text
        assert "run such commands yourself" in said.text, said.text
    assert not hostile.loot.exists()


COMMAND = {"local-exec": {"command": "touch /nowhere"}}
WAYS: dict[str, tuple[Any, Any]] = {
    f"{name} {way}": made
    for name in ("provisioner", "connection")
    for way, made in {
        "as a block": ({name: COMMAND}, {}),
        "as a list": ({name: [COMMAND]}, {}),
        "as null": ({name: None}, {}),
        "as nothing": ({name: {}}, {}),
        "when destroyed": ({name: [{"local-exec": {"when": "destroy", "command": "x"}}]}, {}),
        "among the extensions": ({}, {name: [COMMAND]}),
        "in lifecycle": ({"lifecycle": {name: [COMMAND]}}, {}),
        "in extensions.lifecycle": ({}, {"lifecycle": {name: [COMMAND]}}),
        "behind another lifecycle": ({"lifecycle": {name: COMMAND}}, {"lifecycle": {"prevent_destroy": True}}),
        "by dynamic": ({"dynamic": {name: {"for_each": [1], "content": COMMAND}}}, {}),
    }.items()
}
WAYS |= {
    "a condition": ({"lifecycle": {"precondition": [{"condition": '${file("/etc/passwd") == ""}'}]}}, {}),
    "a condition after": ({"lifecycle": {"postcondition": [{"condition": "${true}"}]}}, {}),
    "an action": ({"lifecycle": {"action_trigger": {"events": ["after_create"], "actions": ["action.x.y"]}}}, {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_write_a_command_is_taken(way: str) -> None:
    attributes, extensions = WAYS[way]
    id_ = TerraformId("builtin", "terraform", "terraform_data", "x")
    with pytest.raises(Rejected) as raised:
        settings.of(Resource(id_, RuntimeType.TERRAFORM, attributes, extensions=extensions), id_)
    assert raised.value.hint


def test_data_of_these_names_is_data() -> None:
    id_ = TerraformId("builtin", "terraform", "terraform_data", "x")
    attributes = {"input": {"connection": "a text", "provisioner": ["another"]}}
    assert settings.of(Resource(id_, RuntimeType.TERRAFORM, attributes), id_).resource_type == "terraform_data"


@NEEDS_TERRAFORM
async def test_data_of_these_names_never_runs(tmp_path: Path) -> None:
    hostile = HostileStack(tmp_path)
    hostile.write(data(attributes={"input": {"provisioner": local_exec(hostile.loot), "connection": {"host": "h"}}}))
    said = hostile.wb("apply", "--yes", STACK)
    assert said.code == 0, said.text
    assert not hostile.loot.exists()


READS = (
    '${file("CANARY")}',
    '${templatefile("CANARY", {})}',
    '%{ if true }${file("CANARY")}%{ endif }',
    '$${file("CANARY")}',
    '$$${file("CANARY")}',
    '${abspath(".")}${path.root}${terraform.workspace}',
    '${filebase64("CANARY")}${sensitive(file("CANARY"))}',
)


@NEEDS_TERRAFORM
async def test_a_text_never_reads_a_file(tmp_path: Path) -> None:
    """As a value, as a key, in the id to import by, and in the trigger of a replacement."""
    hostile = HostileStack(tmp_path)
    canary = tmp_path / "canary"
    canary.write_text("canary-4711")
    texts = [each.replace("CANARY", str(canary)) for each in READS]
    hostile.write(data(attributes={"input": {"values": texts, **dict.fromkeys(texts, "key")}}))
    assert hostile.wb("apply", "--yes", STACK).code == 0
    (state,) = (tmp_path / "state").glob("terraform/**/terraform.tfstate")
    assert "canary-4711" not in state.read_text()
    assert all(each in state.read_text() for each in ("templatefile(", "filebase64(", "abspath("))
    for resource in (
        data(importId=texts[0]),
        data(lifecycle={"replace_triggered_by": [f'terraform_data.x[file("{canary}")]']}),
        data(lifecycle={"ignore_changes": [f'input[file("{canary}")]']}),
    ):
        hostile.write(resource)
        assert "canary-4711" not in hostile.wb("plan", STACK).text
    assert not any(b"canary-4711" in each.read_bytes() for each in (tmp_path / "state").rglob("*") if each.is_file())


@pytest.mark.parametrize("type_", ["data.external", 'x": {"y', "data\nx", "external ", "a.b", "${file}", "_\u0000"])
def test_no_type_breaks_out_of_its_place(type_: str) -> None:
    id_ = TerraformId("hashicorp", "external", type_, "x")
    with pytest.raises(Rejected):
        settings.of(Resource(id_, RuntimeType.TERRAFORM, {}), id_)


@NEEDS_TERRAFORM
@pytest.mark.parametrize("id_", ["hashicorp:external:external:x", "hashicorp:http:http:x"])
async def test_a_data_source_is_no_resource(tmp_path: Path, id_: str) -> None:
    """Nothing but resources is written, so a data source of these providers is never read."""
    from runtimes.terraform import configuration

    kind = id_.split(":")[2]
    program = ["touch", str(tmp_path / "loot")]
    made = Resource(TerraformId(*id_.split(":")), RuntimeType.TERRAFORM, {"program": program})
    assert '"data"' not in configuration.build([made]).text
    assert f'"{kind}"' in configuration.build([made]).text

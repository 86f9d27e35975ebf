"""States that others wrote: other programs and versions, modules, counts and outputs. Each is told or left as it is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import PlannedAction, RuntimeFailure, RuntimeType, WorkspacePlanRequest, parse_id
from runtimes.terraform import configuration, names, plan, planned, state
from runtimes.terraform.folder import Folder
from runtimes.terraform.runtime import TerraformRuntime
from runtimes.terraform.state import OtherFormat, UnreadableState
from tests.runtimes.terraform.direct import data
from tests.runtimes.terraform.practice import TERRAFORM, actions, anything, needs_terraform

NONE, DELETE = PlannedAction.NONE, PlannedAction.DELETE
KEYS = ("p.q", "r]s", "t$u", "x y", 'q"u', "a:b%3A")
WRITTEN_BY_ANOTHER = """
resource "terraform_data" "a" { input = "a" }
resource "terraform_data" "c" {
  count = 2
  input = count.index
}
resource "terraform_data" "f" {
  for_each = toset(KEYS)
  input    = each.key
}
module "m" {
  source   = "./m"
  for_each = toset(KEYS)
}
output "address" { value = "10.0.0.1" }
output "token" {
  value     = "canary-token"
  sensitive = true
}
check "never" {
  assert {
    condition     = terraform_data.a.output == "b"
    error_message = "it is not b"
  }
}
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The state of a configuration with modules, counts, keys, outputs and a check that fails."""
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "m").mkdir()
    (folder / "m/main.tf").write_text('resource "terraform_data" "i" { input = { a = null, b = sensitive("s") } }\n')
    (folder / "main.tf").write_text(WRITTEN_BY_ANOTHER.replace("KEYS", json.dumps(KEYS)))
    for arguments in (("init",), ("apply", "-auto-approve")):
        subprocess.run(
            [TERRAFORM, f"-chdir={folder}", *arguments, "-input=false"], check=True, capture_output=True, timeout=60
        )
    return (folder / "terraform.tfstate").read_bytes()


def laid(folder: Path, content: bytes | str | Mapping[str, Any]) -> TerraformRuntime:
    folder.mkdir()
    text = json.dumps(content) if isinstance(content, Mapping) else content
    (folder / "terraform.tfstate").write_bytes(text.encode() if isinstance(text, str) else text)
    return TerraformRuntime.connect(folder=folder)


@needs_terraform
async def test_what_another_configuration_made_is_named_by_ids_that_can_be_read_again(
    foreign: bytes, tmp_path: Path
) -> None:
    found = await laid(tmp_path / "folder", foreign).survey(WorkspacePlanRequest((data("a", input="a"),)))
    by_action = {each.id: each.action for each in found.resources}
    assert by_action.pop(data("a").id) is NONE
    assert len(by_action) == 2 + 2 * len(KEYS) and set(by_action.values()) == {DELETE}
    for id_ in by_action:
        assert parse_id(str(id_), RuntimeType.TERRAFORM) == id_
    assert {each.resource_type for each in state.read_prior(foreign).resources} == {"terraform_data"}


@needs_terraform
async def test_outputs_that_an_apply_would_take_out_of_a_state_are_told_where_no_resource_changes(
    foreign: bytes, tmp_path: Path
) -> None:
    document = json.loads(foreign)
    kept = [each for each in document["resources"] if each["name"] == "a"]
    runtime = laid(tmp_path / "folder", {**document, "resources": kept})
    found = await runtime.survey(WorkspacePlanRequest((data("a", input="a"),)))
    assert actions(found) == {"a": NONE}
    (told,) = found.findings
    assert "has outputs (address, token)" in told.message and not told.is_error and "canary" not in told.detail
    async with runtime.apply_all(WorkspacePlanRequest((data("a", input="b"),)), anything) as run:
        await run.outcome()
    assert json.loads((tmp_path / "folder/terraform.tfstate").read_bytes())["outputs"] == {}, "as was told"


ENCRYPTED = {"meta": {"key_provider.pbkdf2.own": "eyJ9"}, "encrypted_data": "canary", "encryption_version": "v0"}
OTHERS = (
    ({"version": 3, "modules": []}, "an old terraform wrote it", "terraform state pull"),
    ({"version": 5, "resources": []}, "a newer terraform wrote it", "left as it is"),
    (ENCRYPTED, "is encrypted", "tofu"),
)


@needs_terraform
@pytest.mark.parametrize(("document", "message", "hint"), OTHERS, ids=["format 3", "format 5", "encrypted"])
@pytest.mark.parametrize("accepts_lost", [False, True])
async def test_a_whole_state_of_another_format_is_refused_and_never_replaced(
    tmp_path: Path, document: dict[str, Any], message: str, hint: str, accepts_lost: bool
) -> None:
    """Not by a copy of what it was before, and not by nothing where what was lost is to be accepted."""
    runtime, folder = TerraformRuntime.connect(folder=tmp_path / "folder"), Folder(tmp_path / "folder")
    request = WorkspacePlanRequest((data("a", input="a"),), accepts_lost=accepts_lost)
    async with runtime.apply_all(request, anything) as run:
        await run.outcome()
    before = json.loads(folder.state.read_bytes())
    content = json.dumps({"serial": before["serial"] + 1, "lineage": before["lineage"], **document})
    folder.state.write_text(content)
    for asked in (runtime.survey(request), runtime.record(request)):
        with pytest.raises(RuntimeFailure, match=message) as raised:
            await asked
        assert hint in raised.value.hint and "canary" not in str(raised.value)
        assert folder.state.read_text() == content


NESTED = '{"value": ' * 300 + "1" + "}" * 300


@needs_terraform
@pytest.mark.parametrize(
    ("value", "message"),
    [(NESTED, "is nested deeper than the limit"), ("9" * 5000, "a number of too many digits")],
    ids=["nested", "long number"],
)
async def test_a_state_that_is_too_much_for_us_is_not_taken_for_a_torn_one(
    tmp_path: Path, value: str, message: str
) -> None:
    """terraform reads it; an older copy in its place would lose what was made since."""
    runtime, folder = TerraformRuntime.connect(folder=tmp_path / "folder"), Folder(tmp_path / "folder")
    request = WorkspacePlanRequest((data("a", input="a"),))
    async with runtime.apply_all(request, anything) as run:
        await run.outcome()
    before = json.loads(folder.state.read_bytes())
    text = json.dumps({**before, "serial": before["serial"] + 1, "outputs": {"o": {"value": "HERE", "type": "x"}}})
    content = text.replace('"HERE"', value)
    folder.state.write_text(content)
    for asked in (runtime.survey(request), runtime.record(request), runtime.owned({})):
        with pytest.raises(RuntimeFailure, match=message) as raised:
            await asked
        assert "left as it is" in raised.value.hint
    assert folder.state.read_text() == content


@needs_terraform
async def test_a_state_file_of_any_size_is_not_read_whole(tmp_path: Path) -> None:
    runtime, folder = TerraformRuntime.connect(folder=tmp_path / "folder"), Folder(tmp_path / "folder")
    request = WorkspacePlanRequest((data("a", input="a"),))
    async with runtime.apply_all(request, anything) as run:
        await run.outcome()
    with folder.state.open("r+b") as file:
        file.truncate(300_000_000)
    for asked in (runtime.survey(request), runtime.record(request), runtime.owned({})):
        with pytest.raises(RuntimeFailure, match="has more than 256 MB"):
            await asked
    assert folder.state.stat().st_size == 300_000_000


def _raw(**instance: Any) -> dict[str, Any]:
    resource = {"mode": "managed", "type": "acme_thing", "name": "one", "instances": [instance]}
    return {"version": 4, "serial": 1, "lineage": "line", "resources": [resource]}


def test_an_instance_may_name_its_provider_itself() -> None:
    """As OpenTofu writes where the instances of a resource have providers of their own."""
    content = _raw(attributes={"id": "x"}, instance_provider='provider["registry.opentofu.org/acme/acme"].west')
    (found,) = state.read_prior(content).resources.values()
    assert (str(found.source), found.alias) == ("registry.opentofu.org/acme/acme", "west")
    assert {str(each) for each in state.read_prior(content).sources} == {"registry.opentofu.org/acme/acme"}


def test_attributes_of_an_old_provider_are_no_resource_without_an_id() -> None:
    provider = 'provider["registry.terraform.io/acme/acme"]'
    content = _raw(attributes_flat={"id": "x", "tags.%": "1", "tags.a": "b"}, instance_provider=provider)
    (found,) = state.read_prior(content).resources.values()
    assert found.attributes["id"] == "x"


@pytest.mark.parametrize("provider", ["provider.aws", 'provider["registry.opentofu.org/acme/acme"].by["west"]', 5])
def test_a_provider_that_is_named_otherwise_is_told(provider: Any) -> None:
    with pytest.raises(UnreadableState, match=r"provider in a way that is not known|lacks what a state has"):
        state.read_prior(_raw(attributes={}, instance_provider=provider))


def test_what_a_state_has_twice_is_refused() -> None:
    content = _raw(attributes={}, instance_provider='provider["registry.terraform.io/acme/acme"]')
    content["resources"] *= 2
    with pytest.raises(UnreadableState, match=r"acme_thing\.one twice"):
        state.read_prior(content)


@pytest.mark.parametrize(
    ("address", "type_"),
    [
        ('module.m["x.y.z"].acme_thing.one', "acme_thing"),
        ('module.m["a]b"].module.n[0].acme_thing.one["c]d.e.f"]', "acme_thing"),
        ('acme_thing.one["q\\"].b.c"]', "acme_thing"),
        ("acme_thing.one[3]", "acme_thing"),
        ("no address", ""),
    ],
)
def test_the_type_at_an_address_is_told_whatever_keys_it_has(address: str, type_: str) -> None:
    assert names.type_at(address) == type_


def _shown(change: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    entry = {"address": "acme_thing.one", "mode": "managed", "change": change}
    return {"format_version": "1.2", "resource_changes": [entry], **more}


def test_changes_that_are_put_off_are_not_taken_for_none() -> None:
    put_off = {"reason": "provider_config_unknown", "resource_change": {"address": "acme_thing.two"}}
    with pytest.raises(planned.UnreadablePlan, match=r"leaves acme_thing\.two to another plan \(provider_config_unkn"):
        planned.read(
            _shown({"actions": ["no-op"]}, complete=False, deferred_changes=[put_off]), configuration.build([])
        )


@pytest.mark.parametrize("importing", [{"identity": {"name": "x"}}, {"unknown": True}, {}])
def test_what_is_taken_over_by_an_identity_is_no_resource_without_changes(importing: Any) -> None:
    change = {"actions": ["no-op"], "before": {"id": "x"}, "after": {"id": "x"}, "importing": importing}
    (found,) = planned.read(_shown(change), configuration.build([])).resources
    assert found.import_id == "what its identity names"


def test_other_formats_say_what_to_do() -> None:
    for document, message, hint in OTHERS:
        with pytest.raises(OtherFormat, match=message) as raised:
            state.read_prior({"serial": 1, "lineage": "line", **document})
        assert hint in raised.value.hint


def test_an_update_from_a_number_to_a_truth_value_is_one() -> None:
    """Python takes 1 for true; terraform does not."""
    shown = _shown({"actions": ["update"], "before": {"any": [1]}, "after": {"any": [True]}})
    (found,) = plan.read(shown, configuration.build([])).resources
    assert found.action is PlannedAction.UPDATE

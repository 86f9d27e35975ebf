"""`wb ci --sarif`: what is wrong with stacks that change, for code scanning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.cli.test_impact import commit, edit, git
from tests.workbench.cli.test_policies import policies
from tests.workbench.present.sarif_schema import SARIF
from workbench.engine.impact import Doubt, ImpactReport, StackImpact, State
from workbench.engine.policy.findings import PolicyFinding, PolicyReport
from workbench.present import sarif
from workbench.project.policy import Level


@pytest.fixture
def shop(root: Path) -> Path:
    git(root, "init", "-q")
    commit(root)
    return root


def run_of(wb: Wb, *words: str) -> tuple[int, dict[str, Any]]:
    """Runs `wb ci --sarif`; the document is held to the standard, as is what its parts say of each other."""
    ended = wb("ci", "--sarif", "wb.sarif", *words)
    document = json.loads(Path("wb.sarif").read_text())
    return ended.code, checked(document)


def checked(document: Any) -> dict[str, Any]:
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert {each["id"] for each in rules} == {each["ruleId"] for each in run["results"]}
    prints = [each["partialFingerprints"][sarif.FINGERPRINT] for each in run["results"]]
    assert len(set(prints)) == len(prints), "two results under one fingerprint"
    result: dict[str, Any] = run
    return result


def at(result: dict[str, Any]) -> tuple[str, int]:
    place = result["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_what_policies_find_is_a_result_at_its_line(wb: Wb, shop: Path) -> None:
    policies(
        shop,
        "name: two, rule: replicas, with: {least: 2}",
        "name: tags, rule: image-tags, with: {digest: true}, level: warning",
        waivers=("policy: tags, until: 2999-12-31, reason: next week",),
    )
    edit(shop, "models/server.k", "replicas = s.replicas", "replicas = s.replicas + 0")
    edit(shop, "web/base/base.k", '"red"', '"blue"')
    code, run = run_of(wb)
    assert code == 0 and run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    (two, *tags) = run["results"]
    assert (two["ruleId"], two["level"], at(two)) == ("policy/two", "error", ("web/dev/main.k", 4))
    assert two["message"]["text"].startswith("web/dev: Deployment web-dev/front spec.replicas: 1: at least 2")
    assert two["properties"]["stacks"] == ["web/dev"] and "suppressions" not in two
    assert two["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "models/server.k"
    assert {each["suppressions"][0]["justification"] for each in tags} == {"next week (until 2999-12-31)"}
    assert {each["level"] for each in tags} == {"warning"} and len(tags) == 2
    (help_, _) = (each["help"]["text"] for each in run["tool"]["driver"]["rules"])
    assert "Policy `two`" in help_ and "It takes least" in help_ and "wb policy" in help_


def test_what_does_not_compile_is_one_result_and_the_run_did_not_succeed(wb: Wb, shop: Path) -> None:
    main = shop / "web/base/base.k"
    main.write_text(main.read_text() + "first = nothing\nsecond = nowhere\n")
    lines = len(main.read_text().splitlines())
    code, run = run_of(wb)
    assert code == 3
    assert [at(each) for each in run["results"]] == [("web/base/base.k", lines - 1), ("web/base/base.k", lines)]
    assert all(each["message"]["text"].endswith("(web/dev, web/prod)") for each in run["results"])
    assert run["results"][0]["ruleId"].startswith("kcl/E2") and "nothing" in run["results"][0]["message"]["text"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert "What to do: " in rule["help"]["text"] and "kcl explain" in rule["help"]["text"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert "what changes of web/dev is not known" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_base_that_does_not_compile_is_no_fault_of_the_branch(wb: Wb, shop: Path) -> None:
    edit(shop, "web/dev/main.k", "replicas = 1", "replicas = nothing")
    commit(shop)
    edit(shop, "web/dev/main.k", "replicas = nothing", "replicas = 1")
    code, run = run_of(wb)
    assert (code, run["results"]) == (3, [])
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "before the change" in said["message"]["text"] and "locations" not in said


def test_a_finding_is_the_same_one_once_lines_have_moved(wb: Wb, shop: Path) -> None:
    policies(shop, "name: two, rule: replicas, with: {least: 2}")
    edit(shop, "web/dev/main.k", "replicas = 1", "replicas = 1  # one")
    edit(shop, "web/base/base.k", '"red"', '"blue"')
    main = shop / "web/prod/main.k"
    main.write_text(main.read_text() + "first = nothing\n")
    before = {each["ruleId"]: each for each in run_of(wb)[1]["results"]}
    for each in (main, shop / "web/dev/main.k"):
        each.write_text("# a word first\n\n" + each.read_text())
    after = {each["ruleId"]: each for each in run_of(wb)[1]["results"]}
    assert before.keys() == after.keys() and len(before) == 2
    for rule, result in after.items():
        assert at(result)[1] == at(before[rule])[1] + 2
        assert result["partialFingerprints"] == before[rule]["partialFingerprints"]
    edit(shop, "web/prod/main.k", "first = nothing", "first = nowhere")
    other = {each["ruleId"]: each for each in run_of(wb)[1]["results"]}
    (rule,) = (each for each in other if each.startswith("kcl/"))
    assert other[rule]["partialFingerprints"] != after[rule]["partialFingerprints"]


def test_files_are_named_from_the_checkout_however_they_are_called(wb: Wb, root: Path) -> None:
    (root / "web/dev").rename(root / "web/dév 1")
    git(root.parent, "init", "-q")
    git(root.parent, "add", "repo")
    git(root.parent, "commit", "-qm", "x")
    main = root / "web/dév 1/main.k"
    main.write_text(main.read_text() + "first = nothing\n")
    (result,) = run_of(wb)[1]["results"]
    assert at(result)[0] == "repo/web/d%C3%A9v%201/main.k"


def test_a_policy_that_nobody_can_read_is_not_nothing_found(wb: Wb, shop: Path) -> None:
    (shop / "policy.yaml").write_text("policies: [{name: x, rule: no-such}]\n")
    edit(shop, "web/base/base.k", '"red"', '"blue"')
    code, run = run_of(wb)
    assert (code, run["results"]) == (3, []) and not run["invocations"][0]["executionSuccessful"]
    assert "no-such" in json.dumps(run["invocations"])


def test_where_nothing_could_be_compared_the_file_of_an_earlier_run_does_not_pass_for_this_one(
    wb: Wb, shop: Path
) -> None:
    (shop / "wb.sarif").write_text('{"runs": [{"results": []}]}')
    code, run = run_of(wb, "--git", "no-such")
    assert (code, run["results"]) == (3, []) and not run["invocations"][0]["executionSuccessful"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "error" and "no-such" in note["message"]["text"]


def test_all_stacks_are_reported_as_a_change_of_them_is(wb: Wb, shop: Path) -> None:
    policies(shop, "name: two, rule: replicas, with: {least: 2}")
    edit(shop, "web/base/base.k", '"red"', '"blue"')
    of_the_change = run_of(wb)[1]["results"]
    ended = wb("policy", "-o", "sarif")
    assert ended.code == 1 and checked(ended.json())["results"] == of_the_change != []
    assert checked(ended.json())["invocations"][0]["executionSuccessful"]
    edit(shop, "web/prod/main.k", "replicas = 3", "replicas = nothing")
    ended = wb("policy", "-o", "sarif")
    run = checked(ended.json())
    assert len(run["results"]) == 1 and not run["invocations"][0]["executionSuccessful"]
    assert "web/prod is not known" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    (shop / "web/dev/stack.yaml").write_text("name: [\n")
    ended = wb("policy", "*/prod", "-o", "sarif")
    assert ended.code == 3 and not checked(ended.json())["invocations"][0]["executionSuccessful"]
    assert wb("policy", "--rules", "-o", "sarif").code == 64


def test_hostile_texts_are_no_links_and_no_orders() -> None:
    finding = PolicyFinding("a](b)\x1b[2J", Level.ERROR, "see [this](https://evil.example) {0} \x1b]52;c;aGk=\x07")
    stack = StackImpact("x/y", State.CHANGED, reads=(Path("/r/é\udcff.k"),), policy=PolicyReport((finding,)))
    report = ImpactReport(Path("/r"), "a", "b", (), (stack,), 1, doubts=(Doubt("[x](y)", "\x1b[2J"),))
    run = checked(sarif.document(report, Path("/r"), (), "1"))
    text = json.dumps(run)
    assert "\\u001b" not in text and "\\u0007" not in text
    assert (
        "\\[this\\](https" in run["results"][0]["message"]["text"] and "{{0}}" in run["results"][0]["message"]["text"]
    )
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%C3%A9%FF.k"


def test_what_does_not_fit_is_said() -> None:
    findings = tuple(PolicyFinding("p", Level.ERROR, f"number {n}") for n in range(sarif.MOST_RESULTS + 7))
    stack = StackImpact("x/y", State.CHANGED, policy=PolicyReport(findings))
    report = ImpactReport(Path("/r"), "a", "b", (), (stack,), 1)
    (run,) = sarif.document(report, Path("/r"), (), "1")["runs"]
    assert len(run["results"]) == sarif.MOST_RESULTS and not run["invocations"][0]["executionSuccessful"]
    assert "7 more results" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]

"""The workflows of the sample repository: parsed, and every line of theirs that is ours carried out as it stands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.handbook.shell import Shell
from tests.workbench.present.sarif_schema import SARIF
from workbench.exit_codes import ExitCode

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
WORKFLOWS = {each.stem: yaml.safe_load(each.read_text()) for each in (SAMPLE / ".github/workflows").iterdir()}
GITLAB = yaml.safe_load((SAMPLE / ".gitlab-ci.yml").read_text())
_NOT_OURS = ("pip install konfig-workbench", "umask ", "printf ", "echo ")


def lines(script: str | list[str]) -> Iterator[str]:
    """Yields the lines of a script that are ours; a line that is neither ours nor known is a finding."""
    for each in script.splitlines() if isinstance(script, str) else script:
        assert each.startswith(("wb ", "kcl ", *_NOT_OURS)), each
        if not each.startswith(_NOT_OURS):
            yield each


def steps(name: str) -> list[dict[str, Any]]:
    (job,) = WORKFLOWS[name]["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def ours(name: str) -> list[str]:
    return [line for step in steps(name) for line in lines(step.get("run", ""))]


async def on_a_branch(shell: Shell, text: str) -> None:
    """Commits an edit of one stack, on a branch that left the `main` of origin."""
    for words in (["update-ref", "refs/remotes/origin/main", "HEAD"], ["checkout", "-qb", "more"]):
        await shell.run(shlex.join(["git", *words]))
    append("payments/ledger/pre/main.k", text)
    await shell.run("git commit -qam More")


def append(file: str, text: str) -> None:
    with Path(file).open("a") as opened:
        opened.write(text)


def read(file: str | Path) -> str:
    return Path(file).read_text()


def test_the_workflows_are_all_there_and_say_when_they_run() -> None:
    assert WORKFLOWS.keys() == {"pull-request", "main", "drift"}
    # YAML 1.1 takes the key `on` for a truth value
    assert WORKFLOWS["pull-request"][True] == "pull_request"
    assert re.fullmatch(r"(\S+ ){4}\S+", WORKFLOWS["drift"][True]["schedule"][0]["cron"])
    for each in WORKFLOWS.values():
        assert each["permissions"]["contents"] == "read", "a job gets no more than it needs"
    assert GITLAB["impact"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert GITLAB["drift"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "schedule"'}]


def test_what_reads_a_branch_reads_it_as_data_and_has_no_login() -> None:
    for name in ("impact", "policies"):
        assert all(each.startswith("wb --untrusted ") for each in lines(GITLAB[name]["script"]))
    assert all(each.startswith(("wb --untrusted ", "kcl ")) for each in ours("pull-request"))
    assert "secrets." not in (SAMPLE / ".github/workflows/pull-request.yaml").read_text()
    assert (
        WORKFLOWS["drift"]["jobs"]["report"]["env"]["WB_READONLY"] == GITLAB["drift"]["variables"]["WB_READONLY"] == "1"
    )


def test_both_look_at_the_same() -> None:
    def without_places(line: str) -> str:
        return re.sub(r" (>>?|--(summary|annotations|sarif)) \S+", "", line)

    gitlab = [line for job in GITLAB.values() for line in lines(job.get("script", []))]
    github = [*ours("pull-request"), *ours("drift")]
    assert list(map(without_places, gitlab)) == list(map(without_places, github))


async def test_a_pull_request_gets_summary_annotations_and_findings(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "summary.md").touch()
    for name, value in {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }.items():
        shell.patch.setenv(name, value)
    await on_a_branch(shell, "\napi: frontend.Server {\n    replicas = 2\n}\n")
    printed = [await done(shell, line) for line in ours("pull-request")]
    assert "::warning file=payments/ledger/pre/main.k,line=8,title=Changes 1 stack::ledger/pre" in printed[0]
    assert "**1 of 14 stacks change.**" in read(tmp_path / "summary.md")
    document = json.loads(read("wb.sarif"))
    jsonschema.validate(document, SARIF)
    assert document["runs"][0]["invocations"][0]["executionSuccessful"] and not document["runs"][0]["results"]
    (upload,) = (each["with"]["sarif_file"] for each in steps("pull-request") if "upload-sarif" in each.get("uses", ""))
    assert upload == "wb.sarif"


async def test_what_is_merged_is_reported_as_findings(shell: Shell) -> None:
    assert WORKFLOWS["main"][True] == {"push": {"branches": ["main"]}}
    append("policy.yaml", "policies: [{name: two, rule: replicas, with: {least: 2}, stacks: [ledger/pre]}]\n")
    (line,) = ours("main")
    await shell.run(line)
    assert shell.code == ExitCode.DIFFERENT
    document = json.loads(read("wb.sarif"))
    jsonschema.validate(document, SARIF)
    (found,) = document["runs"][0]["results"]
    assert found["message"]["text"].startswith("ledger/pre: Deployment ledger-pre/ledger-api spec.replicas: 1")
    assert [each["with"]["sarif_file"] for each in steps("main") if "upload-sarif" in each.get("uses", "")] == [
        "wb.sarif"
    ]


async def done(shell: Shell, line: str) -> str:
    printed = await shell.run(line)
    assert shell.code == 0, f"{line}\n{printed}"
    return printed


async def test_a_merge_request_gets_a_summary_and_a_quality_report(shell: Shell) -> None:
    base = await shell.run("git rev-parse HEAD")
    for name, value in {
        "CI": "true",
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.strip(),
    }.items():
        shell.patch.setenv(name, value)
    await on_a_branch(shell, "\napi: frontend.Server {\n    replicas = nothing\n}\n")
    (line,) = lines(GITLAB["impact"]["script"])
    await shell.run(line)
    assert shell.code == ExitCode.DIFF_FAILED
    (summary,), report = GITLAB["impact"]["artifacts"]["paths"], GITLAB["impact"]["artifacts"]["reports"]["codequality"]
    assert "is not known" in read(summary)
    (found,) = json.loads(read(report))
    assert found["location"] == {"path": "payments/ledger/pre/main.k", "lines": {"begin": 8}}


@pytest.mark.parametrize("line", [ours("drift")[-1], *lines(GITLAB["drift"]["script"])])
async def test_a_look_at_night_that_cannot_tell_leaves_a_report_and_fails(
    line: str, shell: Shell, tmp_path: Path
) -> None:
    shell.patch.setenv("WB_READONLY", "1")
    shell.patch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    shell.patch.setenv("KUBECONFIG", str(tmp_path / "nowhere.yaml"))
    assert await shell.run(line) == "" and shell.code == ExitCode.DIFF_FAILED
    written = tmp_path / "summary.md" if "GITHUB" in line else Path(GITLAB["drift"]["artifacts"]["paths"][0])
    assert "**Of 5 stacks it is not known**" in read(written)
    assert "no kubeconfig at" in read(written) and "Nobody changed" not in read(written)

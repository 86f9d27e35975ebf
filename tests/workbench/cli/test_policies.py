"""`wb policy`, and plans that policies refuse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode
from workbench.session import Session
from workbench.settings import Settings

CHECK = """\
violations = [
    {resource = r.id, field = "spec.replicas", message = "one is none while it restarts"}
    for r in option("resources") if r.kind == "Deployment" and r.attributes.spec.replicas == 1
]
"""


def policies(root: Path, *entries: str, waivers: tuple[str, ...] = ()) -> None:
    lines = ["policies:", *(f"  - {{{each}}}" for each in entries)]
    if waivers:
        lines += ["waivers:", *(f"  - {{{each}}}" for each in waivers)]
    (root / "policy.yaml").write_text("\n".join(lines) + "\n")


def check(root: Path, text: str) -> None:
    (root / "policies").mkdir(exist_ok=True)
    (root / "policies/own.k").write_text(text)
    policies(root, "name: own, check: policies/own.k")


def test_every_stack_is_judged_and_every_finding_has_its_line(wb: Wb, root: Path) -> None:
    policies(root, "name: two, rule: replicas, with: {least: 2}", "name: calm, rule: no-deletions")
    ended = wb("policy")
    assert ended.code == ExitCode.DIFFERENT
    assert "✗ two  Deployment web-dev/front spec.replicas: 1: at least 2 are needed  ← web/dev/main.k:4" in ended.out
    assert "web/prod: ✓ 1 policy passed" in ended.out
    assert ended.out.splitlines()[-1] == "2 stacks: 1 with errors  1 without errors"
    assert "for plans only: calm" in ended.err
    assert wb("policy", "*/prod").code == ExitCode.OK
    document = wb("policy", "-o", "json").json()
    assert (document["kind"], document["status"]) == ("PolicyReport", "refused")
    (found,) = document["stacks"][0]["findings"]
    assert found["field"] == "spec.replicas" and found["source"][0] == "web/dev/main.k:4" and found["refuses"]


def test_policies_in_kcl(wb: Wb, root: Path) -> None:
    check(root, CHECK)
    ended = wb("policy")
    assert ended.code == ExitCode.DIFFERENT
    assert "own  Deployment web-dev/front spec.replicas: one is none while it restarts" in ended.out
    assert "← web/dev/main.k:4" in ended.out
    check(root, 'schema Few:\n    n: int\n    check:\n        n < 3, "too many resources"\n'
          'few = Few {n = len(option("resources"))}\nviolations = []\n')  # fmt: skip
    failed = wb("policy", "web/dev")
    assert failed.code == ExitCode.DIFFERENT and "too many resources" in failed.out, failed.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it says no list of violations"),
        ("violations = 1\n", "it says no list of violations"),
        ("violations = [1]\n", "violation 1 needs a message"),
        ("violations = [{resource = 'a'}]\n", "violation 1 needs a message"),
        ("violations = [{message = 'a', feild = 'b'}]\n", "violation 1 needs a message"),
        ("violations = [r.attributes.spec.nothing.more for r in option('resources')]\n", "could not be checked"),
        ("violations = [\n", "could not be checked"),
        ("import file\nviolations = [{message = file.read('/etc/passwd')}]\n", "could not be checked"),
        ("import plugins_that_are_not_there\nviolations = []\n", "could not be checked"),
    ],
)
def test_a_check_that_says_nothing_says_not_that_all_is_well(wb: Wb, root: Path, text: str, said: str) -> None:
    check(root, text)
    ended = wb("policy", "web/dev")
    assert ended.code == ExitCode.DIFF_FAILED, ended.text
    assert said in ended.out and "root:" not in ended.text and "Traceback" not in ended.text
    assert ended.out.splitlines()[-1] == "1 stack: ? 1 not known for sure  0 without errors"


def test_a_check_that_never_ends_is_ended(wb: Wb, root: Path) -> None:
    check(root, "f = lambda n {\n    f(n + 1) + f(n + 2)\n}\nviolations = [{message = str(f(1))}]\n")
    ended = wb("--deadline", "2", "policy", "web/dev")
    assert ended.code == ExitCode.DIFF_FAILED and "could not be checked" in ended.out, ended.text


def test_secrets_are_not_told_to_checks_and_not_by_findings(wb: Wb, root: Path) -> None:
    check(root, 'violations = [{message = "${r.attributes}"} for r in option("resources") if r.kind == "Secret"]\n')
    ended = wb("policy", "-D", "token=canary-88aa")
    assert ended.code == ExitCode.DIFFERENT and "token" in ended.out
    assert "canary" not in ended.text
    policies(root, "name: tags, rule: image-registries, with: {allowed: [x]}")
    path = root / "web/base/base.k"
    path.write_text(path.read_text().replace('"front:1"', '"front:" + option("token")'))
    shown = wb("policy", "-D", "token=canary-88aa")
    assert "is from no allowed registry" in shown.out and "canary" not in shown.text


@pytest.mark.parametrize("name", ["../outside.k", "policies/link.k"])
def test_a_check_does_not_lead_out_of_the_repository(wb: Wb, root: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.k").write_text("violations = []\n")
    (root / ".git").mkdir()
    (root / "policies").mkdir()
    (root / "policies/link.k").symlink_to(tmp_path / "outside.k")
    policies(root, f"name: own, check: {name}")
    ended = wb("policy")
    assert ended.code == ExitCode.DIFF_FAILED and "out of" in ended.err, ended.text


def test_what_does_not_compile_is_not_known(wb: Wb, root: Path) -> None:
    policies(root, "name: two, rule: replicas, with: {least: 1}")
    (root / "web/dev/main.k").write_text("front = \n")
    ended = wb("policy")
    assert ended.code == ExitCode.DIFF_FAILED
    assert "web/dev: ? it could not be judged" in ended.out and "web/prod: ✓" in ended.out
    assert ended.out.splitlines()[-1] == "2 stacks: ? 1 not known for sure  1 without errors"


def test_without_policies_that_is_said(wb: Wb, root: Path) -> None:
    ended = wb("policy")
    assert ended.code == ExitCode.OK and "no policies here" in ended.err
    assert "web/dev: no policy is about what it says" in ended.out
    assert wb("policy", "nothing/*").code == ExitCode.USAGE


def test_waivers_end(wb: Wb, root: Path) -> None:
    today = datetime.now(UTC).date()
    entry = "name: two, rule: replicas, with: {least: 2}"
    policies(root, entry, waivers=(f"policy: two, stacks: [web/dev], until: {today}, reason: soon",))
    ended = wb("policy")
    assert ended.code == ExitCode.OK and f"waived until {today}: soon" in ended.out
    yesterday = today - timedelta(days=1)
    policies(root, entry, waivers=(f"policy: two, until: {yesterday}, reason: soon",))
    ended = wb("policy")
    assert ended.code == ExitCode.DIFFERENT and f"its waiver expired on {yesterday}" in ended.out
    policies(root, entry, waivers=(f"policy: tow, until: {today}, reason: soon",))
    ended = wb("policy")
    assert ended.code == ExitCode.DIFFERENT and "waiver 1 waives nothing of these stacks" in ended.err


def test_a_repository_cannot_waive_what_its_user_says(
    wb: Wb, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    policies(mine, "name: two, rule: replicas, with: {least: 2}")
    policies(root, waivers=('policy: "*", until: 2999-01-01, reason: because',))
    monkeypatch.setenv("WB_POLICY", str(mine / "policy.yaml"))
    assert wb("policy").code == ExitCode.DIFFERENT
    monkeypatch.setenv("WB_POLICY", str(mine / "gone.yaml"))
    ended = wb("policy")
    assert ended.code == ExitCode.DIFF_FAILED and "gone.yaml" in ended.err


def test_rules_are_listed(wb: Wb) -> None:
    ended = wb("policy", "--rules")
    assert ended.code == 0 and "image-registries" in ended.out and "for plans only" in ended.out
    assert wb("policy", "--rules", "-o", "json").json()["rules"][0]["needsPlan"] is False


async def test_a_plan_against_a_policy_is_refused(place: Place) -> None:
    policies(place.root, "name: two, rule: replicas, with: {least: 2}")
    plan = await place("plan", "web/dev")
    assert plan.code == ExitCode.REFUSED
    assert "✗ policies: two: Deployment web-dev/front spec.replicas: 1: at least 2 are needed (web/dev/main.k:4)" in (
        plan.text
    )
    applied = await place("apply", "web/dev", "--confirm", "yes", "--no-watch")
    assert applied.code == ExitCode.REFUSED and "front" not in place.names("deployments.apps")
    document = (await place("plan", "web/dev", "-o", "json")).json()
    assert document["policy"]["judged"] == ["two"] and document["policy"]["findings"][0]["refuses"]
    policies(place.root, "name: two, rule: replicas, with: {least: 2}, level: warning")
    warned = await place("apply", "web/dev", "--confirm", "yes", "--no-watch")
    assert warned.code == ExitCode.OK and "at least 2 are needed" in warned.text
    policies(place.root, "name: kept, rule: no-deletions, kinds: [Namespace]")
    destroyed = await place("destroy", "web/dev", "--confirm", "web/dev")
    assert destroyed.code == ExitCode.REFUSED and "Namespace web-dev @hz: may not be deleted" in destroyed.text
    assert "web-dev" in place.names("namespaces")


async def test_going_back_is_judged_too(place: Place) -> None:
    await place.released("web/dev")
    place.edit("web/dev/main.k", "replicas = 1", "replicas = 2")
    await place.released("web/dev")
    policies(place.root, "name: two, rule: replicas, with: {least: 2}")
    refused = await place("rollback", "web/dev", "--yes", "--no-watch")
    assert refused.code == ExitCode.REFUSED and "1: at least 2 are needed" in refused.text
    assert place.live("deployments.apps", "web-dev", "front")["spec"]["replicas"] == 2
    today = datetime.now(UTC).date()
    waiver = f"policy: two, until: {today}, reason: INC-7"
    policies(place.root, "name: two, rule: replicas, with: {least: 2}", waivers=(waiver,))
    assert (await place("rollback", "web/dev", "--yes", "--no-watch")).code == ExitCode.OK
    assert place.live("deployments.apps", "web-dev", "front")["spec"]["replicas"] == 1


async def test_a_broken_file_ends_a_plan_before_anything_is_written(place: Place) -> None:
    (place.root / "policy.yaml").write_text("policies: [{name: a, rule: replica}]\n")
    ended = await place("apply", "web/dev", "--confirm", "yes")
    assert ended.code == ExitCode.ERROR and "there is no rule 'replica'" in ended.err
    assert "web-dev" not in place.names("namespaces")


async def test_a_window_that_closes_after_the_plan_was_made_refuses_it(place: Place, tmp_path: Path) -> None:
    now = datetime(2026, 11, 23, 10, 59, tzinfo=UTC)
    policies(place.root, 'name: office, rule: change-windows, with: {open: [{hours: "09:00-11:00"}]}')
    settings = Settings(tmp_path / "state", tmp_path / "cache", kubeconfig=str(tmp_path / "kubeconfig"))
    async with Session(place.root, settings, now=lambda: now) as session:
        plan = await session.plan(session.select("web/dev"))
        assert not plan.is_refused and plan.policy is not None
        now += timedelta(minutes=1)
        from workbench.engine.errors import Refused

        with pytest.raises(Refused, match="changes are made in these times only"):
            async with session.apply(plan, confirm="yes"):
                pass
    assert "web-dev" not in place.names("namespaces")

"""`diff`, `plan`, `apply`, `watch` and `release` on two sandbox clusters: what they print and how they end."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.workbench.cli.conftest import Place
from workbench.engine.changes import Op
from workbench.exit_codes import ExitCode

CANARY = "canary-4f1d"
RENDER = """import models
import manifests

manifests.yaml_stream([{
    apiVersion = "v1"
    kind = "ConfigMap"
    metadata = {name = each.name, namespace = "default"}
    data.colour = each.colour
} for each in models.App.instances()])
"""
TODAYS_MODULE = """[package]
name = "book-dev"

[dependencies]
lib = { path = "../../../lib" }

[profile]
entries = ["../base/base.k", "main.k", "${lib:KCL_MOD}/render/render.k"]
"""
SOURCE = re.compile(r"← \S+\.k:\d+$")


async def test_diff_of_something_new_is_whole_and_every_value_has_its_line(place: Place) -> None:
    ended = await place("diff", "web/dev")
    assert (ended.code, ended.err) == (ExitCode.DIFFERENT, "")
    assert "+ Deployment web-dev/front @hz" in ended.out
    image = next(line for line in ended.out.splitlines() if "image: front:1" in line)
    assert image.endswith("← web/base/base.k:5")
    assert ended.out.splitlines()[-1].startswith("web/dev: +4 create")
    assert CANARY not in ended.text


async def test_a_stack_that_only_a_kcl_mod_makes_is_listed_compiled_applied_and_compared(place: Place) -> None:
    files = {
        "lib/kcl.mod": '[package]\nname = "lib"\n',
        "lib/models/app.k": "schema App:\n    name: str\n    colour: str\n",
        "lib/render/render.k": RENDER,
        "apps/book/kcl.mod": '[package]\nname = "book"\n',
        "apps/book/base/base.k": 'import lib.models\nbook: models.App {\n    name = "book"\n}\n',
        "apps/book/dev/kcl.mod": TODAYS_MODULE,
        "apps/book/dev/main.k": 'import lib.models\nbook: models.App {\n    colour = "red"\n}\n',
    }
    for name, text in files.items():
        (place.root / name).parent.mkdir(parents=True, exist_ok=True)
        (place.root / name).write_text(text)
    assert "book/dev" in (await place("ls")).out
    assert "colour: red" in (await place("compile", "book/dev")).out
    await place.released("book/dev", "--cluster", "hz")
    assert (await place("diff", "book/dev", "--cluster", "hz")).code == ExitCode.OK
    place.edit("apps/book/dev/main.k", "red", "blue")
    ended = await place("diff", "book/dev", "--cluster", "hz")
    assert ended.code == ExitCode.DIFFERENT
    assert "~ data.colour: red → blue  ← apps/book/dev/main.k:3" in ended.out


async def test_diff_of_the_same_says_so(place: Place) -> None:
    await place.released()
    ended = await place("diff", "web/dev")
    assert (ended.code, ended.err) == (ExitCode.OK, "")
    where, known, said = ended.out.splitlines()
    assert known == "4 unchanged by field ownership (--dry-run-all: all by dry run)"
    assert re.fullmatch(r"hz  context one, https://127.0.0.1:\d+ as sandbox-admin, uid [0-9a-f]{8}", where)
    assert said == "web/dev: ✓ nothing to change  4 unchanged"


async def test_how_each_object_is_known_is_in_the_documents(place: Place) -> None:
    await place.released()
    for command in ("diff", "plan"):
        bases = json.loads((await place(command, "web/dev", "-o", "json")).out)["bases"]
        assert len(bases) == 4
        assert {each["basis"] for each in bases} == {"ownership"}
        every = json.loads((await place(command, "web/dev", "-o", "json", "--dry-run-all")).out)["bases"]
        assert {each["basis"] for each in every} == {"dry run"}


async def test_a_saved_plan_of_dry_runs_is_made_again_by_dry_runs(place: Place) -> None:
    await place.released()
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    assert (await place("plan", "web/dev", "--dry-run-all", "--out", "p.plan")).code == 0
    ended = await place("apply", "p.plan", "--yes", "--no-watch")
    assert ended.code == 0, ended.text
    assert "field ownership" not in ended.text


async def test_diff_shows_a_line_for_every_changed_field_in_three_shapes(place: Place) -> None:
    await place.released("web/prod")
    place.edit("web/base/base.k", 'image = "front:1"', 'image = "front:2"')
    place.edit("web/base/base.k", '{COLOUR = "red"}', '{COLOUR = "blue", SIZE = "9"}')
    place.edit("web/base/base.k", CANARY, "canary-5a5a")
    place.edit("web/prod/main.k", "replicas = 3", "replicas = 4")
    place.sandbox.clusters[1].patch(
        "deployments.apps",
        "web-prod",
        "front",
        {"spec": {"paused": True, "replicas": 7}},
        "merge",
        manager="kubectl-edit",
    )
    ended = await place("diff", "web/prod")
    assert ended.code == ExitCode.DIFFERENT
    fields = [line for line in ended.out.splitlines() if re.match(r"    [~+-] \S", line)]
    assert len(fields) == 10 and all(SOURCE.search(line) for line in fields), ended.out
    assert "    ~ spec.replicas: 3 → 4  ← web/prod/main.k:4" in fields
    assert "! owned by kubectl-edit" in ended.out
    assert "canary" not in ended.text

    document = (await place("diff", "web/prod", "-o", "json")).json()
    other = yaml.safe_load((await place("diff", "web/prod", "-o", "yaml")).out)
    assert other["summary"] == document["summary"] and other["changes"][0] == document["changes"][0]
    assert (document["apiVersion"], document["kind"], document["status"]) == ("wb/v1", "Diff", "different")
    every = [field for change in document["changes"] for field in change["fields"] if field["op"] != Op.KEPT]
    assert len(every) == 10
    for field in every:
        file, _, line = field["source"][0].rpartition(":")
        assert (place.root / file).is_file() and int(line) > 0
    assert {field["class"] for field in every} == {"intended"}
    (kept,) = [field for change in document["changes"] for field in change["fields"] if field["op"] == Op.KEPT]
    assert (kept["path"], kept["class"], kept["actor"]) == ("spec.paused", "drift", "kubectl-edit")
    assert "canary" not in json.dumps(document)


async def test_a_changed_secret_is_a_change_however_it_is_written(place: Place) -> None:
    await place.released()
    place.edit("web/base/base.k", CANARY, "canary-5a5a")
    ended = await place("diff", "web/dev")
    assert ended.code == ExitCode.DIFFERENT
    assert re.search(r"~ data\.token: «masked#\w+» → «masked#\w+»  ← web/base/base\.k:7", ended.out), ended.out
    assert (await place("apply", "web/dev", "--yes", "--no-watch")).code == 0
    live = place.live("secrets", "web-dev", "front")
    assert live["data"] == {"token": base64.b64encode(b"canary-5a5a").decode()}


async def test_diff_can_be_asked_for_one_cluster_and_for_drift_only(place: Place) -> None:
    await place.released("web/prod")
    place.edit("web/prod/main.k", "replicas = 3", "replicas = 4")
    place.sandbox.clusters[1].patch(
        "configmaps", "web-prod", "front", {"data": {"COLOUR": "grey"}}, "merge", manager="kubectl-edit"
    )
    one = await place("diff", "web/prod", "--cluster", "hz")
    assert one.code == ExitCode.DIFFERENT and "@sh" not in one.out and "spec.replicas" in one.out
    drift = await place("diff", "web/prod", "--drift")
    assert "data.COLOUR" in drift.out and "spec.replicas" not in drift.out and "kubectl-edit" in drift.out
    place.sandbox.clusters[0].delete("configmaps", "web-prod", "front")
    drift = await place("diff", "web/prod", "--drift")
    assert drift.code == ExitCode.DIFFERENT and "2 deleted" not in drift.out
    assert "+ ConfigMap web-prod/front @hz" in drift.out and "somebody deleted it since the last release" in drift.out
    assert "web/prod: 1 drift  1 deleted" in drift.out
    document = (await place("diff", "web/prod", "--drift", "-o", "json")).json()
    told = {(each["cluster"], each["wasDeleted"], len(each["fields"])) for each in document["changes"]}
    assert (document["status"], told) == ("different", {("hz", True, 0), ("sh", False, 1)})
    unknown = await place("diff", "web/prod", "--cluster", "mars")
    assert unknown.code == ExitCode.DIFF_FAILED and "hz, sh" in unknown.err


async def test_no_drift_is_said_only_where_a_release_can_tell(place: Place) -> None:
    unreleased = await place("diff", "web/dev", "--drift")
    assert unreleased.code == ExitCode.DIFF_FAILED and "4 resources may be new or deleted" in unreleased.out
    document = (await place("diff", "web/dev", "--drift", "-o", "json")).json()
    assert (document["status"], document["changes"]) == ("unknown", [])
    await place.released("web/dev")
    place.edit("web/dev/main.k", "replicas = 1", "replicas = 2")
    same = await place("diff", "web/dev", "--drift")
    assert same.code == ExitCode.OK and same.out.splitlines()[1:] == ["web/dev: ✓ no drift"]


async def test_plan_says_order_and_gates_and_changes_nothing(place: Place) -> None:
    ended = await place("plan", "web/dev")
    assert (ended.code, ended.err) == (0, "")
    steps = re.findall(r"^ +(\d+) \+ (\w+) ", ended.out, re.M)
    assert steps[0] == ("1", "Namespace") and steps[-1][1] == "Deployment" and len(steps) == 4
    assert "✓ clusters answer" in ended.out and "to confirm: yes" in ended.out
    assert "web-dev" not in place.names("namespaces")
    document = (await place("plan", "web/dev", "-o", "json")).json()
    assert (document["kind"], document["status"], document["summary"]["create"]) == ("Plan", "ready", 4)
    assert sum(len(wave) for wave in document["waves"]) == 4
    assert yaml.safe_load((await place("plan", "web/dev", "-o", "yaml")).out)["summary"] == document["summary"]


async def test_detailed_exit_codes_tell_whether_there_is_something_to_do(place: Place) -> None:
    assert (await place("plan", "web/dev", "--detailed-exitcode")).code == ExitCode.CHANGES
    await place.released()
    assert (await place("plan", "web/dev", "--detailed-exitcode")).code == ExitCode.OK


async def test_nothing_is_applied_unless_it_is_confirmed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for stack, given, said in (
        ("web/dev", [], "give --yes"),
        ("web/dev", ["--confirm", "no"], "'no' is not the phrase"),
        ("web/prod", [], "give --confirm 'web/prod'"),
        ("web/prod", ["--yes"], "give --confirm 'web/prod'"),
        ("web/prod", ["--yes", "--confirm", "yes"], "'yes' is not the phrase"),
        ("web/prod", ["--confirm", "web/dev"], "'web/dev' is not the phrase"),
    ):
        ended = await place("apply", stack, *given)
        assert ended.code == ExitCode.REFUSED
        assert said in ended.err and "Nothing was applied" in ended.err
    dry = await place("apply", "web/dev", "--dry-run", "--yes")
    assert dry.code == 0 and "+4 create" in dry.out
    monkeypatch.setenv("WB_READONLY", "1")
    locked = await place("apply", "web/dev", "--yes")
    assert locked.code == ExitCode.REFUSED and "WB_READONLY" in locked.out
    assert not {"web-dev", "web-prod"} & place.names("namespaces")
    listed = (await place("release", "list", "web/dev")).err
    assert listed.startswith("web/dev was not released from here yet\nof this machine alone: ")


async def test_what_the_repository_makes_read_only_is_written_only_once_its_user_allows_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.edit("clusters.yaml", 'stacks: ["*/dev"], ', 'stacks: ["*/dev"], read_only: true, ')
    refused = await place("apply", "web/dev", "--yes")
    assert refused.code == ExitCode.REFUSED
    assert "the repository makes web/dev read-only: for one session, wb --allow-writes web/dev allows it" in refused.out
    assert (await place("--allow-writes", "*/prod", "apply", "web/dev", "--yes")).code == ExitCode.REFUSED
    unlock = await place("release", "unlock", "web/dev", "--holder", "ann@box")
    assert unlock.code == ExitCode.REFUSED
    assert "web-dev" not in place.names("namespaces")
    assert (await place("diff", "web/dev")).code == 1  # looking is allowed
    assert (await place("--allow-writes", "web/dev", "apply", "web/dev", "--yes", "--no-watch")).code == 0
    assert (await place("destroy", "web/dev", "--confirm", "web/dev")).code == ExitCode.REFUSED
    monkeypatch.setenv("WB_ALLOW_WRITES", "*/prod, web/*")
    assert (await place("destroy", "web/dev", "--confirm", "web/dev")).code == 0


async def test_apply_to_ready_and_what_is_remembered_of_it(place: Place) -> None:
    ended = await place("apply", "web/dev", "--yes", "--timeout", "30")
    assert (ended.code, ended.err) == (0, "")
    assert "release #1 succeeded: 4 done, 0 failed, 0 skipped" in ended.out
    assert re.search(r"^✓ 4/4 ready", ended.out.splitlines()[-1])
    assert place.live("deployments.apps", "web-dev", "front")["status"]["readyReplicas"] == 1

    again = await place("apply", "web/dev")
    assert again.code == 0 and "nothing to change" in again.out and "release #1" not in again.err

    listed = await place("release", "list", "web/dev")
    assert [line.split()[:2] for line in listed.out.splitlines()] == [["#", "PHASE"], ["1", "succeeded"]]
    document = (await place("release", "list", "web/dev", "-o", "json")).json()
    (release,) = document["releases"]
    assert (release["revision"], release["phase"], len(release["resources"])) == (1, "succeeded", 4)
    shown = await place("release", "show", "web/dev")
    assert shown.out.startswith("release #1 succeeded by ")
    assert re.search(r"create +done +apps/v1:Deployment:web-dev:front +hz", shown.out)
    missing = await place("release", "show", "web/dev", "--revision", "7")
    assert (missing.code, missing.out) == (1, "") and "recorded here: #1" in missing.err


async def test_apply_does_not_wait_if_told_so(place: Place) -> None:
    place.sandbox.faults[0].fail_image("front:1", "never")
    ended = await place("apply", "web/dev", "--yes", "--no-watch")
    assert ended.code == 0 and ended.out.splitlines()[-1].strip().startswith("release #1 succeeded")


async def test_what_does_not_become_ready_is_explained(place: Place) -> None:
    place.sandbox.faults[0].fail_image("front:1", "missing")
    ended = await place("apply", "web/dev", "--yes", "--timeout", "30")
    assert ended.code == ExitCode.NOT_READY
    assert "release #1 succeeded" in ended.out
    last = ended.out.splitlines()[-1]
    assert ("WHY Pod/front-" in last and "ImagePullBackOff" in last) or "ErrImagePull" in last
    watched = await place("watch", "web/dev", "-o", "json", "--timeout", "30")
    assert watched.code == ExitCode.NOT_READY
    assert watched.json()["status"] == "failed" and watched.json()["why"]["object"].startswith("Pod/front-")


async def test_waiting_ends_in_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.sandbox.faults[0].fail_image("front:1", "never")
    await place.released()
    monkeypatch.setenv("WB_TIMEOUT", "1.5")
    ended = await place("watch", "web/dev")
    assert ended.code == ExitCode.NOT_READY
    assert "timed out, not ready" in ended.out and "3/4 ready" in ended.out
    place.sandbox.faults[0].heal_image("front:1")


async def test_watch_ends_when_all_is_ready(place: Place) -> None:
    await place.released()
    ended = await place("watch", "web/dev", "--timeout", "30")
    assert ended.code == 0 and "4/4 ready" in ended.out
    assert "`wb diff web/dev` says whether" in ended.err, "what was edited since the apply is not there yet"


async def test_a_saved_plan_is_applied_as_it_was_shown(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "dev.plan"
    shown = await place("plan", "web/dev", "--out", file)
    assert shown.code == 0 and file.stat().st_mode & 0o777 == 0o600
    assert CANARY not in file.read_text()
    ended = await place("apply", file, "--yes", "--no-watch")
    assert ended.code == 0 and ended.out.splitlines()[0] == shown.out.splitlines()[0]
    assert "front" in place.names("deployments.apps")


async def test_a_stale_plan_is_not_applied(place: Place, tmp_path: Path) -> None:
    await place.released()
    place.edit("web/dev/main.k", "replicas = 1", "replicas = 2")
    file = tmp_path / "dev.plan"
    await place("plan", "web/dev", "--out", file)
    place.sandbox.clusters[0].patch(
        "deployments.apps", "web-dev", "front", {"spec": {"paused": True}}, "merge", manager="x"
    )
    ended = await place("apply", file, "--yes", "--no-watch")
    assert ended.code == ExitCode.STALE
    assert "Deployment:web-dev:front@hz: changed" in ended.err and "plan again" in ended.err
    place.edit("web/dev/main.k", "replicas = 2", "replicas = 3")
    ended = await place("apply", file, "--yes", "--no-watch")
    assert ended.code == ExitCode.STALE and "configuration compiles to something else" in ended.err
    assert place.live("deployments.apps", "web-dev", "front")["spec"]["replicas"] == 1


async def test_files_that_are_no_plan_are_told_apart(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "dev.plan"
    await place("plan", "web/dev", "--out", file)
    whole = json.loads(file.read_text())
    for content, code, said in (
        (json.dumps({**whole, "format": "workbench.plan/v9"}), ExitCode.ERROR, "format 'workbench.plan/v9'"),
        (json.dumps({**whole, "repository": "other"}), ExitCode.ERROR, "plan of the repository 'other'"),
        (json.dumps({**whole, "objects": 5}), ExitCode.ERROR, "is not a saved plan"),
        (json.dumps({**whole, "stack": "web/nowhere"}), ExitCode.USAGE, "there is no stack 'web/nowhere'"),
        (json.dumps({**whole, "stack": "nowhere"}), ExitCode.USAGE, "nowhere"),
        (json.dumps({**whole, "only": ["mars"]}), ExitCode.USAGE, "does not go to 'mars'"),
        (json.dumps({**whole, "id": "p-0000000000000000"}), ExitCode.STALE, "plan again"),
        (json.dumps({**whole, "force": True}), ExitCode.STALE, "plan again"),
        (file.read_text()[:100], ExitCode.ERROR, "is not a saved plan"),
        ("", ExitCode.ERROR, "is not a saved plan"),
        ("[]", ExitCode.ERROR, "is not a saved plan"),
    ):
        file.write_text(content)
        ended = await place("apply", file, "--yes", "--no-watch")
        assert (ended.code, "bug" in ended.err) == (code, False), f"{said}: {ended.text}"
        assert said in ended.err
    assert "web-dev" not in place.names("namespaces")


async def test_secret_options_of_a_saved_plan_are_given_again(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "dev.plan"
    await place("plan", "web/dev", "-D", "token=canary-77", "--out", file)
    assert "canary-77" not in file.read_text()
    ended = await place("apply", file, "--yes", "--no-watch")
    assert ended.code == ExitCode.ERROR and "-D token=..." in ended.err
    wrong = await place("apply", file, "--yes", "--no-watch", "-D", "token=canary-88")
    assert wrong.code == ExitCode.STALE
    ended = await place("apply", file, "--yes", "--no-watch", "-D", "token=canary-77")
    assert ended.code == 0, ended.text
    assert "canary" not in ended.text + wrong.text


async def test_a_plan_that_cannot_be_saved(place: Place, tmp_path: Path) -> None:
    ended = await place("plan", "web/dev", "--out", tmp_path / "nowhere" / "dev.plan")
    assert ended.code == ExitCode.ERROR
    assert str(tmp_path / "nowhere" / "dev.plan") in ended.err and "No such file" in ended.err


async def test_somebody_else_holds_the_stack(place: Place) -> None:
    from workbench.project import StackPath
    from workbench.release import ReleaseStore

    store = ReleaseStore(Path(os.environ["WB_STATE_DIR"]), place.root)
    lock = store.lock(StackPath.parse("web/dev"), user="bob", host="elsewhere")
    try:
        ended = await place("apply", "web/dev", "--yes", "--no-watch")
    finally:
        lock.release()
    assert ended.code == ExitCode.STALE
    assert "bob@elsewhere" in ended.err and "wait for it" in ended.err
    assert "web-dev" not in place.names("namespaces")


async def test_what_the_stack_no_longer_has_goes_unless_it_is_kept(place: Place) -> None:
    await place.released()
    place.edit("models/server.k", 'dependsOn = ["v1:Namespace:${space}"]\n        }\n        {\n', "}\n        {\n")
    text = (place.root / "models/server.k").read_text()
    secret = text[
        text.index('        {\n            id = "v1:Secret') : text.index('        {\n            id = "apps/v1')
    ]
    (place.root / "models/server.k").write_text(text.replace(secret, ""))
    kept = await place("apply", "web/dev", "--yes", "--no-watch", "--no-prune")
    assert kept.code == 0 and "front" in place.names("secrets")
    gone = await place("apply", "web/dev", "--confirm", "web/dev", "--yes", "--no-watch")
    assert gone.code == 0, gone.text
    assert "delete Secret web-dev/front" in gone.out and "front" not in place.names("secrets")


@pytest.mark.slow
async def test_a_person_is_asked_and_may_think_better_of_it(place: Place) -> None:
    import asyncio

    import pexpect

    def ask(stack: str, answer: str | None) -> tuple[int, str]:
        child = pexpect.spawn(
            sys.executable, ["-m", "workbench", "apply", stack, "--no-watch"], encoding="utf-8", timeout=30
        )
        child.expect("type '.*' to apply")
        if answer is not None:
            child.sendline(answer)
            child.expect(pexpect.EOF)
        # a ^C that comes just as Python begins to wait for a line is heard with the next one
        while answer is None:
            child.sendintr()
            if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=3) == 0:
                break
        child.close()
        return child.exitstatus, child.before

    code, said = await asyncio.to_thread(ask, "web/prod", "yes")
    assert code == ExitCode.REFUSED and "Nothing was applied" in said
    code, said = await asyncio.to_thread(ask, "web/dev", None)
    assert code == ExitCode.INTERRUPTED and "interrupted" in said
    assert not {"web-dev", "web-prod"} & place.names("namespaces")
    code, said = await asyncio.to_thread(ask, "web/prod", "web/prod")
    assert code == 0 and "release #1 succeeded" in said
    assert "web-prod" in place.names("namespaces")

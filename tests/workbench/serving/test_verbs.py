"""What the methods of `wb serve` answer, over two sandbox clusters: that what is live changes only as was agreed."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.api.disturbances import Disturbance
from tests.kcl.conformance import ROOT
from tests.workbench.cli.command import Wb
from tests.workbench.cli.conftest import Place
from tests.workbench.cli.test_impact import commit, git
from tests.workbench.serving.conftest import Served, serve
from workbench.serving.methods import METHODS
from workbench.serving.plans import LASTS_SECONDS, MOST_PLANS

CANARY = "canary-4f1d"


async def test_answers_are_those_of_the_command_line(place: Place) -> None:
    async with serve() as server:
        for name in ("diff", "plan"):
            answer = await server(f"wb.{name}", stack="web/dev")
            printed = (await place(name, "web/dev", "-o", "json")).json()
            assert _lasting(answer) == _lasting(printed), name
        assert await server("wb.stacks") == (await place("ls", "-o", "json")).json()
        (place.root / "web/dev/stack.yaml").write_text(
            "name: dev\noutputs: {image: $kusion_path.v1:Service:web.spec}\n"
        )
        given = await server("wb.outputs", stack="web/dev")
        assert given["status"] == "unknown" and given == (await place("outputs", "web/dev", "-o", "json")).json()
        told = await server("wb.impact", files=["web/dev/main.k"])
        assert (told["code"], "git" in told["message"]) == (-32000, True)  # there is no checkout to compare with
        asked = ("web/dev", "Deployment/front", "spec.replicas")
        led = await server("wb.explain", **dict(zip(("stack", "resource", "path"), asked, strict=True)))
        assert "web/dev/main.k" in json.dumps(led) and "web/dev/main.k" in (await place("explain", *asked)).out
        git(place.root, "init", "-q")
        commit(place.root)
        place.edit("web/dev/main.k", "replicas = 1", "replicas = 2")
        changed = await server("wb.impact", files=["web/dev/main.k"])
        assert (changed["status"], changed["stacks"][0]["state"]) == ("different", "changed")
        assert _lasting(changed) == _lasting((await place("impact", "web/dev/main.k", "-o", "json")).json())


def _lasting(document: Any) -> Any:
    """Without what is of one run: its moment, its id, and masks, which are digests under a salt."""
    text = re.sub(r"«[^»]*»|\\u00ab.*?\\u00bb", "«masked»", json.dumps(document))
    return {name: each for name, each in json.loads(text).items() if name not in ("comparedAt", "madeAt", "id")}


async def test_no_answer_has_a_secret(place: Place) -> None:
    async with serve() as server:
        compiled = await server("wb.compile", stack="web/dev")
        assert [each["id"] for each in compiled["resources"] if "Secret" in each["id"]]
        every = [compiled]
        for name in ("diff", "plan"):
            every.append(await server(f"wb.{name}", stack="web/dev"))
        secret = next(each["id"] for each in compiled["resources"] if "Secret" in each["id"])
        every.append(await server("wb.explain", stack="web/dev", resource=secret, path=""))
        run: dict[str, Any] = {
            "k_filename_list": ["web/base/base.k", "web/dev/main.k", "models/render.k"],
            "args": [{"name": "project", "value": "web"}, {"name": "stack", "value": "dev"}],
        }
        every.append(await server("KclService.ExecProgram", **run))
        every.append(await server("KclService.ListVariables", files=["web/base/base.k"]))
        assert every[-2]["yaml_result"] != ""
        assert CANARY not in json.dumps(every)


async def test_where_kcl_is_wrong_the_error_tells_file_and_line(place: Place) -> None:
    place.edit("web/dev/main.k", "replicas = 1", 'replicas = "one"')
    async with serve() as server:
        error = await server("wb.compile", stack="web/dev")
        (found,) = [each for each in error["data"]["diagnostics"] if each["file"].endswith("web/dev/main.k")]
        assert (error["code"], found["line"], found["severity"]) == (-32000, 4, "error")
        place.edit("web/dev/main.k", 'replicas = "one"', "replicas = 1")
        assert (await server("wb.compile", stack="web/dev"))["kind"] == "Spec"


async def test_nothing_is_applied_by_a_server_that_may_not(place: Place) -> None:
    async with serve() as server:
        made = await server("wb.plan", stack="web/dev")
        assert made["status"] == "ready"
        error = await server("wb.apply", plan=made["id"], confirm=made["confirmation"]["phrase"])
        assert error["code"] == -32002
        allowed = {each["name"]: each["allowed"] for each in (await server("wb.methods"))["methods"]}
        assert (allowed["wb.apply"], allowed["KclService.OverrideFile"], allowed["wb.plan"]) == (False, False, True)
    assert place.names("deployments.apps") == set()


async def test_a_plan_is_applied_by_its_id_with_its_phrase_and_once(place: Place) -> None:
    async with serve("--allow-apply") as server:
        for wrong in ("", "x", "web/dev"):
            assert (await server("wb.apply", plan=wrong, confirm="yes"))["data"]["kind"] == "UnknownPlan"
        made = await server("wb.plan", stack="web/prod")
        error = await server("wb.apply", plan=made["id"], confirm="yes")
        assert (error["data"]["kind"], error["data"]["phrase"]) == ("ConfirmationRequired", "web/prod")
        assert place.names("deployments.apps") == set()
        events = [each async for each in server.events("wb.apply", plan=made["id"], confirm="web/prod", reason="INC-9")]
        names = [each["params"]["event"]["event"] for each in events[:-1]]
        assert (names[0], names[-1]) == ("ApplyStarted", "ApplyFinished")
        result = events[-1]["result"]
        assert (events[-1]["id"], result["status"], result["complete"]) == (7, "succeeded", True)
        assert "front" in place.names("deployments.apps")
        assert (await server("wb.apply", plan=made["id"], confirm="web/prod"))["data"]["kind"] == "UnknownPlan"
        again = await server("wb.plan", stack="web/prod")
        assert again["status"] == "empty"
        nothing = await server("wb.apply", plan=again["id"])
        assert (nothing["status"], nothing["complete"]) == ("empty", True)
        ready = [each async for each in server.events("wb.watch", stack="web/prod", timeout_seconds=60)]
        assert ready[-1]["result"]["status"] == "ready"
    (entry, *_) = (await place("audit", "-o", "json")).json()["entries"]
    assert entry["reason"] == "INC-9"
    assert "serve" in json.dumps(entry)


async def test_a_plan_does_not_outlive_what_it_was_made_from(place: Place) -> None:
    async with serve("--allow-apply") as server:
        made = await server("wb.plan", stack="web/dev")
        await place.released("web/dev")
        error = await server("wb.apply", plan=made["id"], confirm="yes")
        assert (error["data"]["kind"], error["data"]["exitCode"]) == ("StalePlan", 7)
        assert error["data"]["moved"]


async def test_a_client_that_goes_away_leaves_an_interrupted_release(place: Place) -> None:
    place.sandbox.disturbances[0].add(Disturbance("delay", verbs=("patch",), resource="deployments.apps", seconds=3))
    async with serve("--allow-apply") as server:
        made = await server("wb.plan", stack="web/dev")
        events = server.events("wb.apply", plan=made["id"], confirm="yes")
        async for each in events:
            if each["params"]["event"]["event"] == "StepStarted":
                break
        await events.aclose()
        await _until_ended(place)
        place.sandbox.disturbances[0].clear()
        assert (await server("wb.plan", stack="web/dev"))["status"] in ("ready", "empty")
    ends = [
        each["result"] for each in (await place("audit", "-o", "json")).json()["entries"] if each["action"] == "apply"
    ]
    assert ends in (["interrupted", "begun"], ["succeeded", "begun"])


async def test_a_server_that_is_stopped_ends_an_apply_in_order(place: Place) -> None:
    place.sandbox.disturbances[0].add(Disturbance("delay", verbs=("patch",), resource="deployments.apps", seconds=3))
    async with serve("--allow-apply") as server:
        made = await server("wb.plan", stack="web/dev")
        events = server.events("wb.apply", plan=made["id"], confirm="yes")
        async for each in events:
            if each["params"]["event"]["event"] == "StepStarted":
                break
        server.process.terminate()
        rest = [each async for each in events]
        assert rest[-1]["result"]["status"] in ("interrupted", "succeeded")
        async with asyncio.timeout(60):
            assert await server.process.wait() == 0
    lines = (await place("release", "list", "web/dev")).out.splitlines()
    assert lines[1].split()[1] in ("interrupted", "succeeded")


async def _until_ended(place: Place) -> None:
    async with asyncio.timeout(60):
        while True:
            lines = (await place("release", "list", "web/dev")).out.splitlines()
            if len(lines) > 1 and lines[1].split()[1] in ("interrupted", "succeeded"):
                return
            await asyncio.sleep(0.2)


async def test_fields_are_set_only_where_edits_are_allowed(place: Place) -> None:
    edit: dict[str, Any] = {"stack": "web/dev", "resource": "Deployment/front", "values": {"spec.replicas": "4"}}
    before = (place.root / "web/dev/main.k").read_text()
    async with serve() as server:
        shown = await server("wb.set", **edit)
        assert (shown["kind"], shown["written"]) == ("Edit", False)
        assert "+    replicas = 4" in shown["patch"]
        assert (await server("wb.set", **edit, write=True))["code"] == -32002
        sent = {"file": "web/dev/main.k", "specs": ["front.replicas=4"]}
        assert (await server("KclService.OverrideFile", **sent))["code"] == -32002
        run = {"k_filename_list": ["web/dev/main.k"], "overrides": ["front.replicas=4"], "printOverrideAst": True}
        assert (await server("KclService.ExecProgram", **run))["code"] == -32002
    assert (place.root / "web/dev/main.k").read_text() == before
    async with serve("--allow-edits") as server:
        assert (await server("wb.set", **edit, write=True))["written"] is True
        assert "replicas = 4" in (place.root / "web/dev/main.k").read_text()
        gone = {**edit, "values": {"spec.replicas": None}, "write": True}
        assert "code" in await server("wb.set", **gone)  # what everything else of it comes from is not taken away
        sent = {"file": "web/dev/main.k", "specs": ["front.replicas=5"]}
        assert (await server("KclService.OverrideFile", **sent))["result"] is True
        assert "replicas = 5" in (place.root / "web/dev/main.k").read_text()


async def test_messages_of_the_official_client(place: Place) -> None:
    api = pytest.importorskip("kcl_lib.api")
    json_format = pytest.importorskip("google.protobuf.json_format")
    args = api.ExecProgramArgs(k_filename_list=["t.k"], k_code_list=["a = option('n')"])
    args.args.add(name="n", value="3")
    async with serve() as server:
        path = "/api:protorpc/KclService.ExecProgram"
        for keeps in (True, False):
            body = json_format.MessageToJson(args, preserving_proto_field_name=keeps).encode()
            status, reply = await server.post(body, path)
            answer = json.loads(reply)
            assert (status, answer["error"]) == (200, "")
            result = json_format.ParseDict(answer["result"], api.ExecProgramResult())
            assert result.yaml_result == "a: 3"
        status, reply = await server.post(b'{"k_filename_list": ["gone.k"]}', path)
        assert "gone.k" in json.loads(reply)["error"]
        assert "no method" in json.loads((await server.post(b"{}", "/api:protorpc/KclService.No"))[1])["error"]
        listed = json.loads((await server.post(b"", "/api:protorpc/BuiltinService.ListMethod"))[1])
        assert "KclService.ExecProgram" in listed["result"]["method_name_list"]


async def test_a_program_without_an_end_is_ended(root: Path, wb: Wb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_DEADLINE", "2")
    endless = "f = lambda n: int -> int {\n    f(n - 1) + f(n - 2) if n > 1 else 1\n}\na = f(60)\n"
    async with serve() as server:
        error = await server("KclService.ExecProgram", k_filename_list=["t.k"], k_code_list=[endless])
        assert (error["code"], "deadline" in error["message"]) == (-32003, True)
        assert (await server("KclService.Ping", value="x")) == {"value": "x"}


async def test_an_untrusted_repository_is_data(
    root: Path, wb: Wb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WB_UNTRUSTED", "1")
    async with serve("--allow-edits", "--allow-apply") as server:
        assert (await server("wb.compile", stack="web/dev"))["kind"] == "Spec"
        sent = {"k_filename_list": [str(tmp_path / "elsewhere.k")]}
        assert (await server("KclService.ExecProgram", **sent))["code"] == -32002
        edit = {"stack": "web/dev", "resource": "Deployment/front", "values": {"spec.replicas": "4"}, "write": True}
        assert (await server("wb.set", **edit))["code"] == -32002


async def test_more_at_once_than_is_answered(place: Place) -> None:
    async with serve() as server:
        one = {"jsonrpc": "2.0", "method": "wb.watch", "params": {"stack": "web/dev", "timeoutSeconds": 2}}
        replies = await server.ask([{**one, "id": number} for number in range(20)])
        codes = [each.get("error", {}).get("code") for each in replies]
        assert codes.count(-32001) == 4
        assert await _stacks(server) == "Tree"


async def _stacks(server: Served) -> str:
    kind: str = (await server("wb.stacks"))["kind"]
    return kind


def test_the_documented_methods_are_those_that_are_there() -> None:
    from dataclasses import fields

    text = (ROOT / "docs" / "serve.md").read_text()
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| `wb.")]
    documented = {
        name.strip(" `"): {each.strip(" `") for each in given.split(",") if each.strip()} for name, given, _ in rows
    }
    assert documented == {each.name: {one.name for one in fields(each.takes)} for each in METHODS.values()}
    assert f"{MOST_PLANS} others" in text
    assert LASTS_SECONDS == 3600

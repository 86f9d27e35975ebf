"""No face of a recovery, and nothing it keeps, has a canary: whatever its program, its clusters and others say."""

from __future__ import annotations

import inspect
import io
import json
import logging
import typing
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.canaries.recovery import ELSEWHERE, FILE, GIVEN, PROGRAM, SAID, RecoveringVault
from tests.workbench.canaries.repository import LOOK, META, OPTION, PIN, leaking_files, leaks
from workbench import cli
from workbench.cli import audit_command, run_command
from workbench.cli.output import Output
from workbench.engine.compiled import CompileInputs
from workbench.engine.recovery.events import RecoveryEvent
from workbench.engine.recovery.hosts import Acceptance
from workbench.engine.recovery.values import HostState, Recovery, RecoveryReport
from workbench.present import errors
from workbench.present import recovery as present
from workbench.present.glyphs import UNICODE
from workbench.project import WorkbenchError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLEAR = ("INC-7 of orders", "h-plain", "h-8", "rack", "web-1", "@h-7.example")
"""What people work with stays to be read."""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecoveringVault:
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kcl"))
    return RecoveringVault(tmp_path)


def test_the_canaries_are_there_to_be_shown() -> None:
    assert len(leaks(SAID)) >= 10 and len(leaks(PROGRAM)) >= 9


async def ran(vault: RecoveringVault) -> tuple[Recovery, list[RecoveryEvent], RecoveryReport]:
    async with vault.session() as session:
        found = await session.recovery(FILE, vault.given)
        async with session.recover(found, confirm=found.phrase, dry_run=False) as run:
            events: list[Any] = []
            async for each in run:
                events.append(each)
        return found, events, events[-1].report


async def test_no_event_and_nothing_kept_has_a_canary(vault: RecoveringVault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    found, events, report = await ran(vault)
    assert {type(each) for each in events} == set(typing.get_args(RecoveryEvent)), "each kind of event was looked at"
    shown = {
        "recovery": repr(found) + repr(found.previous) + repr(found.originals),
        "report": repr(report),
        **{type(each).__name__: f"{each!r} {present.event_line(each, UNICODE)}" for each in events},
        "records": vault.records,
        "log": caplog.text,
        "processes": processes(),
    }
    leaking = {name: [*leaks(said), *([ELSEWHERE] if ELSEWHERE in said else [])] for name, said in shown.items()}
    assert not any(leaking.values()), leaking
    assert leaking_files(vault.state, vault.home / "cache", vault.home / "kcl") == {}
    assert list(vault.state.rglob("*.jsonl")) and "h-1" in vault.records
    assert all(each in shown["recovery"] for each in CLEAR), shown["recovery"]
    again, _, _ = await ran(vault)
    assert leaks(repr(again)) == [] and again.id == found.id
    states = {each.hostname.split()[0]: each.state for each in again.hosts}
    assert states["h-1"] == HostState.DONE_BEFORE and states["h-4"] != HostState.TO_DO, "it is the same host"


def processes() -> str:
    """The command lines of this process and all that it started."""
    psutil: Any = pytest.importorskip("psutil")
    own = psutil.Process()
    return "\n".join(" ".join(each.cmdline()) for each in (*own.children(recursive=True), own) if each.is_running())


def formats(command: Any) -> list[str]:
    """All output formats that a command has."""
    return [*next(each for each in command.params if each.name == "format_").type.choices]


@pytest.mark.parametrize("confirms", [False, True], ids=["shown", "confirmed"])
@pytest.mark.parametrize("format_", formats(run_command.command))
async def test_no_output_of_run_has_a_canary(vault: RecoveringVault, format_: str, confirms: bool) -> None:
    said, talk = io.StringIO(), io.StringIO()
    async with vault.session() as session:
        phrase = (await session.recovery(FILE, vault.given)).phrase
    await run_command._run(
        vault.session(),
        vault.file,
        vault.given,
        phrase if confirms else "",
        Acceptance(True, False),
        format_,
        Output(stdout=said, stderr=talk),
    )
    text = said.getvalue() + talk.getvalue()
    assert "web-1" in text and "masked" in text
    assert leaks(text) == [], text


def test_every_command_that_tells_of_recoveries_is_looked_at() -> None:
    folder = Path(inspect.getfile(cli)).parent
    telling = {
        each.stem
        for each in folder.glob("*.py")
        if "present.recovery" in (text := each.read_text()) or "present import recovery" in text
    }
    assert telling == {run_command.__name__.rpartition(".")[2], audit_command.__name__.rpartition(".")[2]}


@pytest.mark.parametrize("format_", formats(audit_command.command))
async def test_no_output_of_audit_has_a_canary(
    vault: RecoveringVault, format_: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.workbench.cli.command import Wb

    await ran(vault)
    monkeypatch.chdir(vault.home / "repository")
    monkeypatch.setenv("WB_STATE_DIR", str(vault.state))
    ended = await Wb(capsys).meanwhile("audit", "-o", format_)
    assert ended.code == 0 and "INC-7 of orders" in ended.text, ended.text
    assert leaks(ended.text) == []


async def test_no_notebook_output_of_a_recovery_has_a_canary(vault: RecoveringVault) -> None:
    notebook: Any = pytest.importorskip("workbench.notebook.recovery")
    import anyio.to_thread

    from workbench.notebook.engine_thread import EngineThread
    from workbench.notebook.workspace import Workspace

    def cells() -> Iterator[tuple[str, str]]:
        workspace = Workspace(vault.session(), EngineThread())
        try:
            declared = workspace.recovery(FILE, D=GIVEN, max_pods=6)
            yield "Recovery", repr(declared)
            yield "Resolution", bundle(declared.resolve())
            yield "Preview", bundle(declared.preview())
            yield "Recovery", repr(declared) + str(declared.unresolved) + declared.phrase
            yield "RecoveryProgress", bundle(declared.run(dry_run=True).wait())
            progress = declared.run(dry_run=False, confirm=declared.phrase).wait()
            yield (
                "RecoveryProgress",
                bundle(progress) + str(progress.log) + progress.timeline.to_csv() + repr(progress._traits()),
            )
            report = declared.report()
            yield "Report", bundle(report) + report.markdown
            with pytest.raises(WorkbenchError) as failed:
                progress.raise_if_failed()
            yield "RecoveryProgress", str(failed.value) + "".join(map(str, errors.lines(failed.value, UNICODE)))
            with pytest.raises(WorkbenchError) as failed:
                declared.resolve(allow_unresolved=False)
            yield "Recovery", str(failed.value)
            trail = workspace.session.audit()
            yield "Audit", bundle(notebook.Audit(trail.entries(), trail.verify()))
        finally:
            workspace.close()

    looked_at: dict[str, str] = {}
    for name, said in await anyio.to_thread.run_sync(lambda: list(cells())):
        looked_at[name] = looked_at.get(name, "") + said
    leaking = {name: leaks(said) for name, said in looked_at.items()}
    assert not any(leaking.values()), leaking
    assert all("masked" in said for said in looked_at.values())
    public = {
        name
        for name, each in vars(notebook).items()
        if inspect.isclass(each) and each.__module__ == notebook.__name__ and not issubclass(each, Exception)
    }
    assert public == {*looked_at}, "each class of results was looked at"


def bundle(result: Any) -> str:
    return str(
        json.dumps(result._repr_mimebundle_(), ensure_ascii=False, default=str) + str(result) + result.df.to_csv()
    )


WRONG = {
    "an operation": PROGRAM.replace('operation = "restart"', "operation = _said"),
    "a limit": PROGRAM.replace("batch = 1", "batch = _said"),
    "an unknown key": PROGRAM.replace("unresolved =", '"key ${_said}" = 1\n        unresolved ='),
    "a host that is none": PROGRAM.replace("unresolved =", "replicas = _given[0]\n        unresolved ="),
    "a check": PROGRAM + f'assert False, _password + _given[0] + "{META} {PIN} {LOOK}"\n',
    "a type": PROGRAM + "a: int = _given[0]\n",
}


@pytest.mark.parametrize("name", WRONG)
async def test_no_finding_about_a_program_has_a_canary(vault: RecoveringVault, name: str) -> None:
    assert WRONG[name] != PROGRAM
    vault.program(WRONG[name])
    async with vault.session() as session:
        with pytest.raises(WorkbenchError) as failed:
            await session.recovery(FILE, vault.given)
    said = "\n".join(map(str, errors.lines(failed.value, UNICODE))) + repr(failed.value) + str(vars(failed.value))
    assert leaks(said) == [], said


@pytest.mark.parametrize("confirm", [SAID, f"restart 6 pods {OPTION}"], ids=["all", "one"])
async def test_no_refusal_quotes_a_canary(vault: RecoveringVault, confirm: str) -> None:
    async with vault.session() as session:
        found = await session.recovery(FILE, vault.given)
        with pytest.raises(WorkbenchError) as failed:
            async with session.recover(found, confirm=confirm, dry_run=False):
                pass
        assert leaks(str(failed.value) + repr(vars(failed.value))) == []
        async with session.recover(found, confirm=confirm, dry_run=True) as run:
            run.stop(SAID)
            told = [repr(each) async for each in run]
    assert leaks("".join(told)) == [] and leaking_files(vault.state) == {}


async def test_who_holds_the_incident_is_told_without_a_canary(vault: RecoveringVault) -> None:
    vault.cluster.operations.is_held = True
    async with vault.session() as session:
        found = await session.recovery(FILE, vault.given)
        with pytest.raises(WorkbenchError, match="a run of this incident by ann") as failed:
            async with session.recover(found, confirm=found.phrase, dry_run=False):
                pass
    assert leaks(str(failed.value)) == []


async def test_hosts_that_differ_in_a_secret_only_stay_two(vault: RecoveringVault) -> None:
    two = '["https://ann:s3cr3tOne1@h", "https://ann:s3cr3tTwo2@h"]'
    vault.program(
        PROGRAM[: PROGRAM.index("unresolved = ")] + f"unresolved = {two}\n" + PROGRAM[PROGRAM.index("        limits") :]
    )
    seen = []
    for _ in range(2):
        async with vault.session() as session:
            found = await session.recovery(FILE, vault.given)
        seen.append([each.hostname for each in found.unresolved if "ann" in each.hostname])
    assert len(set(seen[0])) == 2 and seen[0] == seen[1], "masks are keyed, and the same in the next session"
    assert all("s3cr3t" not in each for each in seen[0])


async def test_what_an_older_version_kept_in_clear_is_masked_and_counts(vault: RecoveringVault) -> None:
    vault.cluster.operations.has_begun = True
    async with vault.session() as session:
        found = await session.recovery(FILE, vault.given)
    assert found.previous and leaks(repr(found) + repr(found.previous) + repr(found.phrases)) == []
    states = {each.hostname.split()[0]: each.state for each in found.hosts}
    assert states["h-1"] is HostState.UNVERIFIED, "the host it names in clear is the one that is masked here"


async def test_incidents_that_differ_in_a_secret_only_stay_two(vault: RecoveringVault) -> None:
    vault.program(PROGRAM.replace('"INC-7 of orders: " + _said', '"INC-7 of orders: "'))
    async with vault.session() as session:
        found = await session.recovery(FILE, vault.given)
        again = await session.recovery(found.document, limits=found.limits)
        other = await session.recovery(FILE, CompileInputs(options={**GIVEN, "db_password": "another-Op8"}))
        renamed = await session.recovery(replace(found.document, reason="INC-8"))
    assert again.id == found.id and len({each.id for each in (found, other, renamed)}) == 3
    assert found.document.reason == other.document.reason

"""No screen, no saved picture of one, no notebook output and no command shows a canary."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from runtimes.base import ListKey, Rejected
from tests.workbench.canaries.recovery import GIVEN, RecoveringVault
from tests.workbench.canaries.repository import LOOK, OPTION, OPTIONS, SETTINGS, URL, WEB, Vault, leaking_files, leaks
from tests.workbench.canaries.screens import Pictures, Unreadable
from tests.workbench.tui.test_screens import LARGE, says, state, until
from tests.workbench.tui.ways import every_screen
from workbench.engine.live_acts import LiveAct, LiveRequest
from workbench.tui.app import WorkbenchApp

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
IMAGE = ("spec", "template", "spec", "containers", ListKey((("name", "web"),)), "image")


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecoveringVault:
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kcl"))
    made = RecoveringVault(tmp_path)
    main = made.home / "repository/vault/dev/main.k"
    text = main.read_text()
    for name, value in OPTIONS.items():
        text = text.replace(f'option("{name}")', f'option("{name}", default={json.dumps(value)})')
    main.write_text(text.replace('default="3"', "default=3"))
    return made


async def test_no_screen_shows_a_canary_nor_without_other_signs_one_outside_of_ascii(
    vault: RecoveringVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # what is saved lies in the working folder
    app = WorkbenchApp(vault.session(is_ascii=True), open_at="vault/dev", now=lambda: NOW)
    app._filters[-1] = unreadable = Unreadable()
    async with app.run_test(size=LARGE) as pilot:
        pictures = Pictures(app, pilot)
        vault.quote_everything(Rejected)
        await pictures.of_rollouts()
        vault.cluster.fail.clear()
        vault.cluster.health.clear()
        await pictures.of_a_stack(6)
        await apply(pilot, app)
        pictures.take("applied")
        vault.change_by_hand()
        vault.quote_everything(Rejected)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "ready"))
        pictures.take("reconcile")
        await pictures.of_a_timeline()
        for number in range(6):
            await pilot.press("j", "enter")
            await pilot.pause()
            pictures.take(f"object {number}")
            await pilot.press("escape")
        await pilot.press("escape", "d", "r")
        await until(pilot, lambda: says(app, "drift"))
        await pictures.of_each_row("drift", 6)
        pictures.of_a_bundle()
        vault.cluster.edit(WEB, IMAGE, "web:2")
        await pictures.of_releases()
        await pictures.of_drift()
        await pictures.of_reach("vault/dev/main.k", "host=db user=app", "host=db user=web")
        await pictures.of_a_recovery(GIVEN, 2)
        await pictures.of_what_runs()
    seen = pictures.seen
    leaking = {name: leaks(said) for name, said in seen.items()}
    assert not any(leaking.values()), {name: found for name, found in leaking.items() if found}
    assert "masked#" in seen["spec 1"] + seen["spec 2"] and "masked#" in "".join(seen.values())
    assert {"bundle spec.yaml", "bundle plan.json", "bundle diff.json", "bundle timeline.txt"} <= seen.keys()
    assert pictures.screens == every_screen() - {*SHOWN_OTHERWISE}
    assert not [each for each in pictures.painted if not each.isascii()]
    assert not unreadable.texts, "signs of ours have to have one in ASCII"


SHOWN_OTHERWISE = {
    "WhatIfScreen": "the file as it is, for who edits it",
}


async def apply(pilot: Any, app: WorkbenchApp) -> None:
    from textual.widgets import Input

    await pilot.press("a")
    phrase = app.screen.query_one("#phrase", Input)
    phrase.value = state(app).plan.confirmation.phrase  # type: ignore[union-attr]
    await pilot.press("enter")
    await until(pilot, lambda: bool(state(app).events) and not state(app).is_applying)


async def test_no_failure_of_looking_at_live_objects_or_acting_on_them_quotes_a_canary(vault: RecoveringVault) -> None:
    said = f'denied: "{OPTION}", {quote(URL, safe="")}, {LOOK}'
    async with vault.session() as session:
        stack = session.select("vault/dev")
        await session.compile(stack)
        made = await session.plan(stack)
        async with session.apply(made, confirm=made.confirmation.phrase) as events:
            [None async for _ in events]
        request = LiveRequest(LiveAct.DELETE, "hz", SETTINGS, vault.cluster.objects[SETTINGS].uid)
        for verb in ("read", "delete"):
            vault.cluster.fail[(verb, str(SETTINGS))] = Rejected(said, hint=said)
            with pytest.raises(Rejected) as caught:
                await session.act_live(request, confirm=request.phrase)
            assert leaks(f"{caught.value!r} {caught.value} {caught.value.hint}") == [], verb
            if verb == "read":
                with pytest.raises(Rejected) as caught:
                    await session.read_live("hz", SETTINGS)
                assert leaks(f"{caught.value!r} {caught.value} {caught.value.hint}") == []
                del vault.cluster.fail[(verb, str(SETTINGS))]
        assert leaking_files(vault.state) == {}


async def test_no_notebook_output_has_a_canary(vault: Vault) -> None:
    results: Any = pytest.importorskip("workbench.notebook.results")
    surveys: Any = pytest.importorskip("workbench.notebook.surveys")
    async with vault.session() as session:
        stack = session.select("vault/dev")
        roots = results.roots_of(session.root, stack.project_directory)
        compiled = results.Compiled(await session.compile(stack), ("hz",), roots)
        found = results.Diff(await session.diff(stack), None, roots)
        shown = {
            "compiled": _bundle(compiled) + compiled.df.to_csv(),
            "diff": _bundle(found) + found.df.to_csv(),
            "resources": "".join(_bundle(each) + each.yaml + repr(each.explain(".")) for each in compiled),
        }
        made = await session.plan(stack)
        async with session.apply(made, confirm=made.confirmation.phrase) as events:
            [None async for _ in events]
        vault.change_by_hand()
        drifted = results.Diff(await session.diff(stack), None, roots)
        shown["drifted"] = _bundle(drifted) + drifted.df.to_csv()
        looks = surveys.Drift((stack,), await session.drift([stack]), session.root)
        edits = session.whatif(stack)
        text = edits.text("vault/dev/main.k").replace("host=db user=app", "host=db user=web")
        reach = surveys.Impact(await session.effect(edits.edit("vault/dev/main.k", text)))
        shown["drift"] = _bundle(looks) + looks.df.to_csv()
        shown["impact"] = _bundle(reach) + reach.df.to_csv()
    leaking = {name: leaks(said) for name, said in shown.items()}
    assert not any(leaking.values()), leaking
    assert all("masked#" in said for said in shown.values())
    kept = list((vault.home / "kcl").rglob("*.entry"))
    assert kept and leaking_files(vault.home / "kcl", vault.state) == {}


def _bundle(result: Any) -> str:
    return json.dumps(result._repr_mimebundle_(), ensure_ascii=False) + str(result) + repr(result)


@pytest.mark.parametrize("arguments", [("compile",), ("compile", "-o", "json"), ("compile", "-o", "table")])
def test_no_command_on_a_terminal_prints_a_canary(vault: Vault, arguments: tuple[str, ...], terminal: Terminal) -> None:
    said = terminal(vault, *arguments, "vault/dev")
    assert "safe" in said and leaks(said) == []


Terminal = Callable[..., str]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Runs a command whose output is taken for a terminal's."""
    from tests.workbench.cli.command import Wb

    def run(vault: Vault, *arguments: str) -> str:
        monkeypatch.chdir(vault.home / "repository")
        monkeypatch.setenv("WB_STATE_DIR", str(vault.state))
        monkeypatch.setenv("WB_CACHE_DIR", str(vault.home / "cache"))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        ended = Wb(capsys)(*arguments)
        assert ended.code == 0, ended.text
        return ended.text

    return run

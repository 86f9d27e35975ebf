"""Canaries are planted wherever a secret may stand, and repeated in every form; nothing that is shown or kept has one.

What a person edits or pipes on is as it is: the What-if editor, and `wb compile` to a file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import ObjectRef, Rejected, format_path
from tests.workbench.canaries.repository import (
    CANARIES,
    OPTIONS,
    WEB,
    Vault,
    forms,
    leaking_files,
    leaks,
)
from workbench.cli.diff_command import print_diff
from workbench.cli.output import Output
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.present import diff as present_diff
from workbench.present import documents, explain, plan, reconcile
from workbench.present import spec as present_spec
from workbench.present.glyphs import UNICODE

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kcl"))
    return Vault(tmp_path)


def of_a_spec(compiled: CompiledStack, root: Path) -> Iterator[str]:
    """All that is shown of a compiled stack, in every face."""
    spec = compiled.spec
    yield compiled.log
    yield from (each.message for each in compiled.diagnostics)
    yield json.dumps(present_spec.masked_documents(spec), ensure_ascii=False)
    yield repr(spec)
    for resource in spec:
        yield "\n".join(str(cell) for row in present_spec.yaml_rows(resource, spec, root) for cell in row.cells)
        for path in paths(resource.attributes):
            yield "\n".join(map(str, explain.lines(spec, str(resource.id), format_path(path), root)))


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from paths(each, (*path, step))


def printed(found: Any, root: Path, format_: str) -> str:
    said, talk = io.StringIO(), io.StringIO()
    print_diff(Output(stdout=said, stderr=talk), found, root, format_)
    return said.getvalue() + talk.getvalue()


async def everything(vault: Vault) -> dict[str, str]:
    """Goes through all verbs, with changes by hand and refusals in between; returns what was shown, by place."""
    shown: dict[str, str] = {}

    def show(name: str, *said: Any) -> None:
        shown[name] = shown.get(name, "") + "\n".join(map(str, said))

    async with vault.session() as session:
        root, stack = session.root, session.select("vault/dev")
        for when in ("first", "by hand"):
            compiled = await session.compile(stack, vault.inputs)
            show(f"compile {when}", *of_a_spec(compiled, root))
            found = await session.diff(stack, vault.inputs)
            for format_ in ("table", "json", "yaml"):
                show(f"diff {when} {format_}", printed(found, root, format_))
            for change in found.changes:
                rows = present_diff.detail_rows(change, found.spec, (root,), UNICODE, NOW, width=80)
                show(f"screen {when}", *(cell for row in rows for cell in row.cells))
                show(f"repr {when}", repr(change))
            made = await session.plan(stack, vault.inputs, force=True)
            show(f"plan {when}", *plan.lines(made, UNICODE), *plan.step_rows(made, ()), repr(made))
            show(f"plan {when} json", json.dumps(documents.plan(made, root)))
            session.save_plan(made, vault.home / f"{when}.plan")
            if when == "by hand":
                vault.quote_everything(Rejected)
            async with session.apply(made, confirm=made.confirmation.phrase) as events:
                every = [each async for each in events]
            show(f"apply {when}", *every, *filter(None, (plan.event_line(each, UNICODE) for each in every)))
            if when == "by hand":
                assert "denied" in shown[f"apply {when}"]
            vault.change_by_hand()
        async with session.watch(stack, vault.inputs, until_settled=True, timeout_seconds=5) as trees:
            tree = [each async for each in trees][-1]
        show("watch", json.dumps(documents.status(tree)), tree, *reconcile.rows(tree, UNICODE, NOW))
        assert "cannot log in with" in shown["watch"]
        show("logs", *await session.logs("hz", ObjectRef("Pod", WEB.namespace, "web-1", "u")))
        show("releases", *session.releases(stack))
        destroy = await session.plan_destroy(stack, vault.inputs)
        show("destroy", *plan.lines(destroy, UNICODE), json.dumps(documents.plan(destroy, root)))
        for change in destroy.changes:
            show("destroy", *present_diff.detail_text(change, destroy.spec, (root,), UNICODE, NOW))
    return shown


async def test_no_canary_is_shown_or_kept(vault: Vault) -> None:
    shown = await everything(vault)
    leaking = {name: leaks(said) for name, said in shown.items()}
    assert not any(leaking.values()), leaking
    kept = (vault.state, vault.home / "cache", vault.home / "kcl")
    assert leaking_files(*kept) == {}
    assert any(vault.state.rglob("*.json"))
    assert leaking_files(vault.home) == {str(vault.home / "repository/vault/dev/main.k"): found_in_source()}


def found_in_source() -> list[str]:
    given = [*OPTIONS.values()]
    return [
        name
        for name, secret in CANARIES.items()
        if "what a Secret held" not in name
        and (secret not in given or any(each in source() for each in forms(secret) if each != secret))
    ]


def source() -> str:
    from tests.workbench.canaries.repository import MAIN

    return MAIN


async def test_a_masked_value_still_shows_that_it_changed(vault: Vault) -> None:
    async with vault.session() as session:
        stack = session.select("vault/dev")
        made = await session.plan(stack, vault.inputs)
        async with session.apply(made, confirm=made.confirmation.phrase) as events:
            [None async for _ in events]
        assert not (await session.diff(stack, vault.inputs)).is_different
        inputs = CompileInputs(options={**OPTIONS, "door": "canary-another-9door"})
        found = await session.diff(stack, inputs)
        said = printed(found, session.root, "table")
        changed = {format_path(field.path) for change in found.changes for field in change.fields}
        assert {"data.door", "data.dup"} <= changed
        assert "canary" not in said and said.count("→") + said.count("- «masked") >= 3
        assert all(field.is_masked for change in found.changes for field in change.fields), found.changes


async def test_what_tells_nothing_is_not_taken_for_a_secret(vault: Vault) -> None:
    """`true`, `1` and `production` are values of the Secret as well."""
    async with vault.session() as session:
        compiled = await session.compile(session.select("vault/dev"), vault.inputs)
    shown = "\n".join(of_a_spec(compiled, session.root))
    for plain in ("open: 'true'", "level: '1'", "tier: production", "--mode=production", "replicas: 3", "web:1"):
        assert plain in shown or plain.replace("'", "") in shown, plain


async def test_a_plan_names_the_options_it_was_not_given_to_keep(vault: Vault) -> None:
    async with vault.session() as session:
        made = await session.plan(session.select("vault/dev"), vault.inputs)
        session.save_plan(made, vault.home / "a.plan")
        saved = json.loads((vault.home / "a.plan").read_text())
        assert (saved["withheld"], saved["options"]) == (["backdoor", "door"], {"size": "3"})
        again = await session.load_plan(vault.home / "a.plan", vault.inputs)
        assert again.id == made.id


async def test_what_providers_said_once_is_masked_before_they_are_asked_again(vault: Vault) -> None:
    async with vault.session() as session:
        stack = session.select("vault/dev")
        folder = session._workspace()._folder_of(stack.path)
        block = {"block": {"attributes": {"hush": {"type": "string", "sensitive": True}, "note": {"type": "string"}}}}
        content = {"provider_schemas": {"acme/cloud": {"resource_schemas": {"thing": block}}}}
        folder.mkdir(parents=True)
        (folder / "schemas.json").write_text(json.dumps({"content": content}))
        compiled = await session.compile(stack, vault.inputs)
        assert leaks("\n".join(of_a_spec(compiled, session.root))) == []
        shown = json.dumps(present_spec.masked_documents(compiled.spec), ensure_ascii=False)
        assert '"name": "db"' in shown

"""A notebook's way through the main job, without a notebook: values, DataFrames, snapshots, confirmations."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.notebook.conftest import Place
from workbench.cli import practice
from workbench.engine.changes import Gap, Problem, StackDiff
from workbench.engine.errors import ConfirmationRequired, EditFailed, EngineError, Refused, UnresolvedConflict
from workbench.engine.events import Event, StepFinished
from workbench.engine.rollout.values import Ask
from workbench.engine.spec import Spec
from workbench.notebook import Workspace, frames, survey_frames
from workbench.notebook.results import Diff
from workbench.notebook.runs import Plan, Run, Unfinished
from workbench.notebook.workspace import NotInstalled
from workbench.project import UnknownStack

IMAGE = "spec.template.spec.containers[name=web].image"
DTYPES = {
    "text": "string",
    "whole": "Int64",
    "truth": "boolean",
    "fraction": "Float64",
    "time": "datetime64[us, UTC]",
}


def assert_shape(found: Any, columns: frames.Columns) -> None:
    assert {name: str(kind) for name, kind in found.dtypes.items()} == {
        name: DTYPES[kind] for name, kind in columns.items()
    }
    texts = [name for name, kind in columns.items() if kind == frames.TEXT]
    assert {found[name].dtype.storage for name in texts} <= {"python"}
    assert not any((found[name] == "").any() for name in texts), "what is not known is NA"


def test_stacks_are_a_table_and_a_tree(workspace: Workspace) -> None:
    stacks = workspace.stacks("*/prod")

    assert [each.name for each in stacks] == [
        "gateway/prod",
        "ledger/prod",
        "catalog/prod",
        "checkout/prod",
        "orders/prod",
    ]
    assert_shape(stacks.df, frames.STACKS)
    web = stacks.df[stacks.df["component"] == "web"].iloc[0]
    assert (web["project"], web["stack"], web["env"], web["last_release"]) == ("checkout", "prod", "prod", 1)
    assert "storefront/checkout\n  prod (protected)" in repr(stacks)


def test_a_stack_that_is_not_there_names_the_nearest(workspace: Workspace) -> None:
    with pytest.raises(UnknownStack) as caught:
        workspace["chekout/prod"]

    shown = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert shown[0] == "UnknownStack" and any("did you mean checkout/prod" in each for each in shown)


def test_a_glob_that_covers_nothing_is_no_empty_table(workspace: Workspace) -> None:
    with pytest.raises(UnknownStack, match=r"\*/prdo"):
        workspace.stacks("*/prod", "*/prdo")


@pytest.mark.parametrize(
    ("gaps", "problems", "is_true"),
    [
        ((), (), False),
        ((Gap("hz", "it was not queried"),), (), True),
        ((), (Problem("hz", "Unreachable", "connection refused"),), True),
    ],
)
def test_a_diff_is_false_only_where_surely_nothing_differs(
    workspace: Workspace, gaps: tuple[Gap, ...], problems: tuple[Problem, ...], is_true: bool
) -> None:
    stack = workspace["checkout/prod"]
    found = StackDiff(Spec(stack.name, ()), ("hz",), (), datetime.now(UTC), gaps=gaps, problems=problems)
    assert bool(Diff(found, stack, (workspace.root,))) is is_true


def test_compiling_gives_resources_with_their_source_lines(workspace: Workspace) -> None:
    spec = workspace["checkout/prod"].compile(D={"session_key": "canary-of-the-session"})

    assert_shape(spec.df, frames.SPEC)
    assert len(spec.df) == len(spec) == 16
    assert "replicas: 4" in spec["Deployment/web"].yaml
    assert "canary" not in spec["Secret/web-secrets"].yaml
    assert "storefront/checkout/prod/main.k:5" in repr(
        workspace["checkout/prod"].explain("Deployment/web", "spec.replicas")
    )


def test_equal_content_has_an_equal_hash_and_no_other(workspace: Workspace) -> None:
    stack = workspace["checkout/prod"]
    one, same, other = (stack.compile(D={"session_key": key}).df.set_index("name") for key in ("a", "a", "b"))

    assert one["hash"].equals(same["hash"])
    assert list(one.index[one["hash"] != other["hash"]]) == ["web-secrets", "web"]


def test_a_diff_tells_fields_classes_and_lines(workspace: Workspace) -> None:
    diff = workspace["checkout/prod"].diff()

    assert diff and not diff.problems
    assert_shape(diff.df, frames.DIFF)
    drift = diff.df[diff.df["cls"] == "drift"]
    assert drift[["cluster", "op", "path", "before", "after"]].values.tolist() == [
        ["hangzhou", "~", "spec.replicas", "5", "3"]
    ]
    image = diff.df[diff.df["path"] == IMAGE].iloc[0]
    assert (image["source_file"], image["source_line"]) == ("storefront/checkout/base/base.k", 7)
    secret = diff.df[diff.df["masked"]]
    assert set(secret["path"]) == {"data.SESSION_KEY"} and secret["before"].str.startswith("«masked#").all()


def test_drift_names_who_and_when_and_keeps_what_is_not_known(workspace: Workspace) -> None:
    found = workspace.drift("checkout/prod", "catalog/dev")

    assert_shape(found.df, survey_frames.DRIFT)
    assert found
    drifted = found.df[found.df["state"] == "drift"].iloc[0]
    assert (drifted["stack"], drifted["path"], drifted["configured"]) == ("checkout/prod", "spec.replicas", "3")
    assert (drifted["live"], drifted["who"]) == ("5", "kubectl-edit")
    assert drifted["source_file"] == "storefront/checkout/prod/main.k" and not drifted.isna()["changed"]
    unknown = found.df[found.df["state"] == "unknown"]
    assert list(unknown["stack"]) == ["catalog/dev"] and "no release" in unknown["message"].iloc[0]
    assert "spec.replicas" in repr(found) and "<table" in found._repr_mimebundle_()["text/html"]


def test_an_edit_says_which_stacks_it_reaches_and_what_cannot_be_told(workspace: Workspace) -> None:
    edit = workspace.whatif("checkout/prod").edit("storefront/checkout/base/base.k", "1.9.0", "1.9.1<b>")
    found = edit.impact(live=True)

    assert_shape(found.df, survey_frames.IMPACT)
    assert found and "checkout/prod" in found.stacks and set(found.df["state"]) == {"changed"}
    assert found.df["after"].str.contains("1.9.1<b>", regex=False).any() and (found.df["live_changes"] > 0).all()
    assert "1.9.1<b>" not in found._repr_mimebundle_()["text/html"]
    broken = edit.edit("storefront/checkout/prod/main.k", "replicas = 3", "replicas = = ").impact()
    assert broken and "checkout/prod" in set(broken.df[broken.df["state"] == "unknown"]["stack"])
    assert not workspace.whatif("checkout/prod").impact()
    with pytest.raises(EngineError, match="git"):
        workspace.impact()


def test_policies_and_rollouts_are_tables_too(workspace: Workspace) -> None:
    root = workspace.root
    assert not workspace.policies("checkout/prod") and not workspace.rollouts()
    waiver = "{policy: many, stacks: [checkout/prod], until: 2999-01-01, reason: INC-7}"
    rule = "rule: replicas, with: {least: 99}"
    (root / "policy.yaml").write_text(
        f"policies: [{{name: many, {rule}}}, {{name: some, {rule}, level: warning}}]\nwaivers: [{waiver}]\n"
    )
    found = workspace.policies("checkout/prod")
    (root / "policy.yaml").unlink()
    assert_shape(found.df, survey_frames.POLICIES)
    assert found and set(found.df["policy"]) == {"many", "some"}
    waived = found.df[found.df["policy"] == "many"].iloc[0]
    assert (waived["waived_until"], waived["refuses"], waived["expired"]) == ("2999-01-01", False, False)
    assert not found.df["source_line"].isna().any() and "waived until 2999-01-01: INC-7" in repr(found)

    session = workspace.session
    planned = workspace.call(lambda: session.plan_rollout("catalog/pre"))
    id_ = workspace.call(lambda: session.begin_rollout(planned, confirm=planned.confirmation.phrase))
    begun = workspace.rollouts()
    assert_shape(begun.df, survey_frames.ROLLOUTS)
    assert begun and list(begun) == [id_] and list(begun.df["state"]) == ["open"] and list(begun.df["stage"]) == ["pre"]
    assert id_ in repr(begun)
    workspace.call(lambda: session.ask_rollout(id_, Ask.ABORT))
    assert not workspace.rollouts()


def test_a_stack_that_is_not_there_yet_is_all_additions(workspace: Workspace) -> None:
    diff = workspace["catalog/dev"].diff()

    assert_shape(diff.df, frames.DIFF)
    assert set(diff.df["op"]) == {"+"}
    assert diff.df.groupby("id").size().min() >= 1


def test_results_have_html_text_and_json_and_need_no_kernel_to_be_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_WIDGETS", "on")
    stack = workspace["checkout/prod"]
    for result in (workspace.stacks(), stack.compile(), stack.diff(), stack.plan(), stack.releases()):
        bundle = result._repr_mimebundle_()
        assert {"text/plain", "text/html", f"application/vnd.wb.{result.name}+json"} == set(bundle)
        assert bundle["text/html"].endswith("</div>") and "<script" not in bundle["text/html"]


def test_a_plan_is_a_dry_run_unless_told_otherwise(workspace: Workspace) -> None:
    plan = workspace["gateway/prod"].plan(force=True)
    before = len(workspace["gateway/prod"].releases())

    run = plan.apply()

    assert run.outcome == "dry run" and run.wait() is run
    assert_shape(run.df, frames.RUN)
    assert set(run.df["state"]) == {"planned"}
    assert len(workspace["gateway/prod"].releases()) == before


@pytest.mark.parametrize("confirm", ["", "yes", "checkout/pro", "CHECKOUT/PROD"])
def test_nothing_is_written_without_the_exact_phrase(workspace: Workspace, confirm: str) -> None:
    stack = workspace["checkout/prod"]
    plan, before = stack.plan(force=True), len(stack.releases())

    with pytest.raises(ConfirmationRequired):
        plan.apply(dry_run=False, confirm=confirm)

    assert len(stack.releases()) == before


def test_what_others_changed_refuses_the_plan(workspace: Workspace) -> None:
    plan = workspace["checkout/prod"].plan()

    assert plan.is_refused
    with pytest.raises(UnresolvedConflict, match="kubectl"):
        plan.apply(dry_run=False, confirm=plan.phrase)


def test_reading_only_refuses_to_write(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import workbench as wb

    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    with wb.open(place.root, read_only=True) as opened:
        plan = opened["checkout/prod"].plan(force=True)
        with pytest.raises(Refused):
            plan.apply(dry_run=False, confirm=plan.phrase)


def test_what_a_release_left_that_was_cut_off_is_recorded(workspace: Workspace) -> None:
    stack = workspace["checkout/dev"]
    first = stack.plan(force=True)
    first.apply(dry_run=False, confirm=first.phrase).wait()
    plan = stack.plan()
    assert not plan and plan.apply(dry_run=False).outcome == "nothing to do"
    before = len(stack.releases())
    cut_off = Plan(replace(plan.value, continues=True), stack)
    assert cut_off and cut_off.apply(dry_run=False, confirm=cut_off.phrase).wait().outcome == "succeeded"
    assert len(stack.releases()) == before + 1


def test_applying_watching_failing_and_putting_right(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Today's version names an image that nobody pushed: it is applied, fails, is explained, and put right."""
    stack = workspace["checkout/prod"]
    plan = stack.plan(force=True)

    run = plan.apply(dry_run=False, confirm=plan.phrase)
    watch = run.watch(timeout="60s")
    assert run.wait() is run
    assert run.outcome == "succeeded" and set(run.df["state"]) == {"done"}
    assert_shape(run.df, frames.RUN)
    assert "update Deployment checkout-prod/web @hangzhou" in capsys.readouterr().out

    with pytest.raises(Unfinished) as caught:
        watch.wait()
    assert caught.value.partial is watch
    assert watch.verdict == "failed" and "ImagePull" in watch.why
    assert_shape(watch.df, frames.STATUS)
    assert_shape(run.events, frames.EVENTS)
    assert_shape(run.timeline, frames.TIMELINE)
    assert "Warning" in set(run.events["type"])
    assert run.events["ts"].is_monotonic_increasing
    status = workspace.stacks("checkout/prod").df["status"]
    assert set(status) == {"failed"}

    assert plan.apply(dry_run=False, confirm=plan.phrase) is run, "a plan that was applied is not applied again"
    assert len(stack.releases()) == 2

    fixed = stack.whatif().set("Deployment/web", IMAGE, practice.FIXED_IMAGE)
    assert set(fixed.affected()) == {"checkout/dev", "checkout/pre", "checkout/prod"}
    assert fixed.to_patch(tmp_path / "fix.patch").read_text() == fixed.patch()
    again = fixed.plan()
    second = again.apply(dry_run=False, confirm=again.phrase).wait()
    assert second.watch(timeout="60s").wait().is_ready
    assert [each.revision for each in stack.releases()] == [3, 2, 1]
    assert_shape(stack.releases().df, frames.RELEASES)
    assert not fixed.plan(), "what was applied is what is there"


def test_edits_that_fit_nowhere_say_so(workspace: Workspace) -> None:
    edits = workspace["checkout/prod"].whatif()

    with pytest.raises(EditFailed, match="not once"):
        edits.edit("storefront/checkout/prod/main.k", "replicas = ", "replicas = 9")
    with pytest.raises(EditFailed, match=r"no field spec\.nope"):
        edits.set("Deployment/web", "spec.nope", 5)
    with pytest.raises(EditFailed, match="no edits"):
        edits.to_patch("nowhere.patch")
    assert not edits


def test_verbs_may_be_called_from_any_thread(workspace: Workspace) -> None:
    """With threaded comms a callback runs beside the cell."""
    stack, found = workspace["gateway/dev"], []
    threads = [threading.Thread(target=lambda: found.append(len(stack.compile()))) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)

    assert len(set(found)) == 1 and len(found) == 6


def test_an_interrupt_ends_what_is_waited_for(workspace: Workspace) -> None:
    """The kernel raises KeyboardInterrupt in the thread that waits; the work on the other thread ends with it."""
    import _thread

    watch = workspace["catalog/pre"].watch(timeout="10m")
    threading.Timer(0.5, _thread.interrupt_main).start()
    began = time.monotonic()

    with pytest.raises(KeyboardInterrupt):
        watch.wait()

    assert time.monotonic() - began < 20
    assert not watch.is_running


def test_a_watch_that_is_stopped_says_how_far_it_was(workspace: Workspace) -> None:
    watch = workspace["catalog/pre"].watch(timeout="10m")
    watch.stop()
    began = time.monotonic()
    while watch.is_running and time.monotonic() - began < 20:
        time.sleep(0.01)

    assert not watch.is_running and not watch.is_ready
    with pytest.raises(Unfinished):
        watch.raise_if_failed()


def test_waiting_too_long_is_an_error_with_what_there_is(workspace: Workspace) -> None:
    with pytest.raises(Unfinished, match="timed out") as caught:
        workspace["catalog/pre"].watch(timeout=1).wait()

    assert len(caught.value.partial.df) > 0


def test_a_stopped_apply_tells_how_every_step_ended_and_the_next_plan_goes_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = workspace["catalog/prod"]
    take = Run._take

    def stop_after_the_first(self: Run, event: Event) -> None:
        take(self, event)
        if isinstance(event, StepFinished):
            self.stop()

    with monkeypatch.context() as patched:
        patched.setattr(Run, "_take", stop_after_the_first)
        plan = stack.plan()
        run = plan.apply(dry_run=False, confirm=plan.phrase)
        with pytest.raises(Unfinished, match="interrupted"):
            run.wait(timeout="60s")

    states = set(run.df["state"])
    assert run.outcome == "interrupted"
    assert {"done", "skipped"} <= states <= {"done", "skipped", "failed"}
    assert next(iter(stack.releases())).phase == "interrupted"

    rest = stack.plan()
    assert 0 < len(rest.df) < len(plan.df)
    assert rest.apply(dry_run=False, confirm=rest.phrase).wait().outcome == "succeeded"
    assert not stack.plan()


def test_what_is_not_installed_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import workbench as wb

    monkeypatch.setattr("workbench.notebook.workspace.find_spec", lambda name: None if name == "anywidget" else True)

    with pytest.raises(NotInstalled, match="anywidget"):
        wb.open(place.root)

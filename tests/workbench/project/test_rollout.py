"""`rollout.yaml`: what is understood of it, and what is said of what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.project.errors import BrokenFile
from workbench.project.rollout import ALL, DEFAULT_TIMEOUT_SECONDS, Share, StageRule, read_rollout, refuse_unmatched


def read(folder: Path, text: str) -> tuple[StageRule, ...]:
    (folder / "rollout.yaml").write_text(text)
    return read_rollout(folder)


def test_everything_but_name_and_stacks_may_be_left_out(tmp_path: Path) -> None:
    (stage,) = read(tmp_path, "stages: [{name: all, stacks: ['*/prod']}]")
    assert stage == StageRule("all", ("*/prod",))
    assert (stage.batches, stage.max_unavailable, stage.timeout_seconds) == ((ALL,), ALL, DEFAULT_TIMEOUT_SECONDS)


def test_all_of_it_is_read(tmp_path: Path) -> None:
    (stage,) = read(
        tmp_path,
        """stages:
          - name: gray
            stacks: ["*/prod"]
            clusters: [east, "w*"]
            components: [web]
            batches: [1, 12.5%]
            max_unavailable: 3
            ready_for: 90s
            approval: true
            timeout: 2h
        """,
    )
    assert stage == StageRule(
        "gray",
        ("*/prod",),
        ("east", "w*"),
        ("web",),
        (Share(1, False), Share(12.5, True), ALL),
        Share(3, False),
        90,
        True,
        7200,
    )
    assert stage.has("west", "web") and not stage.has("north", "web") and not stage.has("east", "api")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "needs a mapping at the top"),
        ("{}", "stages needs to be a list with at least one stage"),
        ("stages: []", "stages needs to be a list with at least one stage"),
        ("stages: [web]", "needs to be a mapping"),
        ("stages: [{name: a}]", "needs a name"),
        ("stages: [{stacks: [x]}]", "needs a name"),
        ("stages: [{name: a/b, stacks: [x]}]", "needs a name"),
        ("stages: [{name: a, stacks: [x]}, {name: a, stacks: [y]}]", "two stages are called a"),
        ("stages: [{name: a, stacks: [x], batch: [1]}]", "unknown key 'batch'"),
        ("stages: [{name: a, stacks: [x], clusters: []}]", "an empty list of clusters means none"),
        ("stages: [{name: a, stacks: [x], approval: 'yes'}]", "approval needs to be true or false"),
        *(
            (f"stages: [{{name: a, stacks: [x], batches: {each}}}]", "batches")
            for each in ("[]", "1", "[0]", "[-1]", "[true]", "[0%]", "[101%]", "[50%, 20%]", "[2, 2]", "['1']", "[.5]")
        ),
        ("stages: [{name: a, stacks: [x], max_unavailable: none}]", "max_unavailable needs"),
        *(
            (f"stages: [{{name: a, stacks: [x], ready_for: {each}}}]", "ready_for needs a time")
            for each in ("0s", "10", "1d", "-1m", "9999h", "1m30s")
        ),
        ("x: 1", "unknown key 'x'"),
    ],
)
def test_what_it_does_not_understand_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BrokenFile) as raised:
        read(tmp_path, text)
    assert said in raised.value.message
    assert "rollout.yaml" in raised.value.where


def test_a_repository_without_one_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="no such file") as raised:
        read_rollout(tmp_path)
    assert "stages:" in raised.value.hint and "\n" not in raised.value.hint


def test_a_glob_of_no_stack_is_a_mistake() -> None:
    refuse_unmatched([StageRule("a", ("*/prod",))], ["web/prod"])
    with pytest.raises(BrokenFile, match=r"no stack is '\*/prd'"):
        refuse_unmatched([StageRule("a", ("*/prod", "*/prd"))], ["web/prod"])


@pytest.mark.parametrize(
    ("share", "total", "expected"),
    [
        (Share(1, False), 12, 1),
        (Share(20, False), 12, 12),
        (Share(25, True), 12, 3),
        (Share(1, True), 12, 1),
        (ALL, 0, 0),
    ],
)
def test_a_part_of_a_target_is_one(share: Share, total: int, expected: int) -> None:
    assert share.of(total) == expected

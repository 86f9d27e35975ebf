"""Nothing outside is written or deleted, whatever the repository says: law by law, over every way to say it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kcl import whole_file
from tests.attacks.conftest import Hostile, held
from tests.attacks.test_reading_pipes import a_pipe, nobody_waits_for
from tests.workbench.cli.command import Wb
from workbench.engine.compiled_index import INDEX_FILE, write_private
from workbench.engine.errors import EditFailed, EngineError
from workbench.engine.whatif import WhatIf
from workbench.project import OutsideRepository
from workbench.session import Session

_COMPILE = ("compile", "--all", "--into", "specs", "--jobs", "1")


def _index(file: str, stack: str = "web/gone", **more: Any) -> str:
    """A record of earlier compilations, as a repository may bring it along."""
    written = [None, "", True, ""]
    stacks = {stack: ["key", file, written, 1, 0, []]}
    return json.dumps({"format": 3, "paths": [], "states": [], "sets": [[]], "stacks": stacks, **more})


# --- files that a record names


@pytest.mark.parametrize(
    "way",
    [
        "{outside}/notes.txt",
        "{up}/notes.txt",
        "web/../{up}/notes.txt",
        "./{up}/notes.txt",
        "//{outside}/notes.txt",
        "link/gone.yaml",
        "link/../notes.txt",
        "inner/link/gone.yaml",
    ],
)
@pytest.mark.parametrize("stack", ["web/gone", "web/dev"])
def test_a_record_that_came_with_the_repository_deletes_nothing_outside(
    hostile: Hostile, wb: Wb, way: str, stack: str
) -> None:
    specs = hostile.root / "specs"
    hostile.link("specs/link", hostile.outside / "web")
    hostile.link("specs/inner/link", hostile.outside / "web")
    file = way.format(outside=hostile.outside, up=os.path.relpath(hostile.outside, specs))
    hostile.write(f"specs/{INDEX_FILE}", _index(file, stack))
    ended = wb(*_COMPILE)
    hostile.assert_untouched()
    assert ended.code == 0, ended.text
    assert (specs / "web" / "dev.yaml").is_file()
    if not way.startswith(("link/g", "inner")):
        assert f"its record of {stack} names a file outside of the folder" in ended.text
    assert str(hostile.outside) not in (specs / INDEX_FILE).read_text()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"format": 3, "paths": 5}',
        _index("a\0b"),
        _index("\ud800"),
        _index("web/gone.yaml", paths=["a\0b"], states=[[None, "", True, ""]]),
        _index("web/gone.yaml", paths=[0], states=[[None, "", True, ""]]),
        _index("web/gone.yaml", paths=[["a"]], states=[[None, "", True, ""]]),
        json.dumps({"format": 3, "paths": [], "states": [], "sets": [[]], "stacks": {"web/dev": [1, 2, 3, 4, 0, 6]}}),
        json.dumps(
            {
                "format": 3,
                "paths": [],
                "states": [],
                "sets": [[]],
                "stacks": {"web/dev": ["k", "web/dev.yaml", [None, "", True, ""], "many", 0, []]},
            }
        ),
    ],
    ids=range(9),
)
def test_a_record_that_makes_no_sense_is_as_good_as_none(hostile: Hostile, wb: Wb, text: str) -> None:
    hostile.write(f"specs/{INDEX_FILE}", text)
    ended = wb(*_COMPILE)
    assert ended.code == 0, ended.text
    assert "1 compiled" in ended.text and "Traceback" not in ended.text


@pytest.mark.parametrize("target", ["/proc/self/environ", "../../home/notes.txt", "nowhere"])
def test_a_record_that_is_a_link_is_not_read(hostile: Hostile, wb: Wb, target: str) -> None:
    hostile.link(f"specs/{INDEX_FILE}", target)
    ended = wb(*_COMPILE)
    assert ended.code == 0, ended.text
    assert not (hostile.root / "specs" / INDEX_FILE).is_symlink()


# --- folders that are links


def test_a_record_behind_a_link_is_not_believed(hostile: Hostile, wb: Wb) -> None:
    foreign = hostile.outside / "record.json"
    foreign.write_text(_index("web/gone.yaml"))
    kept = hostile.write("specs/web/gone.yaml", "of somebody else\n")
    hostile.link(f"specs/{INDEX_FILE}", foreign)
    assert wb(*_COMPILE).code == 0
    assert kept.is_file() and foreign.read_text() == _index("web/gone.yaml")


@pytest.mark.parametrize("name", ["record", "file of the record"])
def test_nobody_waits_for_a_pipe_in_or_of_a_record(hostile: Hostile, wb: Wb, name: str) -> None:
    assert wb(*_COMPILE).code == 0
    place = f"specs/{INDEX_FILE}" if name == "record" else "web/dev/main.k"
    with nobody_waits_for(a_pipe(hostile, place)):
        ended = wb(*_COMPILE)
    assert "Traceback" not in ended.text and ended.code == (0 if name == "record" else 1), ended.text


def test_a_spec_behind_a_link_is_not_up_to_date(hostile: Hostile, wb: Wb) -> None:
    """Whoever holds what it leads to could change it when the next run is over."""
    while "1 compiled" in wb(*_COMPILE).text:  # what was written a moment ago may change unseen, and is done again
        pass
    spec = hostile.root / "specs/web/dev.yaml"
    spec.rename(hostile.outside / "spec.yaml")
    spec.symlink_to(hostile.outside / "spec.yaml")
    assert "1 compiled" in wb(*_COMPILE).text
    assert spec.is_file() and not spec.is_symlink()


_NAMES = ("..", ".", "../../home", "a/../../../home", "/tmp", ".git", INDEX_FILE, "a\\b", "~", "dev\n", "\u200b..", "ä")


@pytest.mark.parametrize("level", ["project", "stack", "both"])
@pytest.mark.parametrize("name", _NAMES)
def test_no_name_leads_out_of_the_folder(hostile: Hostile, wb: Wb, name: str, level: str) -> None:
    if level != "stack":
        hostile.write("web/project.yaml", f"name: {json.dumps(name)}\n")
    if level != "project":
        hostile.write("web/dev/stack.yaml", f"name: {json.dumps(name)}\n")
    before = held(hostile.root)
    ended = wb(*_COMPILE)
    assert "Traceback" not in ended.text
    assert ended.code == (1 if "may hold no" in ended.err else 0), ended.text
    after = {each: content for each, content in held(hostile.root).items() if not each.startswith("specs")}
    assert after == before
    hostile.assert_untouched()
    written = [each for each in (hostile.root / "specs").rglob("*") if each.is_file()]
    (spec,) = (each for each in written if each.name != INDEX_FILE)
    assert spec.suffix == ".yaml" and not any(part.startswith(".") for part in spec.parts[-2:])


def test_no_spec_is_written_through_a_linked_folder(hostile: Hostile, wb: Wb) -> None:
    hostile.link("specs/web", hostile.outside / "web")
    ended = wb(*_COMPILE)
    hostile.assert_untouched()
    assert ended.code == 1
    assert "leads out of the folder" in ended.text and "remove the link" in ended.text


def test_a_failed_stack_deletes_nothing_through_a_linked_folder(hostile: Hostile, wb: Wb) -> None:
    hostile.link("specs/web", hostile.outside / "web")
    hostile.write("web/dev/main.k", "a = nothing\n")
    ended = wb(*_COMPILE)
    hostile.assert_untouched()
    assert ended.code == 1


def test_a_spec_that_is_a_link_is_replaced_and_not_written_through(hostile: Hostile, wb: Wb) -> None:
    link = hostile.link("specs/web/dev.yaml", hostile.outside / "dev.yaml")
    assert wb(*_COMPILE).code == 0
    hostile.assert_untouched()
    assert not link.is_symlink()


def test_an_unfinished_file_that_is_a_link_is_not_written_through(hostile: Hostile, wb: Wb) -> None:
    for name in ("specs/web/.dev.yaml", f"specs/.{INDEX_FILE}"):
        hostile.link(f"{name}.{os.getpid()}.part", hostile.outside / "notes.txt")
    assert wb(*_COMPILE).code == 0
    hostile.assert_untouched()


def test_whoever_guesses_the_name_of_an_unfinished_file_has_nothing_written_through_a_link(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_file, "_RANDOM_BYTES", 0)
    hostile.link("specs/web/.dev.yaml..unfinished", hostile.outside / "notes.txt")
    with pytest.raises(EngineError, match="cannot be written: File exists"):
        write_private(hostile.root / "specs/web/dev.yaml", b"new")
    hostile.assert_untouched()


def test_a_linked_folder_inside_of_the_output_is_as_good_as_any(hostile: Hostile, wb: Wb) -> None:
    (hostile.root / "specs" / "elsewhere").mkdir(parents=True)
    hostile.link("specs/web", "elsewhere")
    assert wb(*_COMPILE).code == 0
    assert (hostile.root / "specs" / "elsewhere" / "dev.yaml").is_file()


@pytest.mark.parametrize("into", ["specs", "specs/deeper", "./specs", "web/../specs", "chain"])
def test_the_output_folder_is_no_link_out_of_the_repository(hostile: Hostile, wb: Wb, into: str) -> None:
    hostile.link("specs", hostile.outside)
    hostile.link("chain", "specs/web")
    ended = wb("compile", "--all", "--into", into, "--jobs", "1")
    hostile.assert_untouched()
    assert ended.code == 1
    assert "is a link out of the repository" in ended.text and "name another place" in ended.text


@pytest.mark.parametrize("into", [".git/specs", "specs", ".git"])
def test_the_output_folder_is_not_git_s(hostile: Hostile, wb: Wb, into: str) -> None:
    hostile.link("specs", ".git/hooks")
    before = held(hostile.root / ".git")
    ended = wb("compile", "--all", "--into", into, "--jobs", "1")
    assert held(hostile.root / ".git") == before
    assert ended.code == 1 and "lies in the repository's own .git" in ended.text


def test_a_user_s_own_folder_is_the_user_s_choice(hostile: Hostile, wb: Wb, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "own").symlink_to(tmp_path / "real")
    for into in (tmp_path / "own", Path("../own"), tmp_path / "made" / "now"):
        ended = wb("compile", "--all", "--into", into, "--jobs", "1")
        assert ended.code == 0, ended.text
    assert (tmp_path / "real" / "web" / "dev.yaml").is_file()


@pytest.mark.parametrize("name", ["link/plan.json", "plan.json", ".git/hooks/post-checkout"])
def test_no_plan_or_patch_is_saved_through_a_link(hostile: Hostile, name: str) -> None:
    hostile.link("link", hostile.outside)
    hostile.link("plan.json", hostile.outside / "notes.txt")
    session = Session.open(hostile.root)
    with pytest.raises(OutsideRepository):
        session.refuse_outside(Path(name))
    with pytest.raises(OutsideRepository):
        session.save_plan(None, name)  # type: ignore[arg-type]  # it is refused before the plan is looked at
    with pytest.raises(OutsideRepository):
        session.save_fleet_plan(None, name)  # type: ignore[arg-type]  # as above
    hostile.assert_untouched()


# --- what-if


@pytest.mark.parametrize(
    "name",
    [
        "link/new.k",
        "main.k",
        "../home/notes.txt",
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "web/.git/config",
        "hooks/pre-commit",
    ],
)
def test_a_what_if_edits_nothing_outside_and_nothing_of_git(hostile: Hostile, name: str) -> None:
    hostile.link("link", hostile.outside)
    hostile.link("main.k", hostile.outside / "notes.txt")
    hostile.link("hooks", ".git/hooks")
    whatif = WhatIf(hostile.root)
    for attempt in (lambda: whatif.edit(name, "x = 1\n"), lambda: whatif.text(name), lambda: whatif.revert(name)):
        with pytest.raises(EditFailed, match=r"outside of the repository|lies in \.git"):
            attempt()
    hostile.assert_untouched()


@pytest.mark.parametrize("existing", [True, False])
def test_a_what_if_is_not_written_through_a_folder_that_became_a_link(hostile: Hostile, existing: bool) -> None:
    name = "conf/notes.txt" if existing else "conf/new.txt"
    if existing:
        hostile.write(name, (hostile.outside / "notes.txt").read_text())
    whatif = WhatIf(hostile.root).edit(name, "mine\n")
    if existing:
        (hostile.root / name).unlink()
        (hostile.root / "conf").rmdir()
    hostile.link("conf", hostile.outside)
    with pytest.raises(EditFailed):
        whatif.write()
    hostile.assert_untouched()

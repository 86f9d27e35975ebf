"""All stacks into files: what comes out, what the next run does again, and what happens when something breaks."""

from __future__ import annotations

import base64
import os
import pickle
import signal
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kcl.api import yaml_text
from tests.benchmarks import konfig
from tests.kcl.clocks import wait_until_settled
from workbench.engine.compile import compile_now
from workbench.engine.compile_all import (
    Batch,
    Chunk,
    Outcome,
    Wanted,
    WorkerPool,
    compile_chunk,
    prepare,
    spec_file,
)
from workbench.engine.compiled import CompileInputs
from workbench.engine.compiled_index import INDEX_FILE
from workbench.engine.errors import EngineError
from workbench.engine.revisions import changed_since
from workbench.engine.versions import version
from workbench.engine.worker_pools import in_processes
from workbench.project import ProjectName, StackName, StackPath, discover

_APPLICATIONS = 12


@pytest.fixture
def root(tmp_path: Path) -> Path:
    konfig.write(tmp_path / "konfig", _APPLICATIONS)
    wait_until_settled()  # what is asked is another process
    return tmp_path / "konfig"


@pytest.fixture
def wanted(root: Path, tmp_path: Path) -> Wanted:
    return Wanted(discover(root), CompileInputs(), tmp_path / "specs")


def _run(wanted: Wanted, pool: WorkerPool | None = None) -> dict[str, Outcome]:
    batch = prepare(replace(wanted, tree=discover(wanted.tree.root)))
    outcomes = list(batch.run(pool or in_processes(1)))
    assert len(outcomes) == len(batch.stale)
    return {each.stack: each for each in outcomes}


def _files(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.name != INDEX_FILE
    }


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_each_file_is_what_compiling_that_stack_alone_gives(wanted: Wanted) -> None:
    outcomes = _run(wanted)
    stacks = list(wanted.tree.stacks())
    assert set(outcomes) == {each.name for each in stacks} and len(stacks) == 15
    for stack in stacks:
        alone = yaml_text(compile_now(stack, CompileInputs()).spec.documents())
        outcome = outcomes[stack.name]
        assert (wanted.folder / outcome.file).read_text().rstrip("\n") == alone.rstrip("\n")
        assert outcome.lines == len(alone.splitlines()) > 100
    assert _files(wanted.folder).keys() == {f"{each.name}.yaml" for each in stacks}


def test_processes_make_the_same_files(wanted: Wanted, tmp_path: Path) -> None:
    _run(wanted)
    other = replace(wanted, folder=tmp_path / "other")
    outcomes = _run(other, in_processes(2))
    assert _files(other.folder) == _files(wanted.folder)
    assert not _run(other)
    assert not any(each.failure for each in outcomes.values())


def test_only_the_owner_may_read_what_is_written(wanted: Wanted) -> None:
    _run(wanted)
    for each in (wanted.folder, *wanted.folder.rglob("*")):
        assert not stat.S_IMODE(each.stat().st_mode) & 0o077, each


# --- again, after an edit


_EDITS = [
    ("main.k of one stack", "domains/d000/app-00004/dev/main.k", "replicas = 5", "replicas = 6"),
    ("base of an application", "domains/d000/app-00004/base/base.k", 'REGION = "region-4"', 'REGION = "moved"'),
    ("a team's package", "models/teams/t03/team.k", "team-03", "team-three"),
    (
        "a shared model",
        "models/backend/server_backend.k",
        "serviceAccountName = _component",
        'serviceAccountName = _component + "more"',
    ),
    ("options of a stack", "domains/d000/app-00002/prod/kcl.yaml", "value: prod", "value: production"),
    ("a name", "domains/d000/app-00003/project.yaml", "name: app-00003", "name: renamed"),
]


@pytest.mark.parametrize(("file", "old", "new"), [each[1:] for each in _EDITS], ids=[each[0] for each in _EDITS])
def test_what_is_compiled_again_is_what_brute_force_finds_different(
    wanted: Wanted, tmp_path: Path, file: str, old: str, new: str
) -> None:
    _run(wanted)
    assert not _run(wanted)
    before = _files(wanted.folder)
    _edit(wanted.tree.root / file, old, new)
    again = _run(wanted)
    everything = replace(wanted, folder=tmp_path / "brute")
    _run(everything)
    after = _files(everything.folder)
    assert _files(wanted.folder) == after
    different = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {each.file for each in again.values()} == different & after.keys()
    assert not _run(wanted)


@pytest.mark.parametrize(
    "file", ["models/teams/t05/team.k", "models/sizes/sizes.k", "domains/d000/app-00008/base/base.k"]
)
def test_stacks_touched_by_a_file_are_those_that_cannot_do_without_it(wanted: Wanted, file: str) -> None:
    """Brute force of another kind: with a broken file just these fail when everything is compiled again."""
    _run(wanted)
    path = wanted.tree.root / file
    text = path.read_text()
    path.write_text("}{")
    broken = _run(replace(wanted, folder=wanted.folder.with_name("broken")))
    failing = {name for name, each in broken.items() if each.failure}
    path.write_text(text + "# a comment\n")
    assert set(_run(wanted)) == failing


def test_files_touched_without_a_change_are_nothing(wanted: Wanted) -> None:
    _run(wanted)
    for each in wanted.tree.root.rglob("*.k"):
        os.utime(each)
    assert not _run(wanted)


_SMALL = {
    "kcl.mod": '[package]\nname = "r"\n[dependencies]\nparts = { path = "./lib/parts" }\n',
    "lib/parts/kcl.mod": '[package]\nname = "parts"\n',
    "lib/parts/sizes/sizes.k": "large = 3\n",
    "one/s/sizes.k": "small = 1\n",
    "two/s/sizes.k": "small = 2\n",
    "app/project.yaml": "name: app\n",
    "app/dev/stack.yaml": "name: dev\n",
    "app/dev/main.k": "import parts.sizes\nimport models.s as chosen\n\n"
    '{apiVersion = "v1", kind = "ConfigMap", metadata.name = "a", data.size = str(sizes.large + chosen.small)}\n',
}


@pytest.fixture
def small(tmp_path: Path) -> Wanted:
    root = tmp_path / "repository"
    for name, text in _SMALL.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "models").symlink_to("one")
    wait_until_settled()
    return Wanted(discover(root), CompileInputs(), tmp_path / "specs")


def _here(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
    yield from map(compile_chunk, chunks)


def test_a_folder_that_a_link_leads_to_is_another_and_the_same_again_once_it_is_back(small: Wanted) -> None:
    """All files have the content, the stamp and the path they had, and the package has got out of its root."""

    def failures() -> dict[str, str]:
        return {name: each.failure.message for name, each in _run(small, _here).items() if each.failure is not None}

    assert failures() == {} and not _run(small, _here)
    sizes, elsewhere = small.tree.root / "lib" / "parts" / "sizes", small.tree.root / "elsewhere"
    sizes.rename(elsewhere)
    sizes.symlink_to(elsewhere)
    assert "Cannot find the module parts.sizes" in failures()["app/dev"]
    sizes.unlink()
    elsewhere.rename(sizes)
    assert failures() == {} and (small.folder / "app" / "dev.yaml").is_file()


def test_a_file_touches_who_has_read_it_through_a_link(small: Wanted) -> None:
    folder = small.tree.root / "one" / "s"
    assert _run(small, _here)
    (folder / "sizes.k").write_text("small = 7\n")
    assert _run(replace(small, only=(folder / "sizes.k",)), _here).keys() == {"app/dev"}
    (folder / "more.k").write_text("more = small\n")
    assert _run(replace(small, only=(folder / "more.k",)), _here).keys() == {"app/dev"}
    assert not _run(replace(small, only=(small.tree.root / "two" / "s" / "sizes.k",)), _here)


def test_a_link_that_leads_elsewhere_touches_who_has_read_through_it(small: Wanted) -> None:
    link, other = small.tree.root / "models", small.tree.root / "two"
    assert _run(small, _here)
    for to, size in (("two", "5"), ("one", "4")):
        link.unlink()
        link.symlink_to(to)
        if to == "one":  # without the record of the stack, which is out of date: by the place of the link
            assert not _run(replace(small, only=(other,)), _here)
        assert _run(replace(small, only=(link,)), _here)["app/dev"].failure is None
        assert f"size: '{size}'" in (small.folder / "app" / "dev.yaml").read_text()


def test_new_files_count(wanted: Wanted) -> None:
    _run(wanted)
    project = wanted.tree.root / "domains/d000/app-00004"
    (project / "crd").mkdir()
    (project / "crd/one.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\n"
    )
    assert set(_run(wanted)) == {"app-00004/prod", "app-00004/dev"}
    _edit(project / "crd/one.yaml", "things", "others")
    assert set(_run(wanted)) == {"app-00004/prod", "app-00004/dev"}
    # a package of another team gets one more file: it belongs to the package
    (wanted.tree.root / "models/teams/t07/more.k").write_text("more = 1\n")
    assert set(_run(wanted)) == {"app-00007/prod"}


def test_options_and_format_count(wanted: Wanted) -> None:
    _run(wanted)
    told = replace(wanted, inputs=CompileInputs(options={"token": "another"}))
    assert len(_run(told)) == 15
    assert base64.b64encode(b"another") in (wanted.folder / "app-00001/prod.yaml").read_bytes()
    as_json = replace(told, format="json")
    assert len(_run(as_json)) == 15
    assert all(each.endswith(".json") for each in _files(wanted.folder))


def test_a_file_that_is_gone_or_was_edited_is_made_again(wanted: Wanted) -> None:
    _run(wanted)
    whole = _files(wanted.folder)
    (wanted.folder / "app-00001/prod.yaml").unlink()
    (wanted.folder / "app-00002/prod.yaml").write_text("by hand\n")
    assert set(_run(wanted)) == {"app-00001/prod", "app-00002/prod"}
    assert _files(wanted.folder) == whole


def test_force_compiles_all(wanted: Wanted) -> None:
    _run(wanted)
    assert len(_run(replace(wanted, force=True))) == 15


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 99, "stacks": {}}', "\0\0"])
def test_a_record_that_cannot_be_read_is_none(wanted: Wanted, text: str) -> None:
    _run(wanted)
    (wanted.folder / INDEX_FILE).write_text(text)
    assert len(_run(wanted)) == 15


def test_stacks_that_are_gone_leave_no_file(wanted: Wanted) -> None:
    _run(wanted)
    (wanted.tree.root / "domains/d000/app-00004/dev/stack.yaml").unlink()
    assert not _run(wanted)
    assert "app-00004/dev.yaml" not in _files(wanted.folder)


# --- only some


def test_only_stacks_that_a_file_touches(wanted: Wanted) -> None:
    _run(wanted)
    root = wanted.tree.root
    _edit(root / "models/teams/t03/team.k", "team-03", "x")
    _edit(root / "models/teams/t05/team.k", "team-05", "x")
    few = replace(wanted, only=(root / "models/teams/t05/team.k",))
    batch = prepare(few)
    assert [each.name for each in batch.stale] == ["app-00005/prod"]
    assert (batch.fresh, batch.left) == (13, 1)
    assert set(_run(few)) == {"app-00005/prod"}
    # what was left out is not forgotten
    assert set(_run(wanted)) == {"app-00003/prod"}


def test_without_a_record_the_place_of_a_file_speaks(wanted: Wanted) -> None:
    root = wanted.tree.root
    one = replace(wanted, only=(root / "domains/d000/app-00004/base/base.k",))
    assert {each.name for each in prepare(one).stale} == {"app-00004/dev", "app-00004/prod"}
    shared = replace(wanted, only=(root / "models/teams/t05/team.k",))
    assert len(prepare(shared).stale) == 15


def test_git_tells_what_changed(wanted: Wanted) -> None:
    root = wanted.tree.root
    with pytest.raises(EngineError, match="git cannot tell what changed"):
        changed_since(root, "HEAD")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for each in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(root), *each], check=True)
    assert changed_since(root, "HEAD") == []
    (root / "models/teams/t01/team.k").unlink()
    (root / "new file.k").write_text("a = 1\n")
    assert set(changed_since(root, "HEAD")) == {root / "models/teams/t01/team.k", root / "new file.k"}
    for wrong in ("", "--output=x", "no-such"):
        with pytest.raises(EngineError):
            changed_since(root, wrong)


# --- when something breaks


def test_a_stack_that_fails_has_no_file_and_stops_no_other(wanted: Wanted) -> None:
    _run(wanted)
    file = wanted.tree.root / "domains/d000/app-00004/prod/main.k"
    _edit(file, "replicas = 5", "replicas = 'five'")
    for _ in range(2):  # it is tried again
        outcomes = _run(wanted)
        assert set(outcomes) == {"app-00004/prod"}
        failure = outcomes["app-00004/prod"].failure
        assert failure is not None and failure.where.startswith(f"{file}:5:")
        assert "five" in failure.rendered
    assert len(_files(wanted.folder)) == 14
    _edit(file, "'five'", "5")
    assert set(_run(wanted)) == {"app-00004/prod"}


def test_what_was_done_before_it_was_stopped_is_kept(wanted: Wanted) -> None:
    batch = prepare(wanted)
    running = batch.run(in_processes(1))
    done = {next(running).stack for _ in range(4)}
    running.close()  # type: ignore[attr-defined]
    again = _run(wanted)
    assert set(again) == {each.name for each in wanted.tree.stacks()} - done
    assert len(_files(wanted.folder)) == 15


def test_files_that_move_meanwhile_are_compiled_again(wanted: Wanted) -> None:
    batch = prepare(wanted)
    outcomes: list[Outcome] = []
    for each in batch.run(in_processes(1)):
        if not outcomes:
            _edit(wanted.tree.root / "models/teams/t03/team.k", "team-03", "meanwhile")
        outcomes.append(each)
    assert len(outcomes) == 15
    again = _run(wanted)
    assert set(again) <= {"app-00003/prod"}
    assert b"meanwhile" in (wanted.folder / "app-00003/prod.yaml").read_bytes()


def test_a_process_that_dies_costs_nothing_but_time(wanted: Wanted) -> None:
    whole = replace(wanted, folder=wanted.folder.with_name("whole"))
    _run(whole)
    batch: Batch = prepare(wanted)
    outcomes: list[Outcome] = []
    for each in batch.run(in_processes(2)):
        if not outcomes:
            _kill_one_process_below()
        outcomes.append(each)
    assert {each.stack for each in outcomes} == {each.name for each in wanted.tree.stacks()}
    assert not [each for each in outcomes if each.failure]
    assert _files(wanted.folder) == _files(whole.folder)


def _kill_one_process_below() -> None:
    """Kills a process that compiles: a grandchild, below the server that starts them."""
    psutil = pytest.importorskip("psutil")
    own = psutil.Process()
    below = [each for child in own.children() for each in child.children()]
    below = [each for each in below if "resource_tracker" not in " ".join(each.cmdline())]
    os.kill((below or own.children())[-1].pid, signal.SIGKILL)


def test_a_worker_of_another_version_is_told(wanted: Wanted) -> None:
    stacks = tuple(wanted.tree.stacks())
    chunk = Chunk(stacks, wanted.tree.root, CompileInputs(), wanted.folder, "yaml", None, "0.0.0-other")
    with pytest.raises(EngineError, match="another version") as raised:
        compile_chunk(chunk)
    assert version() in raised.value.where
    sent: EngineError = pickle.loads(pickle.dumps(raised.value))
    assert (sent.message, sent.where, sent.hint) == (raised.value.message, raised.value.where, raised.value.hint)


def test_a_folder_that_cannot_be_written_is_told(wanted: Wanted, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="cannot be written"):
        _run(replace(wanted, folder=tmp_path / "file" / "below"))


@pytest.mark.parametrize(
    ("project", "stack", "file"),
    [
        ("shop", "prod", "shop/prod.yaml"),
        ("..", "..", "%2E./%2E..yaml"),
        (".hidden", "a b", "%2Ehidden/a b.yaml"),
        ("payments/shop", "dev", "payments/shop/dev.yaml"),
        ("../x", "a\\b:c", "%2E./x/a%5Cb%3Ac.yaml"),
    ],
)
def test_no_name_leads_out_of_the_folder(project: str, stack: str, file: str) -> None:
    assert spec_file(StackPath(ProjectName(project), StackName(stack)), "yaml") == file


def test_a_crew_that_repeats_itself_is_heard_once(wanted: Wanted) -> None:
    def stutters(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        for chunk in chunks:
            outcomes = compile_chunk(chunk)
            yield outcomes
            yield outcomes

    assert len(_run(wanted, stutters)) == 15

"""A branch decides nothing by what its commits hold: what is compared, what is run, what a reviewer sees."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.session.shop import shop
from workbench.present.pull_request import Annotation, code, escaped, fenced, github, gitlab

_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
CANARY = "canary-of-the-neighbour"


def git(root: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *_WHO, *words], check=True, capture_output=True, text=True, input=given
    )
    return done.stdout.strip()


@pytest.fixture
def wb(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wb:
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WB_CACHE_DIR", str(tmp_path / "cache"))
    return Wb(capsys)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = shop(tmp_path / "repo")
    git(root, "init", "-q")
    monkeypatch.chdir(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")


# What must not hide a change, or run anything


def _hidden_by_export_ignore(root: Path, program: Path) -> None:
    (root / ".gitattributes").write_text("models/** export-ignore\n")


def _substituted(root: Path, program: Path) -> None:
    (root / ".gitattributes").write_text("* export-subst ident\n")


def _smudged(root: Path, program: Path) -> None:
    (root / ".gitattributes").write_text("*.k filter=evil diff=evil\n")
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv"):
        git(root, "config", key, str(program))
    git(root, "config", "filter.evil.required", "true")


def _hooked(root: Path, program: Path) -> None:
    folder = root / ".git/hooks"
    for name in ("post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (folder / name).write_text(program.read_text())
        (folder / name).chmod(0o755)
    git(root, "config", "core.fsmonitor", str(program))


def _replaced(root: Path, program: Path) -> None:
    """Git would take the changed model for that of before."""
    old = git(root, "rev-parse", "HEAD:models/server.k")
    new = git(root, "hash-object", "-w", "--stdin", given=_changed(root))
    git(root, "replace", old, new)


def _marked(root: Path, program: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "models/server.k")


def _skipped(root: Path, program: Path) -> None:
    git(root, "update-index", "--skip-worktree", "models/server.k")


def _ignored(root: Path, program: Path) -> None:
    (root / ".gitignore").write_text("*.k\n")


def _in_another_tree(root: Path, program: Path) -> None:
    git(root, "config", "core.worktree", str(root.parent / "elsewhere"))


def _behind_a_link(root: Path, program: Path) -> None:
    """What stacks read is not called as what changes."""
    (root / "models").rename(root / "real")
    (root / "models").symlink_to("real")
    commit(root)


def _changed(root: Path) -> str:
    return (root / "models/server.k").read_text().replace("replicas = s.replicas", "replicas = s.replicas + 1")


HIDING: tuple[Callable[[Path, Path], None], ...] = (
    _hidden_by_export_ignore,
    _substituted,
    _smudged,
    _hooked,
    _replaced,
    _marked,
    _skipped,
    _ignored,
    _in_another_tree,
    _behind_a_link,
)


@pytest.mark.parametrize("hide", HIDING)
def test_nothing_hides_a_change_and_nothing_runs(
    root: Path, wb: Wb, tmp_path: Path, hide: Callable[[Path, Path], None]
) -> None:
    marker, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> '{marker}'\ncat\n")
    program.chmod(0o755)
    commit(root)
    hide(root, program)
    marker.unlink(missing_ok=True)
    (root / "models/server.k").write_text(_changed(root))
    ended = wb("impact")
    assert ended.code == 1 and "2 of 2 stacks change" in ended.out, ended.text
    assert not marker.exists()


# What a commit may be made of


@pytest.mark.parametrize("name", ["../out.k", ".git/config", ".GIT/config", "a/../../out.k", "x/.git/hooks/y"])
def test_a_tree_writes_nothing_outside_of_its_folder(root: Path, wb: Wb, tmp_path: Path, name: str) -> None:
    commit(root)
    blob = git(root, "hash-object", "-w", "--stdin", given="evil = 1\n")
    raw = bytes.fromhex(blob)
    *folders, file = name.split("/")
    tree = _tree(root, [(b"100644", file.encode(), raw)])
    for each in reversed(folders):
        tree = _tree(root, [(b"40000", each.encode(), bytes.fromhex(tree))])
    evil = git(root, "commit-tree", tree, "-m", "evil")
    ended = wb("impact", "--git", f"{evil}..HEAD")
    assert ended.code == 3 and "names a file that no checkout has" in ended.err, ended.text
    assert not list(tmp_path.rglob("out.k"))


def test_a_link_and_what_lies_below_it(root: Path, wb: Wb, tmp_path: Path) -> None:
    """Two entries of one name: a link out of the folder, and a folder with a file to write through it."""
    commit(root)
    outside = tmp_path / "outside"
    outside.mkdir()
    link = bytes.fromhex(git(root, "hash-object", "-w", "--stdin", given=str(outside)))
    blob = bytes.fromhex(git(root, "hash-object", "-w", "--stdin", given="evil = 1\n"))
    below = bytes.fromhex(_tree(root, [(b"100644", b"evil.k", blob)]))
    tree = _tree(root, [(b"120000", b"models", link), (b"40000", b"models", below)])
    evil = git(root, "commit-tree", tree, "-m", "evil")
    ended = wb("impact", "--git", f"HEAD..{evil}")
    assert ended.code == 3 and not list(outside.iterdir()), ended.text


def _tree(root: Path, entries: list[tuple[bytes, bytes, bytes]]) -> str:
    content = b"".join(mode + b" " + name + b"\0" + raw for mode, name, raw in entries)
    done = subprocess.run(
        ["git", "-C", str(root), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
        check=True,
        capture_output=True,
        input=content,
    )
    return done.stdout.decode().strip()


def test_a_link_of_the_earlier_side_reads_nothing_outside(root: Path, wb: Wb, tmp_path: Path) -> None:
    (tmp_path / "secret.k").write_text(f"replicas = '{CANARY}'\n")
    model = root / "models/server.k"
    text = model.read_text()
    model.unlink()
    model.symlink_to(tmp_path / "secret.k")
    commit(root)
    model.unlink()
    model.write_text(text)
    ended = wb("impact", "-o", "json")
    assert ended.code == 3 and CANARY not in ended.text and ended.out, ended.text
    assert all(each["state"] == "unknown" for each in ended.json()["stacks"])


def test_the_working_copy_and_the_index_stay(root: Path, wb: Wb) -> None:
    commit(root)
    (root / "models/server.k").write_text(_changed(root))
    git(root, "add", "-A")
    (root / "web/dev/main.k").write_text((root / "web/dev/main.k").read_text() + "# seen\n")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    wb("impact")
    wb("impact", "--git", "HEAD")
    wb("ci", "--annotations", "none")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_tag_of_the_name_of_a_branch(root: Path, wb: Wb) -> None:
    commit(root)
    git(root, "branch", "base")
    (root / "models/server.k").write_text(_changed(root))
    commit(root)
    git(root, "tag", "base")
    for name in ("base", "base..HEAD", "base...HEAD"):
        ended = wb("impact", "--git", name)
        assert ended.code == 3 and "several revisions" in ended.err, ended.text


def test_an_untrusted_repository_is_compared_and_asks_nobody(root: Path, wb: Wb, tmp_path: Path) -> None:
    (root / "kubeconfig").write_text("apiVersion: v1\nkind: Config\n")
    commit(root)
    (root / "models/server.k").write_text(_changed(root))
    ended = wb("--untrusted", "impact")
    assert ended.code == 1 and "2 of 2 stacks change" in ended.out
    ended = wb("--untrusted", "impact", "--live", "-o", "json")
    assert ended.code == 3 and ended.json()["status"] == "unknown"


def test_a_mask_that_the_change_takes_away_still_hides(root: Path, wb: Wb) -> None:
    (root / "masking.yaml").write_text("paths: [ConfigMap data.COLOUR]\n")
    main = root / "web/base/base.k"
    main.write_text(main.read_text().replace('COLOUR = "red"', 'COLOUR = "ultraviolet"'))
    commit(root)
    (root / "masking.yaml").write_text("paths: []\n")
    main.write_text(main.read_text().replace("ultraviolet", "infrared"))
    for words in (("impact",), ("impact", "-o", "json"), ("ci", "--annotations", "github")):
        ended = wb(*words)
        assert "masked#" in ended.text and "ultraviolet" not in ended.text, ended.text


# What a reviewer sees

HOSTILE = (
    "a\nb", "a\r\n::error::owned", "::set-output name=x::y", "##[error]owned", "x ##[add-path]/tmp", "```", "`` ` ``",
    "| a | b |", "</details><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[click](javascript:alert(1))",
    "![x](http://evil.example/p.png)", "@maintainers please merge", "see #1", "http://evil.example", "www.evil.example",
    "**bold** _it_ ~~no~~", "# Title", "- item", "1. item", "> quote", "&lt;b&gt;", "\\", "`a", "a`", "``` \n# Title",
    "%0A::error::x", "a%0Ab", "file=x,line=1", "\x1b]52;c;ZXZpbA==\x07", "\u202egnp.exe", "\x9b31m", "$(id)",
    "${{ x }}", "a\u2028b", "---", "===", "    code", "\t", "", "~~~",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_an_annotation(text: str) -> None:
    said = github(Annotation("warning", text, 3, text, text))
    assert len(said.splitlines()) == 1 and "##[" not in said
    found = re.fullmatch(r"::warning (?:file=([^:,]*),line=3,)?title=([^:,]*)::(.*)", said)
    assert found is not None, said
    (entry,) = gitlab((Annotation("warning", text, 3, text, text),))
    assert "\n" not in entry["description"] and not any(ord(each) < 32 for each in entry["description"])


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_the_markdown(text: str) -> None:
    shown = escaped(text)
    assert len(shown.splitlines()) <= 1
    bare = re.sub(r"&#\d+;|&nbsp;", "", shown)
    assert not set("\\`*_{}[]()#+-.!|<>&~@:$^=") & set(bare), shown
    span = code(text)
    assert len(span.splitlines()) == 1 and "|" not in span and "##[" not in span
    if span != "&nbsp;":
        ticks = re.match(r"`+", span)
        assert ticks is not None and span.endswith(ticks[0])
        inside = span[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall(r"`+", inside), span
    first, *body, last = fenced([f"+ {text}"], "diff")
    assert last == first.removesuffix("diff") and len(body) == 1 and len(body[0].splitlines()) == 1
    assert all(len(run) < len(last) for run in re.findall(r"`+", body[0]))


def test_a_hostile_branch_writes_one_summary(root: Path, wb: Wb, tmp_path: Path) -> None:
    commit(root)
    value = "x``````\\n::error::owned\\n</details><script>alert(1)</script>| @all ##[error]x"
    (root / "web/base/base.k").write_text(
        (root / "web/base/base.k").read_text().replace('COLOUR = "red"', f'"COLOUR" = "{value}"')
    )
    (root / "web/::error::x`|.md").write_text("x\n")
    summary = tmp_path / "summary.md"
    ended = wb("ci", "--annotations", "github", "--summary", summary)
    assert ended.code == 0, ended.text
    assert all(line.startswith("::warning file=web/base/base.k,line=") for line in ended.out.splitlines())
    text = summary.read_text()
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0 and all(each.rstrip("dif") == "```````" for each in fences), text
    outside, is_open = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            is_open = not is_open
        elif not is_open:
            outside.append(line)
    assert "<script>" not in "\n".join(outside) and "::error" not in "\n".join(outside)
    assert not any(line.startswith("::") for line in text.splitlines()) and "##[" not in text


@pytest.mark.parametrize("option", ["--summary", "--code-quality"])
def test_what_ci_writes_does_not_leave_by_a_link(root: Path, wb: Wb, tmp_path: Path, option: str) -> None:
    commit(root)
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n")
    (root / "report").symlink_to(outside)
    more = ("--annotations", "gitlab") if option == "--code-quality" else ()
    ended = wb("ci", option, "report", *more)
    assert ended.code == 3 and outside.read_text() == "mine\n", ended.text
    os.unlink(root / "report")

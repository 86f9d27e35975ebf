"""What files of a program may name: `python -m kcl run` held against the official compiler, call by call."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcl.cli import main
from tests.properties.official import Official, official

_ESCAPES = "escapes module root"
_PATHS = (
    *("in.txt", "./in.txt", "sub/s.txt", "../in.txt", "../out.txt", "sub/../in.txt", "../p/in.txt", "none.txt"),
    *("../none.txt", "link.txt", "linked/out.txt", "linked", "{root}/in.txt", "{root}/sub/s.txt", "{outside}/out.txt"),
    *("{outside}", "/etc/hostname", "/", "..", "s.txt"),
)
_CALLS = (
    *('file.read("{}")', 'file.exists("{}")', 'file.size("{}")', 'file.abs("{}")', 'file.glob("{}")'),
    *('file.append("{}", "x")', 'file.mkdir("{}/new")', 'file.cp("{}", "copy")', 'file.delete("{}/none")'),
)


@pytest.fixture(scope="module")
def peer() -> Iterator[Official]:
    with official() as running:
        yield running


def _written(folder: Path) -> Path:
    """A package `p` beside a file that is none of its business, with links to it."""
    root = folder / "p"
    (root / "sub").mkdir(parents=True)
    for name in ("out.txt", "p/in.txt", "p/sub/s.txt"):
        (folder / name).write_text(name)
    (root / "kcl.mod").write_text('[package]\nname = "p"\n')
    (root / "link.txt").symlink_to("../out.txt")
    (root / "linked").symlink_to("..")
    return root


def _ours(root: Path, *more: str) -> tuple[str | None, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(["run", "main.k", *more], cwd=root, stdin=io.StringIO(), stdout=out, stderr=err)
    return (out.getvalue().strip(), "") if code == 0 else (None, err.getvalue())


@pytest.mark.parametrize(("call", "where"), [*((call, "main") for call in _CALLS), (_CALLS[0], "sub")])
def test_what_leads_out_is_refused_as_officially(call: str, where: str, peer: Official, tmp_path: Path) -> None:
    wrong = []
    for number, path in enumerate(_PATHS if call == _CALLS[0] else _PATHS[::3]):
        answers = []
        for side in ("ours", "theirs"):
            root = _written(tmp_path / f"{number}" / side)
            text = call.replace("{}", path.format(root=root, outside=root.parent))
            if where == "main":
                (root / "main.k").write_text(f"import file\na = {text}\n")
            else:
                (root / "sub/m.k").write_text(f"import file\nv = {text}\n")
                (root / "main.k").write_text("import sub\na = sub.v\n")
            if side == "ours":
                value, complaint = _ours(root)
            else:
                answer = peer.run_files(str(root), {"files": ["main.k"], "options": []})
                value, complaint = answer.yaml, answer.complaint
            plain = None if value is None else value.replace(str(root), "ROOT").replace("/./", "/")
            answers.append((plain, _ESCAPES in complaint))
        # officially what is not there has no absolute path either
        if answers[0] != answers[1] and not (".abs(" in call and answers[0][1] == answers[1][1]):
            wrong.append(f"{text}: ours {answers[0]}, official {answers[1]}")
    assert not wrong, "\n".join(wrong)


def test_a_flag_lets_programs_read_elsewhere_and_write_nothing_there(tmp_path: Path) -> None:
    root = _written(tmp_path)
    for text in ('file.read("../out.txt")', 'file.read("link.txt")', f'file.read("{tmp_path}/out.txt")'):
        (root / "main.k").write_text(f"import file\na = {text}\n")
        assert _ours(root, "--allow_read", "..") == ("a: out.txt", "")
        assert _ours(root)[0] is None
        assert _ours(root, "--allow_read", "sub")[0] is None
    (root / "main.k").write_text('import file\nfile.append("../out.txt", "x")\n')
    assert _ESCAPES in _ours(root, "--allow_read", "..")[1]
    assert (tmp_path / "out.txt").read_text() == "out.txt"


def test_the_digest_of_a_file_elsewhere_is_refused_too(tmp_path: Path) -> None:
    """Officially it is not: a digest of a short secret is as good as the secret."""
    root = _written(tmp_path)
    (root / "main.k").write_text('import crypto\na = crypto.filesha256("../out.txt")\n')
    assert _ESCAPES in _ours(root)[1]
    assert _ours(root, "--allow_read", "..")[0] is not None

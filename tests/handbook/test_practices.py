"""Every page of docs/practices, from its first block to its last, on a copy of the sample repository.

A page that says what is not so fails with the line of the page. `KONFIG_WORKBENCH_RECORD=1` writes what is printed into
the pages instead, for whoever writes one; the difference is to be read.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.handbook.pages import Command, PageError, shows, steps
from tests.handbook.shell import Different, Shell

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "practices"
PAGES = {each.stem: each for each in sorted(FOLDER.glob("*.md"))}
TEXTS = {name: each.read_text(encoding="utf-8") for name, each in PAGES.items()}


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_does_what_it_says(page: str, shell: Shell) -> None:
    if os.environ.get("KONFIG_WORKBENCH_RECORD"):
        await _record(page, shell)
        return
    for step in steps(TEXTS[page]):
        try:
            await shell.do(step)
        except Different as found:
            pytest.fail(f"docs/practices/{page}.md:{step.line}: {found}", pytrace=False)
    shell.settled()


async def _record(page: str, shell: Shell) -> None:
    """Puts what each command prints where the page says something else, with the code it ends with."""
    every = steps(TEXTS[page])
    wrong: list[tuple[Command, list[str]]] = []
    for step, following in zip(every, (*every[1:], None), strict=True):
        printed = list(step.printed) if isinstance(step, Command) else []
        try:
            await shell.do(step)
        except Different as found:
            if not isinstance(step, Command):
                raise
            assert "nobody carries out" not in str(found), found
            printed = list(shell.last)
        if shell.unread and not (isinstance(following, Command) and following.typed == "echo $?"):
            printed += ["$ echo $?", str(shell.code)]
            shell.unread = ""
        if isinstance(step, Command) and printed != list(step.printed):
            wrong.append((step, printed))
    lines = TEXTS[page].splitlines()
    for command, printed in reversed(wrong):  # from the last to the first, as lines move
        start = command.line
        while lines[start - 1].endswith("\\"):
            start += 1
        lines[start : start + len(command.printed)] = printed
    _write(PAGES[page], "\n".join(lines) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_every_page_is_in_the_index_once_and_has_something_to_do() -> None:
    for page in PAGES.keys() - {"README"}:
        assert TEXTS["README"].count(f"| [{TEXTS[page].partition(chr(10))[0][2:]}]({page}.md) |") == 1, page
        assert sum(isinstance(each, Command) for each in steps(TEXTS[page])) >= 4, page


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("```\n$ wb ls\n```\n", "names no file"),
        ("```python\nx = 1\n```\n", "names no file"),
        ("text\n\n    wb ls\n", "indented"),
        ("- so:\n\n  ```console\n  $ wb ls\n  ```\n", "at the start of its line"),
        ("~~~console\n$ wb ls\n~~~\n", "at the start of its line"),
        ("```console\nwb ls\n```\n", "begins with a command"),
        ("```console\n```\n", "without a command"),
        ("```console\n$ wb ls\n...\n```\n", "nothing of what"),
        ("```console\n$ wb ls\n", "never ends"),
        ("```diff\n-a\n+b\n```\n", "--- PATH"),
        ("```diff\n--- x.k\n a\n```\n", "changes nothing"),
    ],
)
def test_a_block_that_nobody_would_carry_out_is_refused(block: str, said: str) -> None:
    with pytest.raises(PageError, match=said):
        steps(block)


def test_lines_left_out_stand_for_any_and_all_others_count() -> None:
    printed = ("a", "b", "c", "d")
    for wanted in (("a", "b", "c", "d"), ("a", "...", "d"), ("...", "b", "...", "d"), ("a", "...")):
        assert shows(wanted, printed), wanted
    for other in (("a", "b"), ("a", "...", "c"), ("...", "c", "...", "b", "..."), ("b", "..."), ()):
        assert not shows(other, printed), other


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```console\n$ wb ls -o name nothing/*\n```\n", "the page says"),
        ("```console\n$ cat nowhere\ncat: nowhere: No such file or directory\n$ ls ops\n```\n", "say so, by `. echo"),
        ("```console\n$ ssh elsewhere\n```\n", "nobody carries out"),
        ("```diff\n--- clusters.yaml\n-nobody: says this\n+x: y\n```\n", "0 times, not once"),
    ],
)
async def test_a_page_that_is_not_so_is_noticed(page: str, said: str, shell: Shell) -> None:
    with pytest.raises(Different, match=said.replace("$", r"\$")):
        for step in steps(page):
            await shell.do(step)

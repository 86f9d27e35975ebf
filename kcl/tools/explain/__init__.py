"""`kcl explain CODE`: what a diagnostic means, a program that gives it, and how to mend that.

page        what a page consists of
errors      the pages about errors
warnings    the pages about warnings
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TextIO

from kcl.api import InMemoryFileSystem, ProgramError, run
from kcl.diagnostics import render
from kcl.tools.explain.errors import ERRORS
from kcl.tools.explain.page import Page, Reporter
from kcl.tools.explain.warnings import WARNINGS

PAGES: Final = (*ERRORS, *WARNINGS)
_OK, _UNKNOWN, _USAGE = 0, 1, 2
_WIDTH: Final = 100
_HELP: Final = (
    "usage: kcl explain CODE...\n\nCODE is a number (E2L23) or a name (CompileError); without one, all are listed.\n"
)


def find(code: str) -> list[Page]:
    """The pages of a code, by its number (several may share one) or its name, in any case; none if it is unknown."""
    wanted = code.strip("[]").lower()
    return [each for each in PAGES if wanted in (each.code.number.lower(), each.code.title.lower())]


def outcome(files: Mapping[str, str]) -> str:
    """What a program of these files is told: its diagnostics with source lines, "" if there are none."""
    texts = {f"/{name}": text for name, text in {"kcl.mod": "", **files}.items()}
    try:
        result = run(["main.k"], work_dir="/", file_system=InMemoryFileSystem(texts))
    except ProgramError as problem:
        return problem.render()
    return render(result.diagnostics, result.sources)


def text(page: Page) -> str:
    """A page as it is printed."""
    lines = [f"{page.code.number}: {page.code.title}", "", *_wrapped(page.meaning)]
    if page.wrong:
        lines += ["", "For example" if page.told is Reporter.RUN else f"For example ({page.told.value} tells)", ""]
        lines += _program(page.wrong)
        if page.told is Reporter.RUN:
            lines += ["", "gives", "", *_indented(outcome(page.wrong).replace("--> /", "--> "))]
    lines += ["", "What to do", "", *_wrapped(page.mend)]
    if page.right:
        lines += ["", *_program({name: said for name, said in page.right.items() if said != page.wrong.get(name)})]
    return "\n".join(lines).rstrip() + "\n"


def _wrapped(said: str) -> list[str]:
    return textwrap.wrap(said, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _program(files: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name, said in files.items():
        if len(files) > 1 or name != "main.k":
            lines.append(f"    # {name}")
        lines += _indented(said)
    return lines


def _indented(said: str) -> list[str]:
    return [f"    {line}".rstrip() for line in said.rstrip("\n").split("\n")]


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Prints the pages of the codes; exit status 1 if one is unknown."""
    if any(word in ("-h", "--help") for word in argv):
        stdout.write(_HELP)
        return _OK
    if any(word.startswith("-") for word in argv):
        stderr.write(f"kcl explain: there are no options\n{_HELP}")
        return _USAGE
    if not argv:
        stdout.writelines(f"{each.code.number}  {each.code.title}\n" for each in PAGES)
        return _OK
    status = _OK
    shown: list[Page] = []
    for code in argv:
        pages = find(code)
        if not pages:
            known = sorted({each.code.number for each in PAGES} | {each.code.title for each in PAGES})
            near = get_close_matches(code, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`kcl explain` lists the codes"
            stderr.write(f"kcl explain: there is no code '{code}': {hint}\n")
            status = _UNKNOWN
            continue
        shown += pages
    stdout.write("\n\n".join(text(each) for each in shown))
    return status

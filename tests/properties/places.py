"""Where diagnostics of mutated programs point: `python -m tests.properties.places PROGRAMS [SEED]`.

Two laws for every diagnostic and every label of one. It points into a file of the program, at characters that are
there. And it moves with the text it is about: with a comment of a length of its own above each file, everything is
reported again, further down by the length of the comment above that very file. An offset that was counted in another
file does not.

Where the official compiler has the same finding (class and message), its file and line are compared too.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.properties.findings import Finding, findings
from tests.properties.official import Child, Gone, Official
from tests.properties.projects import Project, projects

_CHILD = Path(__file__).with_name("places_child.py")
_SLOWEST = 30
_EXAMPLES = 3


@dataclass
class Report:
    """What was looked at. `wrong` holds a line for each breach of a law, `different` examples by kind of difference."""

    programs: int = 0
    refused: int = 0
    gone: int = 0
    diagnostics: int = 0
    places: int = 0
    compared: int = 0
    agreeing: int = 0
    wrong: list[str] = field(default_factory=list)
    differences: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        return "\n".join(
            [
                f"{self.programs} programs, {self.refused} of them refused, {self.gone} without an answer",
                f"{self.diagnostics} diagnostics with {self.places} places, {len(self.wrong)} against the laws",
                f"{self.compared} places of findings that are official too, {self.agreeing} in the same file and line",
                *(f"{count:6} {kind}" for kind, count in self.differences.most_common()),
            ]
        )

    def differs(self, kind: str, example: str) -> None:
        self.differences[kind] += 1
        known = self.examples.setdefault(kind, [])
        if len(known) < _EXAMPLES:
            known.append(example)


def check(programs: int, seed: int) -> Report:
    """Checks so many mutated programs."""
    rng, report, bases = random.Random(seed), Report(), projects()
    with (
        tempfile.TemporaryDirectory() as folder,
        Child([sys.executable, str(_CHILD)], _SLOWEST) as ours,
        Official(_SLOWEST) as theirs,
    ):
        root = Path(folder).resolve()
        for _ in range(programs):
            project = rng.choice(bases).mutated(rng)
            report.programs += 1
            try:
                _check(project, root, ours, theirs, report, cached=rng.random() < 0.5)
            except Gone:
                report.gone += 1
    return report


def _check(project: Project, root: Path, ours: Child, theirs: Official, report: Report, *, cached: bool) -> None:
    found = _ask(project, root, ours, cached=cached)
    if found["crash"]:
        report.wrong.append(found["crash"])
        return
    report.refused += bool(found["rendered"])
    report.diagnostics += len(found["diagnostics"])
    _point_into_files(project, found, report)
    _move_with_their_text(project, found, _ask_shifted(project, root, ours, cached=cached), report)
    if found["rendered"]:
        _compare(project, root, findings(found["rendered"]), theirs, report)


def _ask(project: Project, root: Path, ours: Child, *, cached: bool) -> dict[str, Any]:
    question = {
        "folder": str(root),
        "files": project.main,
        "texts": {"kcl.mod": "", **project.texts},
        "options": project.options,
        "cached": cached,
    }
    answer: dict[str, Any] = ours.ask(question)
    return answer


def _ask_shifted(project: Project, root: Path, ours: Child, *, cached: bool) -> tuple[dict[str, Any], dict[str, int]]:
    moved, lengths = project.shifted()
    return _ask(moved, root, ours, cached=cached), {str(root / path): by for path, by in lengths.items()}


# ------------------------------------------------------------------ the laws


def _spans(found: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for diagnostic in found["diagnostics"]:
        for message, span in zip(diagnostic["messages"], diagnostic["spans"], strict=True):
            if span is not None:
                yield message, span


def _point_into_files(project: Project, found: dict[str, Any], report: Report) -> None:
    for message, (path, start, end) in _spans(found):
        report.places += 1
        length = found["sources"].get(path)
        if length is None or not 0 <= start <= end <= length:
            report.wrong.append(f"no such place: {message!r} at {path} {start}..{end} of {length}\n{_shown(project)}")


def _move_with_their_text(
    project: Project, found: dict[str, Any], moved: tuple[dict[str, Any], dict[str, int]], report: Report
) -> None:
    after, lengths = moved
    wanted = [
        (message, path, start + lengths.get(path, 0), end + lengths.get(path, 0))
        for message, (path, start, end) in _spans(found)
    ]
    got = [(message, *span) for message, span in _spans(after)]
    if wanted != got:
        lost, new = [each for each in wanted if each not in got], [each for each in got if each not in wanted]
        report.wrong.append(f"did not move with its text: {lost[:3]} became {new[:3]}\n{_shown(project)}")


# ------------------------------------------------------------------ the official compiler


def _compare(project: Project, root: Path, ours: Sequence[Finding], theirs: Official, report: Report) -> None:
    # The official library remembers files by their paths: a folder for each program.
    folder = root / str(report.programs)
    for path, text in {"kcl.mod": "", **project.texts}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", errors="replace", newline="")
    try:
        answer = theirs.run_files(str(folder), {"files": list(project.main), "options": [*project.options.items()]})
    except Gone:
        report.differs("the official compiler gives no answer", _shown(project))
        return
    finally:
        shutil.rmtree(folder)
    official = findings(answer.complaint)
    if not official:
        said = "nothing" if answer.yaml is not None else repr(answer.complaint[:200])
        report.differs("only ours", f"ours {ours[0]} officially {said}\n{_shown(project)}")
    for title in dict.fromkeys(finding.said for finding in ours):
        mine = {finding.lines for finding in ours if finding.said == title}
        official_lines = {finding.lines for finding in official if finding.said == title}
        if not official_lines:
            continue
        report.compared += len(mine)
        report.agreeing += len(mine & official_lines)
        if not mine <= official_lines:
            which = "at more places" if official_lines <= mine else "elsewhere"
            example = f"ours {sorted(mine)} officially {sorted(official_lines)}, {title}\n{_shown(project)}"
            report.differs(f"{which}: {title[-1]}: {_kind(title[0])}", example)


def _kind(message: str) -> str:
    """A message without the names and numbers of one program."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", message)[:60]


def _shown(project: Project) -> str:
    return f"### {project.changed}, of {', '.join(project.main)}\n{project.texts[project.changed]}"


def main() -> int:
    report = check(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    sys.stdout.write(report.text() + "\n")
    for kind, examples in report.examples.items():
        sys.stdout.write(f"\n=== {kind}\n" + "\n\n".join(examples) + "\n")
    for each in report.wrong[:20]:
        sys.stdout.write(f"\n!!! {each}\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Looks for programs that break the compiler: `python -m tests.properties.fuzz SECONDS [FOLDER]`, or `make fuzz`.

Programs of the corpus are mutated and compiled in a child process. One that shows something new (a pair of nodes or
of calls, a message) joins the corpus. What counts as a finding: an exception that is no diagnostic, a program that
takes longer than `SLOWEST` seconds, a process that dies, and one that the official parser takes and ours refuses or
the other way round. The inputs behind the findings are saved below FOLDER, one a kind.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import time
from pathlib import Path

from tests.differential.programs import program
from tests.kcl.conformance import FOLDER
from tests.properties.mutation import mutated
from tests.properties.official import Child, Gone, Official
from tests.properties.report import Report
from tests.properties.seeds import SEEDS

SLOWEST = 20
_OURS = Path(__file__).with_name("ours_child.py")
_SYNTAX = frozenset(("INVALID_SYNTAX", "TAB", "INDENTATION"))
_PROFILE_EVERY = 8
_GENERATED = 200


def own_programs() -> list[str]:
    return [*SEEDS, *(program(number) for number in range(_GENERATED))]


def corpus() -> list[str]:
    """The programs to begin with: those of the official suite where they are, and some of our own."""
    found = own_programs()
    for path in sorted(FOLDER.joinpath("kcl-grammar").rglob("*.k")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) < 3_000:
            found.append(text)
    return found


def fuzz(
    seconds: float, seed: int, folder: Path | None = None, most: int = sys.maxsize, *, with_suite: bool = True
) -> Report[str]:
    """Runs for `seconds` or `most` inputs."""
    dice = random.Random(seed)
    programs = corpus() if with_suite else own_programs()
    report = Report[str]()
    end = time.monotonic() + seconds
    shown = time.monotonic()
    with Child([sys.executable, str(_OURS)], SLOWEST) as ours, Official() as theirs:
        while time.monotonic() < end and report.inputs.total() < most:
            # Programs that showed something new stand at the end of the list.
            base = dice.choice(programs if dice.random() < 0.5 else programs[-200:])
            _try(mutated(dice, base, programs), ours, theirs, programs, report, folder)
            if folder is not None and time.monotonic() - shown > 60:
                shown = time.monotonic()
                sys.stdout.write(f"{report.text().splitlines()[0]}, {len(report.findings)} findings\n")
                sys.stdout.flush()
    report.corpus = len(programs)
    return report


def _try(
    text: str, ours: Child, theirs: Official, programs: list[str], report: Report[str], folder: Path | None
) -> None:
    report.inputs["programs"] += 1
    try:
        answer = ours.ask({"text": text, "profile": report.inputs.total() % _PROFILE_EVERY == 0})
    except Gone as gone:
        _found(f"gone: {gone}", text, report, folder, distinct=True)
        return
    new = report.features.issuperset(answer["features"])
    report.features.update(answer["features"])
    if not new and len(programs) < 20_000:
        programs.append(text)
    if answer["crash"]:
        _found(f"crash: {_where(answer['crash'])}", text, report, folder)
        return
    report.accepted += answer["yaml"] is not None
    try:
        official = theirs.syntax(text)
    except Gone:
        return  # the official parser's trouble
    report.compared += 1
    syntax = [item for item in answer["complaints"] if item[0] in _SYNTAX]
    if bool(syntax) != bool(official.errors):
        if official.errors and answer["complaints"]:
            return  # refused as well, for another reason
        said = official.errors[0][2] if official.errors else f"only ours: {syntax[0][2]}"
        _found(f"syntax: {re.sub(r'[0-9]+', 'N', said)[:90]}", text, report, folder)


def _where(trace: str) -> str:
    frames = re.findall(r'File "[^"]*/([^/"]+)", line (\d+), in (\w+)', trace)
    last = trace.strip().splitlines()[-1][:80]
    return f"{last} at {frames[-1] if frames else '?'}"


def _found(kind: str, text: str, report: Report[str], folder: Path | None, *, distinct: bool = False) -> None:
    key = f"{kind} {hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}" if distinct else kind
    if key in report.findings:
        return
    report.findings[key] = text
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", key)[:80] + ".k"
        folder.joinpath(name).write_text(text, encoding="utf-8", errors="replace")


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("build", "fuzz")
    seed = int(time.time())
    report = fuzz(seconds, seed, folder)
    sys.stdout.write(f"seed {seed}\n{report.text()}\n")
    return 1 if any(kind.startswith(("crash", "gone")) for kind in report.findings) else 0


if __name__ == "__main__":
    sys.exit(main())

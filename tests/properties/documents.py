"""Looks for files that break what reads them: `python -m tests.properties.documents SECONDS [FOLDER]`.

Files of every kind that a repository, a state folder or a home can hold are mutated and read in a child process. One
that is answered as none before joins the corpus. What counts as a finding: an exception that is no message for users, a
file that takes longer than `SLOWEST` seconds, and a process that dies. The first file of each kind of finding is saved
below FOLDER.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.properties.document_seeds import seeds
from tests.properties.official import Child, Gone
from tests.properties.report import Report

SLOWEST: Final = 20
_LARGEST: Final = 20_000
_TOKENS: Final = (
    *b"\x00 \xff \xfe\xff \xef\xbb\xbf \t \n : - [ ] { } , & * ! | > % @ ` # ' \" \\ ? <<: &a *a".split(b" "),
    *b"!!int !!python/name:os --- ... null true false ~ -0 0x 1e999 NaN Infinity .inf 2020-13-45".split(b" "),
    *b"999999999999999999999999 = . [[a]] \\ud800".split(b" "),
)  # fmt: skip
_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1.5, 1e308, float("nan"), 10**30, "", "x", "\0", "\ud800", "../../x", "/etc/passwd", "a" * 5_000,
    [], {}, [[]], [None], {"": None}, {"a": {"b": 1}}, [{}], ["x"] * 300,
)  # fmt: skip
_OURS: Final = re.compile(r'File "[^"]*/(?:kcl|runtimes|workbench)/([\w/]+\.py)", line (\d+)')


def mutated(dice: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """`content` with one to four changes; `others` give pieces to splice in."""
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        content = dice.choice(_MUTATIONS)(dice, content, others)
    return content[:_LARGEST]


def _flip(dice: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(content) + 1)
    return content[:at] + bytes((dice.randrange(256),)) + content[at + 1 :]


def _token(dice: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(content) + 1)
    return content[:at] + dice.choice(_TOKENS) + content[at + dice.choice((0, 0, 1, 3)) :]


def _cut(dice: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    start = dice.randrange(len(content) + 1)
    return content[:start] + content[start + dice.choice((1, 2, 8, 40, 400)) :]


def _torn(dice: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return content[: dice.randrange(len(content) + 1)]


def _doubled(dice: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    start = dice.randrange(len(content) + 1)
    piece = content[start : start + dice.choice((1, 8, 40, 200))]
    return content[:start] + piece * dice.choice((2, 3, 50)) + content[start + len(piece) :]


def _spliced(dice: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = dice.choice(others)
    at = dice.randrange(len(other) + 1)
    return content[: dice.randrange(len(content) + 1)] + other[at : at + 200]


def _reshaped(dice: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Another value somewhere in a JSON document; for YAML, another line as a value."""
    try:
        document = json.loads(content)
    except ValueError:
        lines = content.split(b"\n")
        at = dice.randrange(len(lines))
        key, colon, _ = lines[at].partition(b":")
        lines[at] = key + colon + b" " + json.dumps(dice.choice(_VALUES)).encode()
        return b"\n".join(lines)
    except RecursionError:
        return _cut(dice, content, others)
    places: list[tuple[Any, Any]] = []
    todo = [document]
    while todo:
        each = todo.pop()
        keys = list(each) if isinstance(each, dict) else list(range(len(each))) if isinstance(each, list) else []
        places += [(each, key) for key in keys]
        todo += [each[key] for key in keys]
    if not places:
        return json.dumps(dice.choice(_VALUES)).encode()
    holder, key = dice.choice(places)
    if dice.random() < 0.2:
        del holder[key]
    else:
        holder[key] = dice.choice(_VALUES)
    return json.dumps(document).encode()


_MUTATIONS: Final[tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...]] = (
    _flip, _token, _token, _cut, _torn, _doubled, _spliced, _reshaped, _reshaped, _reshaped,
)  # fmt: skip


def fuzz(seconds: float, seed: int, folder: Path | None = None, most: int = sys.maxsize) -> Report[bytes]:
    """Runs for `seconds` or `most` files."""
    dice, corpus, report = random.Random(seed), seeds(), Report[bytes]()
    begun = {kind: list(files) for kind, files in corpus.items()}
    answers: set[tuple[str, str]] = set()
    end = shown = time.monotonic()
    end += seconds
    with Child([sys.executable, "-m", "tests.properties.documents_child"], SLOWEST) as child:
        while time.monotonic() < end and report.inputs.total() < most:
            kind = dice.choice(list(corpus))
            first = begun[kind].pop() if begun[kind] else None
            content = first if first is not None else mutated(dice, dice.choice(corpus[kind]), corpus[kind])
            answer = _ask(child, kind, content)
            report.inputs[kind] += 1
            report.accepted += answer.get("said") == "read"
            if found := _finding(kind, answer):
                _keep(report, found, content, folder)
            said = (kind, re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "", answer.get("said", ""))[:80])
            if said not in answers:
                answers.add(said)
                corpus[kind].append(content)
                report.corpus += 1
            if folder is not None and time.monotonic() - shown > 60:
                shown = time.monotonic()
                sys.stdout.write(f"{report.text()}\n")
                sys.stdout.flush()
    return report


def _ask(child: Child, kind: str, content: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = child.ask({"kind": kind, "content": base64.b64encode(content).decode()})
    except Gone as gone:
        return {"gone": str(gone)}
    return answer


def _finding(kind: str, answer: dict[str, Any]) -> str:
    if "gone" in answer:
        return f"{kind}: {answer['gone']}"
    if "crash" not in answer:
        return ""
    last = answer["crash"].strip().splitlines()[-1][:80]
    places = _OURS.findall(answer["crash"])
    return f"{kind}: {last.partition(':')[0]} at {':'.join(places[-1]) if places else 'somewhere'}"


def _keep(report: Report[bytes], found: str, content: bytes, folder: Path | None) -> None:
    if found in report.findings:
        return
    report.findings[found] = content
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(found.encode()).hexdigest()[:12]
        (folder / name).write_bytes(content)
        (folder / f"{name}.txt").write_text(found)


def main() -> None:
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    report = fuzz(float(sys.argv[1]), int(time.time()), folder)
    sys.stdout.write(report.text() + "\n")
    sys.exit(bool(report.findings))


if __name__ == "__main__":
    main()

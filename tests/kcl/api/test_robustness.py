"""Whatever the text is, a program ends in a result or in diagnostics."""

import random
import re

import pytest

from kcl.api import ProgramError, run

_PROGRAM = """\
import math
schema Base:
    name: str
    labels?: {str:str} = {app = name}
    [key: str]: any

schema Server[replicas](Base):
    mixin [NamedMixin]
    count: int = replicas if replicas else 1
    ports: [int] = [p for p in [80, 443] if p > 100]
    if count > 1:
        spread = True
    check:
        count < 10 if count, "too many"

schema NamedMixin:
    full: str = "${name}-x"

f = lambda a: int, b = 2 -> int {
    c = a + b
    c * 2
}
base = {a.b.c = 1, "k" = [1, *[2]], if True: x = 1}
s: Server(2) {
    name = "web"
    ports += [8080]
    labels: {tier = "front", **{more = "y"}}
}
t = s | {count = f(1)}
u = [x for x in range(3) if all y in [1] { y > 0 }]
v = \"\"\"
    text ${math.floor(1.5)}
    \"\"\"
"""


def _mutant(dice: random.Random) -> str:
    text = _PROGRAM
    for _ in range(dice.randint(1, 3)):
        lines = text.split("\n")
        place = dice.randrange(len(lines))
        kind = dice.randrange(6)
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(place, dice.choice(lines))
        elif kind == 2:
            lines[place] = "    " + lines[place]
        elif kind == 3:
            words = re.findall(r"\w+|\W", lines[place]) or [""]
            words[dice.randrange(len(words))] = dice.choice(
                ["{", "}", "]", "(", ":", "=", '"', "'", "if", "lambda", "None", "\\"]
            )
            lines[place] = "".join(words)
        elif kind == 4:
            lines[place] = re.sub(
                r"\d+|\"\w*\"", dice.choice(["-1", "None", "Undefined", "[]", "{}", '"é"']), lines[place]
            )
        else:
            cut = dice.randrange(len(lines[place]) + 1)
            lines[place] = lines[place][:cut]
        text = "\n".join(lines)
    return text


def test_the_program_itself_runs() -> None:
    result = run(["main.k"], work_dir="/w", texts={"main.k": _PROGRAM})
    assert result.documents[0]["t"]["count"] == 6
    assert result.documents[0]["s"]["full"] == "web-x"


@pytest.mark.parametrize("seed", range(8))
def test_broken_programs_end_in_diagnostics(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        text = _mutant(dice)
        try:
            result = run(["main.k"], work_dir="/w", texts={"main.k": text})
        except ProgramError as problem:
            assert problem.render(), text
            assert all(item.message for item in problem.diagnostics), text
        else:
            assert result.yaml(), text

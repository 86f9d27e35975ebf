"""What the benchmark rests on: its edits change what is deployed, and leaving out provenance changes nothing else."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcl import api
from tests.benchmarks import cube
from tests.benchmarks.edits import edits
from tests.benchmarks.measuring import AtMost, ExtraAtMost, Faster, Group, LinesASecond, Planned, Variant, measure
from tests.benchmarks.placeless import without_places
from tests.dimensioned import Size, write_company

ROOT = Path(__file__).parents[2]
PROGRAM = """\
schema Port:
    number: int
    name: str = "p${number}"
    check:
        number > 0

schema Server:
    name: str
    replicas: int = 2
    labels: {str:str} = {app = name}
    ports: [Port] = [Port {number = n} for n in [80, 443]]
    note?: str

_base = Server {name = "base", labels.team = "t"}
one: Server = _base | {name = "one", replicas = 3}
many = [Server {name = "s${i}", replicas = i + 1, labels = {tier = "web"}} for i in range(20)]
last = {**one} | {total = one.replicas + many[3].replicas}
"""


def _run(text: str) -> api.RunResult:
    return api.run(["main.k"], work_dir="/work", texts={"main.k": text})


def test_each_edit_changes_the_value_that_it_names_and_no_two_are_the_same() -> None:
    found = edits(_run(PROGRAM))
    assert {each.value for each in found} >= {3, "one", "web", 80}
    assert [isinstance(each.value, int) for each in found] == sorted([isinstance(e.value, int) for e in found])[::-1]
    for each in found:
        texts = [each.edited(number) for number in range(3)]
        assert len({PROGRAM, *texts}) == 4
        assert all(each.is_in(_run(text).documents, number) for number, text in enumerate(texts))
        assert not each.is_in(_run(PROGRAM).documents, 0)


def _evaluated(how: str) -> dict[str, object]:
    runs = {"runs": [{"files": ["main.k"], "work_dir": "/", "texts": {"main.k": PROGRAM}}]}
    command = [sys.executable, "-m", "tests.benchmarks.placeless", how]
    told = json.dumps(runs) + "\nagain\nagain\n"
    ended = subprocess.run(command, input=told, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    first, *times = ended.stdout.splitlines()
    assert len(times) == 2 and all(float(each) > 0 for each in times)
    answer: dict[str, object] = json.loads(first)
    return answer


def test_without_provenance_the_results_are_the_same_and_nothing_is_known_of_where_they_come_from() -> None:
    as_it_is, without = _evaluated("with"), _evaluated("without")
    assert as_it_is == {"texts": [_run(PROGRAM).yaml()], "placed": 1}
    assert without == {"texts": as_it_is["texts"], "placed": 0}


def test_what_notes_a_place_is_struck_out_of_generated_code_and_nothing_else() -> None:
    def joined_sites(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        return one + other

    written = """\
def build(config):
    s0 = k0
    if config:
        v0, s0 = config, k0
        s1 = k1(s0, k0)
    else:
        s1 = ()
    instance.sites = places = k2.copy()
    v0, places['a'] = k3(config, s1)
    return v0
"""
    left = """\
def build(config):
    if config:
        v0 = config
        s1 = ()
    else:
        s1 = ()
    v0, _ = k3(config, s1)
    return v0"""
    assert ast.unparse(without_places(written, {"k1": joined_sites})) == left


@pytest.mark.parametrize(
    ("goal", "text", "met", "missed"),
    [
        (Faster(20), "20x faster", 20, 19.9),
        (Faster(1), "not slower", 1, 0.99),
        (AtMost(1.5), "at most 1.5x", 1.5, 1.51),
        (ExtraAtMost(0.1), "at most 10%", 0.1, 0.11),
        (LinesASecond(2e6), "2M lines/s", 1, 0.9),
    ],
)
def test_goals(goal: Faster | AtMost | ExtraAtMost | LinesASecond, text: str, met: float, missed: float) -> None:
    assert str(goal) == text
    assert goal.is_met(met) and not goal.is_met(missed)


def test_only_rows_that_are_asked_for_are_run_and_the_peer_takes_turns_with_them() -> None:
    calls: list[str] = []
    group = Group(
        (Variant(Faster(2), lambda: calls.append("a")), Variant(None, lambda: calls.append("b"))),
        lambda: calls.append("peer"),
        rounds=7,
        close=lambda: calls.append("closed"),
    )
    planned = Planned(("one row", "another"), lambda: group)
    assert measure(planned, "nothing") == [] and calls == []
    found = measure(planned, "row")
    assert calls == [*["a", "peer"] * 8, "closed"]
    assert [(each.name, each.runs, each.verdict in ("met", "not met")) for each in found] == [("one row", 7, True)]
    calls.clear()
    assert [each.verdict == "" for each in measure(planned, "", 2)] == [False, True]
    assert calls == [*["a", "b", "peer"] * 2, *["b", "a", "peer"], "closed"]  # each of ours comes first in turn


def test_what_is_asked_over_the_cube_has_a_row_for_each_stack(tmp_path: Path) -> None:
    root, size = tmp_path / "company", Size(applications=1)
    write_company(root, size)
    taken = cube.ask(root, tmp_path, "web.replicas")
    assert taken.rows == size.stacks and taken.processor_seconds > 0

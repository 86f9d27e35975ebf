"""`-O`: other values for a run."""

import io
from pathlib import Path
from typing import Any

import pytest

from kcl.api import ProgramError, run
from kcl.cli import main

PROGRAM = """schema App:
    name: str = "d"
    n?: int
    labels?: {str:str}
    ports?: [int]
    sub?: App

app = App {
    name = "a"
    n = 1  # how many
    labels: {x = "1"}
    ports = [1, 2]
    sub: App {
        name = "s"
    }
}
d = {a.b = 1, "k.x" = 2, l = [{x = 1}, {x = 2}]}
v = 5
two: App {
    n = 8
}
two: App {
    name = "z"
}
"""


def _document(*overrides: str) -> Any:
    result = run(["main.k"], work_dir="/w", texts={"main.k": PROGRAM}, overrides=overrides)
    return result.documents[0]


def _at(document: Any, path: str) -> Any:
    for step in path.split("/"):
        if isinstance(document, list):
            document = document[int(step)]
        elif step not in document:
            return "gone"
        else:
            document = document[step]
    return document


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("app.n=2", "app/n", 2),
        ("app.n=1+1", "app/n", 2),
        ("app.n=v", "app/n", 5),
        ("app.name=word", "app/name", "word"),
        ("app.name='q'", "app/name", "q"),
        ("app.labels.y=two words", "app/labels", {"x": "1", "y": "two words"}),
        ('app.labels["a.b/c"]="1"', "app/labels", {"x": "1", "a.b/c": "1"}),
        ("app.labels={y = '3'}", "app/labels", {"y": "3"}),
        ('app.labels:{y="3"}', "app/labels", {"x": "1", "y": "3"}),
        ("app.labels-", "app/labels", "gone"),
        ("app.labels.x-", "app/labels", {}),
        ("app.n-", "app/n", "gone"),
        ("app.n -", "app/n", "gone"),
        ("app.ports+=[3]", "app/ports", [1, 2, 3]),
        ("app.ports=[7]", "app/ports", [7]),
        ("app.ports[0]=9", "app/ports", [9, 2]),
        ("app.ports[0]-", "app/ports", [2]),
        ("app.ports[-1]-", "app/ports", [1]),
        ("app.sub.sub.n=4", "app/sub/sub", {"name": "d", "n": 4}),
        ("app.sub-", "app/sub", "gone"),
        ("app-", "app", "gone"),
        ("app:App {name='q'}", "app/name", "q"),
        ("app:{sub:{n=3}}", "app/sub", {"name": "s", "n": 3}),
        ("d.a.b=2", "d/a", {"b": 2}),
        ("d.a.c=2", "d/a", {"b": 1, "c": 2}),
        ("d.a={z=1}", "d/a", {"z": 1}),
        ("d.a.b-", "d/a", {}),
        ("d.a-", "d/a", "gone"),
        ("d['k.x']=3", "d/k.x", 3),
        ("d.l[0].x=5", "d/l/0", {"x": 5}),
        ("d.l+=[{x=3}]", "d/l/2", {"x": 3}),
        ("v=6", "v", 6),
        ("v:6", "v", 6),
        ("v=-1", "v", -1),
        ("v-", "v", "gone"),
        ("two.n=9", "two", {"name": "z", "n": 9}),
        ("two-", "two", "gone"),
        ("new=1", "new", 1),
        ("new.a.b=1", "new", {"a": {"b": 1}}),
        ("new:{a=1}", "new", {"a": 1}),
        ("nobody-", "v", 5),
        (":app.n=2", "app/n", 2),
    ],
)
def test_override(override: str, path: str, value: Any) -> None:
    assert _at(_document(override), path) == value


def test_everything_else_stays() -> None:
    changed, before = _document("app.n-"), _document()
    before["app"].pop("n")
    assert changed == before


def test_several_overrides_are_applied_in_turn() -> None:
    document = _document("app.labels.x-", "app.labels.z=q", "app.n=2", "app.n=3")
    assert document["app"]["labels"] == {"z": "q"}
    assert document["app"]["n"] == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("x", "invalid override 'x', write it as"),
        ("app.n=", "invalid override 'app.n='"),
        ("=1", "invalid override '=1'"),
        ("app..n=1", "its path makes no sense at '..n'"),
        (".n=1", "its path makes no sense at '.n'"),
        ("a b=1", "must begin with the name of a variable"),
        ("app.ports+=3", "only list type can in inserted"),
        ("app.ports[5]=9", "cannot set '5' here"),
        ("new[0]=1", "names item 0 of a list that is nowhere"),
        ("app.nope=1", "nope"),
    ],
)
def test_override_that_makes_no_sense(override: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        _document(override)
    assert message in caught.value.render()


def test_no_file_is_changed(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(PROGRAM)
    out = io.StringIO()
    status = main(["run", "main.k", "-O", "v=6", "-S", "v"], cwd=tmp_path, stdin=out, stdout=out, stderr=out)
    assert (status, out.getvalue()) == (0, "6\n")
    assert (tmp_path / "main.k").read_text() == PROGRAM


def test_overrides_of_a_settings_file(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(PROGRAM)
    (tmp_path / "s.yaml").write_text(
        "kcl_cli_configs:\n  files: [main.k]\n  overrides: [v=7]\n  path_selector: v\n  output: out.yaml\n"
    )
    out = io.StringIO()
    assert main(["run", "-Y", "s.yaml"], cwd=tmp_path, stdin=out, stdout=out, stderr=out) == 0
    assert (out.getvalue(), (tmp_path / "out.yaml").read_text()) == ("", "7\n")

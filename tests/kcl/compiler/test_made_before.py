"""An instance that is made of the same again may be the one that was made before: nobody can tell."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from kcl import api
from kcl.evaluator.schemas import SchemaType
from tests.kcl.compiler.both_ways import AT_ONCE, same

QUOTA = """
schema Quota:
    cpu: int = 1
    twice: int = cpu * 2
    note?: str
    check:
        cpu < 100, "too much: ${cpu}"
"""
PROGRAMS = {
    "defaults, and unions with what stays": """
        schema App:
            name: str
            quota: Quota = Quota {}
        _base = {quota.cpu = 3}
        apps = [App {**_base, name = "a${i}"} | {quota.note = "n"} for i in range(6)]
        others = [App {name = "b${i}", quota.cpu = 3} | {quota.note = "m"} for i in range(6)]
        """,
    "what is counted": """
        schema App:
            name: str
            quota: Quota = Quota {}
        apps = [App {name = "a${i}"} | {quota.cpu = 3} for i in range(6)]
        count = [len(Quota.instances()), len(App.instances())]
        """,
    "equal ones united": """
        make = lambda -> Quota {
            Quota {cpu = 2}
        }
        apps = [make() | make() for i in range(5)]
        """,
    "one after the other, at one place": """
        change = lambda quota: Quota, i: int -> Quota {
            quota | {cpu = i} | {note = "n"}
        }
        _first = Quota {}
        apps = [change(_first, i % 2) for i in range(8)]
        more = [change(change(_first, 1), 2) for i in range(5)]
        """,
    "a check that fails late": """
        change = lambda more: any -> Quota {
            Quota {} | more
        }
        _fine = {cpu = 5}
        _bad = {cpu = 500}
        apps = [change(_bad if i == 5 else _fine) for i in range(6)]
        """,
    "what is missing where nobody holds it": """
        schema Named:
            name: str
            size: int = 1
        make = lambda -> Named {
            Named {}
        }
        schema Holder:
            named: Named = make()
        holders = [Holder {named.name = "n${i}"} for i in range(5)]
        alone = make()
        """,
    "a variable that is read": """
        size = 2
        schema Sized:
            first: int = size
            note: str = "n"
        _one = Sized {}
        apps = [_one | {note = "m"} for i in range(5)]
        """,
    "what is printed": """
        shout = lambda text: str -> str {
            print(text)
            text
        }
        schema Loud:
            note: str = "n"
            check:
                shout(note)
        _one = Loud {}
        apps = [_one | {note = "m"} for i in range(5)]
        """,
    "equal ones united, and what is said by their operators": """
        make = lambda -> Quota {
            Quota {note: None}
        }
        apps = [{note = "x", **(make() | make())} for i in range(3)]
        _one = Quota {note: None}
        itself = [{note = "x", **_one}, {note = "x", **(_one | _one)}]
        count = len(Quota.instances())
        """,
    "what asks the world": """
        import crypto
        schema Named:
            size: int = 1
            id: str = crypto.uuid()
        ids = [isunique([(Named {}).id for i in range(6)]), isunique([(Named {} | {size = 2}).id for i in range(6)])]
        """,
    "instances inside of what is given": """
        schema Free:
            inner: any = 1
            size: int = 1
        _one = Free {inner = Quota {}}
        _more = {inner: {cpu = 4}}
        apps = [_one | _more for i in range(5)]
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_made_again_or_not_all_that_can_be_seen_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": QUOTA + dedent(PROGRAMS[name])})


def test_the_same_of_the_same_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _counting(monkeypatch)
    text = QUOTA + "_one = Quota {}\n_more = {cpu = 4}\nquotas = [_one | _more for i in range(200)]\n"
    result = api.run(files=["main.k"], work_dir="/", texts={"main.k": text})
    assert len(result.documents[0]["quotas"]) == 200
    assert len(made) < 10


def test_what_is_counted_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _counting(monkeypatch)
    text = QUOTA + "_one = Quota {}\n_more = {cpu = 4}\nquotas = [_one | _more for i in range(20)]\n"
    result = api.run(files=["main.k"], work_dir="/", texts={"main.k": text + "count = len(Quota.instances())\n"})
    assert result.documents[0]["count"] == 21
    assert len(made) >= 20


def test_an_option_that_changes_changes_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "COMPILING", AT_ONCE)
    text = (
        QUOTA + 'size = option("size")\n_one = Quota {cpu = size}\nquotas = [_one | {note = "n"} for i in range(9)]\n'
    )
    cache = api.ParseCache()
    for size in (3, 4, 3):
        result = api.run(files=["main.k"], work_dir="/", texts={"main.k": text}, options={"size": size}, cache=cache)
        assert {each["twice"] for each in result.documents[0]["quotas"]} == {2 * size}


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What unions make from now on, with generated code at once."""
    made: list[Any] = []
    rebuild = SchemaType.rebuild_changed

    def counted(*arguments: Any) -> Any:
        made.append(rebuild(*arguments))
        return made[-1]

    monkeypatch.setattr(api, "COMPILING", AT_ONCE)
    monkeypatch.setattr(SchemaType, "rebuild_changed", counted)
    return made

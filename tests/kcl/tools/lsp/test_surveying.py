"""Who sets what in which stack: what is told, of how many stacks, and never of a text that is no more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcl import api
from kcl.source import OsFileSystem, OverlayFileSystem
from kcl.tools.lsp import surveying
from kcl.tools.lsp.repositories import NotLooked, Place, Setting, StackSettings
from kcl.tools.lsp.resolving import Declaration
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.surveying import Extent, Survey
from tests.kcl.clocks import later

FILES = {
    "kcl.mod": "",
    "models/server.k": "schema Server:\n    image: str\n    replicas: int = 1\n",
    "base/base.k": 'import models.server\n\nweb: server.Server {\n    image = "nginx"\n    replicas = 2\n}\n',
    "dev/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
    "dev/main.k": "import models.server\n\nweb: server.Server {}\n",
    "prod/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
    "prod/main.k": "import models.server\n\nweb: server.Server {\n    replicas = 9\n}\n",
}


class Folders:
    """Stacks that are folders; each is run, and every value of its output is a field."""

    def __init__(self, root: Path, *names: str) -> None:
        self.root, self.names, self.asked = root, names, list[str]()

    async def stacks(self) -> Sequence[str]:
        if not self.names:
            raise NotLooked("no stacks here")
        return self.names

    async def effect(self, texts: Mapping[str, str]) -> str:
        return f"{len(texts)} texts\n"

    async def look(self, stack: str, texts: Mapping[str, str]) -> StackSettings:
        self.asked.append(stack)
        folder = str(self.root / stack)
        try:
            result = api.run(
                [], work_dir=folder, settings=["kcl.yaml"], file_system=OverlayFileSystem(OsFileSystem(), texts)
            )
        except api.ProgramError as problem:
            raise NotLooked(problem.diagnostics[0].message) from problem
        settings = []
        for number, document in enumerate(result.documents):
            for path in _leaves(document):
                chain = result.provenance.lookup(number, path)
                places = tuple(Place(each.file, each.line, each.column) for each in chain)
                settings.append(Setting(f"document {number}", ".".join(map(str, path)), places))
        return StackSettings(tuple(settings), frozenset(result.dependency_names))


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    else:
        yield path


def _survey(root: Path, *names: str) -> tuple[Survey, Folders]:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    session = Session(OsFileSystem(later), clock=later)
    repository = Folders(root, *names)
    survey = Survey(session, repository)
    return survey, repository


async def _look_around(survey: Survey, most: int = 99) -> list[str]:
    """Looks at all that is waiting, at most so many stacks; returns which."""
    await survey.begin()
    done: list[str] = []
    while len(done) < most and (name := survey.oldest(set(done))) is not None:
        done.append(name)
        found = await survey.look(name)
        if found is not None:
            survey.resolve(name, found)
    return done


async def test_a_line_tells_what_it_sets_and_what_wins_elsewhere(tmp_path: Path) -> None:
    survey, _ = _survey(tmp_path, "dev", "prod")
    assert await _look_around(survey) == ["dev", "prod"]
    base = str(tmp_path / "base/base.k")
    effects = survey.at(base, 5)
    assert [(each.stack, len(each.wins), len(each.loses)) for each in effects] == [("dev", 1, 0)]
    effects = survey.at(base, 5, 5, ("web", "replicas"))
    assert [(each.stack, len(each.wins)) for each in effects] == [("dev", 1), ("prod", 0)]
    assert surveying.title(effects) == "sets 1 field in 1 stack; in 1 more another line decides"
    assert surveying.story(effects, str(tmp_path)).splitlines()[1:] == [
        "- `dev`: `web.replicas` of `document 0`",
        "- `prod`: `prod/main.k:4` decides instead",
    ]
    assert surveying.title(survey.at(base, 4)) == "sets 2 fields in 2 stacks"
    default = survey.at(str(tmp_path / "models/server.k"), 3)
    assert surveying.title(default) == "has a say in 2 fields in 2 stacks: other lines decide"
    assert "`web.replicas` is decided by `prod/main.k:4`" in surveying.story(default, str(tmp_path))
    assert survey.at(base, 1) == []
    assert str(survey.extent()) == "all 2 stacks looked at"


async def test_an_attribute_tells_where_it_is_set(tmp_path: Path) -> None:
    survey, _ = _survey(tmp_path, "dev", "prod")
    await _look_around(survey)
    server = tmp_path / "models/server.k"
    at = FILES["models/server.k"].index("replicas")
    places = survey.of_declaration(Declaration(str(server), at, at + len("replicas")))
    assert {(stack, Path(place.path).parent.name, place.line) for stack, place in places} == {
        ("dev", "base", 5),
        ("prod", "prod", 4),
    }
    assert surveying.places_title(places) == "set at 2 lines in 2 stacks"
    assert "`prod/main.k:4` decides in `prod`" in surveying.places_story(places, str(tmp_path))


async def test_it_says_how_much_it_knows(tmp_path: Path) -> None:
    survey, _ = _survey(tmp_path, "dev", "prod")
    assert "not known" in str(survey.extent()) and not survey.extent().is_whole
    await _look_around(survey, 1)
    assert str(survey.extent()) == "1 of 2 stacks looked at so far"
    assert [each.stack for each in survey.at(str(tmp_path / "base/base.k"), 5)] == ["dev"]


async def test_after_an_edit_only_what_it_touches_is_looked_at_again_and_nothing_old_is_told(tmp_path: Path) -> None:
    survey, repository = _survey(tmp_path, "dev", "prod")
    await _look_around(survey)
    main = str(tmp_path / "prod/main.k")
    survey.session.open(main, FILES["prod/main.k"].replace("    replicas = 9\n", ""), 1)
    base = str(tmp_path / "base/base.k")
    assert [each.stack for each in survey.at(base, 5)] == ["dev"], "of prod nothing is known now"
    assert str(survey.extent()) == "1 of 2 stacks looked at so far"
    repository.asked.clear()
    assert await _look_around(survey) == ["prod"] == repository.asked
    assert [(each.stack, len(each.wins)) for each in survey.at(base, 5)] == [("dev", 1), ("prod", 1)]
    survey.session.close(main)  # what is on disk counts again
    assert [each.stack for each in survey.at(base, 5)] == ["dev"]


async def test_a_file_that_changes_on_disk_is_looked_at_again(tmp_path: Path) -> None:
    survey, _ = _survey(tmp_path, "dev", "prod")
    await _look_around(survey)
    (tmp_path / "models/server.k").write_text(FILES["models/server.k"].replace("= 1", "= 3"))
    survey.session.touch()
    assert survey.at(str(tmp_path / "base/base.k"), 5) == []
    assert await _look_around(survey) == ["dev", "prod"]


async def test_a_stack_that_does_not_compile_is_named(tmp_path: Path) -> None:
    survey, repository = _survey(tmp_path, "dev", "prod")
    (tmp_path / "dev/main.k").write_text("web = (\n")
    await _look_around(survey)
    assert str(survey.extent()) == "1 of 2 stacks looked at; 1 can't be compiled: dev"
    assert not survey.extent().is_whole
    repository.asked.clear()
    assert await _look_around(survey) == [], "nothing changed"
    survey.session.touch()
    assert await _look_around(survey) == ["dev"]


async def test_stacks_that_cannot_be_listed_are_no_claim(tmp_path: Path) -> None:
    survey, _ = _survey(tmp_path)
    await survey.begin()
    assert str(survey.extent()) == "the stacks of the repository are not known: no stacks here"


def test_what_programs_say_is_no_markdown_and_no_order() -> None:
    assert surveying.code("a`b\x1b]0;x\x07\n<img>") == "`a'b�]0;x�⏎<img>`"
    assert str(Extent(300, 300, 4700, ())) == (
        "all 300 stacks looked at; 4700 more are never looked at here: the editor's limit is 300"
    )

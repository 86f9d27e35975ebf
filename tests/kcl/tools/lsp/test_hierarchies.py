"""Type and call hierarchies of schemas and lambdas, over the files of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcl.source import OsFileSystem
from kcl.tools.lsp import hierarchies
from kcl.tools.lsp.sessions import Session
from tests.kcl.conformance import corpus
from tests.kcl.tools.lsp.editor import Editor

FILES = {
    "kcl.mod": "",
    "models/server.k": """schema Base:
    name: str

mixin TagMixin:
    tags?: [str]

schema Server(Base):
    mixin [TagMixin]
    port: Port = Port {}

schema Port:
    number: int = 80

make = lambda name: str -> Server {
    Server {name = name}
}
""",
    "models/web.k": "schema Web(Server):\n    size: int = 1\n",
    "stack/main.k": """import models

schema Own(models.Server):
    a: int = 1

one = models.Server {name = "a"}
two: models.Server = {name = "b"}
three = models.make("c")
four = [models.Server {name = "d"}, Own {name = "e"}]
models.Server {name = "f"}
""",
}


def _session(root: Path) -> Session:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    session = Session(OsFileSystem())
    session.open(str(root / "stack/main.k"), FILES["stack/main.k"], 1)
    return session


def _names(found: list[hierarchies.Item]) -> list[str]:
    return sorted(each.name for each in found)


def _calls(found: list[hierarchies.Calls]) -> dict[str, int]:
    return {each.item.name: len(each.places) for each in found}


def test_what_a_schema_rests_on_and_what_rests_on_it(tmp_path: Path) -> None:
    session = _session(tmp_path)
    path = str(tmp_path / "models/server.k")
    server = FILES["models/server.k"].index("Server(")
    assert _names(hierarchies.supertypes(session, path, server)) == ["Base", "TagMixin"]
    assert _names(hierarchies.subtypes(session, path, server)) == ["Own", "Web"]
    mixin = FILES["models/server.k"].index("TagMixin:")
    assert _names(hierarchies.subtypes(session, path, mixin)) == ["Server"]
    assert hierarchies.supertypes(session, path, mixin) == []


def test_an_instance_leads_to_its_schema(tmp_path: Path) -> None:
    session = _session(tmp_path)
    path, text = str(tmp_path / "stack/main.k"), FILES["stack/main.k"]
    for word in ("one", "Server {name", "three"):
        found = hierarchies.schema_at(session, path, text.index(word))
        assert found is not None and found.name == "Server", word
    assert hierarchies.schema_at(session, path, text.index('"a"')) is None


def test_who_makes_instances(tmp_path: Path) -> None:
    session = _session(tmp_path)
    path, text = str(tmp_path / "models/server.k"), FILES["models/server.k"]
    found = hierarchies.callers(session, path, text.index("Server("))
    assert _calls(found) == {"make": 1, "one": 1, "two": 1, "four": 1, "main.k": 1}, "a base is no instance"
    assert _calls(hierarchies.callers(session, path, text.index("make"))) == {"three": 1}
    assert _calls(hierarchies.callees(session, path, text.index("make"))) == {"Server": 1}
    assert _calls(hierarchies.callees(session, path, text.index("Server("))) == {"Port": 1}
    assert hierarchies.callers(session, path, text.index("Server("), lambda: True) == []


def test_an_unsaved_instance_counts(tmp_path: Path) -> None:
    session = _session(tmp_path)
    session.open(str(tmp_path / "stack/main.k"), "import models\nnew = models.Server {}\n", 2)
    path, text = str(tmp_path / "models/server.k"), FILES["models/server.k"]
    found = hierarchies.callers(session, path, text.index("Server("))
    assert _calls(found) == {"make": 1, "new": 1}


def test_konfig_2023_in_an_editor() -> None:
    root = corpus("konfig-2023")
    path = root / "base/pkg/kusion_models/kube/frontend/server.k"
    text = path.read_text()
    line = text[: text.index("schema Server")].count("\n")
    document: dict[str, Any] = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": 9}}
    with Editor(root) as editor:
        editor.open(path)
        [item] = editor.ask("textDocument/prepareCallHierarchy", document)
        assert item["name"] == "Server"
        calls = editor.ask("callHierarchy/incomingCalls", {"item": item})
        assert len({each["from"]["uri"] for each in calls}) > 8
        assert all(each["fromRanges"] for each in calls)
        [item] = editor.ask("textDocument/prepareTypeHierarchy", document)
        assert isinstance(editor.ask("typeHierarchy/supertypes", {"item": item}), list)
        assert isinstance(editor.ask("typeHierarchy/subtypes", {"item": item}), list)

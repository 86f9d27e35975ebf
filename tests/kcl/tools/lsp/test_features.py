"""What is answered of a place: in texts with a mark, by the functions; and by the process an editor starts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kcl.source import InMemoryFileSystem
from kcl.tools.lsp import acting, colouring, completing, hovering, outline, referring
from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.documents import Edit, edited
from kcl.tools.lsp.positions import Lines
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.views import View
from tests.kcl.conformance import corpus
from tests.kcl.tools.lsp.editor import Editor

SERVER = '''schema Base:
    """What all have.

    Attributes
    ----------
    name: str, required
        How it is called.
    """
    name: str

schema Server[kind: str](Base):
    """Serves.

    Attributes
    ----------
    image: str, required
        What runs.
    replicas: int, default is 1
        How many.
    """
    image: str
    replicas: int = 1
    mode?: "fast" | "slow"
    port: Port
    check:
        replicas > 0

schema Port:
    number: int

limit = 10
'''
FILES = {
    "/repo/kcl.mod": "",
    "/repo/models/server.k": SERVER,
    "/repo/models/parts/disk.k": "schema Disk:\n    size: int\n",
}
HEAD = "import models.server\nimport math\n\n"


def marked(text: str) -> tuple[str, int]:
    """A text and where its mark `|` is."""
    at = text.index("|")
    return text[:at] + text[at + 1 :], at


def session_of(text: str, path: str = "/repo/stack/main.k", files: dict[str, str] = FILES) -> Session:
    session = Session(InMemoryFileSystem({**files, path: text}))
    session.open(path, text, 1)
    return session


def view_of(session: Session, path: str = "/repo/stack/main.k") -> View:
    view = session.view(path)
    assert view is not None
    return view


def labels(marked_text: str) -> list[str]:
    text, at = marked(marked_text)
    session = session_of(text)
    files = session.documents.files
    found = completing.complete(
        text, at, "/repo/stack/main.k", files, lambda changed: session.view("/repo/stack/main.k", None, changed)
    )
    return [each.label for each in found]


def definition(marked_text: str) -> str:
    """FILE:LINE:TEXT of where the name at the mark is declared, "" for nowhere."""
    text, at = marked(marked_text)
    session = session_of(text)
    found = referring.definition(view_of(session), at)
    if found is None:
        return ""
    lines = Lines(session.documents.text(found.path) or "")
    return f"{Path(found.path).name}:{lines.place(found.start).line + 1}:{lines.text[found.start : found.end]}"


WEB = HEAD + 'web = server.Server("a") {\n    image = "nginx"\n    port: {number = 80}\n}\n'


@pytest.mark.parametrize(
    "text, place",
    [
        (HEAD + "a = server.Ser|ver {}", "server.k:11:Server"),
        (HEAD + "a = ser|ver.Server {}", "server.k:1:"),
        (HEAD + "a = server.limit| + 1", "server.k:31:limit"),
        (HEAD + "a: server.Por|t = {}", "server.k:28:Port"),
        (WEB.replace("image", "im|age"), "server.k:21:image"),
        (WEB.replace("number", "num|ber"), "server.k:29:number"),
        (HEAD + "a = server.Server {na|me = 'x'}", "server.k:9:name"),
        (WEB + "b = web.rep|licas", "server.k:22:replicas"),
        (WEB + "b = we|b.replicas", "main.k:4:web"),
        ("f = lambda x, y { x + |y }", "main.k:1:y"),
        ("a = [i for i in [1] if |i > 0]", "main.k:1:i"),
        ("a = {x = 1, y = |x}", "main.k:1:x"),
        ("a = {x.y = 1}\nb = a.x.|y", "main.k:1:y"),
        ("schema A:\n    b: int\n    c: int = |b", "main.k:2:b"),
        ("schema A:\n    b: int\nschema B(|A):\n    c: int = b", "main.k:1:A"),
        ("schema A:\n    b: int\nschema B(A):\n    c: int = |b", "main.k:2:b"),
        ("schema A[p]:\n    b: int = |p", "main.k:1:p"),
        ("n = 1\ns = 'a ${|n}'", "main.k:1:n"),
        ("a = le|n([])", ""),
        ("a = math.p|ow(1, 2)", ""),
        ("a = 'na|me'", ""),
        ("# na|me", ""),
        ("|", ""),
    ],
)
def test_definitions(text: str, place: str) -> None:
    assert definition(text) == place


def test_a_text_that_stands_in_is_not_checked_for_what_is_wrong_with_it() -> None:
    path, text = "/repo/main.k", 'a: int = "x"\nb = a\n'
    session = Session(InMemoryFileSystem({**FILES, path: "a = 1\n"}))
    view = session.view(path, None, text)
    assert view is not None and view.analysis.diagnostics == ()
    assert str(view.type_of_name("b", [view.module.tree])) == "int"
    session.open(path, text, 1)
    assert [each.message for each in session.analysis(path, session.documents).diagnostics] == [
        "expected int, got str(x)"
    ]


@pytest.mark.parametrize(
    "text, first",
    [
        (HEAD + "a = server.Server {\n    |\n}", ["image", "name", "port"]),
        (HEAD + 'a = server.Server {\n    image = "x"\n    |\n}', ["name", "port"]),
        (HEAD + "a = server.Server {\n    port: {\n        |\n    }\n}", ["number"]),
        (HEAD + "a = server.Server {\n    port: {nu|}\n}", ["number"]),
        (HEAD + "a = server.Server {\n    mode = |\n}", ['"fast"', '"slow"']),
        (HEAD + "a = server.|", ["Base", "Port", "Server", "limit"]),
        (HEAD + "a: server.|\nb = 1", ["Base", "Port", "Server"]),
        ("import |", ["models", "stack"]),
        ("import models.|", ["parts", "server"]),
        ("import models.parts.d|", ["disk"]),
        (HEAD + "a = math.po|", []),
        ("# a.|", []),
    ],
)
def test_completion_begins_with_what_belongs_there(text: str, first: list[str]) -> None:
    found = labels(text)
    assert found[: len(first)] == first, found


def test_what_is_set_already_comes_last() -> None:
    found = labels(HEAD + 'a = server.Server {\n    image = "x"\n    |\n}')
    assert found[-1] == "image"
    assert "replicas" in found


def test_members_of_system_modules_and_names_in_scope() -> None:
    assert "pow" in labels("import math\na = math.|")
    found = labels("limit = 1\nf = lambda size: int { |\n}\nschema S:\n    a: int\n")
    assert {"limit", "size", "S", "len"} <= set(found)
    assert "upper" in labels('a = "x"\nb = a.|')


def test_hover_says_type_documentation_and_place() -> None:
    text, at = marked(WEB.replace("image", "im|age"))
    found = hovering.hover(view_of(session_of(text)), at)
    assert found is not None
    assert (found.code, found.doc, found.place) == ("image: str", "What runs.", "models/server.k:21")
    text, at = marked(HEAD + "a = server.Ser|ver {}")
    found = hovering.hover(view_of(session_of(text)), at)
    assert found is not None
    assert found.code.startswith("schema Server[kind: str](Base):\n    image: str\n    replicas: int\n")
    assert found.doc.startswith("Serves.")
    text, at = marked("a|b = [1, 2]")
    found = hovering.hover(view_of(session_of(text)), at)
    assert found is not None
    assert (found.code, found.place) == ("ab: [int]", "stack/main.k:1")


@pytest.mark.parametrize(
    "text, label, active",
    [
        ("f = lambda a: int, b: str -> int { a }\nx = f(1, |)", "f(a: int, b: str) -> int", 1),
        (HEAD + "x = server.Server(|) {}", "Server(kind: str) -> any", 0),
    ],
)
def test_signature_of_the_call_around(text: str, label: str, active: int) -> None:
    written, at = marked(text)
    session = session_of(written)
    found = completing.signature(written, at, lambda changed: session.view("/repo/stack/main.k", None, changed))
    assert found is not None
    assert (found.label, found.active) == (label, active)
    assert completing.signature("a = 1", 5, lambda changed: None) is None


def applied(session: Session, edits: dict[str, list[Edit]]) -> dict[str, str]:
    return {path: edited(session.documents.text(path) or "", each) for path, each in edits.items()}


def test_rename_over_files() -> None:
    session = session_of(WEB.replace("image", "replicas = 2, image"))
    text = session.documents.text("/repo/stack/main.k") or ""
    found = referring.renamed(session, "/repo/stack/main.k", text.index("replicas"), "count")
    assert not isinstance(found, referring.Refusal), found
    changed = applied(session, found)
    assert "count = 2" in changed["/repo/stack/main.k"]
    assert "    count: int = 1\n" in changed["/repo/models/server.k"]
    assert "        count > 0\n" in changed["/repo/models/server.k"]
    assert "    replicas: int, default is 1\n" in changed["/repo/models/server.k"], "documentation is prose"


@pytest.mark.parametrize(
    "text, new, reason",
    [
        ("le|n([])", "size", "not declared"),
        ("a| = 1", "1a", "is no name"),
        ("a| = 1", "if", "word of the language"),
        ("a| = 1\nb = 2", "b", "would be wrong"),
        ("y = 1\ng = lambda x|: int { x + y }", "y", "another 'y' in main.k would mean this one"),
        ("x| = 1\ng = lambda y: int { x + y }", "y", "would mean"),
        (HEAD + "a = ser|ver.limit", "other", "move the folder"),
        ("|\n", "b", "no name here"),
    ],
)
def test_rename_is_refused_with_the_reason(text: str, new: str, reason: str) -> None:
    written, at = marked(text)
    session = session_of(written)
    found = referring.renamed(session, "/repo/stack/main.k", at, new)
    assert isinstance(found, referring.Refusal)
    assert reason in found.reason


def test_outline() -> None:
    session = session_of(SERVER)
    text, tree = session.tree("/repo/stack/main.k")
    found = outline.symbols(tree)
    assert [(each.name, [inner.name for inner in each.children]) for each in found] == [
        ("Base", ["name"]),
        ("Server", ["image", "replicas", "mode", "port"]),
        ("Port", ["number"]),
        ("limit", []),
    ]
    assert (10, 25, "") in outline.folds(tree, Lines(text))
    grown = outline.selections(tree, text.index("int = 1"))
    assert [text[start:end].strip().partition("\n")[0] for start, end in grown][:2] == ["int", "replicas: int = 1"]
    assert all(outer[0] <= inner[0] and inner[1] <= outer[1] for inner, outer in pairwise(grown))


@pytest.mark.parametrize(
    "text, title, after",
    [
        (
            "import ma|th\nimport models.server\na = server.limit\n",
            "Remove the unused import 'math'",
            "import models.server\na = server.limit\n",
        ),
        (
            "import models.server\na = server.Po|rt {}\n",
            "Add number",
            "import models.server\na = server.Port {\n    number = 0\n}\n",
        ),
        (
            "import models.server\na = server.Ser|ver {\n    image = 'x'\n}\n",
            "Add name, port",
            "import models.server\na = server.Server {\n    port = {}\n    name = \"\"\n    image = 'x'\n}\n",
        ),
    ],
)
def test_actions(text: str, title: str, after: str) -> None:
    written, at = marked(text)
    session = session_of(written)
    found = [*Advisor(session).actions("/repo/stack/main.k", at, at), *acting.actions(view_of(session), at)]
    changed = {each.title: written[: each.start] + each.text + written[each.end :] for each in found}
    assert after in changed.values(), changed
    assert any(sorted(each.split()) == sorted(title.split()) or each.startswith("Add ") for each in changed)


def test_a_missing_import_is_offered() -> None:
    written, at = marked("a = ser|ver.limit\n")
    session = session_of(written)
    found = session.analysis("/repo/stack/main.k", session.documents).diagnostics
    [hint] = acting.mending(found, "/repo/stack/main.k", at, at)
    assert [each.text for each in hint.edits] == ["import models.server\n"]


def test_imports_that_are_used_stay() -> None:
    written, at = marked("import ma|th\na = math.pow(1, 2)\n")
    assert Advisor(session_of(written)).actions("/repo/stack/main.k", at, at) == []


def test_colours_and_hints() -> None:
    text = "import math\nn = math.pow(1, 2)  # x\nschema S:\n    a: int\n"
    session = session_of(text)
    _, tree = session.tree("/repo/stack/main.k")
    found = [(text[start:end], kind) for start, end, kind in colouring.tokens(text, tree)]
    assert found == [
        ("n", "variable"),
        ("math", "namespace"),
        ("pow", "property"),
        ("1", "number"),
        ("2", "number"),
        ("# x", "comment"),
        ("S", "struct"),
        ("a", "property"),
    ]
    numbers = colouring.encoded(colouring.tokens(text, tree), Lines(text))
    assert numbers[:10] == [1, 0, 1, 3, 0, 0, 4, 4, 0, 0]
    assert [(each.at, each.text) for each in colouring.hints(view_of(session), 0, 99)] == [(13, ": float")]


def test_names_of_a_repository() -> None:
    session = session_of("a = 1\n")
    found = [(Path(path).name, name) for path, name, *_ in referring.declared(session, "srv")]
    assert found == [("server.k", "Server")]


def test_two_repositories_in_one_editor_are_kept_apart() -> None:
    text = "import base\nx = base.Server {\n    common = 1\n}\n"
    files = {}
    for name, type_ in (("one", "int"), ("two", "str")):
        files[f"/{name}/kcl.mod"] = f'[package]\nname = "{name}"\n'
        files[f"/{name}/base/server.k"] = f"schema Server:\n    {name}: int = 1\n    common: {type_}\n"
    session = session_of(text, "/one/main.k", files | {"/two/main.k": text})
    session.open("/two/main.k", text, 1)
    found = session.diagnostics()
    assert found is not None
    assert {path: len(items) for path, items in found.by_path.items()} == {"/one/main.k": 0, "/two/main.k": 1}
    for name in ("one", "two"):
        view = view_of(session, f"/{name}/main.k")
        declared = referring.definition(view, text.index("Server"))
        assert declared is not None
        assert declared.path == f"/{name}/base/server.k"
        edits = referring.renamed(session, f"/{name}/main.k", text.index("common"), "shared")
        assert isinstance(edits, dict)
        assert set(edits) == {f"/{name}/base/server.k", f"/{name}/main.k"}


def at(text: str, word: str, after: str = "") -> dict[str, int]:
    place = Lines(text).place(text.index(word, text.index(after)) + 1)
    return {"line": place.line, "character": place.column}


def test_konfig_2023_in_an_editor() -> None:
    root = corpus("konfig-2023")
    base = root / "appops/guestbook/base/base.k"
    text = base.read_text()
    with Editor(root) as editor:
        editor.open(base)
        document = {"uri": base.as_uri()}
        assert editor.ask("textDocument/documentSymbol", {"textDocument": document})
        assert editor.ask("textDocument/foldingRange", {"textDocument": document})
        where = {"textDocument": document, "position": at(text, "Server")}
        [selection] = editor.ask(
            "textDocument/selectionRange", {"textDocument": document, "positions": [where["position"]]}
        )
        assert selection["parent"]
        place = editor.ask("textDocument/definition", where)
        assert place["uri"].endswith("/base/pkg/kusion_models/kube/frontend/server.k")
        assert "schema Server" in editor.ask("textDocument/hover", where)["contents"]["value"]
        uses = editor.ask("textDocument/references", where | {"context": {"includeDeclaration": True}})
        assert len({each["uri"] for each in uses}) > 12
        assert editor.ask("textDocument/semanticTokens/full", {"textDocument": document})["data"]
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
        in_file = {"textDocument": document, "range": whole}
        assert editor.ask("textDocument/inlayHint", in_file) == []
        assert isinstance(editor.ask("textDocument/codeAction", in_file | {"context": {"diagnostics": []}}), list)
        assert "Server" in [each["name"] for each in editor.ask("workspace/symbol", {"query": "Server"})]
        line = text[: text.index("{", text.index("Server"))].count("\n") + 1
        editor.edit(
            base,
            {
                "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}},
                "text": "    \n",
            },
        )
        position = {"line": line, "character": 4}
        offered = editor.ask("textDocument/completion", {"textDocument": document, "position": position})
        assert "replicas" in [each["label"] for each in offered]

"""What an editor, a file system and a typist may get wrong: the server answers, goes on, and loses no text.

One server for all of it, so that what one does may not spoil what comes after: after each a mistake in a text is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.source import InMemoryFileSystem
from kcl.tools.lsp.completing import MOST_SHOWN
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.uris import path_of, uri_of
from tests.kcl.tools.lsp.editor import Editor, change
from tests.kcl.tools.lsp.test_diagnostics import FILES, write

_METHODS: dict[str, dict[str, Any]] = {
    "hover": {"position": 0},
    "definition": {"position": 0},
    "references": {"position": 0, "context": {"includeDeclaration": True}},
    "completion": {"position": 0},
    "signatureHelp": {"position": 0},
    "rename": {"position": 0, "newName": "other"},
    "documentSymbol": {},
    "foldingRange": {},
    "selectionRange": {"positions": 0},
    "semanticTokens/full": {},
    "inlayHint": {"range": 0},
    "codeAction": {"range": 0, "context": {"diagnostics": []}},
    "formatting": {"options": {"tabSize": 4, "insertSpaces": True}},
    "rangeFormatting": {"range": 0, "options": {"tabSize": 4, "insertSpaces": True}},
    "prepareTypeHierarchy": {"position": 0},
    "prepareCallHierarchy": {"position": 0},
}
_INTERNAL = -32603


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    root = Path(os.path.realpath(tmp_path_factory.mktemp("repository")))
    write(root, FILES)
    with Editor(root) as editor:
        editor.open(root / "stack" / "main.k")
        yield editor


def _main(editor: Editor) -> Path:
    return editor.root / "stack" / "main.k"


def _asked(method: str, uri: str, position: Any) -> dict[str, Any]:
    more = dict(_METHODS[method])
    for name in more.keys() & {"position", "range", "positions"}:
        both = {"start": position, "end": position}
        more[name] = {"position": position, "range": both, "positions": [position]}[name]
    return {"textDocument": {"uri": uri}, **more}


def _ask_all(editor: Editor, uri: str, position: Any) -> None:
    """Everything is answered, and no answer is a bug."""
    for method in _METHODS:
        answer = editor.answer(f"textDocument/{method}", _asked(method, uri, position))
        if "error" in answer:
            assert answer["error"]["code"] != _INTERNAL, (uri, method, answer)


def _nobody(found: list[dict[str, Any]]) -> list[tuple[int, int]]:
    starts = [each["range"]["start"] for each in found if "nobody" in each["message"]]
    return [(each["line"], each["character"]) for each in starts]


def _goes_on(editor: Editor) -> None:
    path = _main(editor)
    editor.edit(path, {"text": "a = nobody\n"})
    assert _nobody(editor.diagnostics_of_version(path)) == [(0, 4)]
    editor.edit(path, {"text": str(FILES["stack/main.k"])})
    assert editor.diagnostics_of_version(path) == []


@pytest.mark.parametrize("line, character", [(9999, 0), (0, 9999), (2**31 - 1, 2**31 - 1), (-1, 0), (0, -1)])
def test_places_outside_of_the_text_are_answered(editor: Editor, line: int, character: int) -> None:
    _ask_all(editor, _main(editor).as_uri(), {"line": line, "character": character})
    _goes_on(editor)


def test_requests_that_nobody_can_read_get_an_error(editor: Editor) -> None:
    uri = _main(editor).as_uri()
    for position in (None, {"line": "a", "character": 0}, 7):
        for method in ("hover", "completion", "rename"):
            answer = editor.answer(f"textDocument/{method}", _asked(method, uri, position))
            assert answer["error"]["message"]
    for method, params in (
        ("nothing/here", {}),
        ("textDocument/hover", None),
        ("workspace/executeCommand", {"command": "rm"}),
        ("typeHierarchy/supertypes", {"item": {}}),
    ):
        assert "error" in editor.answer(method, params), method
    _goes_on(editor)


_URIS = (
    "untitled:Untitled-1",
    "git:/r/main.k?%7B%7D",
    "file:",
    "file://[x/main.k",
    "file://elsewhere/share/main.k",
    "file:///nowhere/main.k",
    "file:///a%00b.k",
    "file:///a%FFb.k",
    "file:///dev/zero",
    "file:///dev/fd/0",
    "file:///" + "b" * 5000 + ".k",
    "file:///" + "a/" * 3000 + "b.k",
    "",
    "main.k",
    "FOLDER",
    "FOLDER/pipe.k",
    "FOLDER/folder.k",
    "FOLDER/loop/loop/stack/main.k",
    "FOLDER/itself.k",
    "FOLDER/binary.k",
    "FOLDER/utf16.k",
    "FOLDER/latin.k",
    "FOLDER/mark.k",
)


@pytest.fixture(scope="module")
def odd_files(editor: Editor) -> None:
    root = editor.root
    os.mkfifo(root / "pipe.k")
    (root / "folder.k").mkdir()
    (root / "loop").symlink_to(root)
    (root / "itself.k").symlink_to(root / "itself.k")
    write(
        root,
        {
            "binary.k": bytes(range(256)),
            "utf16.k": "a = 1\n".encode("utf-16"),
            "latin.k": "a = 'é'\n".encode("latin-1"),
            "mark.k": b"\xef\xbb\xbfa = 1\n",
        },
    )


@pytest.mark.usefixtures("odd_files")
@pytest.mark.parametrize("uri", _URIS, ids=lambda uri: uri[:40])
def test_whatever_a_document_is_called_it_is_answered(editor: Editor, uri: str) -> None:
    uri = uri.replace("FOLDER", editor.root.as_uri())
    place = {"line": 0, "character": 1}
    named = {"textDocument": {"uri": uri, "version": 3}}
    _ask_all(editor, uri, place)  # it was never opened
    editor.tell("textDocument/didChange", {**named, "contentChanges": [{"text": "b = 1\n"}]})
    editor.tell("textDocument/didChange", {**named, "contentChanges": [change((0, 0), (9, 9), "c")]})
    editor.tell("textDocument/didClose", named)
    _goes_on(editor)
    opened = {"textDocument": {"uri": uri, "version": 1, "languageId": "kcl", "text": "a = 1\nb = a\n"}}
    editor.tell("textDocument/didOpen", opened)
    editor.tell("textDocument/didChange", {**named, "contentChanges": [change((0, 4), (0, 5), "2")]})
    _ask_all(editor, uri, place)
    _goes_on(editor)
    editor.tell("textDocument/didClose", named)


_EDITS = [
    ("past the last line", "a = 1\n", [change((99, 0), (99, 5), "b = nobody\n")], (1, 4)),
    ("past the end of a line", "a = 1\n", [change((0, 99), (0, 99), " + nobody")], (0, 8)),
    ("end before start", "a = 12345\nb = nobody\n", [change((0, 9), (0, 4), "7")], (1, 4)),
    ("CRLF", "a = 1\r\nb = 2\r\n", [change((1, 4), (1, 5), "nobody")], (1, 4)),
    ("CR alone", "a = 1\rb = 2\r", [change((1, 4), (1, 5), "nobody")], (1, 4)),
    ("all line ends", "a = 1\r\nb = 2\rc = 3\nd = 4", [change((3, 4), (3, 5), "nobody")], (3, 4)),
    ("two units a character", "a = '😀😀'\n", [change((0, 9), (0, 10), "' + nobody\n")], (0, 13)),
    (
        "half a character",
        "a = '😀' #\nb = 1\n",
        [change((0, 6), (0, 6), "x"), change((1, 4), (1, 5), "nobody")],
        (1, 4),
    ),
    ("what ends no line", "a = '\u2028\x85\x0b\x1c'\nb = 1\n", [change((1, 4), (1, 5), "nobody")], (1, 4)),
    ("a mark of byte order", "\ufeffa = 1\nb = 1\n", [change((1, 4), (1, 5), "nobody")], (1, 4)),
]


@pytest.mark.parametrize("text, edits, place", [each[1:] for each in _EDITS], ids=[each[0] for each in _EDITS])
def test_no_edit_is_lost(editor: Editor, text: str, edits: list[dict[str, Any]], place: tuple[int, int]) -> None:
    path = _main(editor)
    editor.edit(path, {"text": text})
    for each in edits:
        editor.edit(path, each)
    assert _nobody(editor.diagnostics_of_version(path)) == [place]


@pytest.mark.parametrize("link", [".c", "()", " if b else b"])
def test_a_line_of_links_without_end_keeps_no_file_waiting(editor: Editor, link: str) -> None:
    path = _main(editor)
    editor.edit(path, {"text": "a = b" + link * 50_000 + "\n"})
    assert editor.diagnostics_of_version(path)
    _goes_on(editor)


def test_of_names_without_end_those_are_offered_that_fit_what_is_typed(editor: Editor) -> None:
    path = _main(editor)
    editor.edit(path, {"text": "".join(f"name{each} = 1\n" for each in range(1_500)) + "a = \nb = name149\n"})
    at = {line: {"line": 1_500 + line, "character": end} for line, end in ((0, 4), (1, 11))}
    offered = {
        line: editor.ask("textDocument/completion", _asked("completion", path.as_uri(), place))
        for line, place in at.items()
    }
    assert [each["isIncomplete"] for each in offered.values()] == [True, True]
    assert len(offered[0]["items"]) == MOST_SHOWN
    labels = [each["label"] for each in offered[1]["items"]]
    assert labels[:11] == ["name149", *(f"name149{each}" for each in range(10))]
    assert "name1049" in labels and "name200" not in labels
    _goes_on(editor)


def test_versions_are_not_believed(editor: Editor) -> None:
    path = _main(editor)
    for version in (None, -3, 0, 2**31 - 1):
        document = {"uri": path.as_uri(), "version": version}
        editor.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": "b = nobody\n"}]})
    opened = {"uri": path.as_uri(), "languageId": "kcl", "version": 1, "text": "a = 1\n"}
    editor.tell("textDocument/didOpen", {"textDocument": opened})  # again, without a close
    editor.versions[path.as_uri()] = 1
    _goes_on(editor)
    odd: tuple[Any, ...] = ([], [{}], [{"text": 5}], None)
    for changes in odd:
        document = {"uri": path.as_uri(), "version": 50}
        editor.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    editor.versions[path.as_uri()] = 60
    _goes_on(editor)


_RAW = (b"{{{{{", b"[]", b"null", b"5", b"\xff\xfe\xff", b'{"jsonrpc":"1.0","id":1,"method":"x"}', b"{}")


def test_what_is_no_message_ends_nothing(editor: Editor) -> None:
    for content in _RAW:
        editor.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
    editor.send_raw(b"nonsense\r\n\r\nContent-Length: -5\r\n\r\nContent-Length: 0\r\n\r\n")
    _goes_on(editor)


@pytest.mark.usefixtures("odd_files")
def test_what_becomes_of_a_file_on_disk_is_told_and_taken_back(editor: Editor) -> None:
    server, path = editor.root / "models" / "server.k", _main(editor)
    good = server.read_bytes()

    def told() -> list[str]:
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": server.as_uri(), "type": 2}]})
        editor.edit(path, {"text": str(FILES["stack/main.k"])})
        return [each["message"] for each in editor.diagnostics_of_version(path)]

    for broken in (bytes(range(256)), good.decode().encode("utf-16"), good + "# é".encode("latin-1")):
        server.write_bytes(broken)
        assert any("utf-8" in each and "server.k" in each for each in told()), broken[:9]
    server.unlink()
    assert told()
    for link in (server, Path("/dev/zero")):
        server.symlink_to(link)
        assert told()
        server.unlink()
    os.mkfifo(server)
    assert told()
    server.unlink()
    for text in (good, good.replace(b"\n", b"\r\n"), good.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + good):
        server.write_bytes(text)
        assert told() == [], text
    server.write_bytes(b"import stack\n" + good)
    assert told()
    server.write_bytes(good)
    assert told() == []


def test_a_cancelled_request_is_said_to_be_and_the_next_is_answered(editor: Editor) -> None:
    place = _asked("references", _main(editor).as_uri(), {"line": 2, "character": 14})
    number = editor.request("textDocument/references", place)
    editor.tell("$/cancelRequest", {"id": number})
    for odd in (99_999, "x"):
        editor.tell("$/cancelRequest", {"id": odd})
    while True:
        message = editor.message()
        if message.get("id") == number and "method" not in message:
            break
    assert message.get("result") or message["error"]["code"] == -32800
    _goes_on(editor)


def test_one_file_that_cannot_be_checked_keeps_nobody_from_being_told() -> None:
    session = Session(InMemoryFileSystem({"/r/kcl.mod": ""}))
    session.open("/r/main.k", "a = nobody\n", 1)
    session.open("/r/\ud800.k", "a = 1\n", 1)
    found = session.diagnostics()
    assert found is not None
    assert [each.message for each in found.by_path["/r/main.k"]] == ["name 'nobody' is not defined"]


def test_files_are_named_by_their_bytes() -> None:
    for name in (b"/r/a b#?%.k", b"/r/caf\xe9/\xff.k", "/r/ü😀.k".encode(), b"/r/a\nb.k"):
        path = os.fsdecode(name)
        assert path_of(uri_of(path)) == path
    assert path_of("FILE:///r/./x/../a%20b.k") == "/r/a b.k"
    assert path_of("file://localhost/r/a.k") == path_of("file:/r/a.k") == "/r/a.k"


_SECRET = "hunter2hunter2"
_SECRETS = f'''schema Login[token: str = "{_SECRET}"]:
    """Logs in, as with password = "{_SECRET}".

    Attributes
    ----------
    password: str, default is "{_SECRET}"
        How.
    """
    password: str = "{_SECRET}"
_conf = {{password = "{_SECRET}", user = "x"}}
_p = _conf.password
a = Login {{}}
b = a.password
c = lambda password: str = "{_SECRET}" {{ password }}
e = _p if True else "y{_SECRET}"
h = [_p, "{_SECRET}"]
j = {{password: "{_SECRET}"}} | {{z = 1}}
'''


def test_no_answer_has_a_secret_in_it(editor: Editor) -> None:
    path = _main(editor)
    editor.edit(path, {"text": _SECRETS})
    uri = path.as_uri()
    for line, text in enumerate(_SECRETS.split("\n")):
        for column in range(0, len(text), 3):
            for method in ("hover", "signatureHelp"):
                answer = editor.ask(f"textDocument/{method}", _asked(method, uri, {"line": line, "character": column}))
                assert _SECRET not in json.dumps(answer), (method, line, column, answer)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = editor.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    assert hints and _SECRET not in json.dumps(hints)
    for typed in ("x = _conf.", "x = a.", "x = j.", "x = Login(", "x = "):
        editor.edit(path, {"text": _SECRETS + typed})
        place = {"line": _SECRETS.count("\n"), "character": len(typed)}
        for method in ("completion", "signatureHelp"):
            answer = editor.ask(f"textDocument/{method}", _asked(method, uri, place))
            assert _SECRET not in json.dumps(answer), (method, typed)
    editor.edit(path, {"text": str(FILES["stack/main.k"])})


def test_much_documentation_is_shown_in_part(editor: Editor) -> None:
    path = _main(editor)
    editor.edit(path, {"text": 'schema A:\n    """' + "x" * 50_000 + '"""\n    a: int\n'})
    found = editor.ask("textDocument/hover", _asked("hover", path.as_uri(), {"line": 0, "character": 8}))
    assert len(found["contents"]["value"]) < 12_000 and "50,000 characters" in found["contents"]["value"]


def test_a_selection_grows_in_what_is_nested_very_deep(editor: Editor) -> None:
    path = _main(editor)
    editor.edit(path, {"text": "a = " + "1 + " * 2000 + "1\n" + "# x\n" * 3000})
    [found] = editor.ask(
        "textDocument/selectionRange", _asked("selectionRange", path.as_uri(), {"line": 0, "character": 4})
    )
    assert found["parent"]["parent"]
    folds = editor.ask("textDocument/foldingRange", _asked("foldingRange", path.as_uri(), None))
    assert folds == [{"startLine": 1, "endLine": 3000, "kind": "comment"}]


@pytest.mark.parametrize("asks", ["references", "diagnostics"])
def test_the_end_waits_for_nothing(tmp_path: Path, asks: str) -> None:
    """What is being worked out when an editor ends is given up, and what is asked after that gets an error."""
    write(tmp_path, FILES)
    main_file = tmp_path / "stack" / "main.k"
    with Editor(tmp_path) as editor:
        text = "".join(f"a{number} = {{x = {number}, y = 'v'}}\n" for number in range(20_000))
        editor.open(main_file, text if asks == "diagnostics" else None)
        if asks == "references":
            for number in range(100):
                write(tmp_path, {f"many/p{number}/main.k": FILES["stack/main.k"]})
            editor.request(
                "textDocument/references", _asked("references", main_file.as_uri(), {"line": 2, "character": 14})
            )
        else:
            editor.ask("workspace/symbol", {"query": "nothing"})
        editor.ask("shutdown", None)
        late = editor.answer("textDocument/hover", _asked("hover", main_file.as_uri(), {"line": 0, "character": 0}))
        assert late["error"]["code"] == -32600

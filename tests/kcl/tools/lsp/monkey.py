"""`python -m tests.kcl.tools.lsp.monkey 3600`: random edits and questions for so many seconds, by a real client.

The server is a process over a copy of konfig-2023. After every few edits what it shows is compared with a cold check of
the same texts, by a session that has seen nothing before: errors and findings of the linter, file by file. In between
all that an editor can ask is asked at random places, texts are opened, closed and saved, and files change on disk. It
ends at the first difference, answer that is a bug, or death of the server, and prints the seed that makes it again.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.protocol import LinesOf, diagnostic_of, finding_of
from kcl.tools.lsp.sessions import Session
from tests.kcl.conformance import corpus
from tests.kcl.tools.lsp.editor import WAIT_SECONDS, Editor
from tests.properties.mutation import mutated

_PIECES: Final = (
    "x",
    " ",
    "\n",
    "    ",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'''",
    ":",
    " = 1\n",
    ".",
    "#",
    "é",
    "𝔸",
    "import a\n",
    "\t",
)
_MOST_OPEN: Final = 5
_LARGEST: Final = 40_000
_PATIENCE_SECONDS: Final = 240
Shown = Counter[tuple[Any, ...]]


class Monkey:
    """One client; `texts` are what it has open, by path."""

    def __init__(self, editor: Editor, root: Path, files: Sequence[Path], seed: int) -> None:
        self.editor, self.root, self.files = editor, root, files
        self.dice = random.Random(seed)
        self.texts: dict[Path, str] = {}
        self.done: Counter[str] = Counter()
        self._original = {path: path.read_text(encoding="utf-8") for path in files}
        self._asked = 0

    def turn(self) -> None:
        """A few acts, and a comparison."""
        for _ in range(self.dice.choice((1, 1, 2, 4))):
            act = self.dice.choices((self._edit, self._open, self._close, self._save, self._disk), (12, 2, 1, 1, 1))[0]
            act()
            while self.dice.random() < 0.4:
                self._ask()
        if not self.texts:
            self._open()
        self.compare()

    # ------------------------------------------------------------ acts

    def _open(self) -> None:
        if len(self.texts) >= _MOST_OPEN:
            self._close()
        path = self.dice.choice([each for each in self.files if each not in self.texts])
        self.texts[path] = path.read_text(encoding="utf-8")
        self.editor.open(path, self.texts[path])
        self.done["opened"] += 1

    def _close(self) -> None:
        if self.texts:
            path = self.dice.choice(list(self.texts))
            del self.texts[path]
            self.editor.close(path)
            self.done["closed"] += 1

    def _edit(self) -> None:
        if not self.texts:
            return
        path = self.dice.choice(list(self.texts))
        before = self.texts[path]
        chance = self.dice.random()
        if chance < 0.15:
            after = self._original[path]
        elif chance < 0.3:
            after = mutated(self.dice, before, [*self._original.values()])
        else:
            self._type(path, before)
            return
        self.texts[path] = after
        self.editor.edit(path, {"text": after})
        self.done["replaced"] += 1

    def _type(self, path: Path, text: str) -> None:
        changes = []
        for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
            start = self.dice.randrange(len(text) + 1)
            end = min(len(text), start + self.dice.choice((0, 0, 0, 1, 2, 20)))
            if "\r" in text[max(0, start - 1) : end + 1]:  # half a line end is not a place that an editor has
                continue
            typed = self.dice.choice(_PIECES)
            changes.append({"range": {"start": position(text, start), "end": position(text, end)}, "text": typed})
            text = text[:start] + typed + text[end:]
        self.texts[path] = text
        self.editor.edit(path, *changes)
        self.done["typed"] += 1

    def _save(self) -> None:
        if self.texts:
            path = self.dice.choice(list(self.texts))
            path.write_text(self.texts[path], encoding="utf-8", newline="")
            self.editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
            self.done["saved"] += 1

    def _disk(self) -> None:
        """Somebody else writes, takes away, or brings back a file."""
        path = self.dice.choice([each for each in self.files if each not in self.texts])
        text = self._original[path]
        text = text if self.dice.random() < 0.5 else mutated(self.dice, text, list(self._original.values()))
        path.write_text(text, encoding="utf-8", newline="")
        changes = [{"uri": path.as_uri(), "type": 2}]
        self.editor.tell("workspace/didChangeWatchedFiles", {"changes": changes})
        self.done["changed on disk"] += 1

    def _ask(self) -> None:
        if not self.texts:
            return
        path = self.dice.choice(list(self.texts))
        text = self.texts[path]
        at = position(text, self.dice.randrange(len(text) + 1))
        whole = {"start": {"line": 0, "character": 0}, "end": position(text, len(text))}
        document = {"textDocument": {"uri": path.as_uri()}}
        method, more = self.dice.choice(
            (
                ("hover", {"position": at}),
                ("definition", {"position": at}),
                ("references", {"position": at, "context": {"includeDeclaration": True}}),
                ("completion", {"position": at}),
                ("completion", {"position": at}),
                ("signatureHelp", {"position": at}),
                ("rename", {"position": at, "newName": self.dice.choice(("other", "if", "a b", "Server"))}),
                ("documentSymbol", {}),
                ("foldingRange", {}),
                ("selectionRange", {"positions": [at]}),
                ("semanticTokens/full", {}),
                ("inlayHint", {"range": whole}),
                ("codeAction", {"range": whole, "context": {"diagnostics": []}}),
                ("codeAction", {"range": whole, "context": {"diagnostics": [], "only": ["source.fixAll"]}}),
                ("formatting", {"options": {"tabSize": 4, "insertSpaces": True}}),
                ("prepareTypeHierarchy", {"position": at}),
                ("prepareCallHierarchy", {"position": at}),
            )
        )
        answer = self.editor.answer(f"textDocument/{method}", {**document, **more})
        self.done[method] += 1
        if "error" in answer and "not renamed" not in answer["error"]["message"]:
            raise AssertionError(f"{method}: {answer['error']}")
        if method.startswith("prepare"):
            kind = "typeHierarchy" if "Type" in method else "callHierarchy"
            ways = ("supertypes", "subtypes") if "Type" in method else ("incomingCalls", "outgoingCalls")
            for item in answer["result"] or ():
                self.editor.ask(f"{kind}/{self.dice.choice(ways)}", {"item": item})

    # ------------------------------------------------------------ comparison

    def compare(self) -> None:
        """Waits until the server has looked at the texts as they are, and holds what it shows to a cold check."""
        errors, findings = self._cold()
        path = next(iter(self.texts))
        self.editor.edit(path, {"text": self.texts[path]})  # a version of its own, so that its answer is known
        self.editor.diagnostics_of_version(path)
        self._barrier(path)
        shown = self.editor.shown
        for uri in shown.keys() | errors.keys():
            found = content(each for each in shown.get(uri, ()) if each["source"] == "kcl")
            _same(uri, "errors", found, errors.get(uri, Counter()))
        for uri, wanted in findings.items():
            if wanted:
                self._wait_for_findings(uri, wanted)
        self.done["compared"] += 1

    def _wait_for_findings(self, uri: str, wanted: Shown) -> None:
        def is_there(items: Sequence[Any]) -> bool:
            return any(each["source"] == "kcl lint" for each in items)

        if not is_there(self.editor.shown.get(uri, ())):
            self.editor.diagnostics_of(uri, is_there)
        found = content(each for each in self.editor.shown[uri] if each["source"] == "kcl lint")
        _same(uri, "findings", found, wanted)

    def _barrier(self, path: Path) -> None:
        """What was published before this is answered has arrived."""
        self.editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})

    def _cold(self) -> tuple[dict[str, Shown], dict[str, Shown]]:
        session = Session(environment={"KCL_PKG_PATH": str(self.root / "no packages")})
        for path, text in self.texts.items():
            session.open(str(path), text, 1)
        found = session.diagnostics()
        assert found is not None
        lines = LinesOf(found.texts, session.columns)

        def said(path: str, made: Callable[..., Any], items: Sequence[Any]) -> Shown:
            return content(_plain(made(each, lines, path, _uri)) for each in items)

        errors = {_uri(path): said(path, diagnostic_of, items) for path, items in found.by_path.items()}
        advice = Advisor(session).advice()
        assert advice is not None
        findings = {
            _uri(path): said(path, finding_of, [each.diagnostic for each in items])
            for path, items in advice.by_path.items()
        }
        return errors, findings


def content(items: Iterable[Mapping[str, Any]]) -> Shown:
    """What can be compared of diagnostics."""
    return Counter(
        (each["code"], each["message"], *(tuple(sorted(each["range"][end].items())) for end in ("start", "end")))
        for each in items
    )


def _plain(found: Any) -> dict[str, Any]:
    ends = {
        name: {"line": end.line, "character": end.character}
        for name, end in (("start", found.range.start), ("end", found.range.end))
    }
    return {"code": found.code, "message": found.message, "range": ends}


def _uri(path: str) -> str:
    return Path(path).as_uri()


def _same(uri: str, what: str, found: Shown, wanted: Shown) -> None:
    if found != wanted:
        raise AssertionError(f"{uri}: {what} are stale: shown alone {found - wanted}, cold alone {wanted - found}")


def position(text: str, offset: int) -> dict[str, int]:
    """A place as the protocol has it: lines end at LF, CRLF and CR; columns count in UTF-16."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    column = before[before.rfind("\n") + 1 :]
    return {"line": before.count("\n"), "character": len(column.encode("utf-16-le")) // 2}


def run(
    root: Path, *, seed: int, seconds: float = math.inf, turns: float = math.inf, wait_seconds: float = WAIT_SECONDS
) -> Counter[str]:
    """Goes on for so long, and so many turns; returns what was done how often, and the most memory in MB.

    Who gets no answer for `wait_seconds` says that there is none: more of them where others need the processor as well.
    """
    files = [path for path in sorted(root.rglob("*.k")) if path.stat().st_size < _LARGEST]
    ends = time.monotonic() + seconds
    with Editor(root, wait_seconds=wait_seconds) as editor:
        monkey = Monkey(editor, root, files, seed)
        while time.monotonic() < ends and monkey.done["compared"] < turns:
            monkey.turn()
            editor.published.clear()
            monkey.done["MB"] = max(monkey.done["MB"], editor.peak_megabytes())
            if monkey.done["compared"] % 100 == 0:
                sys.stdout.write(f"{dict(monkey.done)}\n")
                sys.stdout.flush()
        return monkey.done


def main() -> None:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    sys.stdout.write(f"seed {seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder)) / "konfig"
        shutil.copytree(corpus("konfig-2023"), root)
        sys.stdout.write(f"{dict(run(root, seed=seed, seconds=seconds, wait_seconds=_PATIENCE_SECONDS))}\n")


if __name__ == "__main__":
    main()

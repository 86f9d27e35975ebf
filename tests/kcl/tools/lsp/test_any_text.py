"""Every feature answers at every place of every text, however half-written: none raises."""

from __future__ import annotations

import random

from kcl.source import InMemoryFileSystem
from kcl.tools.lsp import acting, colouring, completing, hierarchies, hovering, outline, referring
from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.positions import Lines
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.views import View
from tests.kcl.tools.lsp.test_features import FILES, SERVER, WEB
from tests.sizes import size

PATH = "/repo/stack/main.k"
PIECES = [
    "",
    ".",
    "{",
    "(",
    "import ",
    "x = ",
    '"',
    "\n",
    "    ",
    "[i for i in ",
    "${",
    "lambda x { ",
    "@",
    "\r\n",
    "🙂",
]


def some_text(rng: random.Random) -> str:
    text = rng.choice([WEB, SERVER])
    for _ in range(rng.randrange(4)):
        start = rng.randrange(len(text) + 1)
        text = text[:start] + rng.choice(PIECES) + text[start + rng.choice([0, 1, 5, 30]) :]
    return text


def ask_everything(session: Session, text: str, at: int) -> None:
    def view_of_text(changed: str) -> View | None:
        return session.view(PATH, None, changed)

    completions = completing.complete(text, at, PATH, session.documents.files, view_of_text)
    assert all(0 <= each.start <= at for each in completions)
    completing.signature(text, at, view_of_text)
    renamed = referring.renamed(session, PATH, at, "newname")
    assert isinstance(renamed, dict | referring.Refusal)
    _, tree = session.tree(PATH)
    lines = Lines(text)
    outline.symbols(tree)
    assert all(first < last < len(lines) for first, last, _ in outline.folds(tree, lines))
    outline.selections(tree, at)
    numbers = colouring.encoded(colouring.tokens(text, tree), lines)
    assert all(each >= 0 for each in numbers)
    view = session.view(PATH)
    assert view is not None
    hovering.hover(view, at)
    acting.actions(view, at)
    for ask in (hierarchies.supertypes, hierarchies.subtypes, hierarchies.callers, hierarchies.callees):
        ask(session, PATH, at)
    hierarchies.schema_at(session, PATH, at)
    hierarchies.callable_at(session, PATH, at)
    advisor = Advisor(session)
    advisor.actions(PATH, at, at)
    advisor.mended(PATH)
    advisor.explanations(PATH, at)
    colouring.hints(view, 0, len(text))
    found = referring.definition(view, at)
    if found is not None:
        declared_in = session.documents.text(found.path)
        assert declared_in is not None and 0 <= found.start <= found.end <= len(declared_in)


def test_whatever_is_written_is_answered() -> None:
    for seed in range(size(150, 20_000)):
        rng = random.Random(seed)
        text = some_text(rng)
        session = Session(InMemoryFileSystem({**FILES, PATH: text}))
        session.open(PATH, text, 1)
        ask_everything(session, text, rng.randrange(len(text) + 1))

"""What `kcl lint` says of the open texts, and what is offered against it.

Findings are looked for when nobody has typed for a moment, in the analyses that the diagnostics were taken from, and
are given up at the next edit. So they cost no answer any time, and are never of another text than the one that is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Severity
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import parse
from kcl.tools.checked import Analysis
from kcl.tools.explain import find
from kcl.tools.lint import Finding
from kcl.tools.lint.linting import Words, found_in, is_broken
from kcl.tools.lsp.acting import Action
from kcl.tools.lsp.documents import Documents
from kcl.tools.lsp.sessions import MOST_CHARACTERS, Session
from kcl.tools.migrate import Edit, Overlap, apply_edits

_MOST_OFFERED: Final = 8
_NAME: Final = pattern(r"'([^']*)'")


@dataclass(frozen=True, slots=True)
class Advice:
    """The findings in the open files by path, and the open files that are too large to be linted here."""

    by_path: Mapping[str, tuple[Finding, ...]]
    left_out: frozenset[str]


class Advisor:
    """The linter of one editor."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._counted: dict[str, tuple[Hashable, Counter[str]]] = {}
        self._last: tuple[Documents, dict[str, tuple[Finding, ...]]] | None = None

    def advice(self, is_over: Callable[[], bool] = bool) -> Advice | None:
        """What is found in all open files; None once `is_over`."""
        documents = self.session.documents
        by_path: dict[str, tuple[Finding, ...]] = {}
        for path in documents.opened:
            found = self._findings(documents, path, is_over)
            if is_over():
                return None
            by_path[path] = found
        left_out = frozenset(filter(self.session.is_large, documents.opened))
        return Advice({path: found for path, found in by_path.items() if found}, left_out)

    def findings(self, path: str) -> tuple[Finding, ...]:
        """What is found in a file as it is now."""
        return self._findings(self.session.documents, path, bool)

    def _findings(self, documents: Documents, path: str, is_over: Callable[[], bool]) -> tuple[Finding, ...]:
        last = self._last
        known = last[1] if last is not None and last[0] is documents else {}
        if path in known:
            return known[path]
        document = documents.opened.get(path)
        if document is None or len(document.text) > MOST_CHARACTERS:  # the rules would take seconds, after each pause
            return ()
        analysis = self.session.analysis(path, documents)
        modules = () if analysis.program is None else analysis.program.main.modules
        module = next((each for each in modules if each.source.path == path), None)
        if module is None or is_broken(module, analysis):  # what is wrong with it is told as an error
            return ()
        words = Words(path, documents.files, self._counted, documents.opened)
        found = tuple(found_in(module, analysis, words, is_over=is_over))
        if not is_over():
            self._last = documents, {**known, path: found}
        return found

    # ------------------------------------------------------------ what is offered

    def actions(self, path: str, start: int, end: int) -> list[Action]:
        """Edits that mend, or allow, what is found in a selection."""
        return list(self._actions(self.session.documents, path, start, end))

    def _actions(self, documents: Documents, path: str, start: int, end: int) -> Iterator[Action]:
        text = documents.text(path) or ""
        found = self._findings(documents, path, bool)
        here = [each for each in found if each.span.start <= end and start <= each.span.end][:_MOST_OFFERED]
        for finding in here:
            if finding.edits and self._is_safe(documents, path, finding.edits):
                [edit] = finding.edits
                yield Action(_mending(finding), edit.start, edit.end, edit.text, finding.diagnostic)
        for finding in here:
            allowed = None if finding.diagnostic.code is Code.SUPPRESSION else _allowing(path, text, finding)
            if allowed is not None:
                yield allowed

    def mended(self, path: str) -> Action | None:
        """All that can be mended in a file at once; None where that is nothing, or not safe."""
        documents = self.session.documents
        text = documents.text(path) or ""
        edits = tuple(edit for each in self._findings(documents, path, bool) for edit in each.edits)
        if not edits or not self._is_safe(documents, path, edits):
            return None
        return Action("Mend all that kcl lint can mend", 0, len(text), apply_edits({path: text}, edits)[path])

    def _is_safe(self, documents: Documents, path: str, edits: tuple[Edit, ...]) -> bool:
        """Whether nothing is wrong after the edits that is not wrong before."""
        try:
            text = apply_edits({path: documents.text(path) or ""}, edits)[path]
        except Overlap:
            return False
        after = _errors(self.session.analysis(path, documents.with_text(path, text)))
        return after <= _errors(self.session.analysis(path, documents))

    # ------------------------------------------------------------ what is told

    def explanations(self, path: str, offset: int) -> list[str]:
        """What the codes of errors and findings at an offset mean."""
        documents = self.session.documents
        found = [each.diagnostic for each in self._findings(documents, path, bool)]
        found += self.session.analysis(path, documents).diagnostics
        here = [
            each
            for each in found
            if (span := each.primary) is not None and span.path == path and span.start <= offset <= span.end
        ]
        return [said for each in here[:2] if (said := explained(each))]


def _errors(analysis: Analysis) -> Counter[str]:
    return Counter(each.message for each in analysis.diagnostics if each.severity is Severity.ERROR)


def _mending(finding: Finding) -> str:
    if finding.diagnostic.code is Code.BARE_NUMBER:
        return f"Write {finding.edits[0].text}"
    name = _NAME.search(finding.diagnostic.message)
    which = "unused" if finding.diagnostic.code is Code.UNUSED_IMPORT else "repeated"
    return f"Remove the {which} import '{'' if name is None else name[1]}'"


def _allowing(path: str, text: str, finding: Finding) -> Action | None:
    """A comment that allows a finding, but for the reason: that is for the person to write.

    It ends the line, or stands above it where the line has a comment already. None where neither is a comment then, as
    within a string of several lines.
    """
    number = finding.diagnostic.code.number
    title = f"Allow {number} here, for a reason that you write"
    comment = f"# kcl-lint: allow {number} because "
    first = text.rfind("\n", 0, finding.span.start) + 1
    end = text.find("\n", finding.span.start)
    end = len(text) if end < 0 else end
    line = text[first:end].rstrip("\r")
    indent = line[: len(line) - len(line.lstrip())]
    behind, above = (first + len(line), "  " + comment), (first, f"{indent}{comment}\n")
    for at, inserted in (behind, above):
        found = parse(SourceFile(path, text[:at] + inserted + text[at:]))
        begins = at + inserted.index("#")
        if not found.diagnostics and any(each.start == begins for each in found.module.comments):
            return Action(title, at, at, inserted, finding.diagnostic)
    return None


def explained(diagnostic: Diagnostic) -> str:
    """What a code means and what to do, as `kcl explain` says it; "" where there is no page."""
    pages = [each for each in find(diagnostic.code.number) if each.code is diagnostic.code]
    return "\n\n".join(
        f"**{each.code.number} {each.code.title}**: {each.meaning}\n\n**What to do**: {each.mend}" for each in pages[:1]
    )

"""What the linter finds in the files of a change: only where something changed, or in all of these files.

A finding was there before, most often, and who reviews a change did not make it; so what stands on lines that did not
change is left out unless all of a changed file is asked for. The files may be a branch's that nobody has read: they are
looked at in a process that can be ended. Errors are none of it, as what does not compile is told by who compiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from kcl.api import BoundedFileSystem, Bounds
from kcl.bounded import Allowance
from kcl.diagnostics import Severity, position
from kcl.regular import read_regular
from kcl.secrecy.rules import SecretRules
from kcl.tools.lint import lint
from workbench.engine.compile import written_secrets
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import evaluators
from workbench.engine.linted import LintFinding, LintReport, LintScope
from workbench.engine.scrubbing import masked_text

_LARGEST: Final = 2_000_000


Raw = tuple[str, str, str, str, int, int]
"""Code, title, message, path, first and last line."""


async def lint_changed(
    names: Iterable[str],
    before: Path,
    after: Path,
    scope: LintScope,
    rules: SecretRules,
    allowance: Allowance,
    packages: str | None,
    user_top: Path,
    already_told: Collection[Path] = (),
) -> LintReport:
    """Lints files below `after`, the later side of a change; `names` are paths from there. `user_top` is where the user
    has that folder. `already_told` are files below `after` of which somebody says that they do not compile."""
    wanted = [name for name in names if name.endswith(".k") and (after / name).is_file()]
    if not wanted:
        return LintReport(scope, 0)
    paths = tuple(str(after / name) for name in wanted)
    try:
        found, unknown = await evaluators.acall(allowance, _linted, paths, str(after), packages, rules)
    except EvaluationEnded as ended:
        return LintReport(scope, 0, (), (f"the {len(wanted)} files that changed: {ended.message}",))
    changed = {str(after / name): _changed_lines(before / name, after / name) for name in wanted}
    findings = []
    for code, title, message, path, first, last in found:
        lines = changed[path]
        line = (
            first if scope is LintScope.FILES else next((each for each in range(first, last + 1) if each in lines), 0)
        )
        if line:
            findings.append(LintFinding(code, title, message, user_top / Path(path).relative_to(after), line))
    said = tuple(f"{path.removeprefix(f'{after}/')}: {why}" for path, why in unknown if Path(path) not in already_told)
    return LintReport(scope, len(wanted), tuple(findings), said)


def _linted(
    paths: Sequence[str], top: str, packages: str | None, rules: SecretRules
) -> tuple[list[Raw], list[tuple[str, str]]]:
    """Runs in another process. Texts that a source gives to a name which says it is secret are masked."""
    found = lint(paths, BoundedFileSystem(Bounds(top, packages)), packages=packages)
    secrets = frozenset(text for each in found.texts.values() for text in written_secrets(each, rules))
    raw: list[Raw] = []
    broken: dict[str, str] = {}
    for each in found.diagnostics:
        place = each.primary.path if each.primary is not None else ""
        message = masked_text(each.message, secrets, rules)
        if each.severity is Severity.ERROR:
            # what a program with an error means is not known, so neither is what the linter would find
            broken.setdefault(place, f"its program has errors: {message}")
        elif each.primary is not None and place in paths:
            text = found.texts.get(place, "")
            first, last = (position(text, offset).line for offset in (each.primary.start, each.primary.end))
            raw.append((each.code.number, each.code.title, message, place, first, max(first, last)))
    unread = [masked_text(each.text, secrets, rules).partition(": ") for each in found.unread]
    return raw, [*broken.items(), *((path, why) for path, _, why in unread)]


def _changed_lines(before: Path, after: Path) -> frozenset[int]:
    """The lines of a file that are not as they were, counted from 1; all of one that was not there, or is large."""
    was, now = _content(before), _content(after)
    old = [] if max(len(was), len(now)) > _LARGEST else _lines(was)
    new = _lines(now)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return frozenset(
        line
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag in ("replace", "insert")
        for line in range(start + 1, end + 1)
    )


def _content(file: Path) -> bytes:
    try:
        return read_regular(file)
    except OSError:
        return b""


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n") if data else []


__all__ = ["lint_changed"]

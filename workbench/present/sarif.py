"""What is wrong with stacks, those that a change touches or all, as SARIF 2.1.0, which code scanning reads.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

Results are what somebody has to correct: what the language and the policies find after the change. That a line changes
something is no fault, and stands in the annotations. What could not be looked at is a notification, and the run then
did not succeed: who reads an empty list of results there must not take it for all is well.

A fingerprint says what a finding is about and not where it stands, so that it is the same finding once lines have
moved. Messages come from a branch that nobody has read: brackets, which SARIF takes for links, are escaped.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from kcl.records import dataclass
from kcl.terminal import harmless
from kcl.tools import explain
from workbench.engine.impact import CompileFinding, Failure, ImpactReport, StackImpact
from workbench.engine.policy.findings import Judgement, PolicyFinding, PolicyReport
from workbench.engine.policy.registry import all_rules
from workbench.project import Finding
from workbench.project.policy import Policy

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "wbFinding/v1"
MOST_RESULTS: Final = 5_000
"""As many as GitHub keeps of one run: https://docs.github.com/code-security/code-scanning/sarif-support"""
_MOST_RELATED: Final = 8
_BASE: Final = "%SRCROOT%"
_UNREADABLE: Final = "wb/stack-unreadable"


@dataclass(frozen=True, slots=True)
class _Result:
    """`about` is what the fingerprint is of: the same before and after its lines have moved."""

    rule: str
    level: str
    message: str
    about: tuple[str, ...]
    file: Path | None
    line: int
    related: tuple[tuple[Path, int, str], ...] = ()
    logical: str = ""
    waived: str | None = None
    stacks: tuple[str, ...] = ()


def document(report: ImpactReport, top: Path, policies: Iterable[Policy], version: str) -> dict[str, Any]:
    """Returns one run about a change. `top` is the folder of the checkout, from which files are named; `policies`
    explain findings.

    At most 5,000 results are there; that some are left out is a notification.
    """
    every = [*_compiled(report), *(each for stack in report.affected for each in _judged_impact(stack))]
    every += _linted(report)
    notes = list(_notifications(report, top))
    is_certain = report.is_certain and report.is_linted
    return _run(every, notes, _Explained(policies, report.root), top, version, is_certain=is_certain)


def of_judgements(
    judged: Iterable[Judgement],
    findings: Iterable[Finding],
    root: Path,
    top: Path,
    policies: Iterable[Policy],
    version: str,
) -> dict[str, Any]:
    """Returns one run about stacks as they are. `findings` are about files: with an error, stacks may be missing."""
    every: list[_Result] = []
    notes = [_notification(f"{each.where}: {each.message}") for each in findings if each.is_error]
    for each in judged:
        if each.report is not None:
            every.extend(_judged(str(each.stack), each.report, None))
        else:
            said = getattr(each.failure, "message", "") or type(each.failure).__name__
            notes.append(_notification(f"what policies say of {each.stack} is not known: {said}"))
        if each.report is not None and not each.is_certain:
            notes.append(_notification(f"not all that policies say of {each.stack} is known"))
    return _run(every, notes, _Explained(policies, root), top, version, is_certain=not notes)


def of_failure(error: BaseException, version: str) -> dict[str, Any]:
    """Returns one run that found nothing out: what an earlier one left would pass for this one."""
    said = getattr(error, "message", "") or type(error).__name__
    notes = [_notification(f"nothing is known of this change: {said}")]
    return _run([], notes, _Explained((), Path()), Path(), version, is_certain=False)


def _run(
    every: list[_Result],
    notes: list[dict[str, Any]],
    explained: _Explained,
    top: Path,
    version: str,
    *,
    is_certain: bool,
) -> dict[str, Any]:
    found = every[:MOST_RESULTS]
    left = len(every) - len(found)
    if left:
        notes = [
            *notes,
            _notification(f"{left} more results do not fit into this report: wb policy lists them"),
        ]
    ids = list(dict.fromkeys(each.rule for each in found))
    numbers = {rule: number for number, rule in enumerate(ids)}
    rules = [explained.rule(each) for each in ids]
    run = {
        "tool": {"driver": {"name": "Konfig Workbench", "version": version, "rules": rules}},
        "invocations": [{"executionSuccessful": is_certain and not left, "toolExecutionNotifications": notes}],
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the checkout"}}},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(found, top, numbers)),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _compiled(report: ImpactReport) -> Iterator[_Result]:
    """Yields what keeps stacks from compiling after the change: once, however many stacks read the line."""
    at: dict[tuple[str, str, str, Path | None, int], list[str]] = {}
    for stack in report.affected:
        for failure in stack.failures:
            for each in _of_the_language(failure) if failure.side == "after" else ():
                rule = f"kcl/{each.code}/{each.title}" if each.code else _UNREADABLE
                level = "error" if each.is_error else "warning"
                at.setdefault((rule, level, each.message, each.file, each.line), []).append(stack.stack)
    for (rule, level, message, file, line), stacks in at.items():
        about = (rule, str(file.relative_to(report.root)) if file and file.is_relative_to(report.root) else "", message)
        yield _Result(rule, level, f"{message} ({_names(stacks)})", about, file, line, stacks=tuple(stacks))


def _linted(report: ImpactReport) -> Iterator[_Result]:
    for each in report.lint.findings if report.lint is not None else ():
        file = str(each.file.relative_to(report.root)) if each.file.is_relative_to(report.root) else ""
        rule = f"kcl/{each.code}/{each.title}"
        yield _Result(rule, "warning", each.message, (rule, file, each.message), each.file, each.line)


def _of_the_language(failure: Failure) -> tuple[CompileFinding, ...]:
    return failure.findings or (CompileFinding("", "", failure.message, failure.file, failure.line),)


def _names(stacks: list[str]) -> str:
    more = f" and {len(stacks) - 5} more" if len(stacks) > 5 else ""
    return ", ".join(stacks[:5]) + more


def _judged_impact(stack: StackImpact) -> Iterator[_Result]:
    """What no line says stands at the head of a changed file that the stack reads."""
    if stack.policy is not None:
        yield from _judged(stack.stack, stack.policy, stack.reads[0] if stack.reads else None)


def _judged(stack: str, report: PolicyReport, head: Path | None) -> Iterator[_Result]:
    for each in report.findings:
        first = each.source[0] if each.source else None
        expired = f" (its waiver expired on {each.expired.until})" if each.expired is not None else ""
        about = f"{each.about}: " if each.about else ""
        yield _Result(
            f"policy/{each.policy}",
            each.level.value,
            f"{stack}: {about}{each.message}{expired}",
            (each.policy, stack, str(each.subject or ""), each.about),
            first.file if first is not None else head,
            first.line if first is not None else 0,
            tuple((site.file, site.line, site.kind) for site in each.source[1 : 1 + _MOST_RELATED]),
            each.about,
            _waived(each),
            (stack,),
        )


def _waived(found: PolicyFinding) -> str | None:
    return None if found.waiver is None else f"{found.waiver.reason} (until {found.waiver.until})"


def _results(found: list[_Result], top: Path, numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for each in found:
        seen[each.about] += 1
        result: dict[str, Any] = {
            "ruleId": harmless(each.rule),
            "ruleIndex": numbers[each.rule],
            "level": each.level,
            "message": {"text": _text(each.message)},
            "partialFingerprints": {FINGERPRINT: _digest((*each.about, str(seen[each.about])))},
            "properties": {"stacks": [harmless(stack) for stack in each.stacks]},
        }
        location = _location(each.file, each.line, top)
        if each.logical:
            location["logicalLocations"] = [{"fullyQualifiedName": harmless(each.logical), "kind": "resource"}]
        if location:
            result["locations"] = [location]
        if related := [
            {"id": number, **place, "message": {"text": _text(kind or "has a say in the value")}}
            for number, (file, line, kind) in enumerate(each.related, 1)
            if (place := _location(file, line, top))
        ]:
            result["relatedLocations"] = related
        if each.waived is not None:
            result["suppressions"] = [
                {"kind": "external", "status": "accepted", "justification": harmless(each.waived)}
            ]
        yield result


def _digest(about: tuple[str, ...]) -> str:
    return hashlib.sha256(repr(about).encode("utf-8", "replace")).hexdigest()


def _location(file: Path | None, line: int, top: Path) -> dict[str, Any]:
    """Returns a physical location, nothing for a file outside of the checkout: nobody could be shown it."""
    if file is None or not file.is_relative_to(top):
        return {}
    named = quote(file.relative_to(top).as_posix().encode("utf-8", "surrogateescape"))
    place: dict[str, Any] = {"artifactLocation": {"uri": named, "uriBaseId": _BASE}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _text(message: str) -> str:
    """Returns a message of SARIF, in which `[text](target)` would be a link and `{0}` stand for something else."""
    shown = harmless(message).replace("\\", "\\\\")
    return shown.replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")


def _notifications(report: ImpactReport, top: Path) -> Iterator[dict[str, Any]]:
    """Yields what could not be looked at."""
    for doubt in report.doubts:
        yield _notification(f"not known: {doubt.where}: {doubt.message}" if doubt.where else doubt.message)
    for unknown in report.lint.unknown if report.lint is not None else ():
        yield _notification(f"not linted: {unknown}")
    for stack in report.stacks:
        for failure in stack.failures:
            place = _location(failure.file, failure.line, top) if failure.side == "after" else {}
            said = f"what changes of {stack.stack} is not known, it cannot be compiled {failure.side} the change"
            yield _notification(f"{said}: {failure.message}", place)
        if stack.live is not None:
            for problem in stack.live.problems:
                yield _notification(f"{stack.stack}: not known of {problem.cluster}: {problem.message}")
            for gap in stack.live.gaps:
                yield _notification(f"{stack.stack}: not known: {gap}")


def _notification(message: str, place: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"level": "error", "message": {"text": _text(message)}, **({"locations": [place]} if place else {})}


class _Explained:
    """What the rules behind results are about."""

    def __init__(self, policies: Iterable[Policy], root: Path) -> None:
        self._policies, self._root = {each.name: each for each in policies}, root

    def rule(self, id_: str) -> dict[str, Any]:
        kind, _, rest = id_.partition("/")
        if kind == "policy":
            return _rule_of_policy(id_, self._policies.get(rest), self._root)
        if kind == "kcl":
            return _rule_of_the_language(id_, rest)
        about = "A stack, or what it is made of, cannot be read."
        return _described(
            id_, "StackUnreadable", about, f"{about} `wb ls` and `wb compile` say where and why.", "error"
        )


def _rule_of_the_language(id_: str, code: str) -> dict[str, Any]:
    number, _, title = code.partition("/")
    page = next((each for each in explain.find(number) if each.code.title == title), None)
    help_ = f"{page.meaning}\n\nWhat to do: {page.mend}\n\n" if page is not None else ""
    level = "warning" if number.startswith("W") else "error"
    return _described(id_, title, title, f"{help_}`kcl explain {number}` says more.", level)


def _rule_of_policy(id_: str, policy: Policy | None, root: Path) -> dict[str, Any]:
    name = id_.partition("/")[2]
    if policy is None:
        return _described(id_, "Policy", f"Policy {name}", "`wb policy` lists what it finds.", "error")
    if policy.check is not None:
        check = policy.check.relative_to(root) if policy.check.is_relative_to(root) else policy.check.name
        about, takes = f"What {check} says of a stack", ""
    else:
        rule = all_rules().get(policy.rule)
        about, takes = (
            (rule.about.rstrip("."), f" It takes {rule.parameters}.") if rule is not None else (policy.rule, "")
        )
    help_ = (
        f"Policy `{name}`: {about}.{takes} Correct the line that is named, or have a waiver with a day and a reason in"
        " policy.yaml. `wb policy` judges the stacks without a pull request."
    )
    return _described(id_, "Policy", f"{name}: {about}", help_, policy.level.value)


def _described(id_: str, name: str, short: str, help_: str, level: str) -> dict[str, Any]:
    said = "\n".join(map(harmless, help_.split("\n")))
    return {
        "id": harmless(id_),
        "name": harmless(name),
        "shortDescription": {"text": _text(short)},
        "fullDescription": {"text": _text(short)},
        "help": {"text": said},
        "defaultConfiguration": {"level": level},
    }


__all__ = ["FINGERPRINT", "MOST_RESULTS", "SCHEMA", "document", "of_failure", "of_judgements"]

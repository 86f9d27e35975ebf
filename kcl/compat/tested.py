"""Results of tests as the official service tells them: what each reached, line by line, and the report for a person."""

from __future__ import annotations

from collections.abc import Iterable

from kcl.compat.messages import CoverageSummary, FileCoverage, TestCaseInfo, TestCoverageReport, TestResult
from kcl.evaluator.coverage import Reached
from kcl.regular import read_regular_text
from kcl.source import SourceFile
from kcl.tools.coverage.measuring import NotMeasured, measured
from kcl.tools.test.cases import Outcome


def result(outcomes: Iterable[tuple[str, Outcome]], *, covered: bool) -> TestResult:
    """By name, in order. Which lines there are is told of the files that any test reached."""
    info = []
    reached: dict[str, Reached] = {}
    sources: dict[str, SourceFile | None] = {}
    for name, outcome in outcomes:
        hits: dict[str, int] = {}
        for path, each in outcome.reached.items() if covered else ():
            reached.setdefault(path, Reached()).add(each)
            if path not in sources:
                sources[path] = _source(path)
            hits |= _hits(sources[path], each)
        duration = round(outcome.seconds * 1e6)
        info.append(TestCaseInfo(name, outcome.failure, duration, outcome.printed, hits))
    return TestResult(info, _coverage(reached) if covered else None)


def _source(path: str) -> SourceFile | None:
    """None for a file that is gone."""
    try:
        return SourceFile(path, read_regular_text(path))
    except (OSError, UnicodeDecodeError):
        return None


def _hits(source: SourceFile | None, reached: Reached) -> dict[str, int]:
    """How often each line was reached, as `FILE:LINE`; as often as what was reached most often on it."""
    hits: dict[str, int] = {}
    if source is None:
        return hits
    for (start, _), count in reached.points.items():
        if count:
            line = f"{source.path}:{source.position(start).line}"
            hits[line] = max(hits.get(line, 0), count)
    return hits


def _coverage(reached: dict[str, Reached]) -> TestCoverageReport:
    files = {}
    for path in sorted(reached):
        try:
            lines = measured(path, reached[path]).lines
        except NotMeasured:
            continue
        hits = {line: count for line, count in lines.items() if count}
        files[path] = FileCoverage(path, list(hits), list(lines), hits)
    there = sum(len(each.executable_lines) for each in files.values())
    covered = sum(len(each.covered_lines) for each in files.values())
    return TestCoverageReport(files, CoverageSummary(covered, there, _percent(covered, there)))


def report(of: TestResult) -> str:
    """As the official command prints it."""
    cases = of.info
    if not cases:
        return "no test files\n"
    lines = []
    for each in cases:
        lines.append(f"{each.name}: {'FAIL' if each.error else 'PASS'} ({each.duration // 1000}ms)")
        lines += [each.log_message] if each.log_message else []
    failed = sum(bool(each.error) for each in cases)
    lines += ["-" * 80, f"PASS: {len(cases) - failed}/{len(cases)}"]
    lines += [f"FAIL: {failed}/{len(cases)}"] if failed else []
    if of.coverage is not None and of.coverage.files:
        total = of.coverage.summary
        lines.append(f"Coverage: {total.percent:.1f}% ({total.covered}/{total.executable}) lines")
        for path in sorted(of.coverage.files):
            file = of.coverage.files[path]
            covered, there = len(file.covered_lines), len(file.executable_lines)
            lines.append(f"  {path}: {covered}/{there} ({_percent(covered, there):.1f}%)")
    return "".join(f"{each}\n" for each in lines)


def _percent(covered: int, there: int) -> float:
    return 100.0 * covered / there if there else 100.0

"""Diagnostics in the formats that `--error_format` names.

pretty     as people read them
short      a line each: `main.k:2:5: error[E2G22]: expected int, got str`
arcanist   JSON, the messages a linter gives to Arcanist
sarif      JSON of the Static Analysis Results Interchange Format 2.1.0
github     a workflow command of GitHub Actions each, which shows it at its line

What follows from another diagnostic is counted in `pretty` and `github`, which people read, and is there in the others,
which programs do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcl.diagnostics import Diagnostic, Severity, Span, following, position, render
from kcl.records import replace

FORMATS: Final = ("pretty", "short", "arcanist", "sarif", "github")
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def report(
    diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], form: str, *, official_only: bool = False
) -> str:
    """The diagnostics as text that ends with a newline, "" for none. `sources` maps their paths to file texts.

    With `official_only` nothing is left out and nothing of ours added, as in `render`.
    """
    if official_only:
        diagnostics = [replace(each, hints=(), follows=False) for each in diagnostics]
    shown = [each for each in diagnostics if not each.follows]
    left = len(diagnostics) - len(shown)
    match form:
        case "short":
            return "".join(_line(diagnostic, sources) for diagnostic in diagnostics)
        case "arcanist":
            return _json([_message(diagnostic, sources) for diagnostic in diagnostics])
        case "sarif":
            return _json(_sarif(diagnostics, sources))
        case "github":
            lines = "".join(_annotation(diagnostic, sources) for diagnostic in shown)
            return f"{lines}::notice ::{_data(following(left))}\n" if left else lines
        case _:
            return render(diagnostics, sources, official_columns=True, guided=True)


def _json(data: Any) -> str:
    import json  # few reports are

    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _place(span: Span | None, sources: Mapping[str, str]) -> tuple[str, int, int]:
    """Path, line and column; zeros when they are not known."""
    if span is None:
        return "", 0, 0
    text = sources.get(span.path)
    if text is None:
        return span.path, 0, 0
    found = position(text, span.start)
    return span.path, found.line, found.column


def _line(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    path, line, column = _place(diagnostic.primary, sources)
    where = f"{path}:{line}:{column}: " if line else f"{path}: " if path else ""
    message = " ".join(diagnostic.message.split())
    return f"{where}{diagnostic.severity}[{diagnostic.code.number}]: {message}\n"


def _annotation(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    path, line, column = _place(diagnostic.primary, sources)
    place = f"file={_property(path)},line={line},col={column}," if line else f"file={_property(path)}," if path else ""
    title = _property(f"{diagnostic.code.number} {diagnostic.code.title}")
    return f"::{diagnostic.severity} {place}title={title}::{_data(_said(diagnostic))}\n"


def _said(diagnostic: Diagnostic) -> str:
    """The message and its hints, where there is one text for all."""
    return "\n".join((diagnostic.message, *(f"help: {hint.message}" for hint in diagnostic.hints)))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _message(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    path, line, column = _place(diagnostic.primary, sources)
    return {
        "path": path,
        "line": line,
        "char": column,
        "code": diagnostic.code.number,
        "severity": str(diagnostic.severity),
        "name": diagnostic.code.title,
        "description": _said(diagnostic),
    }


def _sarif(diagnostics: Sequence[Diagnostic], sources: Mapping[str, str]) -> dict[str, Any]:
    rules = {diagnostic.code.number: diagnostic.code.title for diagnostic in diagnostics}
    driver = {"name": "kcl", "rules": [{"id": number, "name": title} for number, title in sorted(rules.items())]}
    results = [_result(diagnostic, sources) for diagnostic in diagnostics]
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code.number,
        "level": "error" if diagnostic.severity is Severity.ERROR else "warning",
        "message": {"text": _said(diagnostic)},
    }
    if diagnostic.primary is not None:
        result["locations"] = [_location(diagnostic.primary, sources)]
    labels = [*diagnostic.labels, *(label for hint in diagnostic.hints for label in hint.labels)]
    if labels:
        result["relatedLocations"] = [
            {**_location(label.span, sources), "message": {"text": label.message}} for label in labels
        ]
    return result


def _location(span: Span, sources: Mapping[str, str]) -> dict[str, Any]:
    path, line, column = _place(span, sources)
    from pathlib import Path  # takes long to load, and one format alone asks for it

    uri = Path(path).as_uri() if Path(path).is_absolute() else path
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if line:
        location["region"] = {"startLine": line, "startColumn": column}
    return {"physicalLocation": location}

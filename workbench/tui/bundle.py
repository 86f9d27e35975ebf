"""What somebody else needs to see what you saw: the screen and what stands behind it, in one file, secrets masked.

Only what is known is in it: nothing is compiled, compared or asked for it. What is missing is named in its first file.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.engine.versions import version
from workbench.present import diff_export, documents, errors, timeline
from workbench.present.plan import event_document
from workbench.present.spec import masked_documents
from workbench.present.yaml_data import yaml_data
from workbench.tui import saving
from workbench.tui.screens.whatif import WhatIfScreen

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.frame import Frame
    from workbench.tui.state import StackState

ABOUT = "ABOUT.md"
_MASK = re.compile(r"masked#\w+")
_WHAT = {
    "screen.txt": "the screen, sign by sign",
    "screen.svg": "the screen as a picture",
    "versions.json": "what runs here, in which terminal",
    "commands.txt": "what was done on the screens in this session, with the lines that do the same",
    "error.txt": "what went wrong",
    "spec.yaml": "what the stack compiles to",
    "diff.json": "the last comparison, as wb diff -o json prints it",
    "diff.md": "the same to read",
    "plan.json": "the plan, as wb plan -o json prints it",
    "events.jsonl": "what the apply told, a line each",
    "status.json": "the last picture of a watch, as wb watch -o json prints it",
    "timeline.txt": "every change of state that watches showed in this session",
}


def save(app: WorkbenchApp, screen: Frame) -> Path:
    """Writes the bundle into the working folder, for its user alone; returns its name.

    Raises `OSError`, or the `WorkbenchError` of rules of masking that can't be read: then nothing is written.
    """
    now = app.now()
    files = {name: app.session.masked(text) for name, text in _files(app, screen, now)}
    files = {ABOUT: app.session.masked(_about(app, screen, now, files)), **files}
    stack = screen.shown_state.stack.name if screen.shown_state is not None else app.konfig.root.name
    path = saving.file_name(("bundle", stack), "zip", now)
    with saving.opened(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(zipfile.ZipInfo(name, now.astimezone(UTC).timetuple()[:6]), text)
    return path


def _files(app: WorkbenchApp, screen: Frame, now: datetime) -> Iterator[tuple[str, str]]:
    """Yields what is known, by the names of `_WHAT`."""
    if not isinstance(screen, WhatIfScreen):  # which shows the source as it is
        yield "screen.txt", "\n".join(strip.text.rstrip() for strip in screen.painted()) + "\n"
        yield "screen.svg", app.export_screenshot()
    yield "versions.json", _json(_versions(app))
    acts = (
        f"{each.at.astimezone(UTC):%H:%M:%S}  {each.what}\n          {each.line}\n" for each in app.command_log.acts
    )
    yield "commands.txt", "".join(acts)
    state = screen.shown_state
    if state is not None:
        yield from _of_stack(app, state, now)


def _of_stack(app: WorkbenchApp, state: StackState, now: datetime) -> Iterator[tuple[str, str]]:
    root = app.konfig.root
    if state.error is not None:
        yield "error.txt", "\n".join(map(str, errors.lines(state.error, app.glyphs))) + "\n"
    if state.compiled is not None:
        yield "spec.yaml", yaml_data(masked_documents(state.compiled.spec))
    if (found := state.known_diff) is not None:
        yield "diff.json", _json(documents.diff(found, root))
        yield "diff.md", diff_export.exported(found, "md", (state.stack.project_directory, root), now)
    if state.plan is not None:
        yield "plan.json", _json(documents.plan(state.plan, root))
    if state.events:
        yield "events.jsonl", "".join(f"{json.dumps(event_document(each), default=str)}\n" for each in state.events)
    if state.tree is not None:
        yield "status.json", _json(documents.status(state.tree.as_of(now)))
    if state.timeline.began is not None:
        yield "timeline.txt", "".join(f"{each}\n" for each in timeline.lines(state.timeline))


def _versions(app: WorkbenchApp) -> Mapping[str, Any]:
    import rich
    import textual

    return {
        "workbench": version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "textual": textual.__version__,
        "rich": getattr(rich, "__version__", ""),
        "terminal": {
            "size": list(app.size),
            "name": os.environ.get("TERM", ""),
            "colors": app.color_system,
            "theme": app.theme,
            "ascii": app.is_ascii,
        },
    }


def _about(app: WorkbenchApp, screen: Frame, now: datetime, files: Mapping[str, str]) -> str:
    state, place = screen.shown_state, screen.place()
    said = [
        "# What was on the screen",
        "",
        f"Saved at {now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC by wb {version()}.",
        f"The repository is {app.konfig.root.name}.",
        "Secrets are masked, those that are known or look like one: read it before you hand it on.",
        "",
        f"- screen: {screen.name_in_trail or 'Browse'}",
    ]
    if place is not None:
        said.append(f"- back there: `:{place.command}`" + (f", filtered by `{place.filter}`" if place.filter else ""))
    if state is not None:
        said.append(f"- stack: {state.stack.name}, clusters {', '.join(state.stack.clusters) or 'none'}")
        if state.edits:
            said.append(f"- with edits in a What-if, which are not in here, of {state.edits}")
    if "spec.yaml" in files:
        digest = hashlib.sha256(_MASK.sub("masked", files["spec.yaml"]).encode()).hexdigest()
        said.append(f"- Spec without its secrets: sha256 {digest}")
    said += ["", "| file | what |", "| --- | --- |"]
    said += [f"| {name} | {_WHAT[name]} |" for name in files]
    missing = [what for name, what in _WHAT.items() if name not in files]
    if missing:
        said += ["", f"Not there, as it was not known or there was none: {'; '.join(missing)}."]
    return "\n".join(said) + "\n"


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, default=str) + "\n"

"""`%%kcl`: a cell of a notebook that is a program in KCL.

    %%kcl [NAME] [-D name=value ...]
    import models.frontend

    web = frontend.Server {replicas = 3}

It is run as a file of the folder that the kernel works in: packages below the kcl.mod around it can be imported, and
nothing is read outside. What it evaluates to is shown as YAML, secrets masked, and returned; NAME is a variable that
gets the values. What JupyterLab is told of such cells lies in `labextension`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from kcl.api import ProgramError, RunResult, argument_value, run, yaml_text
from kcl.records import dataclass
from kcl.secrecy.rules import BUILT_IN
from kcl.terminal import harmless_lines
from runtimes.base import FieldPath, KubernetesId
from workbench.engine.compile import written_secrets
from workbench.engine.masking import Masked, Seal, masked, secret_names, sensitive_paths, sensitive_texts
from workbench.engine.scrubbing import masked_text
from workbench.project import WorkbenchError

_FILE: Final = "cell.k"
_SEAL: Final = Seal.random()


class CellFailed(WorkbenchError):
    """The program of a cell is wrong; the message says where in the cell."""


@dataclass(frozen=True, slots=True)
class KclCell:
    """What a cell evaluates to. `documents` are plain values, one for each document of YAML, with secrets as they are.

    `str` and what a notebook shows are YAML in which they are masked.
    """

    documents: tuple[Any, ...]
    printed: str
    _shown: str

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return self._shown

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._shown)}</pre>"


def evaluate(text: str, options: Mapping[str, str], folder: str | None = None) -> KclCell:
    """Runs the text of a cell in a folder, the current one unless told. Raises `CellFailed`."""
    given = {name: argument_value(value) for name, value in options.items()}
    try:
        found = run([_FILE], work_dir=folder or os.getcwd(), texts={_FILE: text}, options=given)  # noqa: PTH109
    except ProgramError as problem:
        secrets = written_secrets(text) | {value for name, value in options.items() if BUILT_IN.suggests(name)}
        said = masked_text(problem.render(guided=True), secrets)
        raise CellFailed("the cell can't be run:\n" + said, hint="the lines are those below %%kcl") from None
    return KclCell(found.documents, found.printed, _shown(found))


def _shown(found: RunResult) -> str:
    secrets = frozenset(each for one in found.documents for each in sensitive_texts(_body(one), _paths(one)))
    seal = _SEAL.knowing(secrets)
    shown = [yaml_text(_plain(masked(each, _paths(each), seal))) for each in found.documents]
    return harmless_lines(masked_text(found.printed, secrets) + "---\n".join(shown))


def _body(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def _paths(document: Any) -> tuple[FieldPath, ...]:
    """What is secret in a document by its names, and in an object of a cluster by its kind."""
    body = _body(document)
    version, kind = body.get("apiVersion"), body.get("kind")
    named = tuple(secret_names(body))
    if isinstance(version, str) and isinstance(kind, str):
        return (*named, *sensitive_paths(KubernetesId(version, kind, "", ""), body))
    return named


def _plain(value: Any) -> Any:
    if isinstance(value, Masked):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value

"""`kcl lsp`: what editors ask of KCL, over the Language Server Protocol.

The features are functions of texts, caches and a position, and know nothing of the protocol: a notebook or a screen
may call them as well. Only the last four do, and only they need pygls.

positions     offsets and the lines and columns of an editor
uris          files by the names that editors have for them
documents     the texts that are open in an editor, and edits of them
units         which program a file is checked as a part of
analysis      a unit checked: what is wrong with it
sessions      the open texts of one editor and what is known of them
views         one file of a unit, with the type of each of its expressions
resolving     what a name means and where it is declared
hovering, completing, referring, acting, outline, colouring      what is answered of a place, a name, a file
hierarchies   what schemas rest on, what rests on them, who makes instances
advising      what the linter finds, and edits against it
repositories  what somebody else knows of the stacks of a repository
surveying     who sets what in which stack
living        what is live of it
protocol      our values as the protocol has them
answers       requests
messages      what pygls makes of what an editor sends
server        texts, diagnostics, threads
jupyter       how JupyterLab starts it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from kcl.tools.lsp.repositories import Clusters, Repository

_OK, _FAILED, _USAGE = 0, 1, 2
_HELP: Final = (
    "usage: kcl lsp [--stdio]\n\nServes an editor over standard input and output, by the Language Server Protocol.\n"
)
_MISSING: Final = "kcl lsp: pygls is not installed: pip install 'konfig-workbench[lsp]'\n"


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
    repository: Repository | None = None,
    clusters: Clusters | None = None,
) -> int:
    """Serves until the editor ends it; exit status 1 without the library of the protocol.

    `repository` is who knows the stacks that files belong to, `clusters` who knows what is live of them.
    """
    if any(word in ("-h", "--help") for word in argv):
        stdout.write(_HELP)
        return _OK
    if any(word != "--stdio" for word in argv):
        stderr.write(f"kcl lsp: --stdio is the only option\n{_HELP}")
        return _USAGE
    if find_spec("pygls") is None:
        stderr.write(_MISSING)
        return _FAILED
    from kcl.tools.lsp.server import serve  # needs pygls

    return serve(stdin.buffer, stdout.buffer, environment or {}, repository, clusters)

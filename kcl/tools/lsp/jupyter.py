"""How Jupyter starts the language server: what its proxy of language servers asks by an entry point.

With jupyterlab-lsp installed, files of KCL and cells that begin with `%%kcl` are served. Nothing of
Jupyter is imported.
"""

from __future__ import annotations

import sys
from typing import Any, Final

LANGUAGE: Final = "kcl"
MIME_TYPE: Final = "text/x-kcl"
_SPEC_VERSION: Final = 2


def specification(manager: object) -> dict[str, dict[str, Any]]:
    """The server by its name, as `jupyter_lsp` has it, which hands in its manager."""
    server = {
        "version": _SPEC_VERSION,
        "argv": [sys.executable, "-P", "-m", "kcl", "lsp"],
        "languages": [LANGUAGE],
        "mime_types": [MIME_TYPE],
        "display_name": "kcl lsp",
        "requires_documents_on_disk": False,
        "install": {"pip": "pip install 'konfig-workbench[lsp]'"},
        "urls": {"home": "https://www.kcl-lang.io"},
    }
    return {"kcl": server}

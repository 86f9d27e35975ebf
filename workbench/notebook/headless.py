"""Whether somebody could use a widget, and what is done where nobody can.

papermill, nbconvert and nbclient run cells with nobody there: the kernel is then told that no question may be asked
(`allow_stdin` is false), which is what decides. WB_WIDGETS=on or off overrides it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from kcl.terminal import harmless_lines
from workbench.settings import BadSetting

_ON, _OFF, _AUTO = "on", "off", "auto"


def has_widgets() -> bool:
    """Tells whether results show widgets. Raises `BadSetting` for another WB_WIDGETS than auto, on or off."""
    wanted = os.environ.get("WB_WIDGETS", _AUTO).strip().lower() or _AUTO
    if wanted not in (_ON, _OFF, _AUTO):
        raise BadSetting(f"WB_WIDGETS needs to be auto, on or off, got {wanted!r}", hint="unset WB_WIDGETS")
    if wanted == _AUTO:
        return _may_ask()
    return wanted == _ON


def say(text: str) -> None:
    """Writes one line of progress below the cell that waits."""
    sys.stdout.write(f"{harmless_lines(text)}\n")
    sys.stdout.flush()


def cell_id() -> str:
    """Returns the id of the cell that runs, empty outside of a notebook."""
    metadata = _request().get("metadata")
    return str(metadata.get("cellId", "")) if isinstance(metadata, dict) else ""


def _may_ask() -> bool:
    content = _request().get("content")
    return bool(content.get("allow_stdin")) if isinstance(content, dict) else False


def _request() -> dict[str, Any]:
    """Returns the message whose cell runs; empty outside of a kernel."""
    if "IPython" not in sys.modules:
        return {}
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    parent = kernel.get_parent() if kernel is not None else None
    return parent if isinstance(parent, dict) else {}

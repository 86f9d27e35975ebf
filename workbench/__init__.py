"""Konfig Workbench: see README.md.

    import workbench as wb
    session = wb.open("path/to/repository")

The notebook face is imported when one of its names is first asked for, so the terminal and the command line stay free
of what only notebooks need.
"""

# Nothing is imported here: with `python -m workbench` this runs while the current folder is still searched first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from workbench.notebook import load_ipython_extension as load_ipython_extension
    from workbench.notebook import open as open  # the name reads as `wb.open`
    from workbench.notebook import unload_ipython_extension as unload_ipython_extension

_OF_NOTEBOOKS = frozenset({"load_ipython_extension", "open", "unload_ipython_extension"})


def __getattr__(name: str) -> "Any":
    if name not in _OF_NOTEBOOKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("workbench.notebook"), name)

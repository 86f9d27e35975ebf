"""The functions KCL programs find without importing a file: builtins, methods of strings, system modules.

    declaration.py  a function is declared once, by a signature in KCL's notation over the Python that does it
    access.py       what a run may touch outside itself (files, environment, clock)
    conversion.py   KCL values ↔ plain data
    library.py      everything together, as the evaluator takes it

The rest is one file a module or group of modules.
"""

from kcl.stdlib.access import Access
from kcl.stdlib.conversion import to_plain, to_value
from kcl.stdlib.library import MODULES, build_library

__all__ = ["MODULES", "Access", "build_library", "to_plain", "to_value"]

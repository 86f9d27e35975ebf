"""Where processes that this one starts find their modules."""

from __future__ import annotations

import sys
from pathlib import Path


def search_path() -> list[str]:
    """Where this program finds modules, without the current folder: that may be a checkout nobody has read."""
    current, own = Path.cwd(), Path(__file__).parents[2]
    places = [Path(each).absolute() for each in sys.path]
    return [str(each) for each in places if each == own or each != current]

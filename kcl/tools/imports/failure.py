"""What cannot be imported."""

from __future__ import annotations


class ImportFailure(Exception):
    """Says which file (and line, where it is known), what is wrong with it and what to do."""

"""Where the real inputs are that nobody here wrote, and how to skip without them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", ROOT.parent / "shared" / "conformance"))


def corpus(name: str) -> Path:
    """The folder of one corpus; skips the test when it is not there."""
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"the corpus {name} is not at {folder}; set KONFIG_WORKBENCH_CONFORMANCE")
    return folder

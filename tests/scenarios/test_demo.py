"""The demo without a terminal: the main job from list to ready, as plain text, with exit code 0."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.scenarios.conftest import SAMPLE

STEPS = (
    "two practice clusters",
    "list",
    "compile",
    "diff",
    "apply",
    "reconcile",
    "the failing workload explained",
    "fixed by a what-if edit",
    "ready",
)


def has_every_step(text: str) -> bool:
    """Whether each step has its heading, in order, and something below it."""
    headings = [line[3:] for line in text.splitlines() if line.startswith("== ")]
    below = [part.strip().splitlines() for part in text.split("\n== ")[1:]]
    return len(headings) == len(STEPS) and all(
        heading.startswith(step) and len(lines) > 2 for heading, step, lines in zip(headings, STEPS, below, strict=True)
    )


@pytest.mark.slow
def test_plain_demo_goes_from_list_to_ready(tmp_path: Path) -> None:
    before = {each: each.read_bytes() for each in SAMPLE.rglob("*") if each.is_file()}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "demo"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=SAMPLE.parent,
        env={**os.environ, "WB_STATE_DIR": str(tmp_path / "state"), "TMPDIR": str(tmp_path)},
    )
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert has_every_step(done.stdout), done.stdout
    text = done.stdout
    assert "spec.replicas: 3 → 4  ← storefront/checkout/prod/main.k:5" in text
    assert "owned by kubectl-edit" in text
    assert "WHY Pod/web-" in text and "ImagePullBackOff" in text
    assert "set by  storefront/checkout/base/base.k:7" in text
    assert '+    image = "registry.orchard.example/checkout/web:2.4.2"' in text
    assert "32/32 ready" in text.splitlines()[-3]
    assert seconds < 60
    # neither the sample nor anything else is left changed
    assert {each: each.read_bytes() for each in SAMPLE.rglob("*") if each.is_file()} == before
    assert not list(tmp_path.glob("konfig-practice-*"))

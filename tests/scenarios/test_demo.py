"""The demo without a terminal: the main job from list to ready, as plain text, with exit code 0."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import missing
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
CLOUD_STEPS = ("databases from Terraform", "drift", "all of it taken away")
LEFT_OUT = "databases from Terraform are left out: "


def has_every_step(text: str) -> bool:
    """Whether each step has its heading, in order, and something below it.

    Those with Terraform are there, or a line says what is missing for them.
    """
    steps = STEPS if LEFT_OUT in text else (*STEPS, *CLOUD_STEPS)
    headings = [line[3:] for line in text.splitlines() if line.startswith("== ")]
    below = [part.strip().splitlines() for part in text.split("\n== ")[1:]]
    return len(headings) == len(steps) and all(
        heading.startswith(step) and len(lines) > 2 for heading, step, lines in zip(headings, steps, below, strict=True)
    )


def assert_goes_from_list_to_ready(text: str) -> None:
    assert has_every_step(text), text
    assert "spec.replicas: 3 → 4  ← storefront/checkout/prod/main.k:5" in text
    assert "owned by kubectl-edit" in text
    assert "WHY Pod/web-" in text and "ImagePullBackOff" in text
    assert "set by  storefront/checkout/base/base.k:7" in text
    assert '+    image = "registry.orchard.example/checkout/web:2.4.2"' in text
    assert "32/32 ready" in text
    assert text.splitlines()[-1].startswith("done in ")
    if shutil.which("terraform") and not missing():
        assert LEFT_OUT not in text
        assert "14 done, 0 failed, 0 skipped" in text
        assert re.search(r"DATABASE_HOST=orders-dev-\w+\.db\.sandbox\.example", text)
        assert "orders.dev.orchard.example has 203.0.113.10" in text
        assert "nothing is left in the cloud" in text
        assert "orchard-development-orders-password" not in text


@pytest.mark.slow
@pytest.mark.soak  # `tests/packaging` does it with the wheel that is installed
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
    assert_goes_from_list_to_ready(done.stdout)
    assert seconds < 90
    # neither the sample nor anything else is left changed
    assert {each: each.read_bytes() for each in SAMPLE.rglob("*") if each.is_file()} == before
    assert not list(tmp_path.glob("konfig-practice-*"))

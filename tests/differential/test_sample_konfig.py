"""Every stack of the sample repository evaluates to the same under the official compiler and under ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcl.api import run
from kcl.loader import load_yaml
from tests.conformance.kcl_suite import same
from tests.differential.comparing import documents
from tests.properties.official import official

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
STACKS = sorted(path.parent.relative_to(SAMPLE).as_posix() for path in SAMPLE.rglob("stack.yaml"))


@pytest.mark.parametrize("stack", STACKS)
def test_a_sample_stack_means_the_same_as_officially(stack: str) -> None:
    folder = SAMPLE / stack
    settings = load_yaml((folder / "kcl.yaml").read_text())
    files = [str(name).replace("${KCL_MOD}", str(SAMPLE)) for name in settings["kcl_cli_configs"]["file"]]
    options = [(str(item["key"]), str(item["value"])) for item in settings.get("kcl_options") or []]
    with official() as compiler:
        theirs = compiler.run_files(
            str(folder), {"files": [str((folder / name).resolve()) for name in files], "options": options}
        )
    assert theirs.yaml is not None, theirs.complaint
    result = run(work_dir=folder)
    assert same(documents(result.yaml()), documents(theirs.yaml + "\n"))


def test_there_are_stacks() -> None:
    assert len(STACKS) > 10

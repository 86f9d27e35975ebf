"""Every stack of the sample repository compiles to the same values with the official compiler and with ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import kcl.api as ours
from workbench.project import discover

kcl_lib = pytest.importorskip("kcl_lib.api", reason="the official KCL compiler is not installed")

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
STACKS = sorted(each.parent.relative_to(SAMPLE).as_posix() for each in SAMPLE.glob("*/*/*/kcl.yaml"))


def settings(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the files of a stack and its options, as its kcl.yaml has them."""
    document = yaml.safe_load((folder / "kcl.yaml").read_text())
    named = document["kcl_cli_configs"]["file"]
    files = [str(folder / each.replace("${KCL_MOD}", str(SAMPLE))) for each in named]
    return files, {each["key"]: each["value"] for each in document["kcl_options"]}


def test_the_stacks_are_those_that_are_found() -> None:
    found = sorted(each.directory.relative_to(SAMPLE).as_posix() for each in discover(SAMPLE).stacks())

    assert found == STACKS


@pytest.mark.parametrize("stack", STACKS)
def test_both_compilers_agree(stack: str) -> None:
    files, options = settings(SAMPLE / stack)
    arguments = [kcl_lib.Argument(name=key, value=f'"{value}"') for key, value in options.items()]
    request = kcl_lib.ExecProgramArgs(work_dir=str(SAMPLE), k_filename_list=files, args=arguments)
    official: list[Any] = list(yaml.safe_load_all(kcl_lib.API().exec_program(request).yaml_result))

    result = ours.run(files, work_dir=SAMPLE, options=options)

    assert list(yaml.safe_load_all(result.yaml())) == official

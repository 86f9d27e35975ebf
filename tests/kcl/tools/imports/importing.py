"""Running `kcl import` without a process, and both compilers over what it makes."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import kcl_lib.api as official

from kcl.api import ParseCache, ProgramError, run
from kcl.cli import main
from tests.kcl.conformance import FOLDER

K8S = FOLDER / "kcl-modules" / "k8s" / "1.31"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Ran:
    status: int
    out: str
    err: str


def imported(folder: Path, *arguments: str, text: str = "") -> Ran:
    """`kcl import` in a folder."""
    out, err = io.StringIO(), io.StringIO()
    status = main(["import", *arguments], cwd=folder, stdin=io.StringIO(text), stdout=out, stderr=err)
    return Ran(status, out.getvalue(), err.getvalue())


def ours(files: list[Path], folder: Path, packages: Mapping[str, Path], cache: ParseCache | None = None) -> str:
    """What our compiler has against a program, "" if nothing."""
    maps = {name: str(path) for name, path in packages.items()}
    try:
        run([str(each) for each in files], work_dir=folder, package_maps=maps, cache=cache)
    except ProgramError as problem:
        return problem.render()
    return ""


def theirs(files: list[Path], folder: Path, packages: Mapping[str, Path]) -> str:
    """What the official compiler has against a program, "" if nothing."""
    maps = [official.ExternalPkg(pkg_name=name, pkg_path=str(path)) for name, path in packages.items()]
    arguments = official.ExecProgramArgs(
        k_filename_list=[str(each) for each in files], work_dir=str(folder), external_pkgs=maps
    )
    try:
        answer = official.API().exec_program(arguments)
    except Exception as problem:  # the client raises nothing more precise
        return _STYLE.sub("", str(problem)) or "error"
    return _STYLE.sub("", answer.err_message)


def is_template(path: Path) -> bool:
    """Whether a file of the corpus holds no definitions as it stands: empty, or a template of Helm."""
    text = path.read_text()
    return not text.strip() or "{{" in text or "kind: CustomResourceDefinition" not in text


__all__ = ["K8S", "Ran", "imported", "is_template", "ours", "theirs"]

"""Everything about the build is in pyproject.toml but this: the wheel carries the sample repository.

It stands at the top of the source tree, where people look for it, and goes into the wheel as data of `workbench`, so
that `wb demo` has it wherever the package is installed.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CI = {".github", ".gitlab-ci.yml"}
"""What of the sample begins with a dot and belongs to it; all else that does is somebody's tool's."""


def _of_tools(folder: str, names: list[str]) -> set[str]:
    return {each for each in names if each.startswith(".") and each not in CI}


class BuildWithSample(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            sample = Path(self.build_lib, "workbench", "sample-konfig")
            shutil.copytree("sample-konfig", sample, dirs_exist_ok=True, ignore=_of_tools)


setup(cmdclass={"build_py": BuildWithSample})

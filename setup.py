"""Everything about the build is in pyproject.toml but this: the wheel carries the sample repository.

It stands at the top of the source tree, where people look for it, and goes into the wheel as data of `workbench`, so
that `wb demo` has it wherever the package is installed.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithSample(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            sample = Path(self.build_lib, "workbench", "sample-konfig")
            shutil.copytree("sample-konfig", sample, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))


setup(cmdclass={"build_py": BuildWithSample})

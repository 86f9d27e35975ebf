"""Repositories to edit: a pristine one somewhere, and the copy of it that is edited and compiled."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample-konfig"
KONFIG = Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", ROOT.parent / "shared" / "conformance")) / "konfig-2023"
_OF_KONFIG = ("appops/guestbook", "base/examples/job-example", "clouds/alicloud/alicloud_oss")
_OF_SAMPLE = ("storefront/orders", "payments/ledger")
_LONG_AGO = 1_700_000_000_000_000_000


@dataclass
class Repository:
    """The copy at `root`; `pristine` is what it was made of and is made of again."""

    root: Path
    pristine: Path

    def reset(self) -> None:
        """Makes the copy again, in its place and with the times of the original: other files under the same paths."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.pristine, self.root, symlinks=True)

    def stacks(self) -> list[Path]:
        return sorted(each.parent for each in self.pristine.rglob("stack.yaml"))

    def names(self) -> list[str]:
        """Of the stacks, as `project/stack`."""
        return [f"{each.parent.name}/{each.name}" for each in self.stacks()]

    def folder(self, name: str) -> Path:
        """Where the stack of this name lies in the copy."""
        (found,) = (each for each in self.stacks() if f"{each.parent.name}/{each.name}" == name)
        return self.root / found.relative_to(self.pristine)


def copied(source: Path, into: Path) -> Repository:
    """A copy of a repository with few of its stacks; skips where there is none."""
    if not source.is_dir():
        pytest.skip(f"the inputs are not there: {source}")
    chosen = _OF_KONFIG if source == KONFIG else _OF_SAMPLE
    shutil.copytree(source, into / "pristine", symlinks=True)
    for stack in sorted((into / "pristine").rglob("stack.yaml")):
        project = stack.parent.parent
        if project.is_dir() and str(project.relative_to(into / "pristine")) not in chosen:
            shutil.rmtree(project)
    return _repository(into)


def generated(rng: random.Random, into: Path) -> Repository:
    """A small repository with all ways to find a file: folders, single files, links, packages with a kcl.mod."""
    root = into / "pristine"
    for name, text in _texts(rng).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "links").mkdir()
    (root / "links/chosen").symlink_to("../linked/one")
    (root / "links/file.k").symlink_to("../linked/one.k")
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(_LONG_AGO, _LONG_AGO))
    return _repository(into)


def _repository(into: Path) -> Repository:
    repository = Repository(into / "repository", into / "pristine")
    repository.reset()
    return repository


def _texts(rng: random.Random) -> dict[str, str]:
    texts = {
        "kcl.mod": '[package]\nname = "made"\nversion = "0.0.1"\n\n[dependencies]\nparts = { path = "./lib/parts" }\n',
        "clusters.yaml": "clusters: {}\n",
        "lib/parts/kcl.mod": '[package]\nname = "parts"\nversion = "0.1.0"\n',
        "lib/parts/sizes/sizes.k": 'large = 3\n\nschema Size:\n    of: int = large\n    unit: str = "Gi"\n',
        "single.k": 'colour = "green"\n',
        "linked/one/l.k": 'colour = "red"\n',
        "linked/two/l.k": 'colour = "blu"\n',
        "linked/one.k": 'colour = "red"\n',
        "linked/two.k": 'colour = "blu"\n',
    }
    packages = 4
    for number in range(packages):
        earlier = sorted(rng.sample(range(number), min(number, 2)))
        imports = "".join(f"import models.m{each}\n" for each in earlier)
        imports += "import parts.sizes\n" if number < 2 else ""
        given = "    sized: sizes.Size = sizes.Size {}\n" if number < 2 else ""
        given += "".join(f"    from{each}: m{each}.M{each} = m{each}.M{each} {{}}\n" for each in earlier)
        first = f"{imports}\n_step = {rng.randrange(1, 9)}\n\nschema M{number}(Base{number}):\n    count: int = _step\n"
        texts[f"models/m{number}/a.k"] = (
            f"{first}{given}    name: str = 'n{number}'\n\n    check:\n        count < 99\n"
        )
        texts[f"models/m{number}/base.k"] = (
            f'schema Base{number}:\n    label?: str\n    kept: str = "k{number}"\n    shown: [int] = [{number}, 7]\n'
        )
    for project in ("web", "jobs"):
        texts[f"apps/{project}/project.yaml"] = f"name: {project}\n"
        texts[f"apps/{project}/base/base.k"] = (
            f'import models.m{rng.randrange(packages)} as chosen_here\n\n_base = {{size = 1, of = "{project}"}}\n'
        )
        for stack in ("dev", "prod"):
            folder = f"apps/{project}/{stack}"
            used = sorted(rng.sample(range(packages), 2))
            texts[f"{folder}/stack.yaml"] = f"name: {stack}\n"
            texts[f"{folder}/kcl.yaml"] = (
                "kcl_cli_configs:\n  file: [../base/base.k, main.k]\n"
                f"kcl_options:\n  - {{key: colour, value: {stack}}}\n"
            )
            imports = "".join(f"import models.m{each}\n" for each in used)
            values = ", ".join(f"str(m{each}.M{each} {{}})" for each in used)
            texts[f"{folder}/main.k"] = f"""\
{imports}import single
import links.chosen
import links.file
import parts.sizes

_size: sizes.Size = sizes.Size {{of = {rng.randrange(1, 9)}}}
_said = [single.colour, chosen.colour, file.colour, option("colour") or "none", str(_size.of), _base.of, {values}]
{{
    apiVersion = "v1"
    kind = "ConfigMap"
    metadata = {{name = "{project}-{stack}", namespace = "default"}}
    data = {{said = ",".join(_said), size = str(_base.size)}}
}}
"""
    return texts

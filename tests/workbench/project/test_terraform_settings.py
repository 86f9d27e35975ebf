"""What is wrong with `terraform` in project.yaml or stack.yaml is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.project.errors import BrokenFile
from workbench.project.terraform import TerraformOptions, terraform_options
from workbench.project.yaml_file import read_mapping


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("name: dev\nterraform:\n  lock: 1\n", "3:3", "unknown key 'lock'; known: backend"),
        ("terraform: [1]\n", "1:1", "terraform needs to be a mapping, got list"),
        ("terraform:\n  backend: local\n", "2:3", "terraform.backend needs to be a mapping, got str"),
        ("terraform:\n  backend:\n    type: 3\n", "3:5", "terraform.backend.type needs to be text, got 3"),
        ("terraform:\n  backend: {config: {}}\n", "2:3", "terraform.backend needs a type"),
        ("terraform:\n  backend:\n    type: s3\n    conf: {}\n", "4:5", "and nothing else"),
        (
            "terraform:\n  backend:\n    type: s3\n    config: [1]\n",
            "4:5",
            "terraform.backend.config needs to be a map",
        ),
        ("terraform:\n  lockTimeoutSeconds: soon\n", "2:3", "needs to be a number from 0"),
        ("terraform:\n\n  requiredVersion: 1.5\n", "3:3", "terraform.requiredVersion needs to be text, got 1.5"),
    ],
)
def test_settings_that_cannot_be_are_told_with_their_line(text: str, where: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "stack.yaml"
    path.write_text(text)
    with pytest.raises(BrokenFile) as caught:
        terraform_options(read_mapping(path), path, TerraformOptions())
    assert caught.value.where == f"{path}:{where}"
    assert said in caught.value.message

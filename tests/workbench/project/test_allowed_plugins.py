"""plugins.yaml: which Python functions the KCL of a repository may call."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.project import BrokenFile
from workbench.project.plugins import read_allowed_plugins


def test_without_the_file_there_are_none(tmp_path: Path) -> None:
    assert read_allowed_plugins(tmp_path) == {}


def test_entries_are_files_of_the_repository_or_installed_packages(tmp_path: Path) -> None:
    (tmp_path / "plugins.yaml").write_text(
        "plugins:\n  cmdb:\n  inventory:\n    package: acme\n    timeoutSeconds: 2.5\n    settings: {url: u, size: 3}\n"
    )
    found = read_allowed_plugins(tmp_path)
    assert list(found) == ["cmdb", "inventory"]
    assert (found["cmdb"].file, found["cmdb"].package) == (tmp_path / "plugins" / "cmdb.py", "")
    inventory = found["inventory"]
    assert (inventory.package, inventory.timeout_seconds) == ("acme", 2.5)
    assert dict(inventory.settings) == {"url": "u", "size": "3"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plugins: [cmdb]", "plugins needs to be a mapping"),
        ("plugins: {cmdb: yes}", "plugin cmdb needs to be a mapping"),
        ("plugins: {../../etc/cmdb: {}}", "needs to be lower case letters"),
        ("plugins: {cmdb.x: {}}", "needs to be lower case letters"),
        ("plugins: {cmdb: {timeout: 3}}", "plugin cmdb: 'timeout' is no key"),
        ("plugin: {}", "'plugin' is no key"),
        ("plugins: {cmdb: {timeoutSeconds: 0}}", "timeoutSeconds needs to be above 0"),
        ("plugins: {cmdb: {budgetSeconds: .inf}}", "budgetSeconds needs to be above 0"),
        ("plugins: {cmdb: {timeoutSeconds: true}}", "timeoutSeconds needs to be above 0"),
        ("plugins: {", "is not valid YAML"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "plugins.yaml").write_text(text)
    with pytest.raises(BrokenFile) as error:
        read_allowed_plugins(tmp_path)
    assert message in error.value.message
    assert error.value.where.startswith(str(tmp_path / "plugins.yaml"))


def test_settings_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "plugins.yaml").write_text("plugins: {cmdb: {settings: {token: canary-token}}}")
    assert "canary" not in repr(read_allowed_plugins(tmp_path))

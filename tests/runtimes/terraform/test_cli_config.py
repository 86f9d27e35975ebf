"""What terraform is given of the user's settings, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import Misconfigured
from runtimes.terraform import cli_config


def mirror(path: Path) -> Path:
    package = path / "workbench.local" / "sandbox" / "sandbox" / "0.1.0" / "linux_amd64"
    package.mkdir(parents=True)
    (package / "terraform-provider-sandbox_v0.1.0").write_text("")
    return path


def test_what_is_in_a_mirror_comes_from_there_and_nothing_else_does(tmp_path: Path) -> None:
    place = mirror(tmp_path / "mirror")
    assert cli_config.text(own=None, mirrors=[place, tmp_path / "absent"], plugin_cache=tmp_path / "cache") == (
        f'plugin_cache_dir = "{tmp_path}/cache"\n'
        "provider_installation {\n"
        "  filesystem_mirror {\n"
        f'    path    = "{place}"\n'
        '    include = ["workbench.local/sandbox/sandbox"]\n'
        "  }\n"
        "  direct {\n"
        '    exclude = ["workbench.local/sandbox/sandbox"]\n'
        "  }\n"
        "}\n"
    )


def test_the_users_own_file_is_kept(tmp_path: Path) -> None:
    own = tmp_path / "terraformrc"
    own.write_text('credentials "app.example" {\n  token = "x"\n}\nplugin_cache_dir = "/there"\n')
    text = cli_config.text(own=own, mirrors=[], plugin_cache=tmp_path / "cache")
    assert text == 'credentials "app.example" {\n  token = "x"\n}\nplugin_cache_dir = "/there"\n'


def test_two_ways_to_install_providers_cannot_be_joined(tmp_path: Path) -> None:
    own = tmp_path / "terraformrc"
    own.write_text("provider_installation {\n  direct {}\n}\n")
    assert cli_config.text(own=own, mirrors=[tmp_path / "absent"], plugin_cache=None) == own.read_text()
    with pytest.raises(Misconfigured, match="has a provider_installation of its own"):
        cli_config.text(own=own, mirrors=[mirror(tmp_path / "mirror")], plugin_cache=None)


def test_a_file_that_is_not_there_says_nothing_and_one_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert cli_config.text(own=tmp_path / "absent", mirrors=[], plugin_cache=None) == ""
    with pytest.raises(Misconfigured, match="can't be read: Is a directory"):
        cli_config.text(own=tmp_path, mirrors=[], plugin_cache=None)


def test_what_a_shell_holds_for_terraform_changes_nothing(tmp_path: Path) -> None:
    inherited = {
        "PATH": "/bin",
        "AWS_PROFILE": "shop",
        "TF_LOG": "TRACE",
        "TF_LOG_PATH": "/tmp/log",
        "TF_CLI_ARGS_apply": "-auto-approve",
        "TF_VAR_a": "1",
        "TF_WORKSPACE": "other",
        "TF_DATA_DIR": "/elsewhere",
        "TF_CLI_CONFIG_FILE": "/absent",
        "TF_TOKEN_app_terraform_io": "token",
    }
    assert cli_config.environment(inherited, {"WORLD": "w"}, {"TF_VAR_b": "2"}, tmp_path / "cli.tfrc") == {
        "PATH": "/bin",
        "AWS_PROFILE": "shop",
        "TF_TOKEN_app_terraform_io": "token",
        "WORLD": "w",
        "TF_CLI_CONFIG_FILE": str(tmp_path / "cli.tfrc"),
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "TF_VAR_b": "2",
    }


def test_a_mirror_that_changed_is_seen(tmp_path: Path) -> None:
    place = mirror(tmp_path)
    before = cli_config.contents([place])
    assert cli_config.contents([place]) == before
    next(place.rglob("terraform-provider-*")).write_text("another")
    assert cli_config.contents([place]) != before

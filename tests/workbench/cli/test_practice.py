"""What the practice place needs for its cloud, and what it says where that is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import missing
from workbench.bucket_url import BucketUrl
from workbench.cli.practice import lacking_for_cloud, practise
from workbench.local import LocalState, ServedPractice
from workbench.session import Session
from workbench.settings import Settings
from workbench.workspaces import cli_config


def settings(tmp_path: Path, terraform: str = "") -> Settings:
    return Settings(state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", terraform=terraform)


def program(folder: Path, name: str, said: str) -> Path:
    """Makes a program that prints a text, whatever it is asked."""
    file = folder / name
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
    file.chmod(0o755)
    return file


async def test_what_is_practised_is_kept_with_the_practice_clusters(tmp_path: Path) -> None:
    """Whatever the user's own environment says of where releases are kept."""
    own = replace(
        settings(tmp_path, terraform="/nowhere"), releases_bucket=BucketUrl.parse("s3://acme-releases/konfig")
    )
    async with practise(own, tmp_path) as place, Session.open(place.root, settings=place.settings) as session:
        assert session.settings.releases_bucket is None
        served = ServedPractice(place.settings.kubeconfig, str(tmp_path / "practice"))
        with LocalState(own.state_dir, place.root).serve(served):
            async with Session.open(place.root, settings=own) as beside:
                assert beside.served is not None and beside.settings.releases_bucket is None


async def test_without_terraform_it_is_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert await lacking_for_cloud(settings(tmp_path)) == "no terraform or tofu is on the PATH"


@pytest.mark.skipif(bool(missing()), reason=f"no module {', '.join(missing())}")
@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ('{"terraform_version": "1.5.0"}', ""),
        ('{"terraform_version": "1.10.0-rc1"}', ""),
        ('{"terraform_version": "1.4.6"}', "{program} is of version 1.4.6: 1.5 or newer is needed"),
        ("Terraform v0.11", "{program} does not say which version of terraform it is"),
        ("[]", "{program} does not say which version of terraform it is"),
    ],
)
async def test_its_version_has_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, lacking: str) -> None:
    found = program(tmp_path, "tofu", said)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert await lacking_for_cloud(settings(tmp_path, terraform=str(found))) == lacking.format(program=found)


def test_a_file_for_terraform_that_is_not_there_counts_as_none(tmp_path: Path) -> None:
    """Terraform itself warns and goes on."""
    file = tmp_path / "own.tfrc"
    named = Settings(tmp_path, tmp_path, terraform_config=str(file))

    assert cli_config(named) is None
    file.write_text("")
    assert cli_config(named) == file
    assert cli_config(Settings(tmp_path, tmp_path)) is None

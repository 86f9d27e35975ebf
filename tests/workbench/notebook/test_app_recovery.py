"""The AppRecovery notebook from top to bottom on what `wb demo --headless` serves, found without settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import workbench as wb
from tests.workbench.notebook.papermill import Papermill
from tests.workbench.notebook.served import SAMPLE, Demo, demo
from tests.workbench.notebook.test_notebooks import assert_holds_no_secret, outputs, shown
from workbench.notebook.workspace import NoAlarm

pytest.importorskip("papermill", reason="papermill is not installed: pip install 'konfig-workbench[dev]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo(tmp_path_factory.mktemp("served")) as running:
        yield running


def secrets_of(running: Demo) -> list[str]:
    users = yaml.safe_load(Path(running.practice.kubeconfig).read_text())["users"]
    return [*(str(each["user"]["token"]) for each in users), running.practice.plugins["cmdb"]["token"]]


@pytest.fixture(scope="module")
def scheduled(papermill: Papermill, served: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook as it comes out of a run with its parameters as they are."""
    target = tmp_path_factory.mktemp("scheduled") / "out.ipynb"
    done = papermill.execute(served.environment, "AppRecovery.ipynb", target, repository=SAMPLE)
    assert done.returncode == 0, done.stderr[-3000:]
    return target


def test_a_scheduled_run_shows_and_writes_nothing(served: Demo, scheduled: Path) -> None:
    text = shown(scheduled)
    assert re.search(r"restart 11 pods [0-9a-f]{6}  hangzhou, shanghai  DRY RUN", text)
    for doubtful in ("cart-moved", "cart-of-last-week", "host-nobody-knows"):
        assert doubtful in text
    assert_holds_no_secret(scheduled, *secrets_of(served))


@pytest.mark.soak  # as `test_quickstart_fails_where_the_phrase_is_missing`
def test_another_phrase_fails_the_cell(papermill: Papermill, served: Demo, tmp_path: Path) -> None:
    target = tmp_path / "out.ipynb"

    done = papermill.execute(
        served.environment, "AppRecovery.ipynb", target, repository=SAMPLE, dry_run=False, confirm="restart 10 pods"
    )

    assert done.returncode != 0
    (error,) = [each for each in outputs(target) if each["output_type"] == "error"]
    assert error["ename"] == "ConfirmationRequired"


def test_eleven_pods_over_two_clusters_recover_and_doing_it_again_does_nothing(
    papermill: Papermill, served: Demo, scheduled: Path, tmp_path: Path
) -> None:
    target, again = tmp_path / "out.ipynb", tmp_path / "again.ipynb"
    found = re.search(r"restart 11 pods [0-9a-f]{6}", shown(scheduled))
    assert found, "the dry run names the phrase"
    given = {"repository": SAMPLE, "dry_run": False, "confirm": found[0], "allow_unresolved": True}

    done = papermill.execute(served.environment, "AppRecovery.ipynb", target, **given)

    assert done.returncode == 0, done.stderr[-3000:]
    text = shown(target)
    assert "app-recovery partial in" in text and "11 recovered" in text
    assert text.count("✓ recovered") >= 11
    assert "the chain of" in text and "is intact" in text
    assert_holds_no_secret(target, *secrets_of(served))

    second = papermill.execute(served.environment, "AppRecovery.ipynb", again, **given)
    assert second.returncode == 0, second.stderr[-3000:]
    assert "11 done before" in shown(again)


def test_without_a_demo_there_is_no_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path))
    with wb.open(SAMPLE) as opened, pytest.raises(NoAlarm, match="no practice alarm"):
        opened.practice_alarm()

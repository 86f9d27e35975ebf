"""The notebooks run from top to bottom, without anybody there, and what they leave behind holds no secret."""

from __future__ import annotations

import base64
import json
import subprocess
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workbench.notebook.conftest import ROOT, Place
from tests.workbench.notebook.papermill import Executed, Papermill

pytest.importorskip("papermill", reason="papermill is not installed: pip install 'konfig-workbench[dev]'")
pytestmark = pytest.mark.slow

CANARY = "canary/of+the session?key=0"


def run(papermill: Papermill, place: Place, name: str, target: Path, **parameters: Any) -> Executed:
    return papermill.execute(place.environment, name, target, repository=place.root, **parameters)


def outputs(target: Path) -> list[dict[str, Any]]:
    cells = json.loads(target.read_text())["cells"]
    return [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def shown(target: Path) -> str:
    """All plain text of a notebook's outputs."""

    def text(output: Mapping[str, Any]) -> str:
        return "".join(output.get("text", output.get("data", {}).get("text/plain", "")))

    return "\n".join(map(text, outputs(target)))


def assert_holds_no_secret(target: Path, *secrets: str) -> None:
    found = target.read_text()
    for secret in secrets:
        encoded = base64.b64encode(secret.encode()).decode()
        spellings = {
            secret,
            json.dumps(secret)[1:-1],
            encoded,
            urllib.parse.quote(secret),
            urllib.parse.quote_plus(secret),
        }
        assert [each for each in spellings if each in found] == []


@pytest.fixture(scope="module")
def planted(place: Place) -> Place:
    """The sample with a secret that would be recognized anywhere."""
    base = place.root / "storefront/checkout/base/base.k"
    text = base.read_text()
    assert "orchard-development-session-key" in text
    base.write_text(text.replace("orchard-development-session-key", CANARY))
    return place


def token(place: Place) -> str:
    users = yaml.safe_load(Path(place.environment["KUBECONFIG"]).read_text())["users"]
    return str(users[0]["user"]["token"])


def test_whatif_shows_an_edit_and_leaves_a_patch(papermill: Papermill, planted: Place, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in planted.root.rglob("*.k")}

    done = run(papermill, planted, "WhatIf.ipynb", tmp_path / "out.ipynb", replicas=7)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "spec.replicas: 3 → 7" in shown(tmp_path / "out.ipynb")
    assert_holds_no_secret(tmp_path / "out.ipynb", CANARY, token(planted))
    assert {path: path.read_bytes() for path in planted.root.rglob("*.k")} == before
    applies = subprocess.run(
        ["git", "apply", "--check", "--unsafe-paths", f"--directory={planted.root}", str(tmp_path / "whatif.patch")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert applies.returncode == 0, applies.stderr


def test_quickstart_is_a_dry_run_by_default(papermill: Papermill, planted: Place, tmp_path: Path) -> None:
    done = run(papermill, planted, "Quickstart.ipynb", tmp_path / "out.ipynb")

    assert done.returncode == 0, done.stderr[-3000:]
    assert "DRY RUN" in shown(tmp_path / "out.ipynb")
    assert "checkout/prod  1 releases" in shown(tmp_path / "out.ipynb")
    assert not any("widget-view" in key for each in outputs(tmp_path / "out.ipynb") for key in each.get("data", {}))
    assert_holds_no_secret(tmp_path / "out.ipynb", CANARY, token(planted))


@pytest.mark.parametrize("stack_name", ["catalog/pre", "gateway/dev"])
def test_quickstart_serves_any_stack(place: Place, monkeypatch: pytest.MonkeyPatch, stack_name: str) -> None:
    """Nothing in it is of one stack: its cells up to the plan run as they are, with another parameter."""
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    cells = json.loads((ROOT / "notebooks" / "Quickstart.ipynb").read_text())["cells"]
    codes = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    names: dict[str, Any] = {}
    parameters, *others = codes
    exec(f"{parameters}\nrepository, stack_name = {str(place.root)!r}, {stack_name!r}", names)
    for code in others:
        exec(code, names)
        if "plan = " in code:
            break
    assert names["plan"].value.spec
    names["session"].close()


def test_quickstart_fails_where_the_phrase_is_missing(papermill: Papermill, planted: Place, tmp_path: Path) -> None:
    done = run(papermill, planted, "Quickstart.ipynb", tmp_path / "out.ipynb", dry_run=False)

    assert done.returncode != 0
    (error,) = [each for each in outputs(tmp_path / "out.ipynb") if each["output_type"] == "error"]
    assert error["ename"] == "ConfirmationRequired"
    assert "confirm with: checkout/prod" in "\n".join(error["traceback"])


def test_quickstart_applies_and_tells_why_it_is_not_ready(papermill: Papermill, planted: Place, tmp_path: Path) -> None:
    target = tmp_path / "out.ipynb"

    done = run(papermill, planted, "Quickstart.ipynb", target, dry_run=False, confirm="checkout/prod", timeout="60s")

    assert done.returncode == 0, done.stderr[-3000:]
    text = shown(target)
    assert "release #2 succeeded" in text
    assert "WHY Pod/web-" in text and "ImagePullBackOff" in text
    assert any("image/png" in each.get("data", {}) for each in outputs(target))
    assert_holds_no_secret(target, CANARY, token(planted))


@pytest.mark.parametrize("name", sorted(each.name for each in (ROOT / "notebooks").glob("*.ipynb")))
def test_notebooks_are_kept_without_outputs(name: str) -> None:
    """What is in the repository is the text; outputs belong to a run."""
    cells = json.loads((ROOT / "notebooks" / name).read_text())["cells"]
    code = [each for each in cells if each["cell_type"] == "code"]

    assert all(each["outputs"] == [] and each["execution_count"] is None for each in code)
    assert [each["metadata"].get("tags") for each in code].count(["parameters"]) == 1

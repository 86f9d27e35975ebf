"""AppRecovery in JupyterLab, as the on-call sees it: open, run, type the confirmation, watch the hosts recover."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.workbench.notebook.served import ROOT, SAMPLE, demo

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = next((name for name in ("playwright", "jupyterlab") if find_spec(name) is None), None)
START_SECONDS = 60.0
PATIENCE_MS = 60_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(MISSING is not None, reason=f"{MISSING} is not installed: pip install playwright jupyterlab"),
]


def notebook(target: Path, **parameters: Any) -> None:
    """Writes AppRecovery with these parameters instead of its own."""
    content = json.loads((ROOT / "notebooks" / "AppRecovery.ipynb").read_text())
    (cell,) = [each for each in content["cells"] if "parameters" in each["metadata"].get("tags", ())]
    cell["source"] += "\n\n" + "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
    target.write_text(json.dumps(content))


@contextmanager
def lab(folder: Path, environment: dict[str, str], comms: str) -> Iterator[str]:
    """Serves JupyterLab on loopback; gives the address of a notebook by its `name`, with its token."""
    settings = folder / "settings" / "@jupyterlab"
    for name, content in {
        "apputils-extension/kernels-settings": {"commsOverSubshells": comms},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    token, runtime = secrets.token_hex(16), folder / "runtime"
    log = (folder / "lab.log").open("wb")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"),
            *(f"--ServerApp.root_dir={folder / 'work'}", f"--IdentityProvider.token={token}"),
        ],
        env={
            **os.environ,
            **environment,
            "PYTHONPATH": str(ROOT),
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
            "JUPYTER_RUNTIME_DIR": str(runtime),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "IPYTHONDIR": str(folder / "ipython"),
        },
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
    try:
        yield f"{address(process, runtime, folder)}lab/workspaces/{{name}}/tree/{{name}}.ipynb?token={token}"
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def address(process: subprocess.Popen[bytes], runtime: Path, folder: Path) -> str:
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS:
        for each in runtime.glob(f"jpserver-{process.pid}.json"):
            try:
                return str(json.loads(each.read_text())["url"])
            except ValueError:
                pass  # it is being written
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start: {(folder / 'lab.log').read_text()[-2000:]}")


@pytest.mark.parametrize("comms", [pytest.param("disabled", marks=pytest.mark.soak), "perCommTarget"])
def test_the_confirmation_is_typed_and_eleven_pods_recover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comms: str
) -> None:
    """Once with handlers on the main thread of the kernel, once with handlers on a thread of their own."""
    (tmp_path / "work").mkdir()
    notebook(tmp_path / "work" / "AppRecovery.ipynb", repository=str(SAMPLE), dry_run=False)
    (tmp_path / "work" / "Stop.ipynb").write_text(json.dumps(waiting()))
    with demo(tmp_path) as running:
        with lab(tmp_path, running.environment, comms) as url:
            recover(url.format(name="AppRecovery"))
            stop(url.format(name="Stop"))
            saved = json.loads((tmp_path / "work" / "Stop.ipynb").read_text())
        monkeypatch.setenv("WB_STATE_DIR", running.environment["WB_STATE_DIR"])
        monkeypatch.setenv("KUBECONFIG", "")
        with wb.open(SAMPLE) as opened:
            audit = opened.audit()
    outputs = [each for cell in saved["cells"] for each in cell["outputs"]]
    kinds = {kind for each in outputs for kind in each.get("data", {})}
    assert not any("widget-view" in kind for kind in kinds), "a saved notebook is read without its kernel"
    assert "application/vnd.wb.status+json" in kinds
    assert audit.check.is_intact
    written = audit.df[audit.df["action"].isin(["evict", "delete"]) & (audit.df["result"] == "recovered")]
    assert len(written) == written["target"].nunique() == 11
    assert written["origin"].str.startswith("notebook:").all()


def waiting() -> dict[str, Any]:
    """A notebook whose second cell blocks for ten minutes, as `verify` does: nothing of this stack was applied."""
    sources = (
        f"import workbench as wb\nsession = wb.open({str(SAMPLE)!r})",
        "watch = session['catalog/pre'].watch('10m')\nwatch",
        "watch.wait(check=False)",
    )
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": text,
        }
        for number, text in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def stop(url: str) -> None:
    """Presses Stop while a cell blocks, then saves the notebook."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            page.set_default_timeout(PATIENCE_MS)
            page.goto(url)
            page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            page.locator(".wb-live .wb-stop:visible").wait_for()
            # not the kernel's state in the status bar: messages of a widget change it beside the cell that runs
            waiting = page.locator(".jp-InputPrompt", has_text="[*]")
            waiting.wait_for()
            assert overlaps(page.locator(".wb-live").first) == []
            page.locator(".wb-live .wb-stop:visible").click()
            waiting.wait_for(state="detached")
            page.locator(".wb", has_text="catalog/pre").first.wait_for()
            page.keyboard.press("Control+s")
            page.get_by_text("Saving completed").or_(page.locator(".jp-NotebookPanel-toolbar")).first.wait_for()
            page.wait_for_timeout(1500)
            if folder := os.environ.get("WB_SCREENSHOTS"):
                page.screenshot(path=str(Path(folder) / "notebook-stopped.png"))
        finally:
            browser.close()


def overlaps(board: Any) -> list[Any]:
    """Returns the pairs of neighbouring cells of a board's table that cover each other."""
    found: list[Any] = board.evaluate(
        """(root) => [...root.querySelectorAll("tr")].flatMap((row) => {
            const seen = [...row.cells].filter((each) => !each.hidden);
            const boxes = seen.map((each) => each.getBoundingClientRect());
            return boxes.slice(1).map((box, at) => [boxes[at].right, box.left]).filter(([a, b]) => a > b + 1);
        })"""
    )
    return found


def recover(url: str) -> None:
    """Does in the browser what a person does."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1500, "height": 1000})
            page.set_default_timeout(PATIENCE_MS)
            page.goto(url)
            page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

            board = page.locator(".wb-live").filter(has=page.locator(".wb-ask:not([hidden])"))
            box, button = board.locator(".wb-ask input"), board.locator(".wb-run")
            box.wait_for()
            assert button.is_disabled()
            phrase = re.search(r"restart 11 pods [0-9a-f]{6}", board.inner_text())
            assert phrase
            for width in (1280, 1000, 1500):
                page.set_viewport_size({"width": width, "height": 1000})
                page.wait_for_timeout(300)
                assert overlaps(board) == []
                assert board.get_by_text("Action", exact=True).is_visible(), "what is to be confirmed is seen"
                if folder := os.environ.get("WB_SCREENSHOTS"):
                    page.screenshot(path=str(Path(folder) / f"notebook-{width}.png"))
            box.fill("restart 11 pods")
            assert button.is_disabled(), "only the exact phrase will do"
            box.fill(phrase[0])
            assert button.inner_text() == f"R{phrase[0][1:]}"
            button.click()

            done = page.locator(".wb", has_text="app-recovery partial in").first
            done.wait_for()
            text = done.inner_text()
            assert text.count("✓ recovered") == 11
            assert "hangzhou" in text and "shanghai" in text
            assert page.locator(".wb-live .wb-stop:visible").count() == 0
            if folder := os.environ.get("WB_SCREENSHOTS"):
                page.keyboard.press("Control+b")  # the list of files takes a fifth of the picture
                done.scroll_into_view_if_needed()
                page.screenshot(path=str(Path(folder) / "notebook.png"))
        finally:
            browser.close()

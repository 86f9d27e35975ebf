"""Pages in HTML as a browser shows them, opened from the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kcl.tools.doc.documented import kcl_doc, write

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed: pip install playwright"),
]
EVIL = "<img src=x onerror=document.title='evil'><script>document.title='evil'</script>"
FILES = {
    "kcl.mod": '[package]\nname = "shop"\n',
    "models/m.k": f'''\
schema Server:
    """A server. {EVIL}

    Attributes
    ----------
    port : int
        Where it listens {EVIL}.

        Never a privileged number.
    """
    port: int = 80
    next?: Server
''',
    "stacks/s.k": "import models\nweb: models.Server {port = 8080}\n",
}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[tuple[Page, list[str]]]:
    """A page of the browser, and what it asks for or says."""
    from playwright.sync_api import sync_playwright

    write(tmp_path, FILES)
    assert kcl_doc(tmp_path, "--format", "html").status == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = browser.new_page(color_scheme="dark")
        heard: list[str] = []
        made.on("console", lambda each: heard.append(each.text))
        made.on("pageerror", lambda each: heard.append(str(each)))
        made.on("request", lambda each: heard.append(each.url) if not each.url.startswith("file:") else None)
        made.goto((tmp_path / "docs" / "index.html").as_uri())
        yield made, heard
        browser.close()


def test_a_search_leads_to_an_attribute_and_scripts_in_docstrings_are_text(page: tuple[Page, list[str]]) -> None:
    shown, heard = page
    shown.keyboard.press("/")
    shown.keyboard.type("server port")
    first = shown.locator("#results a").first
    assert first.inner_text() == "Server.port"
    assert "<script>" in shown.locator("#results").inner_text()
    shown.locator("#search").fill("privileged")
    assert shown.locator("#results a").all_inner_texts() == ["Server.port"]
    shown.keyboard.press("Enter")
    shown.wait_for_url("**/models.html#Server.port")
    assert shown.locator("dt:target").inner_text().startswith("port: int = 80")
    assert "<img src=x" in shown.locator("main").inner_text()
    assert shown.title() == "models - shop" and shown.locator("main img").count() == 0
    assert heard == []


def test_links_of_types_lead_to_schemas_and_colours_follow_the_browser(page: tuple[Page, list[str]]) -> None:
    shown, heard = page
    shown.get_by_role("link", name="stacks").first.click()
    shown.locator("main").get_by_role("link", name="models.Server").click()
    shown.wait_for_url("**/models.html#Server")
    dark = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.emulate_media(color_scheme="light")
    assert dark != shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown.set_viewport_size({"width": 360, "height": 640})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    assert heard == []

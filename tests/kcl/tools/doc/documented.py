"""`kcl doc` run in a folder, and its pages read as a browser or GitHub reads them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt

from kcl.cli import main

_READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


def kcl_doc(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    given = environment or {}
    status = main(["doc", *words], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment=given)
    return Ran(status, out.getvalue(), err.getvalue())


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


class Links(HTMLParser):
    """The ids, addresses, tags and handlers of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.addresses.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def github_anchors(rendered: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    seen: dict[str, int] = {}
    for heading in re.findall(r"<h[1-6]>(.*?)</h[1-6]>", rendered, re.DOTALL):
        slug = anchor = re.sub(r"[^\w\- ]", "", Links(heading).text.strip().lower()).replace(" ", "-")
        while anchor in seen:
            seen[slug] += 1
            anchor = f"{slug}-{seen[slug]}"
        seen[anchor] = 0
    return set(seen)


def rendered(text: str) -> str:
    """A page of Markdown as HTML."""
    return str(_READER.render(text))


def broken_links(folder: Path) -> Iterator[str]:
    """Links that lead nowhere, of all pages in a folder, and ids that are there twice."""
    pages = sorted(each for each in folder.iterdir() if each.suffix in (".md", ".html"))
    anchors: dict[str, set[str]] = {}
    links: dict[str, list[str]] = {}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".md":
            text = rendered(text)
            anchors[page.name] = github_anchors(text)
        found = Links(text)
        links[page.name] = found.addresses
        if page.suffix == ".html":
            anchors[page.name] = set(found.ids)
            yield from (
                f"{page.name}: twice {each}" for each in sorted({x for x in found.ids if found.ids.count(x) > 1})
            )
    for name, addresses in links.items():
        for address in addresses:
            if re.match(r"(https?|mailto):", address):
                continue
            target, _, anchor = address.partition("#")
            target = unquote(target) or name
            is_there = (folder / target).is_file() if target not in anchors else True
            if not is_there or (anchor and unquote(anchor) not in anchors.get(target, set())):
                yield f"{name}: {address}"

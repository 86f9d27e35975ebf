"""Docstrings and files of people who mean no good, or made a mistake."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from kcl.secrecy.rules import MASK
from kcl.tools.doc import html, markdown
from kcl.tools.doc.prose import blocks
from kcl.tools.docstrings import Line
from tests.kcl.tools.doc.documented import Links, broken_links, kcl_doc, rendered, write

EVIL = (
    "<script>alert(1)</script>",
    "</code></pre><img src=x onerror=alert(1)>",
    "[click](javascript:alert(1)) and [more](data:text/html,x) and <javascript:alert(1)>",
    "![x](https://evil.example/track.png)",
    '[a](https://example.com/"onmouseover=alert(1))',
    "[ref]: javascript:alert(1)",
    "&lt;b&gt; &#60;script&#62;",
    "``` not a fence",
    "# no heading",
    "| no | table |",
    "| --- | --- |",
    "* * *",
    "--> <!--",
    "\x1b[31mred\x1b[0m \x9b2J \u202eabc",
    "https://example.com/<script>alert(1)</script>",
    "https://user:hunter2hunter2@example.com/",
    "`<b>code</b>` ``x ` y`` `unclosed",
    "**<i>bold</i>** **",
    "$a$ {{ liquid }} :smile: @everyone",
)
WHERE = (
    '"""Module: {0}\n\n{0}\n"""\n'
    'schema S:\n    r"""{0}\n\n    {0}\n\n    Attributes\n    ----------\n    a : {0}\n        {0}\n\n        {0}\n\n'
    '    {0}\n    ---\n    {0}\n\n    Examples\n    --------\n    {0}\n    """\n'
    "    a: str = r'''{0}'''\n    r'''{0}'''?: int\n\n    check:\n        a, r'''{0}'''\n\n"
    "# {0}\nv = r'''{0}'''\n"
    "f = lambda {{\n    r'''{0}'''\n    1\n}}\n"
    "o = option(r'''{0}''', type=r'''{0}''', help=r'''{0}''', default=r'''{0}''')\n"
)


@pytest.mark.parametrize("text", EVIL)
def test_text_stays_text(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": '[package]\nname = "m"\n', "m/m.k": WHERE.format(text)})
    for form in ("md", "html"):
        ran = kcl_doc(tmp_path, "-o", form, "--format", form)
        assert ran.status == 0, ran
        page = (tmp_path / form / f"m.{form}").read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        assert "hunter2hunter2" not in page
        found = Links(rendered(page) if form == "md" else page)
        allowed = {"script", "html", "head", "body", "meta", "title", "link", "nav", "input", "section", "main", "wbr"}
        usual = {"h1", "h2", "h3", "h4", "p", "pre", "code", "table", "thead", "tbody", "tr", "th", "td", "br"}
        usual |= {"ul", "ol", "li", "a", "strong", "dl", "dt", "dd", "b", "span", "details", "summary", "div"}
        assert found.tags <= usual | (allowed if form == "html" else set()), found.tags
        assert not any(each.startswith("on") for each in found.attributes)
        assert all(re.match(r"https?://|[\w.-]*(#|$)", each) for each in found.addresses), found.addresses
        assert list(broken_links(tmp_path / form)) == []
        if form == "md":
            assert re.findall(r"<h(\d)", rendered(page)) == ["1", "2", "3", "2", "3", "2", "2"]
        else:
            scripts = re.findall(r"<script[^>]*>[^<]*", page)
            assert scripts == [
                '<script defer src="kcl-doc-index.js">',
                '<script defer src="kcl-doc.js">',
            ]


def test_secrets_are_masked_by_name_by_look_and_by_value(tmp_path: Path) -> None:
    text = '''\
schema Db:
    """Says Tr0ub4dor3 in its text, as password = "s3cr3tWord" would.

    Examples
    --------
    shown = Db {password = "Kusion123456", user = "root"}
    """
    password: str = "Tr0ub4dor3"
    user: str = "root"
    auth: {str:str} = {
        token = "abcdef-token-1"
    }
    url?: str = "postgres://me:pa55phrase@db/x"

db = Db {password = "another-one-9"}
key = option("apiToken", default="tok-123456-abc")
'''
    write(tmp_path, {"kcl.mod": "", "m/m.k": text})
    for form in ("md", "html"):
        assert kcl_doc(tmp_path, "-o", form, "--format", form).status == 0
        for page in (tmp_path / form).iterdir():
            shown = page.read_text(encoding="utf-8")
            for secret in ("Tr0ub4dor3", "s3cr3tWord", "Kusion123456", "abcdef", "pa55phrase", "another-one", "tok-12"):
                assert secret not in shown, (page.name, secret)
        page_text = (tmp_path / form / f"m.{form}").read_text(encoding="utf-8")
        assert "root" in page_text and MASK in page_text
    ran = kcl_doc(tmp_path, "--test")
    assert "1 passed" in ran.err and "Kusion123456" not in ran.out + ran.err


def test_files_that_cannot_be_read_are_told_and_the_rest_is_documented(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "kcl.mod": '[package]\nname = "m"\n',
            "a/good.k": "schema Good:\n    a: int\n",
            "a/bad.k": "schema Bad:\n    a: int\nx = {\n",
            "b/b.k": "schema B:\n    a: int\n",
        },
    )
    (tmp_path / "a" / "latin.k").write_bytes(b"x = 1\ny = '\xe9'\n")
    (tmp_path / "b" / "dangling.k").symlink_to("nowhere.k")
    outside = write(tmp_path.parent / f"{tmp_path.name}-outside", {"o.k": "schema Secret:\n    a: int\n"})
    (tmp_path / "b" / "linked.k").symlink_to(outside / "o.k")
    for form in ("md", "html"):
        ran = kcl_doc(tmp_path, "-o", form, "--format", form)
        assert ran.status == 1
        assert re.search(r"^\./a/bad\.k:3: \S", ran.err, re.MULTILINE), ran.err
        assert "./a/latin.k:2: byte 0xe9 is not UTF-8" in ran.err
        assert "./b/linked.k: is a link that leads out of the module" in ran.err
        page = (tmp_path / form / f"a.{form}").read_text(encoding="utf-8")
        for part in ("Good", "Missing", "a/bad.k:3", "a/latin.k:2"):
            assert part in page
        assert "schema Bad" not in page and "### Bad" not in page
        index = (tmp_path / form / f"index.{form}").read_text(encoding="utf-8")
        assert "2 of 3 files missing" in index and "a/bad.k:3" in index
        assert "Secret" not in "".join(each.read_text(encoding="utf-8") for each in (tmp_path / form).iterdir())
        assert kcl_doc(tmp_path, "-o", form, "--format", form, "--check").status == 1


def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": "[package\n", "a.k": "schema A:\n    a: int\n"})
    ran = kcl_doc(tmp_path)
    assert ran.status == 1 and "kcl.mod: cannot be used" in ran.err
    assert any("### A" in each.read_text() for each in (tmp_path / "docs").iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_told_and_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": "", "m/a.k": "schema A:\n    a: int\n"})
    os.mkfifo(tmp_path / "m" / "pipe.k")
    ran = kcl_doc(tmp_path)
    assert ran.status == 1 and "m/pipe.k: cannot be read: not a regular file" in ran.err


def test_deep_and_long_texts_end(tmp_path: Path) -> None:
    deep = "[" * 300 + "int" + "]" * 300
    words = "`" * 3000 + "[" * 3000 + "*" * 3000 + "a: " * 3000
    doc = f"    {words}\n\n    Attributes\n    ----------\n    a : x\n        {words}\n"
    text = f'schema S:\n    """\n{doc}    """\n    a: {deep}\n'
    write(tmp_path, {"kcl.mod": "", "m/a.k": text})
    assert kcl_doc(tmp_path).status == 0
    assert kcl_doc(tmp_path, "--format", "html").status == 0


PIECES = (
    *(
        "<b>",
        "</p>",
        "<!--",
        "-->",
        "`",
        "``",
        "```",
        "~~~",
        "~~",
        "*",
        "**",
        "_",
        "__",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
    ),
    *("|", "\\", "\\|", "#", "# ", "- ", "+ ", "1. ", "1) ", "> ", "===", "---", "&lt;", "&#60;", "&", "<", "{", "}"),
    *("http://x.y/", "https://a.b/c_d*e", "javascript:x", "word", "a b", "  ", "    ", "\t", "\n", "\n", "\n\n", "$"),
    *("!", ":", "@", "]: http://q/", "[x]: ", "x_y", " _z", "|---|---|", "| a | b |", ".. code:: k", "•"),
)


def text_of(page: str) -> str:
    """What is read of a page, without white space, and without signs of emphasis that one of two shows."""
    return re.sub(r"\s|\*\*", "", Links(page).text)


def test_random_texts_read_the_same_in_markdown_and_html() -> None:
    rng = random.Random(5)
    usual = {"p", "pre", "code", "br", "ul", "ol", "li", "a", "strong"}
    for _ in range(1_500):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 14)))
        lines = tuple(Line(each, number) for number, each in enumerate(text.split("\n"), 1))
        made = rendered("\n".join(markdown.prose(blocks(lines))))
        shown = "".join(html.prose(blocks(lines)))
        assert text_of(made) == text_of(shown), text
        assert Links(made).tags | Links(shown).tags <= usual, text
        assert all(re.match("https?://", each) for each in Links(made).addresses + Links(shown).addresses), text
        cells = (markdown.cell(lines), markdown.code(text))
        table = rendered("\n".join([*markdown.table(("a", "b"), [cells]), "end"]))
        assert table.count("<td>") == 2 and table.rstrip().endswith("<p>end</p>"), text
        assert Links(table).tags <= usual | {"table", "thead", "tbody", "tr", "th", "td"}, text

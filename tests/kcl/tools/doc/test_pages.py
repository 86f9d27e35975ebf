"""What pages say of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcl.tools.doc import documentation
from tests.kcl.tools.doc.documented import Links, broken_links, kcl_doc, rendered, write

FILES = {
    "kcl.mod": '[package]\nname = "shop"\nversion = "1.2.3"\ndescription = "What a shop runs"\n',
    "models/base.k": '''\
"""Things that all others are made of.

More of it.
"""
import regex

type Size = "small" | "large"

schema Base:
    """What has a name.

    Attributes
    ----------
    name : str, required
        How others call it.

        A second paragraph, see https://example.com/names.
    labels : {str:str}, optional
        - one
        - another
    """
    name: str
    labels?: {str:str} = {
        "managed-by" = "us"
        team = "web"
    }

mixin Labelled for Named:
    extra?: str = "x"

protocol Named:
    name: str

rule Rules for Named:
    len(name) < 63, "too long"

# Makes a name.
# Of two parts.
join = lambda first: str, second: Base -> str {
    first + second.name
}
_hidden = 1
limit: int = 3
''',
    "models/server/server.k": '''\
import models as m

@deprecated(version="2.0", reason="use Host", strict=False)
schema Server[kind: str](m.Base):
    """A server.

    Notes
    -----
    Never alone.

    Examples
    --------
    s = Server("a") {
        name = "a"
        size = "small"
        peers = []
    }
    """
    mixin [m.Labelled]
    size: m.Size
    peers: [Server] = []
    port: int | str = 80
    @deprecated()
    old?: str
    computed = port

    [...str]: str

    check:
        port > 0 if port, "a port is | above 0"

main: Server("x") {
    name = "a"
}
replicas = option("replicas", type="int", default=2, help="how many")
''',
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", FILES)


def page(folder: Path, name: str) -> str:
    return (folder / "docs" / name).read_text(encoding="utf-8")


def test_a_schema_is_told_with_everything_that_it_says(shop: Path) -> None:
    ran = kcl_doc(shop)
    assert ran.status == 0, ran
    text = page(shop, "models.server.md")
    for line in (
        "**Deprecated since 2.0: use Host**",
        "Extends [m.Base](models.md#base), mixes in [m.Labelled](models.md#labelled), takes `kind: str`, "
        "declared in `models/server/server.k:3`.",
        "| `size` | [m.Size](models.md#size) | **required** | |",
        "| `peers` | \\[[Server](#server)\\] | `[]` | |",
        "| `port` | `int \\| str` | `80` | |",
        "| `old` | `str` | optional | **Deprecated (using it is an error)** |",
        "| `computed` |  | `port` | |",
        "Inherited from [m.Base](models.md#base):",
        "| `name` | `str` | **required** |",
        "Mixed in from [m.Labelled](models.md#labelled):",
        '| `extra` | `str` | `"x"` |',
        "Other attributes: `[...str]: str`",
        "- `port > 0` if `port`: a port is &#124; above 0",
        "**Notes**",
        "| `main` | [Server](#server) | below | `models/server/server.k:32` |",
        "| `replicas` | `int` | `2` | how many<br>`models/server/server.k:35` |",
    ):
        assert line in text.split("\n"), f"{line}\n{text}"


def test_a_package_is_told_with_what_uses_it(shop: Path) -> None:
    kcl_doc(shop)
    text = page(shop, "models.md")
    for part in (
        "# models\n\nA package of [shop](index.md), in `models/base.k`.\n",
        "Things that all others are made of.\n\nMore of it.\n",
        "How others call it.<br>A second paragraph, see <https://example.com/names>.",
        "| `labels` | `{str:str}` | below | • one<br>• another |",
        'Default of `labels`:\n\n```kcl\n{\n    "managed-by" = "us"\n    team = "web"\n}\n```\n',
        "Used by [join](#join), [models.server.Server](models.server.md#server) (extends it).",
        'Stands for `"small" | "large"`, declared',
        "Used by [models.server.Server](models.server.md#server) (`size`).",
        "Makes a name.\nOf two parts.\n",
        "Signature (first: str, second: [Base](#base)) -&gt; str".replace("-&gt;", "-\\>"),
        "| `limit` | `int` | `3` | `models/base.k:43` |",
        "## Mixins\n\n### Labelled",
        "## Protocols\n\n### Named",
        "## Rules\n\n### Rules",
    ):
        assert part in text, f"{part}\n{text}"
    assert "_hidden" not in text
    index = page(shop, "index.md")
    assert "What a shop runs\n\nVersion 1.2.3\n" in index
    assert (
        "| [models](models.md) | 4 schemas, 1 alias, 1 lambda, 1 variable | Things that all others are made of. |"
        in index
    )


def test_two_headings_that_github_takes_for_one_have_anchors_of_their_own(tmp_path: Path) -> None:
    text = "schema Schemas:\n    a?: server\n\nschema Server:\n    b?: Schemas\n\nschema server:\n    c?: Server\n"
    write(tmp_path, {"m.k": text, "kcl.mod": ""})
    assert kcl_doc(tmp_path, "-o", "out").status == 0
    (written,) = [each for each in (tmp_path / "out").iterdir() if each.name != "index.md"]
    text = written.read_text()
    assert "[server](#server-1)" in text and "[Schemas](#schemas-1)" in text and "[Server](#server)" in text
    assert list(broken_links(tmp_path / "out")) == []


@pytest.mark.parametrize("form", ["md", "html"])
def test_all_links_lead_somewhere(shop: Path, form: str) -> None:
    assert kcl_doc(shop, "--format", form).status == 0
    assert list(broken_links(shop / "docs")) == []


def test_html_has_an_id_for_each_attribute_and_a_search_that_knows_them(shop: Path) -> None:
    kcl_doc(shop, "--format", "html")
    assert {"Server", "Server.port", "Server.name", "main"} <= set(Links(page(shop, "models.server.html")).ids)
    index = page(shop, "kcl-doc-index.js")
    assert '["Base.name", "attribute", "models", "models.html#Base.name", "How others call it.", ' in index
    assert '["join", "lambda", "models", "models.html#join", ' in index


def test_deprecated_schemas_and_attributes_can_be_left_out(shop: Path) -> None:
    more = "schema More:\n    @deprecated()\n    gone?: int\n    stays?: int\n\nschema Heir(More):\n    own?: int\n"
    write(shop, {"models/more.k": more})
    assert kcl_doc(shop, "generate", "--ignore-deprecated").status == 0
    assert "### Server" not in page(shop, "models.server.md")
    assert "`stays`" in page(shop, "models.md") and "`gone`" not in page(shop, "models.md")
    assert list(broken_links(shop / "docs")) == []


def test_other_programs_get_pages_without_files(shop: Path) -> None:
    found = documentation(["models"], cwd=shop)
    assert [each.name for each in found.pages] == ["index.md", "models.md"]
    assert "### Base" in found.pages[1].text
    assert found.problems == () and not (shop / "docs").exists()


def test_one_package_is_printed_without_an_index(shop: Path) -> None:
    ran = kcl_doc(shop, "models/server", "-o", "-")
    assert ran.status == 0 and ran.out.count("\n# ") == 1 and "### Server" in ran.out
    assert not (shop / "docs").exists()


def test_a_base_that_is_not_among_the_pages_is_named(shop: Path) -> None:
    write(shop, {"a/a.k": "import other.things\nschema A(things.Thing):\n    a?: things.Thing\n"})
    kcl_doc(shop)
    assert "`things.Thing` is not among these pages" in page(shop, "a.md")


def test_private_names_are_no_entries_and_are_not_led_to(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": "", "m/m.k": "schema _P:\n    p: int\n\nschema Q(_P):\n    q?: _P\n"})
    assert kcl_doc(tmp_path).status == 0
    text = page(tmp_path, "m.md")
    assert "### _P" not in text and "| `q` | `_P` | optional | |" in text and "| `p` | `int` | **required** |" in text


def test_bases_in_a_circle_end(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": "", "m/m.k": "schema A(B):\n    a: int\n\nschema B(A):\n    b: int\n"})
    assert kcl_doc(tmp_path).status == 0
    assert "Inherited from [B](#b):" in page(tmp_path, "m.md")


def test_a_table_has_as_many_cells_in_each_row(shop: Path) -> None:
    said = "a | b \\\\| c `x | y` `x \\\\| y` \\\\"
    text = f'schema T:\n    """\n    Attributes\n    ----------\n    a : str\n        {said}\n    """\n'
    write(shop, {"t/t.k": text + "    a: str | 'x|y' | r'\\|' = r'\\|'\n"})
    assert kcl_doc(shop).status == 0
    body = rendered(page(shop, "t.md")).partition("<tbody>")[2].partition("</tbody>")[0]
    assert body.count("<td>") == 4, body
    for part in ("a | b \\| c", "<code>x | y</code>", "str | 'x|y' | r'\\|'"):
        assert part in body, body


def test_modules_inside_of_others_are_told_apart(tmp_path: Path) -> None:
    module = '[package]\nname = "{}"\n'
    schema = "schema A:\n    a: int\n"
    files = {"kcl.mod": module.format("outer"), "lib/a.k": schema}
    for name in ("one", "two"):
        files |= {f"examples/{name}/kcl.mod": module.format("example"), f"examples/{name}/base/a.k": schema}
    write(tmp_path, files)
    for form in ("md", "html"):
        assert kcl_doc(tmp_path, "-o", form, "--format", form).status == 0
        assert list(broken_links(tmp_path / form)) == []
    index = (tmp_path / "md" / "index.md").read_text()
    assert "# outer\n" in index and "## example (examples/two)\n" in index
    assert "[lib](lib.md)" in index and "[examples/one/base](examples.one.base.md)" in index
    assert index.index("## outer") < index.index("## example")


def test_attributes_that_statements_make_are_told(tmp_path: Path) -> None:
    text = '''\
schema B:
    n: int = 1

schema S:
    """
    Attributes
    ----------
    c : int
        Only sometimes.
    """
    b: B {n = 2}
    if b.n > 1:
        c: int = 3
        d = 4
    elif b.n > 0:
        d = 5
    _p = 1
    f = g = 6
    f: int
    h: int
    h = 7
'''
    write(tmp_path, {"kcl.mod": "", "m/m.k": text})
    assert kcl_doc(tmp_path).status == 0 and kcl_doc(tmp_path, "--format", "html").status == 0
    rows = [each for each in page(tmp_path, "m.md").split("\n") if each.startswith("| `")]
    assert rows == [
        "| `n` | `int` | `1` | |",
        "| `b` | [B](#b) | `B {n = 2}` | |",
        "| `c` | `int` | `3` | *below an if*<br>Only sometimes. |",
        "| `d` |  | `4` | *below an if* |",
        "| `f` | `int` | `6` | |",
        "| `g` |  | `6` | |",
        "| `h` | `int` | `7` | |",
    ]
    assert '<span class="tag">below an if</span>' in page(tmp_path, "m.html")
    assert "Used by [S](#s) (`b`)" in page(tmp_path, "m.md")

"""Docstrings by their sections, with the lines of their files."""

from __future__ import annotations

import pytest

from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.tools.docstrings import Docstring, Line, lines_of, parsed


def docstring(text: str, *attributes: str) -> Docstring:
    """The docstring of the schema that `text` begins with."""
    source = SourceFile("m.k", text)
    (schema,) = [each for each in parse(source).module.body if isinstance(each, ast.Schema)]
    assert schema.doc is not None
    return parsed(lines_of(source, schema.doc), set(attributes))


SECTIONS = """\
schema S:
    '''First.

    More.

    Attributes
    ----------
    a : int, default is 1
        One.

          Deeper.
    b: str
    Examples
    --------
    x = S {
        a = 1
    }

    See Also
    ========
    Others.
    '''
    a: int
    b: str
"""


def test_each_section_has_the_lines_of_the_file() -> None:
    found = docstring(SECTIONS, "a", "b")
    assert found.description == (Line("First.", 2), Line("", 3), Line("More.", 4))
    assert [(each.name, each.type, each.line) for each in found.attributes] == [
        ("a", "int, default is 1", 8),
        ("b", "str", 12),
    ]
    assert found.attributes[0].lines == (Line("One.", 9), Line("", 10), Line("  Deeper.", 11))
    assert found.examples == ((Line("x = S {", 15), Line("    a = 1", 16), Line("}", 17)),)
    assert found.others == (("See Also", (Line("Others.", 21),)),)


@pytest.mark.parametrize(
    ("entry", "names", "said"),
    [
        ("a, b : int\n        Both.", ["a", "b"], "Both."),
        ('"x.y/z" : int\n        Quoted.', ["x.y/z"], "Quoted."),
        ("$type : str\n        A keyword.", ["type"], "A keyword."),
        ("net.core.max : int\n        Dots.", ["net.core.max"], "Dots."),
        ("a: int, how many of them, default is 3, optional.", ["a"], "how many of them"),
        ("a: int, default is 3, optional.", ["a"], ""),
        ("nobody : int\n        Not declared.", ["nobody"], "Not declared."),
        ("a\n        Without a type.", ["a"], "Without a type."),
    ],
)
def test_ways_to_write_an_attribute(entry: str, names: list[str], said: str) -> None:
    text = f'schema S:\n    """\n    Attributes\n    ----------\n    {entry}\n    """\n    a: int\n'
    found = docstring(text, "a", "b")
    assert [each.name for each in found.attributes] == names
    assert [" ".join(line.text for line in each.lines) for each in found.attributes] == [said] * len(names)


def test_prose_of_two_words_before_a_colon_is_no_attribute() -> None:
    text = (
        'schema S:\n    """\n    Attributes\n    ----------\n    a : int\n        One.\n    More info: there\n    """\n'
    )
    found = docstring(text, "a")
    assert [(each.name, [line.text for line in each.lines]) for each in found.attributes] == [
        ("a", ["One.", "More info: there"])
    ]


def test_escapes_keep_lines_and_indentation() -> None:
    written = ("One \\u0041", "    two\\nthree", "    four \\", "    five ${x}", "    six")
    found = docstring('schema S:\n    """' + "\n".join(written) + '\n    """\n    a: int\n')
    assert found.description == (
        Line("One A", 2),
        Line("two", 3),
        Line("three", 3),
        Line("four     five ${x}", 5),
        Line("six", 6),
    )


def test_a_raw_docstring_and_one_of_a_single_line() -> None:
    assert docstring('schema S:\n    r"""One \\n two."""\n    a: int\n').description == (Line("One \\n two.", 2),)
    assert docstring('schema S:\n    """"""\n    a: int\n') == Docstring()

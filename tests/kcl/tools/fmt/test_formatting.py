"""Texts and how they are laid out: blanks, levels, comments, blank lines; what is refused."""

from __future__ import annotations

import pytest

from kcl.tools.fmt import Altered, Malformed, formatted

BLANKS = {
    "x=1+2*-3": "x = 1 + 2 * -3",
    "x = [1,2 , *y]": "x = [1, 2, *y]",
    "x = { a=1,b:2,**c }": "x = {a = 1, b: 2, **c}",
    "x = f( a,b = 1 ) . c": "x = f(a, b=1).c",
    "x = a [1 : -1] if b else c? . d?[ 0]": "x = a[1:-1] if b else c?.d?[0]",
    "x:{ str : [int|str] }= {}": "x: {str:[int | str]} = {}",
    "f = lambda a:{str:int},b=1->{str:int}{a}": "f = lambda a: {str:int}, b = 1 -> {str:int} { a }",
    "x = any a ,b in c { a>b if b }": "x = any a, b in c {a > b if b}",
    "x = not(a)and(b)  in[c]": "x = not (a) and (b) in [c]",
    "x = y   as  int": "x = y as int",
    "type  A=int|{str : str}": "type A = int | {str:str}",
    "import   .a": "import .a",
    "x   |=   {a=1}": "x |= {a = 1}",
    "assert x>1  if y , 'no'": "assert x > 1 if y, 'no'",
    "x = 0x1F + 1_000    # kept   as is": "x = 0x1F + 1_000 # kept   as is",
    "a : B{ }": "a: B {}",
    "x = {k:v for k ,v in d if  k}": "x = {k: v for k, v in d if k}",
}


@pytest.mark.parametrize("text", BLANKS)
def test_blanks_within_a_line(text: str) -> None:
    assert formatted(f"{text}\n") == f"{BLANKS[text]}\n"


LINES = {
    "lines in brackets are one level deeper than the line that opened them": (
        "x = f(1, {\n  a = [\n   1\n  ]\n})\n",
        "x = f(1, {\n    a = [\n        1\n    ]\n})\n",
    ),
    "a line that begins with a closing bracket may open others": (
        "x = [{\n  a = 1\n}, {\n  b = 2\n}]\n",
        "x = [{\n    a = 1\n}, {\n    b = 2\n}]\n",
    ),
    "blocks among entries, items and statements": (
        "x = {\n if a:\n  b = 1\n else:\n  b = [\n   if c:\n    1\n  ]\n}\nif a:\n y = 1\nelif b:\n y = 2\n",
        "x = {\n    if a:\n        b = 1\n    else:\n        b = [\n            if c:\n                1\n        ]\n"
        "}\nif a:\n    y = 1\nelif b:\n    y = 2\n",
    ),
    "a comment belongs to the block that its column says": (
        "schema A:\n  x: int # of x\n  # in A\n# on top\n# of y\ny = 1\n",
        "schema A:\n    x: int # of x\n    # in A\n\n# on top\n# of y\ny = 1\n",
    ),
    "comments among brackets stay among them": (
        "x = [\n# first\n 1\n      # last\n]\n",
        "x = [\n    # first\n    1\n    # last\n]\n",
    ),
    "a comment in a schema that has nothing else": ("schema A:\n  # later\nx = 1\n", "schema A:\n    # later\nx = 1\n"),
    "one blank line stays, more do not, and none at the edges of brackets": (
        "\n\nx = {\n\n  a = 1\n\n\n  b = 2\n\n}\n\n\n\ny = 1\n\n\n",
        "x = {\n    a = 1\n\n    b = 2\n}\n\ny = 1\n",
    ),
    "blank lines behind imports and schemas, and before checks": (
        "import a\nimport b\nx = 1\nschema A:\n    x: int\n    check:\n        x\ny = 1\n",
        "import a\nimport b\n\nx = 1\nschema A:\n    x: int\n\n    check:\n        x\n\ny = 1\n",
    ),
    "a line that a backslash continues stays continued": (
        "if a and\\\n       b:\n  x = 1\n",
        "if a and \\\n    b:\n    x = 1\n",
    ),
    "strings are never touched": ('x = """\n  a  \n\t"""\n', 'x = """\n  a  \n\t"""\n'),
    "a string below a blank line does not become documentation": ('\n\n"""a"""\n', '\n"""a"""\n'),
    "the kind of line end stays": ("x  = 1\r\ny = '''a\nb'''\r\n", "x = 1\r\ny = '''a\nb'''\r\n"),
    "a byte order mark stays": ("\ufeffx  = 1", "\ufeffx = 1\n"),
    "nothing is nothing": (" \n\n", ""),
    "nothing but a comment": ("\n  # a", "# a\n"),
    "tabs become blanks": ("if a:\n\tx = 1\n\t# b\n", "if a:\n    x = 1\n    # b\n"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    text, expected = LINES[name]
    assert formatted(text) == expected
    assert formatted(expected) == expected


def test_a_text_that_would_say_something_else_is_refused() -> None:
    """Indented, as it should be, the entry would have to be left by a line of its own."""
    with pytest.raises(Altered, match=r"main.k is left as it is: .* closing brackets on lines of their own"):
        formatted('a = B {\nc = "d"}\n\ne = 1\n', "main.k")


def test_a_text_with_syntax_errors_is_refused_with_what_is_wrong() -> None:
    with pytest.raises(Malformed) as refused:
        formatted("x = (1\n", "main.k")
    assert refused.value.diagnostics
    assert str(refused.value) == "main.k has syntax errors"

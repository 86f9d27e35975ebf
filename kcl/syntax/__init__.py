"""From the text of a KCL file to its syntax tree.

`parse` is the way in, `kcl.syntax.ast` what comes out. Inside: a lexer that settles layout
(lexer.py), LALR tables made from grammar.lark (generate.py, driver.py), and the methods that turn
rules into nodes (builder.py, interpolation.py, operators.py, literals.py).
"""

from kcl.syntax.parser import ParseResult, parse

__all__ = ["ParseResult", "parse"]

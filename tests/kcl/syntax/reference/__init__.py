"""KCL as its grammar has it: lark's own parser over kcl/syntax/grammar.lark, to hold ours to.

The grammar needs no layout, since a lexer settles that first (lexer.py); what the rules stand for is made by the
methods they name (builder.py, expressions.py, interpolation.py). It reads what people write and refuses the rest, also
much that the official parser and ours take, and it is slow. It shares the nodes of the tree with our parser, and what
literals and operators mean, but not a line of how a text is read.
"""

from tests.kcl.syntax.reference.grammar import read

__all__ = ["read"]

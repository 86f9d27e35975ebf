"""From the text of a KCL file to its syntax tree.

`parse` is the way in, `kcl.syntax.ast` what comes out. grammar.lark says what KCL is; recursive descent (descent/)
reads it, over a scanner that takes lines of plain data for one token each (runs.py). nodes.py makes nodes of nodes,
symbols.py has the operators and other closed sets, operators.py knows precedence, literals.py what literals mean.
edit.py, removal.py and sites.py change texts.
"""

from kcl.syntax.parser import ParseResult, parse, parse_with_tokens, scanned

__all__ = ["ParseResult", "parse", "parse_with_tokens", "scanned"]

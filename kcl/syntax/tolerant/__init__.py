"""A second reading of texts the tables refuse, as lax as the official parser and with its recovery.

The tables of the grammar read what people write, fast. The official parser takes more than that (line ends that
separate statements, for one, may be left out), and after an error it goes on in ways that users see: one mistake gives
a certain run of follow-up messages, and a certain tree that later stages look at. That is what this package does, by
recursive descent over a token stream with indentation everywhere. It runs only when the tables refuse a file, so its
pace does not matter.

* scanner.py: text to tokens, unlike kcl/syntax/lexer.py with no knowledge of what surrounds them
* reader.py: the position in the tokens, and how errors are worded
* types.py, expressions.py, entries.py, statements.py, schemas.py: one method for each construct
"""

from kcl.syntax.tolerant.schemas import read

__all__ = ["read"]

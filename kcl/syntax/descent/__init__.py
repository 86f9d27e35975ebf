"""From text to nodes by recursive descent, as lax as the official parser and with its recovery.

kcl/syntax/grammar.lark says what KCL is. The official parser takes more than that (line ends that separate statements,
for one, may be left out), and after an error it goes on in ways that users see: one mistake gives a certain run of
follow-up messages, and a certain tree that later stages look at. So there is one method for each construct, which reads
it the way the official one does, over a stream of tokens with indentation everywhere; what a line end or an indent
means where it stands, each method knows.

* scanner.py: text to tokens, with no knowledge of what surrounds them
* reader.py: the position in the tokens, and how errors are worded
* types.py, expressions.py, entries.py, statements.py, schemas.py: one method for each construct
"""

from kcl.syntax.descent.schemas import read, tokens_of

__all__ = ["read", "tokens_of"]

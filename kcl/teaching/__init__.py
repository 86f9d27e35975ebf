"""What helps a person beside the official words: where a bracket was opened, how KCL writes it, what follows from what.

The official parser goes on after an error as best it can, so that one bracket too few is followed by messages on lines
that are right. Here each syntax error is tried to be mended: changes that people's mistakes call for (`habits`,
`brackets`, `layout`) are made in a copy of the text, which is parsed again. A change is offered only if the error is
gone and no new one came, so no hint is a guess; errors that went with it follow from it, and are not shown beside it.
Where no change is known, the line or block is taken out instead, which tells as well what follows, and nothing is
offered.

Nothing here runs for a program without errors.
"""

from kcl.teaching.following import taught

__all__ = ["taught"]

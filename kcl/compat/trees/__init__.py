"""The tree of a file as the official parser gives it to programs: plain data for JSON, with its names and its places.

Every node of theirs is `{"node": ..., "filename", "line", "column", "end_line", "end_column"}`, lines from 1 and
columns from 0, in characters. Three places are odd there, and the same here: what ends a block ends where the next
token begins; a statement that swallows its line ends where the line of the next token begins; the pieces of text
between the values of a string stand at 1:1.
"""

from kcl.compat.trees.statements import Target, module_tree

__all__ = ["Target", "module_tree"]

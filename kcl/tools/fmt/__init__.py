"""`kcl fmt`: files laid out in one style, with nothing lost, moved or changed but white space.

spacing       blanks within a line
layout        levels, comments, blank lines: the edits of a file
formatting    a text laid out, and the proof that it says what it said
files         which files, and what becomes of each
command       the command line
"""

from kcl.tools.fmt.command import main
from kcl.tools.fmt.formatting import Altered, Malformed, Refused, changes, formatted

__all__ = ["Altered", "Malformed", "Refused", "changes", "formatted", "main"]

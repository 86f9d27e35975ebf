"""`kcl fmt`: files laid out in one style, with nothing lost, moved or changed but white space.

spacing       blanks within a line
layout        levels, comments, blank lines: the edits of a file
formatting    a text laid out, and the proof that it says what it said
command       the command line
"""

from kcl.tools.fmt.formatting import Altered, Malformed, Refused, formatted

__all__ = ["Altered", "Malformed", "Refused", "formatted"]

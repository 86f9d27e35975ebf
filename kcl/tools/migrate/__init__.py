"""From the dialect of 2023 to today's: what is written the old way is found, rewritten, and proven to mean the same.

lint        a finding and its edits; making edits
declarations  what names mean in one program, from declarations alone
walk        a walk over a file that knows the scopes
exposed     private variables that other packages read
rules       the legacy constructs, one rule each
manifest    kcl.mod, which chooses the dialect
migration   loading, finding, choosing, editing in memory
proof       compiling before and after, and comparing
writing     all files or none
"""

from kcl.tools.migrate.lint import Edit, Lint, Overlap, apply_edits
from kcl.tools.migrate.manifest import written_in
from kcl.tools.migrate.migration import LoadedProgram, Plan, Subject, choose, find, load_all, plan_edits, texts
from kcl.tools.migrate.proof import Outcome, prove
from kcl.tools.migrate.writing import NotWritten, write

__all__ = [
    "Edit",
    "Lint",
    "LoadedProgram",
    "NotWritten",
    "Outcome",
    "Overlap",
    "Plan",
    "Subject",
    "apply_edits",
    "choose",
    "find",
    "load_all",
    "plan_edits",
    "prove",
    "texts",
    "write",
    "written_in",
]

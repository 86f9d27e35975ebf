"""The notebook face: the session of the other faces, synchronous, with DataFrames and widgets.

    import workbench as wb

    session = wb.open("../sample-konfig")
    session.stacks()                           what there is
    stack = session["checkout/prod"]
    stack.diff()                               what an apply would change; .df has it as a DataFrame
    plan = stack.plan()
    run = plan.apply(dry_run=False, confirm=plan.phrase)
    run.wait()                                 the cell goes on when every step is done
    run.watch(timeout="5m").wait()             ... and when everything is ready

engine_thread  one thread with an event loop, on which everything of the engine runs
workspace      `open`: sessions, stacks, what-ifs
results        what verbs return: a value, its DataFrame and its view
surveys        results over many stacks: drift, impact, policies, rollouts
runs           what goes on while a plan is applied and becomes ready
frames         engine values → DataFrames with fixed columns and dtypes
views          lines, rows and columns → HTML and text
live           the widget; its JavaScript and CSS lie beside it
headless       whether anybody could use a widget, and where progress goes then
magics         `%load_ext workbench`, `%wb`
"""

from workbench.notebook.magics import load_ipython_extension, unload_ipython_extension
from workbench.notebook.workspace import StackHandle, WhatIfEdit, Workspace, open

__all__ = [
    "StackHandle",
    "WhatIfEdit",
    "Workspace",
    "load_ipython_extension",
    "open",
    "unload_ipython_extension",
]

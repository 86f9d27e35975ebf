"""Python functions that KCL programs call as `kcl_plugin.NAME.function(...)`.

A plugin is one Python object that declares what it offers:

    from kcl.plugins import Call, Plugin, PluginError

    PLUGIN = Plugin()

    @PLUGIN.function("owner(hostname: str) -> {str:any}", timeout_seconds=5)
    def owner(call: Call, hostname: str) -> dict[str, object]:
        if not hostname:
            raise PluginError("a host name is needed", hint="pass what the alarm says")
        ...

Arguments and answers are plain data. Which plugins a program may import, and where their code is, is decided by whoever
runs the program: there are none by default, as in the official command line tool.

    contract.py  what a plugin's author imports
    worker.py    the process that holds the plugin's code
    guard.py     ends that process with everything it started, and limits its memory
    process.py   starts it bare, and listens to what it answers and prints
    forking.py   makes it of this process instead, for functions that are in no file
    code.py      where the code of a plugin is, and who decides about it
    host.py      the program's side: starts the worker, holds calls to signatures and time limits
"""

from kcl.plugins.contract import Call, Plugin, PluginError

__all__ = ["Call", "Plugin", "PluginError"]

"""`%load_ext workbench`, then `%wb diff checkout/prod -D tag=2.4.2`.

    %wb ls [GLOB ...]
    %wb compile|diff|plan|releases|whatif STACK [-D name=value ...]
    %wb watch STACK [TIMEOUT]
    %wb explain STACK RESOURCE PATH
    %wb open [PATH]

    %%kcl [NAME] [-D name=value ...]           the cell is a program in KCL (`kcl_cells`)

It looks and writes nothing; `apply` takes a plan and a confirmation, which belong into a cell. Without `%wb open`
the repository is the one around the working directory. The result is returned: `found = %wb diff checkout/prod`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.notebook.engine_thread import readable
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from workbench.notebook.workspace import StackHandle, Workspace

_MAGIC = "wb"
_CELL = "kcl"


class BadMagic(WorkbenchError):
    """A line after %wb that can't be understood."""


class Magic:
    """What `%wb` does. Keeps the repository that was opened last."""

    def __init__(self) -> None:
        self._workspace: Workspace | None = None

    def __call__(self, text: str) -> Any:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise readable(BadMagic(f"{text!r}: {error}", hint="close the quotes")) from None
        verb, rest = (words[0], words[1:]) if words else ("ls", [])
        if verb not in _VERBS:
            hint = f"one of {', '.join(_VERBS)}; apply needs a plan: plan.apply(dry_run=False, confirm=plan.phrase)"
            raise readable(BadMagic(f"there is no %wb {verb}", hint=hint))
        return _VERBS[verb](self, rest)

    def open(self, words: Sequence[str]) -> Workspace:
        from workbench.notebook.workspace import open as open_workspace

        if self._workspace is not None:
            self._workspace.close()
        self._workspace = open_workspace(words[0] if words else ".")
        return self._workspace

    def ls(self, words: Sequence[str]) -> Any:
        return self._opened().stacks(*words)

    def watch(self, words: Sequence[str]) -> Any:
        name, *timeout = _at_least(words, 1, "watch STACK [TIMEOUT]")
        return self._opened()[name].watch(*timeout[:1]).wait(check=False)

    def explain(self, words: Sequence[str]) -> Any:
        name, resource, path = _at_least(words, 3, "explain STACK RESOURCE PATH")[:3]
        return self._opened()[name].explain(resource, path)

    def of_stack(self, words: Sequence[str], verb: str) -> Any:
        plain, options = _options(words)
        name = _at_least(plain, 1, f"{verb} STACK [-D name=value ...]")[0]
        stack: StackHandle = self._opened()[name].given(options)
        return getattr(stack, verb)()

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
        self._workspace = None

    def _opened(self) -> Workspace:
        return self._workspace or self.open(())


def _of_stack(verb: str) -> Callable[[Magic, Sequence[str]], Any]:
    return lambda magic, words: magic.of_stack(words, verb)


_VERBS: dict[str, Callable[[Magic, Sequence[str]], Any]] = {
    "open": Magic.open,
    "ls": Magic.ls,
    **{verb: _of_stack(verb) for verb in ("compile", "diff", "plan", "releases", "whatif")},
    "watch": Magic.watch,
    "explain": Magic.explain,
}


def _at_least(words: Sequence[str], count: int, usage: str) -> Sequence[str]:
    if len(words) < count:
        raise readable(BadMagic("something is missing", hint=f"%wb {usage}"))
    return words


def _options(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    plain, options, rest = [], {}, iter(words)
    for word in rest:
        if not word.startswith("-D"):
            plain.append(word)
            continue
        name, sign, value = (word[2:] or next(rest, "")).partition("=")
        if not sign or not name:
            raise readable(BadMagic(f"{word} needs name=value", hint="%wb diff STACK -D tag=2.4.2"))
        options[name] = value
    return plain, options


def load_ipython_extension(ipython: Any) -> None:
    """Called by `%load_ext workbench`."""
    magic = Magic()
    magic.__doc__ = __doc__
    ipython.register_magic_function(magic, magic_kind="line", magic_name=_MAGIC)

    def kcl(line: str, cell: str) -> Any:
        """Runs the cell as a program in KCL."""
        names, options = _options(shlex.split(line))
        if len(names) > 1 or not all(map(str.isidentifier, names)):
            raise readable(BadMagic(f"%%kcl {line}: that is no name", hint="%%kcl [NAME] [-D name=value ...]"))
        from workbench.notebook.kcl_cells import CellFailed, evaluate

        try:
            found = evaluate(cell, options)
        except CellFailed as failure:
            raise readable(failure) from None
        for name in names:
            [value] = found.documents if len(found.documents) == 1 else [list(found.documents)]
            ipython.user_ns[name] = value
        return found

    ipython.register_magic_function(kcl, magic_kind="cell", magic_name=_CELL)


def unload_ipython_extension(ipython: Any) -> None:
    magic = ipython.magics_manager.magics["line"].pop(_MAGIC, None)
    if isinstance(magic, Magic):
        magic.close()
    ipython.magics_manager.magics["cell"].pop(_CELL, None)

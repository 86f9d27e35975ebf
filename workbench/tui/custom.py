"""Commands of the user's own: programs that run for what is on the screen, from `commands.yaml` in the user's folder.

A repository can add none, and what is in it or in a cluster gets into a program only as whole arguments or variables:
nothing is ever made into the text that a shell reads. Values that would be taken for options are refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from workbench.project import BrokenFile, WorkbenchError, checkout
from workbench.project.yaml_file import only_keys, place_of, read_mapping
from workbench.tui.user_files import COMMANDS_FILE, is_there

PLACEHOLDERS = ("project", "stack", "cluster", "context", "namespace", "kind", "name")
_NAME = re.compile(r"[a-z][a-z0-9-]{1,30}")
_INPUT = re.compile(r"[a-z][a-z0-9_]{0,30}")
_PLACEHOLDER = re.compile(r"\{([a-z0-9_]+)\}")
_KEYS = ("run", "shell", "key", "inputs", "confirm", "dangerous", "output")
_OUTPUTS = ("screen", "terminal")
_OF_SECRETS = ("WB_SECRET_", "WB_PLUGIN_", "VAULT_")


class CannotRun(WorkbenchError):
    """A command that does not run on what is shown, and what to do about it."""


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """`run` are the arguments of a program, or one text for a shell, which finds the values in WB_ variables.

    `inputs` are values to ask for, with what they are where nothing is said; None: something has to be said.
    `is_confirmed` asks for a yes, `is_dangerous` for a phrase that names what it is done to, and not while read-only.
    """

    name: str
    run: tuple[str, ...]
    has_shell: bool = False
    key: str = ""
    inputs: Mapping[str, str | None] = field(default_factory=dict)
    is_confirmed: bool = False
    is_dangerous: bool = False
    takes_terminal: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The placeholders that it needs; a shell reads variables, of which nobody knows which it needs."""
        return tuple(dict.fromkeys(name for each in self.run for name in _PLACEHOLDER.findall(each)))


@dataclass(frozen=True, slots=True)
class Invocation:
    """What is run: arguments and the environment, as they are handed to the system."""

    command: CustomCommand
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    about: str

    @property
    def phrase(self) -> str:
        return f"{self.command.name} {self.about}".strip() if self.command.is_dangerous else "yes"


def read(folder: Path | None, taken: Sequence[str]) -> dict[str, CustomCommand]:
    """Returns the commands by name, empty where there is no file; `taken` are words that mean something else.

    Raises `BrokenFile` with file, line and column for a file that is wrong in anything.
    """
    if folder is None or not is_there(folder / COMMANDS_FILE):
        return {}
    file = (folder / COMMANDS_FILE).resolve()
    found: dict[str, CustomCommand] = {}
    for name, value in read_mapping(file).items():
        where = place_of(file, name) if isinstance(name, str) else str(file)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BrokenFile(
                f"{name!r} is no name of a command", where=where, hint="use lower case letters, digits and -"
            )
        if name in taken:
            raise BrokenFile(f":{name} means something already", where=where, hint="give it another name")
        if not isinstance(value, dict):
            raise BrokenFile(f"{name} needs a mapping with `run`", where=where, hint="see docs/screens.md")
        only_keys(value, _KEYS, where)
        found[name] = _command(name, value, where)
    return found


def _command(name: str, value: Mapping[str, Any], where: str) -> CustomCommand:
    has_shell = _flag(value, "shell", where)
    made = CustomCommand(
        name,
        _run(value.get("run"), has_shell, where),
        has_shell,
        _text(value, "key", where),
        _inputs(value.get("inputs"), where),
        _flag(value, "confirm", where),
        _flag(value, "dangerous", where),
        _output(value, where) == "terminal",
    )
    known = {*PLACEHOLDERS, *made.inputs}
    if strange := [each for each in made.wanted if each not in known]:
        raise BrokenFile(f"nothing fills {{{strange[0]}}}", where=where, hint=f"there are {', '.join(sorted(known))}")
    if has_shell and made.wanted:
        raise BrokenFile(
            f"a text for a shell gets no {{{made.wanted[0]}}}: a name could be an order to it",
            where=where,
            hint=f'say "$WB_{made.wanted[0].upper()}" instead',
        )
    if _PLACEHOLDER.search(made.run[0]):
        raise BrokenFile("the program itself can't be a placeholder", where=where, hint="name the program")
    return made


def _run(value: Any, has_shell: bool, where: str) -> tuple[str, ...]:
    if has_shell:
        if not isinstance(value, str) or not value.strip():
            raise BrokenFile("run needs to be a text for the shell", where=where, hint="or leave `shell` out")
        return (value,)
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise BrokenFile(
            "run needs to be a list of texts, a program and its arguments", where=where, hint="quote numbers"
        )
    return tuple(value)


def _flag(value: Mapping[str, Any], name: str, where: str) -> bool:
    found = value.get(name, False)
    if not isinstance(found, bool):
        raise BrokenFile(f"{name} needs to be true or false, got {found!r}", where=where, hint="correct it")
    return found


def _text(value: Mapping[str, Any], name: str, where: str) -> str:
    found = value.get(name, "")
    if not isinstance(found, str):
        raise BrokenFile(f"{name} needs to be text, got {found!r}", where=where, hint="put quotes around it")
    return found


def _output(value: Mapping[str, Any], where: str) -> str:
    found = value.get("output", "screen")
    if found not in _OUTPUTS:
        raise BrokenFile(f"output needs to be {' or '.join(_OUTPUTS)}, got {found!r}", where=where, hint="correct it")
    return str(found)


def _inputs(value: Any, where: str) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BrokenFile("inputs needs to be a mapping of names to what they are by default", where=where)
    for name, default in value.items():
        if not isinstance(name, str) or not _INPUT.fullmatch(name) or name in PLACEHOLDERS:
            raise BrokenFile(f"{name!r} is no name for an input", where=where, hint="use lower case letters")
        if not isinstance(default, str | None):
            raise BrokenFile(f"{name} needs to be text or null, got {default!r}", where=where, hint="quote it")
    return dict(value)


def missing_input(command: CustomCommand, typed: str) -> str:
    """Returns the first input that something has to be said for, empty where there is none."""
    given = _given(command, typed)
    return next((name for name, default in command.inputs.items() if default is None and not given.get(name)), "")


def _given(command: CustomCommand, typed: str) -> dict[str, str]:
    """Returns what was typed as `name=value`; a single input needs no name."""
    given = {}
    for each in typed.split():
        name, equals, value = each.partition("=")
        if not equals and len(command.inputs) == 1:
            name, value = next(iter(command.inputs)), each
        if name not in command.inputs:
            there = ", ".join(f"{known}=" for known in command.inputs) or "no inputs"
            raise CannotRun(f"{command.name} has no input {name!r}", hint=f"there are {there}")
        given[name] = value
    return given


def invocation(
    command: CustomCommand, typed: str, values: Mapping[str, str], root: Path, environment: Mapping[str, str]
) -> Invocation:
    """Returns what is to be run for what is shown; raises `CannotRun`.

    `values` are those of the placeholders that are known where the cursor is. Variables with secrets are not handed on.
    """
    inputs = {name: value for name, value in command.inputs.items() if value is not None} | _given(command, typed)
    known = {**values, **inputs}
    for name in command.wanted:
        if not known.get(name):
            raise CannotRun(f"{command.name} needs a {name}, and none is known here", hint="put the cursor on one")
    arguments = tuple(_filled(each, known) for each in _arguments(command))
    program = _program(arguments[0], root, environment)
    shared = {name: value for name, value in environment.items() if not name.startswith(_OF_SECRETS)}
    told = {f"WB_{name.upper()}": value for name, value in known.items()} if command.has_shell else {}
    where = [known[name] for name in ("namespace", "name", "cluster") if known.get(name)] or [known.get("stack", "")]
    return Invocation(command, (program, *arguments[1:]), {**shared, **told}, "/".join(where))


def _arguments(command: CustomCommand) -> tuple[str, ...]:
    return ("sh", "-c", command.run[0]) if command.has_shell else command.run


def _filled(argument: str, values: Mapping[str, str]) -> str:
    filled = _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), argument)
    if filled != argument and filled.startswith("-") and not argument.startswith("-"):
        raise CannotRun(f"{filled!r} would be taken for an option", hint="put -- before the placeholder is not enough")
    if not filled.isprintable() and filled != argument:
        raise CannotRun("a value has orders to a terminal in it", hint="it is not handed to any program")
    return filled


def _program(name: str, root: Path, environment: Mapping[str, str]) -> str:
    """Returns the program as an absolute path; one in the repository is not run, however it is found there."""
    absolute = [each for each in environment.get("PATH", os.defpath).split(os.pathsep) if each.startswith("/")]
    found = name if name.startswith("/") else shutil.which(name, path=os.pathsep.join(absolute))
    if found is None or ("/" in name and not name.startswith("/")):
        raise CannotRun(f"there is no program {name!r}", hint="name one that is in a folder of PATH, or its whole path")
    if Path(found).resolve().is_relative_to(checkout(root).resolve()):
        raise CannotRun(f"{found} lies in the repository, which may have brought it along", hint="install it elsewhere")
    return found

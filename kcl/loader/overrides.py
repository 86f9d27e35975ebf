"""Overrides (`-O server.replicas=3`): other values for a run, without touching the files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kcl.diagnostics import Code, KclError, error
from kcl.loader.program import Module, Program
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.syntax.edit import expression_text, replace_value

_SPEC: Final = re.compile(r"(?:[\w.]*:)?(?P<path>[^=:+]+?)(?P<operator>=|:|\+=|-$)(?P<value>.*)", re.DOTALL)
_STEP: Final = re.compile(r"""\.?(?:\[(-?\d+)\]|\[?"([^"]*)"\]?|([^.\[\]"]+))""")


def overridden_texts(program: Program, specs: Sequence[str]) -> dict[str, str]:
    """The texts, by path, of the main files that change when each `path=value` of `specs` is written into them.

    The last main file that declares the variable is changed. A value that is no expression, or a bare word, is text.
    Raises KclError for a spec that makes no sense or names nothing.
    """
    texts: dict[str, str] = {}
    for spec in specs:
        variable, path, value = _parsed(spec)
        module = _declaring(program, variable, spec)
        source = SourceFile(module.name, texts.get(module.name, module.source.text))
        texts[module.name] = replace_value(source, variable, path, value)
    return texts


def _parsed(spec: str) -> tuple[str, list[str | int], str]:
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise _failure(f"invalid override '{spec}', write it as path=value")
    if match["operator"] in ("-", "+="):
        raise _failure(f"the override '{spec}' is not supported: only values can be replaced, as in path=value")
    steps = _steps(match["path"].strip(), spec)
    if not steps or not isinstance(steps[0], str):
        raise _failure(f"invalid override '{spec}', its path must begin with the name of a variable")
    return steps[0], steps[1:], _expression(match["value"].strip())


def _steps(path: str, spec: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise _failure(f"invalid override '{spec}', its path makes no sense at '{path[position:]}'")
        index, quoted, name = match.groups()
        steps.append(int(index) if index is not None else quoted if quoted is not None else name)
        position = match.end()
    return steps


def _expression(text: str) -> str:
    result = parse(SourceFile("override", text))
    body = result.module.body
    if result.diagnostics or len(body) != 1 or not isinstance(body[0], ast.ExprStmt):
        return text if _is_string(result.module) else expression_text(text)
    return expression_text(text) if isinstance(body[0].value, ast.Name) else text


def _is_string(module: ast.Module) -> bool:
    """A text that is one string reads as the documentation of a file."""
    return module.doc is not None and not module.body


def _declaring(program: Program, variable: str, spec: str) -> Module:
    for module in reversed(program.main.modules):
        for statement in module.tree.body:
            targets = (
                [statement.target]
                if isinstance(statement, ast.Unification)
                else statement.targets
                if isinstance(statement, ast.Assign)
                else []
            )
            if any(target.name == variable for target in targets):
                return module
    raise _failure(f"the override '{spec}' names the variable '{variable}', which no file of the program declares")


def _failure(message: str) -> KclError:
    return KclError((error(Code.EVALUATION, message, None),))

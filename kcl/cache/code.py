"""Python code that was compiled from generated text, kept on disk from one process to the next."""

from __future__ import annotations

import marshal
from types import CodeType
from typing import Final

from kcl.cache.entries import entry_name
from kcl.compiler import generated
from kcl.compiler.source import compiled
from kcl.evaluator.runtime import Compiling
from kcl.loader.program import MAIN_PACKAGE
from kcl.memo.queries import Codec, Memo, Query, Request

_Text = tuple[str, str, str]
"""As `compiled` takes it."""


def compiling(plain: Compiling, memo: Memo) -> Compiling:
    """Generated code of the same things, its Python code taken from the memo."""

    def code_of(text: str, package: str, of: str) -> CodeType:
        if package == MAIN_PACKAGE:  # which somebody is editing: not for the disk
            return compiled(text, package, of)
        return memo.get(CODE, (text, package, of))

    return generated(plain.after, plain.after_again, code_of)


def _compiled(request: Request, key: _Text) -> CodeType:
    return compiled(*key)


def _code(data: bytes) -> CodeType:
    code = marshal.loads(data)
    if not isinstance(code, CodeType):
        raise TypeError("no code")
    return code


CODES: Final[Codec[_Text, CodeType]] = Codec(lambda key: entry_name("code", *key), marshal.dumps, _code)
CODE: Final = Query("code", _compiled, most=64)
"""Of a generated text, the package it is of, and what in it. What is in use is held by who uses it."""

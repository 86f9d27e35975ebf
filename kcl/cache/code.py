"""Python code that was compiled from generated text, kept on disk from one process to the next."""

from __future__ import annotations

import marshal
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from kcl.cache.objects import taken_out
from kcl.cache.runs import compiler
from kcl.compiler.changes import compile_changes
from kcl.compiler.functions import compile_element, compile_lambda, compile_value
from kcl.compiler.schemas import compile_schema
from kcl.compiler.source import compiled
from kcl.evaluator.runtime import Compiling
from kcl.loader.program import MAIN_PACKAGE
from kcl.memo.digest import blake2b
from kcl.records import replace

if TYPE_CHECKING:
    from kcl.cache.store import Store


class KeptCode:
    """The code in a store, and what is to be written there once the run is over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._compiler = compiler()
        self._unwritten: dict[str, CodeType] = {}

    def compiling(self, plain: Compiling) -> Compiling:
        """Generated code of the same things, its Python code taken from here."""
        return replace(
            plain,
            compile=partial(compile_schema, code_of=self.code_of),
            compile_changes=partial(compile_changes, code_of=self.code_of),
            compile_lambda=partial(compile_lambda, code_of=self.code_of),
            compile_element=partial(compile_element, code_of=self.code_of),
            compile_value=partial(compile_value, code_of=self.code_of),
        )

    def code_of(self, text: str, package: str, of: str) -> CodeType:
        """As `compiled`, from the store if it was compiled before. What is of the main package is not kept."""
        if package == MAIN_PACKAGE:
            return compiled(text, package, of)
        whole: Any = (self._compiler, package, of, text)
        name = "code-" + blake2b(marshal.dumps(whole, 2), digest_size=20).hexdigest()
        data = self._store.read(name)
        if data is not None:
            try:
                code = marshal.loads(data)
            except (ValueError, EOFError, TypeError):
                code = None
            if isinstance(code, CodeType):
                return code
        code = self._unwritten[name] = compiled(text, package, of)
        return code

    def write(self) -> None:
        """Writes what is new."""
        for name, code in taken_out(self._unwritten):
            self._store.write(name, marshal.dumps(code))

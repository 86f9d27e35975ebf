"""Programs given as text, evaluated without a disk."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kcl.diagnostics import KclError, render
from kcl.evaluator.dialect import KCL, Dialect
from kcl.evaluator.evaluate import Evaluation, evaluate
from kcl.loader import LoadRequest, load
from kcl.source import InMemoryFileSystem
from kcl.stdlib import Access, build_library, to_plain, to_value

Evaluated = Callable[..., Evaluation]
Values = Callable[..., Any]


def _run(
    main: str,
    *,
    files: Mapping[str, str] | None = None,
    also: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    dialect: Dialect = KCL,
) -> Evaluation:
    texts = {f"/repo/{name}": text for name, text in {"kcl.mod": "", "main.k": main, **(files or {})}.items()}
    request = LoadRequest(("main.k", *also), "/repo", dedent_strings=dialect.dedent_triple_quoted)
    loaded = load(request, InMemoryFileSystem(texts))
    if loaded.diagnostics:
        raise KclError(loaded.diagnostics)
    try:
        return evaluate(
            loaded.program, build_library(Access()), {key: to_value(v) for key, v in (options or {}).items()}, dialect
        )
    except KclError as problem:
        problem.add_note(render(problem.diagnostics, loaded.sources))
        raise


@pytest.fixture
def evaluated() -> Evaluated:
    """Evaluates the text of main.k beside other `files` of the repository; `also` are further main files."""
    return _run


@pytest.fixture
def values() -> Values:
    """The plain values of the exported variables of main.k."""

    def plain(main: str, **rest: Any) -> Any:
        result = to_plain(_run(main, **rest).value)
        return {key: value for key, value in result.items() if not key.startswith("_")}

    return plain


@pytest.fixture
def finding() -> Values:
    """What a wrong program is told: the number, the message, and the line and column in main.k."""

    def first(main: str, **rest: Any) -> tuple[str, str, int, int]:
        with pytest.raises(KclError) as caught:
            _run(main, **rest)
        diagnostic = caught.value.diagnostics[0]
        assert diagnostic.primary is not None
        before = main[: diagnostic.primary.start]
        column = len(before) - (before.rfind("\n") + 1) + 1
        return diagnostic.code.number, diagnostic.message, before.count("\n") + 1, column

    return first
